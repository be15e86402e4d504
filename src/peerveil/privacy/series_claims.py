"""The privacy claim of a series of conferences: what all their releases together reveal about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peerveil.errors import InputError
from peerveil.privacy.budget import TOLERANCE, Budget, Spend
from peerveil.privacy.claims import MEASURES
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.neighbours import Neighbours

_NUMBERS = ("kind", "epsilon", "delta", "rho", "omega", "float_safe")
_LONGEST = 200

#: The beginning of the note on a series, in releases about groups of reviewers.
NOTED = "It is counted in the series "


@dataclass(frozen=True, kw_only=True)
class SeriesClaim:
    """What all releases of a series promise together, whatever else is released within its budget.

    Attributes:
        name: the name of the series.
        guarantee: the claim for a person: the limit of the series.

    >>> claim = Guarantee(kind="pure", unit="person", epsilon=3.0)
    >>> SeriesClaim(name="Conf", guarantee=claim).summary
    'series Conf: epsilon = 3 per person (pure differential privacy)'
    """

    name: str
    guarantee: Guarantee

    def __post_init__(self) -> None:
        if self.guarantee.unit != "person" or self.guarantee.kind in ("stated", "gdp"):
            raise InputError("the claim of a series must be for the unit person")
        if not (self.name.strip() and self.name.isprintable() and len(self.name) <= _LONGEST):
            raise InputError("a series must have a printable name")

    @property
    def summary(self) -> str:
        """The claim in one line."""
        return f"series {self.name}: {self.guarantee.summary}"

    @property
    def note(self) -> str:
        """The claim in words, for the notes of a release."""
        return f"{NOTED}{self.name}: {self.guarantee.summary}. {self.guarantee.promise}"

    def admits(self, claim: Guarantee) -> bool:
        """Return whether a release with this claim per reviewer fits the limit, if it is the only one.

        >>> series = SeriesClaim(name="Conf", guarantee=Guarantee(kind="pure", unit="person", epsilon=3.0))
        >>> [series.admits(Guarantee(kind="pure", unit="reviewer", epsilon=epsilon)) for epsilon in (3.0, 3.5)]
        [True, False]
        """
        limit = self.guarantee
        if limit.rho is None:
            budget = Budget.of(epsilon=limit.epsilon, delta=limit.delta or None)
        else:
            budget = Budget.of(rho=limit.rho, delta=limit.delta, omega=limit.omega)
        return budget.total([Spend.of(claim).in_any_order]) <= budget.limit * (1 + TOLERANCE)

    @property
    def standard(self) -> dict[str, Any]:
        """The claim in standard terms, as :func:`peerveil.privacy.claims.standard_claim` states that of a release."""
        claim = self.guarantee
        fixed = [
            "which conferences belong to the series, and who reviews for which of them, with which load",
            "everything that is stated to be public for a release of these conferences",
        ]
        if claim.neighbours.lists:
            fixed.append("the public lists: nobody reviews for a conference on whose list they are not")
        parameters = {name: getattr(claim, name) for name in ("epsilon", "delta", "rho", "omega")}
        return {
            "unit": "all reviews of one person, in all conferences of the series",
            "domain": (
                "assignments of the reviews of each conference to its reviewers in which nobody reviews a paper twice"
            ),
            "invariants": fixed,
            "neighbours": f"{claim.neighbours.words('person')}; both have all the invariants",
            "measure": MEASURES[claim.kind],
            "parameters": {name: value for name, value in parameters.items() if value is not None},
        }

    def to_document(self) -> dict[str, Any]:
        """Return the claim as release.json states it: numbers first, then the words that follow from them."""
        claim = self.guarantee
        return {
            "name": self.name,
            **{name: getattr(claim, name) for name in _NUMBERS},
            "lists": claim.neighbours.lists,
            **self._words(),
        }

    def _words(self) -> dict[str, Any]:
        claim = self.guarantee
        return {"human": claim.human, "promise": claim.promise, "claim": self.standard}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SeriesClaim:
        """Return the claim that :meth:`to_document` describes, if its words follow from its numbers."""
        numbers = {name: document[name] for name in _NUMBERS}
        guarantee = Guarantee(unit="person", neighbours=Neighbours(lists=document["lists"]), **numbers)
        made = cls(guarantee=guarantee, name=document["name"])
        for name, words in made._words().items():
            if document[name] != words:
                raise InputError(f"extension/series: {name} is not what its numbers imply; the file was changed")
        return made
