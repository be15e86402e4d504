"""A keyed fingerprint of private reviews, by which a ledger notices that the data under a name changed.

Without the key it says nothing. With it candidate assignments could be tested, so it is kept away from the ledger.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peerveil.private.reviews import Reviews
from peerveil.record.public_record import Ints


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint, and which key it was made with: those of different keys cannot be compared."""

    key: str
    digest: str


def fingerprint(reviews: Reviews) -> Fingerprint | None:
    """The fingerprint of reviews, whatever their order and reviewers' names; ``None`` where no key can be kept."""
    key = _key()
    if key is None:
        return None
    columns = [reviews.paper, reviews.score, *(() if reviews.criteria is None else reviews.criteria.T)]
    order = np.lexsort((reviews.paper, reviews.reviewer))
    table = np.column_stack([column[order] for column in columns]).astype("<f8") + 0.0  # minus zero is zero
    ends = np.cumsum(np.bincount(reviews.reviewer))[:-1]
    whole = hmac.new(key, digestmod=hashlib.sha256)
    for name in (*reviews.papers, *reviews.criteria_names):
        whole.update(hashlib.sha256(name.encode()).digest())
    for row in sorted(hashlib.sha256(held.tobytes()).digest() for held in np.split(table, ends)):
        whole.update(row)
    if reviews.whole is not None:
        for row in _assignment(reviews.whole.paper, reviews.whole.reviewer):
            whole.update(row)
    return Fingerprint(key=hashlib.sha256(b"peerveil key " + key).hexdigest()[:16], digest=whole.hexdigest())


def _assignment(paper: Ints, reviewer: Ints) -> list[bytes]:
    """Of the whole conference: who reviewed which papers, whatever the reviewers' names."""
    order = np.lexsort((paper, reviewer))
    held = np.split(paper[order].astype("<i8"), np.cumsum(np.bincount(reviewer))[:-1])
    return sorted(hashlib.sha256(papers.tobytes()).digest() for papers in held)


def key_file() -> Path:
    """Where the key is kept: PEERVEIL_KEY_FILE, or a file of the user's own, never beside the ledger."""
    if place := os.environ.get("PEERVEIL_KEY_FILE"):
        return Path(place)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "peerveil" / "ledger.key"


def _key() -> bytes | None:
    """The key, made on first use, readable by its owner only."""
    try:
        place = key_file()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(descriptor, "w", encoding="ascii") as handle:
                handle.write(secrets.token_hex(32) + "\n")
        key = bytes.fromhex(place.read_text(encoding="ascii"))
    except (OSError, RuntimeError, ValueError):
        return None
    return key if len(key) >= 32 else None
