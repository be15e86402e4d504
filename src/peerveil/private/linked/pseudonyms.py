"""Pseudonyms of people, by which reviewers of two conferences are joined without keeping their names.

They are keyed hashes of ids. The key is drawn anew by every process and never written, so a pseudonym says nothing
outside of it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

#: One pseudonym per reviewer.
Pseudonyms = npt.NDArray[np.bytes_]

_KEY = secrets.token_bytes(32)


def pseudonyms(names: Iterable[str]) -> Pseudonyms:
    """Return the pseudonyms of ids; e-mail addresses that differ only in case are the same person.

    >>> first, second, third = pseudonyms(["Ann@x.org ", "ann@X.org", "Ann"])
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    plain = (_plain(name).encode("utf-8", "surrogatepass") for name in names)
    hashes = [hashlib.blake2b(name, key=_KEY, digest_size=16).hexdigest() for name in plain]
    return np.array(hashes, dtype="S32")


def _plain(name: str) -> str:
    name = name.strip()
    return name.casefold() if "@" in name else name
