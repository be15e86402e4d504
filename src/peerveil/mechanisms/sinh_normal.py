"""The sinh-normal mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.base import BOUND, OMEGA, RHO, SCALE, UP, Mechanism, as_real, check_positive, register
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.noise_laws import Law, SinhNormalLaw
from peerveil.privacy.sensitivity import Sensitivity


@register
@dataclass(frozen=True, kw_only=True)
class SinhNormal(Mechanism):
    """Independent noise ``bound * arsinh(Z / bound)`` with normal ``Z``, whose tails are far lighter than normal.

    Give either a budget (``rho`` and ``omega``, of truncated concentrated differential privacy) or the noise
    (``scale``, the standard deviation of ``Z``, and ``bound``). The noise is drawn in floating point, so the claim does
    not cover the last digits, and a release must accept that explicitly.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> SinhNormal(rho=0.5, omega=3.0).settle(bound).law
    SinhNormalLaw(sigma=8.0, bound=36.0)
    """

    name: ClassVar[str] = "sinh-normal"
    title: ClassVar[str] = "sinh-normal"
    label: ClassVar[str] = "sinh-normal, on each number; its last digits are not protected"
    sentence: ClassVar[str] = "Independent sinh-normal noise was added to each entry of the sorted vector of means"
    claims: ClassVar[str] = "tcdp"
    float_safe: ClassVar[bool] = False
    law_of: ClassVar[Callable[..., Law]] = staticmethod(lambda scale, bound: SinhNormalLaw(sigma=scale, bound=bound))
    noise: ClassVar[tuple[str, ...]] = ("scale", "bound")
    rho: float | None = None
    omega: float | None = None
    delta: float | None = None
    scale: float | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        self._given()
        check_positive(self, "rho", "scale", "bound")
        as_real(self, "omega", "delta")
        if self.omega is not None and not (math.isfinite(self.omega) and self.omega > 1):
            raise InputError(Argument("omega"), f" must be a finite number > 1, got {self.omega}")
        if self.delta is not None:
            check_delta(self.delta)

    def _given(self) -> tuple[float, float]:
        """The budget, or scale and bound of the noise."""
        budget, noise = (self.rho, self.omega), (self.scale, self.bound)
        for (first, second), other in ((budget, noise), (noise, budget)):
            if first is not None and second is not None and other == (None, None):
                return first, second
        needs = (RHO, " with ", OMEGA, ", or ", SCALE, " with ", BOUND, ", one of the two")
        raise InputError("sinh-normal noise needs ", *needs)

    def needed(self, sensitivity: Sensitivity) -> SinhNormal:
        """Return the mechanism with the noise that its budget requires."""
        rho, omega = self._given()
        scale, bound = sensitivity.l2 * math.sqrt(8 / rho), 8 * sensitivity.linf * omega
        _check_theorem(scale, bound, sensitivity)
        return SinhNormal(scale=scale, bound=bound, delta=self.delta)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for vectors of this sensitivity."""
        if not sensitivity:
            return Guarantee(kind="zcdp", unit=unit, rho=0.0)
        rho, omega = first, second = self._given()
        if self.rho is None:
            _check_theorem(first, second, sensitivity)
            rho, omega = 8 * (sensitivity.l2 / first) ** 2 * UP, second / (8 * sensitivity.linf) / UP
        else:
            self.needed(sensitivity)  # checks the theorem
        return Guarantee(kind="tcdp", unit=unit, rho=rho, omega=omega, delta=self.delta, float_safe=False)


def _check_theorem(scale: float, bound: float, sensitivity: Sensitivity) -> None:
    """Refuse noise to which the theorem does not apply."""
    if not sensitivity.linf < math.sqrt(2) * scale <= bound:
        raise InputError(
            f"sinh-normal noise of scale {scale:g} and bound {bound:g} is outside its theorem, which needs "
            f"{sensitivity.linf:g} < sqrt(2) * scale <= bound; ask for a larger ",
            *(
                ("scale, that is a smaller ", Argument("rho"))
                if sensitivity.linf >= math.sqrt(2) * scale
                else ("bound, that is a larger ", Argument("omega"), ", or for a larger ", Argument("rho"))
            ),
        )
    if not bound > 8 * sensitivity.linf:
        raise InputError(
            f"sinh-normal noise of bound {bound:g} is outside its theorem, which needs a bound above 8 times the "
            f"largest move of an entry, {8 * sensitivity.linf:g}"
        )
