"""The Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.base import DELTA, EPSILON, RHO, SCALE, UP, Mechanism, as_real, check_positive, given, register
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.gdp import gaussian_mu
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.noise_laws import Law, NormalLaw
from peerveil.privacy.sensitivity import Sensitivity


@register
@dataclass(frozen=True, kw_only=True)
class Gaussian(Mechanism):
    """Independent normal noise on each entry of the sorted vector.

    Give a budget, either ``rho`` (zero-concentrated differential privacy) or ``epsilon`` and ``delta`` (the analytic
    Gaussian mechanism), or the standard deviation ``scale``. With ``rho`` or ``scale``, the claim is also stated as
    epsilon at ``delta``.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> Gaussian(rho=0.5).settle(bound).law
    NormalLaw(sigma=2.0)
    >>> Gaussian(epsilon=1.0, delta=1e-6).guarantee(bound, "reviewer").summary
    'rho = 0.028... per reviewer (Gaussian differential privacy, mu = 0.2368): epsilon = 1 at delta = 1e-06'
    """

    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Gaussian"
    label: ClassVar[str] = "Gaussian, needs delta"
    sentence: ClassVar[str] = "Independent normal noise was added to each entry of the sorted vector of means"
    claims: ClassVar[str] = "gdp"
    law_of: ClassVar[Callable[..., Law]] = staticmethod(lambda scale: NormalLaw(sigma=scale))
    planned: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        self._given()
        if self.epsilon is not None and self.delta is None:
            example = Argument("delta", 1e-6)
            raise InputError("Gaussian noise needs ", DELTA, " along with ", EPSILON, ", e.g. ", example)
        check_positive(self, "rho", "epsilon", "scale")
        as_real(self, "delta")
        if self.delta is not None:
            check_delta(self.delta)

    def _given(self) -> tuple[str, float]:
        needs = ("Gaussian noise needs ", RHO, ", ", EPSILON, " with ", DELTA, ", or ", SCALE, ", one of the three")
        return given(self, ("rho", "epsilon", "scale"), *needs)

    def needed(self, sensitivity: Sensitivity) -> Gaussian:
        """Return the mechanism with the standard deviation that its budget requires."""
        return Gaussian(scale=sensitivity.l2 / math.sqrt(2 * self._rho()), delta=self.delta)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for vectors of this sensitivity."""
        if not sensitivity:
            return Guarantee(kind="gdp", unit=unit, rho=0.0)
        rho = self._rho() if self.scale is None else (sensitivity.l2 / self.scale) ** 2 / 2 * UP
        return Guarantee(kind="gdp", unit=unit, rho=rho, epsilon=self.epsilon, delta=self.delta)

    def _rho(self) -> float:
        """The budget as rho."""
        parameter, value = self._given()
        if parameter == "epsilon" and self.delta is not None:
            return gaussian_mu(value, self.delta) ** 2 / 2
        return value
