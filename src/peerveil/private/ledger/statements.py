"""Statements of a ledger: what releases fix about a data set, compared with what was stated before."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from peerveil.errors import BudgetError, Part, Phrase
from peerveil.privacy.stated_facts import Statement, additional, attribute_of, unheard
from peerveil.private.ledger.accounts import any_charge, read_statements
from peerveil.private.ledger.chain import Chain, now
from peerveil.private.ledger.tables import CHARGES, STATEMENTS, UNKNOWN


def check_statement(connection: sa.Connection, place: str, dataset: str, statement: Statement) -> list[Statement]:
    """Return the statements of a data set; raise if another one fixes more."""
    stated = [earlier.statement for earlier in read_statements(connection, dataset)]
    if more := _additions(statement, stated):
        command = _command(place, dataset, statement)
        refused = BudgetError(
            f"the release fixes more than was stated for the releases of {dataset!r} so far: ",
            *more,
            ". Their claims would no longer hold together. State the same as before; or, if this was public all "
            "along, ",
            Phrase("declare", f"declare it once for the data set: {command}"),
            "; nothing was charged",
        )
        refused.declares = dataset, replace(statement, left_out=())  # as the command does
        raise refused
    return stated


def add_statement(
    chain: Chain, place: str, dataset: str, statement: Statement | None, *, budgets: list[int]
) -> tuple[str, ...]:
    """Compare the statement of a release with those of its data set, add it if it is new, and return remarks.

    ``budgets`` are the keys of those of the data set.
    """
    if statement is None:
        remark = (
            f"what is public was not stated to the ledger for this release of {dataset!r}, so the "
            "ledger cannot tell whether its claim adds up with those of the other releases"
        )
        return (remark,)
    stated = check_statement(chain.connection, place, dataset, statement)
    if unheard(statement, stated):
        chain.add(STATEMENTS, dataset=dataset, stated=now(), declared=0, statement=text_of(statement))
    if stated or not any_charge(
        chain.connection, CHARGES.c.budget.in_(budgets), CHARGES.c.statement.startswith(UNKNOWN)
    ):
        return ()
    remark = (
        f"what was stated for earlier releases of {dataset!r} is not known to the ledger; their claims add up with "
        f"this one's only if no more was stated than now: {statement.describe()}"
    )
    return (remark,)


def _additions(statement: Statement, stated: Sequence[Statement]) -> Sequence[Part]:
    """What a statement adds to earlier ones, in words: scores, attributes of reviewers, and numbers in parts."""
    kinds: dict[str, list[str]] = {"added_scores": [], "added_attributes": [], "added_parts": []}
    scores = replace(statement, invariants=())
    kinds["added_scores"] += additional(scores, stated)
    for fact in statement.invariants:
        kind = "added_parts" if attribute_of(fact) is None else "added_attributes"
        more = additional(replace(scores, invariants=(fact,)), stated)
        kinds[kind] += [words for words in more if words not in kinds["added_scores"]]
    joined = {kind: "; ".join(words) for kind, words in kinds.items() if words}
    phrases = [Phrase(kind, text + _PARTS * (" of the part " in text)) for kind, text in joined.items()]
    return [part for phrase in phrases for part in ("; ", phrase)][1:]


# Explains the word, because a part is named by a digest only.
_PARTS = " (a part: the papers of a track, or what filters keep)"


def _command(place: str, dataset: str, statement: Statement) -> str:
    """The command that declares a statement for a data set."""
    words = ["peerveil", "ledger", "state", place, "--dataset", dataset, "--public", statement.public]
    if statement.record:
        words += ["--record", statement.record]
    if statement.scale is not None:
        words += ["--score-scale", ",".join(f"{end!r}".removesuffix(".0") for end in statement.scale)]
    if statement.score:
        words += ["--score", statement.score]
    for fact in statement.invariants:
        words += ["--invariant", fact]
    return f"`{shlex.join(words)}`"


def text_of(statement: Statement) -> str:
    """Return a statement as the ledger stores it."""
    return json.dumps(statement.to_document(), sort_keys=True)
