"""Licence and citation of a release."""

from __future__ import annotations

from dataclasses import dataclass

from peerveil.errors import Argument, InputError

#: The source of the method in the default citation.
METHOD = "after Ding, Shah and Wang, On the Privacy-Utility Tradeoff in Peer-Review Data Analysis"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Licence and citation of a release.

    Attributes:
        licence: the licence, preferably as an SPDX identifier; ``None`` if not stated.
        citation: how to cite the release; ``None`` for the default citation.

    >>> Terms(licence="CC-BY-4.0").licence
    'CC-BY-4.0'
    >>> Terms(licence=" ")
    Traceback (most recent call last):
    peerveil.errors.InputError: licence must be 1 to 2000 printable characters, such as 'CC-BY-4.0'
    """

    licence: str | None = None
    citation: str | None = None

    def __post_init__(self) -> None:
        for name, example in (("licence", "CC-BY-4.0"), ("citation", "The chairs of Conf, 2026")):
            given = getattr(self, name)
            if given is not None and not (given.strip() and given.isprintable() and len(given) <= 2000):
                raise InputError(Argument(name), f" must be 1 to 2000 printable characters, such as {example!r}")

    def cited(self, software: str) -> str:
        """Return the citation, or the default one.

        >>> Terms().cited("peerveil 0.1.0")
        'Made with peerveil 0.1.0, after Ding, Shah and Wang, On the Privacy-Utility Tradeoff in Peer-Review Data ...'
        """
        return self.citation or f"Made with {software}, {METHOD}."
