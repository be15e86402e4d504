"""The neighbour relation of a claim, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from peerveil.record.parts import Part

_EXCHANGES = {
    "reviewer": "one reviewer's reviews were exchanged, one for one, with other reviewers'",
    "review": "two reviewers exchanged one review each",
}

_PERSON = (
    "differ only in that one person's reviews, in some or all of the conferences, were exchanged, one for one, with "
    "other reviewers' of the same conference"
)

_EXCHANGES_LINKED = {
    "reviewer": "one person's reviews in both conferences were exchanged, one for one, with those of other reviewers "
    "of the same conference, and in whether that person is known to have reviewed for both",
    "review": "two reviewers of one of the conferences exchanged one review each",
}


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The relation between neighbouring assignments, apart from the protected unit.

    Attributes:
        hidden: whether hidden scores may differ as well: those of the reviews exchanged, or a single one.
        part: whether the release is of a part of a conference; neighbours are assignments of the whole conference.
        declared: whether neighbours share the number of reviewers with a kept review and their loads among the kept
            reviews, because these are declared public.
        apart: whether no reviewer has reviews in two groups of papers, because that is declared public.
        attributes: whether the attributes of the reviewer whose reviews were exchanged may differ as well.
        sizes: whether neighbours share how many reviewers are in each group, because that is declared public, so that
            attributes differ only by an exchange with another reviewer.
        lists: of a series of conferences, whether neighbours share the public lists of who reviews for which
            conference, so that a person's reviews differ only in conferences on whose list they are.
        linked: whether the release is of two conferences: a person's reviews in both were exchanged, and who reviewed
            for both may differ in that person.

    >>> Neighbours(hidden=True).words("review")
    'two assignments that fit the public record and differ only in that two reviewers exchanged one review each, and in
    scores that are not public: those of the reviews exchanged, or of one review alone'
    """

    hidden: bool = False
    part: bool = False
    declared: bool = False
    apart: bool = False
    attributes: bool = False
    sizes: bool = False
    lists: bool = False
    linked: bool = False

    @classmethod
    def of(
        cls, part: Part | None, *, hidden: bool, apart: bool = False, attributes: bool = False, sizes: bool = False
    ) -> Neighbours:
        """Return the relation of a record of a whole conference or a part of it, with hidden scores or without."""
        declared = part is not None and part.number == "declared"
        more = {"apart": apart, "attributes": attributes, "sizes": sizes and attributes}
        return cls(hidden=hidden, part=part is not None, declared=declared, **more)

    @classmethod
    def common(cls, several: Iterable[Neighbours]) -> Neighbours:
        """Return the pairs that are neighbours in all of several relations, for which all their claims hold.

        A release that does not read attributes is the same whatever they are, so its claim holds if they differ, too.

        >>> Neighbours.common([Neighbours(hidden=True), Neighbours(declared=True, part=True)])
        Neighbours(hidden=False, part=True, declared=True, apart=False, attributes=False, sizes=False, lists=False,
        linked=False)
        """
        relations = list(several)
        either = ("part", "declared", "apart", "attributes", "sizes", "lists", "linked")
        some = {name: any(getattr(each, name) for each in relations) for name in either}
        return cls(hidden=all(relation.hidden for relation in relations), **some)

    def to_document(self) -> dict[str, bool]:
        """Return the relation as stated in release.json; what version 0.2.0 did not have only if true.

        >>> Neighbours(part=True).to_document()
        {'hidden': False, 'part': True, 'declared': False}
        """
        newer = ("apart", "attributes", "sizes", "lists", "linked")
        return {key: value for key, value in asdict(self).items() if value or key not in newer}

    def words(self, unit: str) -> str:
        """Return the relation in words, for the promise."""
        if unit == "person":
            listed = ", have nobody review for a conference on whose list they are not," if self.lists else ""
            return f"two assignments of all conferences of the series that fit what is public{listed} and {_PERSON}"
        whose = " of the whole conference" if self.part else ""
        kept = ", give the same number of reviewers each load among the kept reviews" if self.declared else ""
        kept += ", have no reviewer with reviews in two groups of papers" if self.apart else ""
        scores = ", and in scores that are not public: those of the reviews exchanged, or of one review alone"
        described = f"{',' if self.hidden else ', and'} in that reviewer's attributes" if self.attributes else ""
        described += ", which were exchanged with another reviewer's" if self.sizes else ""
        both, exchanged = f"two assignments{whose} that fit the public record", _EXCHANGES[unit]
        if self.linked:
            whose = whose.replace("conference", "conferences")
            both = f"two pairs of assignments{whose}, one for each conference, that fit the public records"
            exchanged = _EXCHANGES_LINKED[unit]
        return (
            f"{both}{kept}{',' if kept else ''} and differ only in that "
            f"{exchanged}{described}{scores if self.hidden else ''}"
        )
