"""The parts of a release that charts and reports can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.findings import Finding
from peerveil.inference.verdict import Grounds, Verdict
from peerveil.mechanisms import mechanism_from
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.guarantee import Guarantee, caution
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.record.loads import Loads
from peerveil.record.parts import Part, is_open
from peerveil.record.public_record import Floats, Ints
from peerveil.reporting.terms import Terms
from peerveil.reporting.words import quantity_words, say_of

#: The files of the charts.
FIGURES = ("figures/means.svg", "figures/shares.svg", "figures/refinement.svg", "figures/bounds.svg")

#: The file that describes a release to dataset search engines and machine learning tools.
CROISSANT = "croissant.json"

#: The columns of release.csv in order, and their meaning.
_COLUMNS = ("rank", "value", "noisy", "lower", "upper", "band_lower", "band_upper")
COLUMNS = {name: say_of("ratings")(f"column.{name}") for name in _COLUMNS}

#: The most points of a curve, and of the means that random dealing would give.
POINTS, CHANCE_RANKS = 120, 101


def thinned(length: int, most: int = POINTS) -> Ints:
    """Return the indices to draw a curve through: all, or evenly spread ones with both ends.

    >>> thinned(5).tolist(), thinned(1000, 5).tolist()
    ([0, 1, 2, 3, 4], [0, 250, 500, 749, 999])
    """
    if length <= most:
        return np.arange(length)
    return np.unique(np.rint(np.linspace(0, length - 1, most)).astype(np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Published:
    """Everything that charts and reports can show; :class:`peerveil.Release` documents each field.

    The report also shows the claim in words (``human``, ``promise``, ``not_protected``, ``claim``), from the release.
    """

    quantity: str
    values: Floats
    noisy: Floats
    lower: Floats
    upper: Floats
    guarantee: Guarantee
    mechanism: dict[str, Any]
    region: str
    estimator: str
    outlook: ExpectedError | None
    papers: int
    loads: Loads
    public: str
    record_digest: str
    notes: tuple[str, ...]
    created: datetime
    software: str
    part: Part | None = None
    findings: tuple[Finding, ...] = ()
    histogram: NoisyCounts | None = None
    chance: Floats | None = None
    terms: Terms = field(default=Terms())
    series: tuple[SeriesClaim, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict against no release; ``None`` if its errors are not stated."""
        if self.outlook is None or self.outlook.public_rmse is None:
            return None
        guess, unit = self.outlook.public_rmse, quantity_words(self.quantity).unit
        people = f"{'about ' * is_open(self.part)}{self.loads.reviewers:,} reviewers"
        span = float(self.upper.max() - self.lower.min())
        grounds = Grounds(people=people, public=guess, span=span, unit=unit)
        return Verdict.of(self.outlook.expected_rmse, guess, released=True, grounds=grounds)

    @property
    def error_summary(self) -> str:
        """The expected error in one line; ``"not known"`` without one."""
        if self.outlook is None:
            return "none, as public data determine these numbers" if self.determined else "not known"
        return self.outlook.summary_of(quantity_words(self.quantity).number)

    @property
    def determined(self) -> bool:
        """Whether public data determine what is released, so that there is no noise."""
        known = mechanism_from(self.mechanism)
        unstated = known is not None and known.stated is None  # a budget that needed no noise
        return self.outlook is None and self.guarantee.kind != "stated" and unstated

    @property
    def human(self) -> str:
        """The privacy claim in one sentence for a reviewer; empty if the release does not state it."""
        return self.guarantee.human

    @property
    def venue(self) -> str:
        """Conference, year and group of papers, as far as stated."""
        return self.terms.about.venue

    @property
    def title(self) -> str:
        """The title of the report: the stated one, or that of the quantity."""
        return self.terms.about.title or quantity_words(self.quantity).title

    @property
    def citation(self) -> str:
        """How to cite the release."""
        return self.terms.cited(self.software, title=self.title, year=self.created.year)

    @property
    def caution(self) -> str:
        """A caution where the budget promises little; empty otherwise."""
        return caution(self.guarantee.epsilon)
