"""The Laplace mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from peerveil.mechanisms.base import EPSILON, SCALE, Mechanism, check_positive, given, pure_claim, register
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.noise_laws import LaplaceLaw, Law
from peerveil.privacy.sensitivity import Sensitivity


@register
@dataclass(frozen=True, kw_only=True)
class Laplace(Mechanism):
    """Independent Laplace noise on each entry of the sorted vector.

    Give either a budget (``epsilon``) or the noise (``scale``).

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> Laplace(epsilon=0.5).settle(bound)
    Settled(mechanism=Laplace(epsilon=None, scale=6.0), law=LaplaceLaw(scale=6.0))
    >>> round(Laplace(scale=6.0).guarantee(bound, "reviewer").epsilon, 12)
    0.5
    """

    name: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace"
    label: ClassVar[str] = "Laplace, on each number"
    sentence: ClassVar[str] = "Independent Laplace noise was added to each entry of the sorted vector of means"
    law_of: ClassVar[Callable[..., Law]] = LaplaceLaw
    planned: ClassVar[tuple[str, ...]] = ("epsilon",)
    epsilon: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        self._given()
        check_positive(self, "epsilon", "scale")

    def _given(self) -> tuple[str, float]:
        return given(self, ("epsilon", "scale"), "Laplace noise needs ", EPSILON, " or ", SCALE, ", one of the two")

    def needed(self, sensitivity: Sensitivity) -> Laplace:
        """Return the mechanism with the scale that its budget requires."""
        return Laplace(scale=sensitivity.l1 / self._given()[1])

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for vectors of this sensitivity."""
        return pure_claim(*self._given(), sensitivity.l1, unit)
