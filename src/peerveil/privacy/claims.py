"""The privacy claim in the standard terms of the field: unit, domain, invariants, neighbours, measure, parameters.

The terms are those of Bailie, Gong and Meng ("Refreshment stirred, not shaken") and of NIST SP 800-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.joint_claims import Group
from peerveil.record.loads import Loads
from peerveil.record.parts import Part


class Conference(Protocol):
    """The public facts about one of several conferences that a release covers."""

    @property
    def papers(self) -> int:
        """Number of papers."""

    @property
    def loads(self) -> Loads:
        """Public information about loads."""

    @property
    def part(self) -> Part | None:
        """The whole conference, if the release covers a part of its reviews."""

    @property
    def public(self) -> str:
        """What was declared public, in words."""


_UNITS = {"reviewer": "all reviews of one reviewer", "review": "one review"}

MEASURES = {
    "pure": "pure differential privacy: the probability of any outcome differs between neighbours by at most a factor "
    "e^epsilon",
    "gdp": "Gaussian differential privacy: telling neighbours apart is at least as hard as telling apart normal laws "
    "of variance 1 with means 0 and sqrt(2 rho)",
    "zcdp": "zero-concentrated differential privacy: the Rényi divergence of every order a > 1 between neighbours is "
    "at most a rho",
    "tcdp": "truncated concentrated differential privacy: the Rényi divergence of every order a between 1 and omega "
    "between neighbours is at most a rho",
    "approximate": "approximate differential privacy: the probability of any outcome under a neighbour is at most "
    "e^epsilon times its probability plus delta",
}


def standard_claim(
    guarantee: Guarantee, *, papers: int, loads: Loads, part: Part | None, group: Group | None, public: str
) -> dict[str, Any] | None:
    """Return a claim in standard terms; ``None`` for a stated guarantee.

    ``papers`` and ``loads`` are those of the release, ``part`` is the whole conference if it is of a part of one, and
    ``public`` is what was stated to be public, in words.

    >>> from peerveil.record.loads import declare_loads
    >>> claim = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> loads = declare_loads(6, load=2)
    >>> stated = standard_claim(claim, papers=3, loads=loads, part=None, group=None, public="all scores")
    >>> stated["unit"], stated["parameters"]
    ('all reviews of one reviewer', {'epsilon': 1.0, 'delta': 0.0})
    """
    if guarantee.kind == "stated" or guarantee.unit is None:
        return None
    whole = loads if part is None else part.whole
    hidden = ", with the scores that are not public anywhere on their scale" if guarantee.neighbours.hidden else ""
    parameters = {name: getattr(guarantee, name) for name in ("epsilon", "delta", "rho", "omega")}
    return {
        "unit": _UNITS[guarantee.unit],
        "domain": (
            f"assignments of {whole.reviews} reviews to {whole.reviewers} reviewers in which nobody reviews a paper "
            f"twice{hidden}"
        ),
        "invariants": _invariants(papers, loads, part, group, public),
        "neighbours": f"{guarantee.neighbours.words(guarantee.unit)}; both have all the invariants",
        "measure": MEASURES[guarantee.kind],
        "parameters": {name: value for name, value in parameters.items() if value is not None},
    }


def linked_claim(guarantee: Guarantee, conferences: Mapping[str, Conference]) -> dict[str, Any]:
    """Return the claim of a release of two conferences, by their names, in standard terms."""
    unit = {"reviewer": "all reviews of one person in both conferences"}.get(str(guarantee.unit), "one review")
    facts = [
        f"{name}: {fact}"
        for name, one in conferences.items()
        for fact in _invariants(one.papers, one.loads, one.part, None, one.public)
    ]
    wholes = [one.loads if one.part is None else one.part.whole for one in conferences.values()]
    hidden = ", with the scores that are not public anywhere on their scale" if guarantee.neighbours.hidden else ""
    return {
        "unit": unit,
        "domain": (
            "pairs of assignments of "
            + " and of ".join(f"{whole.reviews} reviews to {whole.reviewers} reviewers" for whole in wholes)
            + f" in which nobody reviews a paper twice{hidden}; and which reviewers of both are the same people"
        ),
        "invariants": facts,
        "neighbours": f"{guarantee.neighbours.words(str(guarantee.unit))}; both have all the invariants",
        "measure": MEASURES[guarantee.kind],
        "parameters": {"epsilon": guarantee.epsilon, "delta": guarantee.delta},
    }


def _invariants(papers: int, loads: Loads, part: Part | None, group: Group | None, public: str) -> list[str]:
    """Return the public facts that neighbouring assignments share."""
    fixed = ["which papers there are, and how many reviews each has", f"what is stated to be public: {public}"]
    if part is None:
        fixed.append(f"the loads of all {loads.reviewers} reviewers, as far as they are public: {loads.describe()}")
        if group is not None and not group.shared:
            fixed.append(f"no reviewer has reviews in two of the {group.groups} groups of papers")
        return fixed
    whole = part.whole
    fixed.append(f"the loads of all {whole.reviewers} reviewers of the conference: {whole.describe()}")
    fixed += [f"{left_out.words}; which ones these are" for left_out in part.left_out]
    if part.number == "declared":
        fixed.append(
            f"the number of reviewers with a review among the {papers} papers of this release, and their loads there: "
            f"{loads.reviewers}, {loads.describe()}"
        )
    return fixed
