"""Statements of releases about their data sets, as the ledger stores them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from peerveil.privacy.stated_facts import Statement
from peerveil.record.parts import ABSENT
from peerveil.record.public_record import PublicRecord
from peerveil.tables.headings import plain


def release_statement(public: str | PublicRecord, record: PublicRecord, *, score: str = "") -> Statement:
    """Return the statement of one release.

    If the record is a part of a conference, and the number of reviewers with a kept review is declared, that number is
    an invariant of neighbouring assignments. ``score`` names the column of scores; empty for the usual one.
    """
    part = record.part
    invariants: tuple[str, ...] = ()
    if part is not None and part.number == "declared":  # of a part that a digest of papers and sizes identifies
        sizes = record.sizes().tolist()
        labels = [entry.why for entry in part.left_out if entry.filtered]  # several may keep as many reviews
        if score and any(entry.why == ABSENT for entry in part.left_out):  # so may columns that lack other scores
            labels.append(f"column {plain(score)}")
        identity = [record.papers, sizes, *([labels] if labels else [])]
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
        which = f"the {sum(sizes)} reviews of the part {digest}"
        shown = (f"how many reviewers have one of {which}", f"how many reviewers have which load among {which}")
        invariants = shown[:1] if record.loads.counts is None else shown
    return Statement(
        public=public if isinstance(public, str) else "record",
        record="" if isinstance(public, str) else scores_digest(public),
        scale=record.scale,
        score=score,
        left_out=() if part is None else tuple(reason.words for reason in part.left_out),
        invariants=invariants,
    )


def joint_statement(
    statements: Mapping[str, Statement],
    record: PublicRecord | None,
    *,
    apart: Mapping[str, Sequence[str]] | None = None,
) -> Statement:
    """Return the joint statement of the releases of groups of papers.

    ``record`` is the public record of all groups, if one was given. ``apart`` holds the papers of each group if it is
    declared that no reviewer has reviews in several; otherwise they may have.
    """
    facts = {fact for statement in statements.values() for fact in statement.invariants}
    if apart is not None:  # papers may be divided otherwise into groups of the same names
        names = ", ".join(map(repr, sorted(statements)))
        if len(names) > 300:
            names = f"of the list {hashlib.sha256(names.encode()).hexdigest()[:16]}"
        members = json.dumps(sorted((name, sorted(papers)) for name, papers in apart.items()))
        which = f"{names} of the division {hashlib.sha256(members.encode()).hexdigest()[:16]}"
        facts.add(f"nobody has reviews in two of the groups {which}")
        facts.add(f"how many reviewers have which load in each of the groups {which}")
    first = next(iter(statements.values()))
    digest = first.record if record is None else scores_digest(record)
    return replace(first, record=digest, left_out=(), invariants=tuple(facts))


def scores_digest(record: PublicRecord) -> str:
    """Return a digest of the papers and scores of a public record."""
    digest = hashlib.sha256(json.dumps(record.papers).encode())
    for numbers in (record.paper.astype("<i8"), record.score.astype("<f8") + 0.0):
        digest.update(numbers.tobytes())
    return f"sha256:{digest.hexdigest()}"
