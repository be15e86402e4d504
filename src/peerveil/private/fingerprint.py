"""Keyed fingerprints of private reviews, by which a ledger detects changed data.

A fingerprint reveals nothing without the key. With the key, candidate assignments could be tested, so it is never
stored beside the ledger.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerveil.private.reviews import Reviews
from peerveil.record.public_record import Floats, Ints


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint and the identifier of its key; fingerprints of different keys cannot be compared."""

    key: str
    digest: str


def fingerprint(reviews: Reviews, group: Ints | Floats | None = None) -> Fingerprint | None:
    """The fingerprint of reviews, up to their order and the names of reviewers; ``None`` if no key can be stored.

    ``group`` is that of each review, or another number of its reviewer, if it matters.
    """
    key = _key()
    if key is None:
        return None
    columns = [reviews.paper, reviews.score, *(() if reviews.criteria is None else reviews.criteria.T)]
    columns += [] if group is None else [group]
    order = np.lexsort((reviews.paper, reviews.reviewer))
    table = np.column_stack([column[order] for column in columns]).astype("<f8") + 0.0  # minus zero is zero
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for name in (*reviews.papers, *reviews.criteria_names):
        digest.update(hashlib.sha256(name.encode()).digest())
    digest.update(_hashes(table, reviews.reviewer))
    if (whole := reviews.whole) is not None:
        papers = whole.paper[np.lexsort((whole.paper, whole.reviewer))].astype("<i8")
        digest.update(_hashes(papers, whole.reviewer))
    return Fingerprint(key=hashlib.sha256(b"peerveil key " + key).hexdigest()[:16], digest=digest.hexdigest())


def _hashes(rows: NDArray[Any], reviewer: Ints) -> bytes:
    """The sorted hashes of each reviewer's rows, which are sorted by reviewer."""
    ends = np.cumsum(np.bincount(reviewer))[:-1]
    return b"".join(sorted(hashlib.sha256(part.tobytes()).digest() for part in np.split(rows, ends)))


def key_file() -> Path:
    """The path of the key: PEERVEIL_KEY_FILE, or a file in the user's configuration folder."""
    if place := os.environ.get("PEERVEIL_KEY_FILE"):
        return Path(place)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "peerveil" / "ledger.key"


def _key() -> bytes | None:
    """The key, created on first use, readable by its owner only."""
    try:
        place = key_file()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as handle:
                handle.write(secrets.token_hex(32) + "\n")
        key = bytes.fromhex(place.read_text(encoding="ascii"))
    except (OSError, RuntimeError, ValueError):
        return None
    return key if len(key) >= 32 else None
