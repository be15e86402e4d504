"""What a release is called, who publishes it, its licence and its citation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peerveil.errors import Argument, InputError

#: The source of the method in the default citation.
METHOD = "after Ding, Shah and Wang, On the Privacy-Utility Tradeoff in Peer-Review Data Analysis"

_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\^{|}]+")
_MAIL = re.compile(r"[^\s<>\"'@:?&%]+@[^\s<>\"'@:?&%]+\.[^\s<>\"'@:?&%]+")

#: The texts of a description, with an example of each.
_TEXTS = {"title": "How strict our reviewers are", "conference": "Conf", "contact": "chairs@conf.org"}


@dataclass(frozen=True, kw_only=True)
class About:
    """What a release is called and who publishes it, as its report says. It is published as it is.

    Attributes:
        title: the title of the report; by default that of the quantity.
        conference: the name of the conference.
        year: its year.
        authors: who publishes the release.
        contact: an e-mail address or other words on whom to ask.
        url: the address where the release is published.

    >>> About(conference="Conf", year=2026, authors=["Ada Lovelace"]).venue
    'Conf 2026'
    >>> About(url="conf.org")
    Traceback (most recent call last):
    peerveil.errors.InputError: url must be an address that begins with https:// or http://, got 'conf.org'
    """

    title: str | None = None
    conference: str | None = None
    year: int | None = None
    authors: Sequence[str] = ()
    contact: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        for name, example in _TEXTS.items():
            _check_text(name, getattr(self, name), example)
        if isinstance(self.authors, str):
            raise InputError(Argument("authors"), " must be a list of names, such as ['Ada Lovelace']")
        object.__setattr__(self, "authors", tuple(self.authors))
        for author in self.authors:
            _check_text("authors", author, "Ada Lovelace")
        year = self.year
        if year is not None and (isinstance(year, bool) or not isinstance(year, int) or not 1900 <= year <= 2999):
            raise InputError(Argument("year"), f" must be a year such as 2026, got {year!r}")
        if self.url is not None and not (_ADDRESS.fullmatch(self.url) and len(self.url) <= 500):
            raise InputError(
                Argument("url"), f" must be an address that begins with https:// or http://, got {self.url!r}"
            )

    @property
    def venue(self) -> str:
        """Conference and year; empty if neither is stated."""
        return " ".join(str(part) for part in (self.conference, self.year) if part is not None)

    def venue_of(self, track: str | None) -> str:
        """The venue, and the name of the track or other group of papers that a release is of.

        >>> About(conference="Conf", year=2026).venue_of("Theory")
        'Conf 2026 · Theory'
        """
        return " \N{MIDDLE DOT} ".join(part for part in (self.venue, track) if part)

    @property
    def contact_address(self) -> str | None:
        """The address of a link to the contact, if it is an e-mail address or one on the web."""
        if self.contact is None:
            return None
        if _MAIL.fullmatch(self.contact):
            return f"mailto:{self.contact}"
        return self.contact if _ADDRESS.fullmatch(self.contact) else None

    def to_document(self) -> dict[str, Any]:
        """Return what is stated as JSON."""
        stated = {name: getattr(self, name) for name in ("title", "conference", "year", "authors", "contact", "url")}
        return {name: list(value) if name == "authors" else value for name, value in stated.items() if value}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> About:
        """Return what :meth:`to_document` describes."""
        return cls(**document)


def _check_text(name: str, text: object, example: str, most: int = 300) -> None:
    if text is None:
        return
    if not (isinstance(text, str) and text.strip() and text.isprintable() and len(text) <= most):
        raise InputError(Argument(name), f" must be 1 to {most} printable characters, such as {example!r}")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Licence and citation of a release, and what it is about.

    Attributes:
        licence: the licence, preferably as an SPDX identifier; ``None`` if not stated.
        citation: how to cite the release; ``None`` for the default citation.
        about: title, conference and authors, as far as stated.

    >>> Terms(licence="CC-BY-4.0").licence
    'CC-BY-4.0'
    >>> Terms(licence=" ")
    Traceback (most recent call last):
    peerveil.errors.InputError: licence must be 1 to 2000 printable characters, such as 'CC-BY-4.0'
    """

    licence: str | None = None
    citation: str | None = None
    about: About = field(default=About())

    def __post_init__(self) -> None:
        for name, example in (("licence", "CC-BY-4.0"), ("citation", "The chairs of Conf, 2026")):
            _check_text(name, getattr(self, name), example, 2000)
        if not isinstance(self.about, About):
            raise InputError(f"about must be peerveil.About(...), got {type(self.about).__name__}")

    def cited(self, software: str, *, title: str = "", year: int | None = None) -> str:
        """Return the citation, or the default one.

        Args:
            software: the program that made the release.
            title: the title, if none is stated.
            year: the year, if none is stated.

        >>> Terms().cited("peerveil 0.1.0")
        'Made with peerveil 0.1.0, after Ding, Shah and Wang, On the Privacy-Utility Tradeoff in Peer-Review Data ...'
        >>> about = About(conference="Conf", authors=("Ada Lovelace", "Alan Turing"), url="https://conf.org/reviews")
        >>> Terms(about=about).cited("peerveil 0.3.0", title="How the reviewers rate", year=2026)
        'Ada Lovelace and Alan Turing (2026): How the reviewers rate. Conf. Made with peerveil 0.3.0, after Ding, ...'
        >>> Terms(about=About(conference="Conf", year=2026)).cited("peerveil 0.3.0", title="How the reviewers rate")
        'Conf (2026): How the reviewers rate. Made with peerveil 0.3.0, after Ding, ...'
        """
        made, about = f"Made with {software}, {METHOD}.", self.about
        if self.citation is not None or about == About():
            return self.citation or made
        names = " and ".join(filter(None, (", ".join(about.authors[:-1]), *about.authors[-1:])))
        dated = f"({about.year or year}): {about.title or title}."
        by, of = (names, about.conference and f"{about.conference}.") if names else (about.conference, None)
        parts = (by, dated, of, made, about.url)
        return " ".join(filter(None, parts))
