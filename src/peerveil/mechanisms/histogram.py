"""The histogram mechanism: integer noise on counts of means in bins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from peerveil.errors import InputError
from peerveil.mechanisms.base import EPSILON, SCALE, Mechanism, check_positive, given, pure_claim, register
from peerveil.mechanisms.bin_choice import bins_of, default_number
from peerveil.privacy.bins import Bins, check_number
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, Law
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights


@register
@dataclass(frozen=True, kw_only=True)
class Histogram(Mechanism):
    """Two-sided geometric noise on the number of means in each bin.

    One reviewer changes few counts, so large conferences need far less noise than on the vector. Give either a budget
    (``epsilon``) or the noise (``scale``). Bins follow from public data alone and are finer where many means are
    expected. ``bins`` is their greatest number, by default twice the cube root of reviewers over scale.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5, counts=10)
    >>> Histogram(epsilon=0.5).settle(bound)
    Settled(mechanism=Histogram(epsilon=None, scale=20.0, bins=None), law=DiscreteLaplaceLaw(scale=20.0))
    >>> round(Histogram(scale=20.0).guarantee(bound, "reviewer").epsilon, 12)
    0.5
    """

    name: ClassVar[str] = "histogram"
    title: ClassVar[str] = "histogram"
    label: ClassVar[str] = "histogram: on counts, less for many reviewers"
    sentence: ClassVar[str] = "Discrete noise was added to the number of reviewers in each bin of means"
    law_of: ClassVar[Callable[..., Law]] = DiscreteLaplaceLaw
    planned: ClassVar[tuple[str, ...]] = ("epsilon",)
    on_counts: ClassVar[bool] = True
    epsilon: float | None = None
    scale: float | None = None
    bins: int | None = None

    def __post_init__(self) -> None:
        self._given()
        check_positive(self, "epsilon", "scale")
        if self.bins is not None:
            object.__setattr__(self, "bins", check_number(self.bins))

    def _given(self) -> tuple[str, float]:
        return given(self, ("epsilon", "scale"), "histogram noise needs ", EPSILON, " or ", SCALE, ", one of the two")

    def needed(self, sensitivity: Sensitivity) -> Histogram:
        """Return the mechanism with the scale that its budget requires."""
        return Histogram(scale=_counts(sensitivity) / self._given()[1], bins=self.bins)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for counts of this sensitivity."""
        return pure_claim(*self._given(), _counts(sensitivity), unit)

    def binned(self, weights: PublicWeights, sensitivity: Sensitivity) -> Bins:
        """Return the bins, which follow from public data, mechanism and sensitivity.

        >>> weights = PublicWeights.from_rows([[1, 3], [2, 2], [1, 3]], load=2)
        >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5, counts=6)
        >>> Histogram(epsilon=1.0, bins=5).binned(weights, bound).number
        5
        >>> Histogram(epsilon=1.0).binned(weights, bound).number
        2
        """
        number = self.bins
        if number is None:
            parameter, value = self._given()
            scale = value if parameter == "scale" else _counts(sensitivity) / value
            number = default_number(weights.reviewers, scale if sensitivity else 1.0)
        return bins_of(weights, number)

    @classmethod
    def candidates(
        cls, weights: PublicWeights, sensitivity: Sensitivity, budget: Mapping[str, float]
    ) -> Iterable[Histogram]:
        """Return histograms with the default number of bins, and with more.

        Fewer bins seem as good where the truth is like the prior's draws, on which a plan rehearses, but are not
        otherwise: within a bin an estimate follows these draws.
        """
        default = cls(**budget)  # type: ignore[arg-type]
        number = default.binned(weights, sensitivity).number
        others = {bins_of(weights, several).number for several in (2 * number, 4 * number)}
        return (default, *(cls(**budget, bins=other) for other in sorted(others - {number})))


def _counts(sensitivity: Sensitivity) -> int:
    if sensitivity.counts is None:
        raise InputError("a histogram needs the sensitivity of counts, which is not stated")
    return sensitivity.counts
