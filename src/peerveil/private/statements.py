"""What a release states about its data set, as the ledger keeps it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from peerveil.privacy.statement import Statement
from peerveil.record.public_record import PublicRecord


def stated(public: str | PublicRecord, record: PublicRecord, *, score: str = "") -> Statement:
    """What one release states.

    Args:
        public: what was stated to be public.
        record: the public record that follows from it. Where it is a part of a conference, and it is declared how many
            reviewers have a kept review, neighbouring assignments share that.
        score: the column of scores that was named; empty for the usual one.
    """
    part = record.part
    return Statement(
        public=public if isinstance(public, str) else "record",
        record="" if isinstance(public, str) else scores_digest(public),
        scale=record.scale,
        score=score,
        left_out=() if part is None else tuple(one.words for one in part.left_out),
        invariants=() if part is None or part.number != "declared" else _declared(record),
    )


def stated_together(statements: Mapping[str, Statement], record: PublicRecord | None, *, shared: bool) -> Statement:
    """What the releases of groups of papers state together.

    Args:
        statements: what the release of each group states.
        record: the public record of all groups, where it is one that shows the public scores.
        shared: whether reviewers may have reviews in several groups; otherwise it is declared that none has.
    """
    facts = {fact for one in statements.values() for fact in one.invariants}
    if not shared:
        names = _short(", ".join(map(repr, sorted(statements))))
        facts.add(f"nobody has reviews in two of the groups {names}")
        facts.add(f"how many reviewers have which load in each of the groups {names}")
    first = next(iter(statements.values()))
    digest = first.record if record is None else scores_digest(record)
    return replace(first, record=digest, left_out=(), invariants=tuple(facts))


def scores_digest(record: PublicRecord) -> str:
    """A digest of which scores a public record shows, of which papers."""
    digest = hashlib.sha256(json.dumps(record.papers).encode())
    for numbers in (record.paper.astype("<i8"), record.score.astype("<f8") + 0.0):
        digest.update(numbers.tobytes())
    return f"sha256:{digest.hexdigest()}"


def _declared(record: PublicRecord) -> tuple[str, ...]:
    """The facts that are declared of a part of a conference, which a digest of its papers and their sizes tells."""
    sizes = np.bincount(record.paper, minlength=len(record.papers)).tolist()
    digest = hashlib.sha256(json.dumps([record.papers, sizes]).encode()).hexdigest()[:16]
    which = f"the {sum(sizes)} reviews of the part {digest}"
    number = f"how many reviewers have one of {which}"
    return (number,) if record.loads.counts is None else (number, f"how many reviewers have which load among {which}")


def _short(words: str) -> str:
    """Words, or a digest where they are long."""
    return words if len(words) <= 300 else f"of the list {hashlib.sha256(words.encode()).hexdigest()[:16]}"
