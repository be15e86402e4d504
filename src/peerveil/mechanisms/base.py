"""Descriptions of how a vector is made private. What draws the noise is elsewhere, on the private side.

A description states a budget or the noise itself. :meth:`settle` turns the first into the second, given how far
neighbours can be apart; a settled description gives its law, and the claim for either unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from peerveil.errors import Argument, InputError
from peerveil.inference.prior import Ensemble
from peerveil.mechanisms.bin_choice import bins_of, default_number
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.bins import Bins, check_number
from peerveil.privacy.gdp import gaussian_mu
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.support.arguments import real

#: A claim computed from noise is rounded up by this.
_UP = 1 + 2.0**-50

# Parameters that messages ask for; the scale of noise is told apart from that of scores.
_EPSILON, _DELTA, _RHO, _OMEGA = (Argument(name, ...) for name in ("epsilon", "delta", "rho", "omega"))
_SCALE, _BOUND = (Argument(name, ..., of="noise") for name in ("scale", "bound"))


class Mechanism(Protocol):
    """What every description of a mechanism offers."""

    @property
    def name(self) -> str:
        """The name users write and releases carry."""

    def noise_law(self) -> Law | None:
        """The law of the noise on each entry (of a histogram: on each count), where the description states it."""

    def describe(self) -> dict[str, Any]:
        """Everything about the mechanism that a release publishes."""


class OwnMechanism(Mechanism, Protocol):
    """A mechanism whose noise Peerveil can draw, so that the claim is its own."""

    def settle(self, sensitivity: Sensitivity) -> Self:
        """The same mechanism with its noise stated instead of its budget."""

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors of this sensitivity."""

    def widened(self, factor: float) -> Self:
        """The same settled mechanism with noise larger by a factor."""


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Independent Laplace noise on each entry of the sorted vector.

    Give a budget (``epsilon``) or the noise itself (``scale``), not both. The scale repeats published settings; the
    guarantee then follows from it.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> Laplace(epsilon=0.5).settle(bound)
    Laplace(epsilon=None, scale=6.0)
    >>> round(Laplace(scale=6.0).guarantee(bound, "reviewer").epsilon, 12)
    0.5
    """

    name: ClassVar[str] = "laplace"
    epsilon: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.scale is None):
            raise InputError("Laplace noise needs ", _EPSILON, " or ", _SCALE, ", one of the two")
        _check_positive(self, "epsilon", "scale")

    def noise_law(self) -> Law | None:
        """The law of the noise, where the scale is stated."""
        return None if self.scale is None else LaplaceLaw(scale=self.scale)

    def settle(self, sensitivity: Sensitivity) -> Laplace:
        """The scale that the budget asks for."""
        return self if self.epsilon is None else Laplace(scale=sensitivity.l1 / self.epsilon)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors of this sensitivity."""
        if self.epsilon is not None:
            epsilon = self.epsilon if sensitivity else 0.0
        else:
            epsilon = sensitivity.l1 / _stated(self.scale) * _UP
        return Guarantee(kind="pure", unit=unit, epsilon=epsilon)

    def widened(self, factor: float) -> Laplace:
        """With noise larger by a factor."""
        return Laplace(scale=_stated(self.scale) * factor)

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.name, "epsilon": self.epsilon, "scale": self.scale}


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Independent normal noise on each entry of the sorted vector.

    Give a budget, as ``rho`` (zero-concentrated differential privacy) or as ``epsilon`` and ``delta``, or the noise
    itself as ``scale``, its standard deviation. With ``rho`` or ``scale``, ``delta`` says at which delta the claim is
    put in words. What ``epsilon`` and ``delta`` ask for is computed exactly (the analytic Gaussian mechanism).

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> Gaussian(rho=0.5).settle(bound).scale
    2.0
    >>> Gaussian(epsilon=1.0, delta=1e-6).guarantee(bound, "reviewer").summary
    'rho = 0.028... per reviewer (Gaussian differential privacy, mu = 0.2368): epsilon = 1 at delta = 1e-06'
    """

    name: ClassVar[str] = "gaussian"
    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if sum(x is not None for x in (self.rho, self.epsilon, self.scale)) != 1:
            raise InputError(
                "Gaussian noise needs ", _RHO, ", ", _EPSILON, " with ", _DELTA, ", or ", _SCALE, ", one of the three"
            )
        if self.epsilon is not None and self.delta is None:
            raise InputError(
                "Gaussian noise needs ", _DELTA, " along with ", _EPSILON, ", e.g. ", Argument("delta", 1e-6)
            )
        _check_positive(self, "rho", "epsilon", "scale")
        _as_real(self, "delta")
        if self.delta is not None:
            check_delta(self.delta)

    def noise_law(self) -> Law | None:
        """The law of the noise, where its deviation is stated."""
        return None if self.scale is None else NormalLaw(sigma=self.scale)

    def settle(self, sensitivity: Sensitivity) -> Gaussian:
        """The deviation that the budget asks for."""
        if self.scale is not None:
            return self
        return Gaussian(scale=sensitivity.l2 / math.sqrt(2 * self._budget()), delta=self.delta)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors of this sensitivity."""
        if not sensitivity:
            return Guarantee(kind="gdp", unit=unit, rho=0.0)
        if self.scale is None:
            return Guarantee(kind="gdp", unit=unit, rho=self._budget(), epsilon=self.epsilon, delta=self.delta)
        rho = (sensitivity.l2 / self.scale) ** 2 / 2 * _UP
        return Guarantee(kind="gdp", unit=unit, rho=rho, delta=self.delta)

    def _budget(self) -> float:
        if self.rho is not None:
            return self.rho
        return gaussian_mu(_stated(self.epsilon), _stated(self.delta)) ** 2 / 2

    def widened(self, factor: float) -> Gaussian:
        """With noise larger by a factor."""
        return Gaussian(scale=_stated(self.scale) * factor, delta=self.delta)

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        return {
            "name": self.name,
            "rho": self.rho,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "scale": self.scale,
        }


@dataclass(frozen=True, kw_only=True)
class SinhNormal:
    """Independent noise ``bound * arsinh(Z / bound)`` with normal ``Z``: as normal, with far lighter tails.

    Give a budget (``rho`` and ``omega``, of truncated concentrated differential privacy) or the noise itself
    (``scale``, the standard deviation of ``Z``, and ``bound``). The noise is drawn in floating point, so the claim does
    not cover the last digits; a release takes it only if asked to.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
    >>> settled = SinhNormal(rho=0.5, omega=3.0).settle(bound)
    >>> settled.scale, settled.bound
    (8.0, 36.0)
    """

    name: ClassVar[str] = "sinh-normal"
    rho: float | None = None
    omega: float | None = None
    scale: float | None = None
    bound: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        budget, noise = (self.rho, self.omega), (self.scale, self.bound)
        if not (None not in budget and noise == (None, None)) and not (None not in noise and budget == (None, None)):
            raise InputError(
                "sinh-normal noise needs ",
                _RHO,
                " with ",
                _OMEGA,
                ", or ",
                _SCALE,
                " with ",
                _BOUND,
                ", one of the two",
            )
        _check_positive(self, "rho", "scale", "bound")
        _as_real(self, "omega", "delta")
        if self.omega is not None and not (math.isfinite(self.omega) and self.omega > 1):
            raise InputError(Argument("omega"), f" must be a finite number > 1, got {self.omega}")
        if self.delta is not None:
            check_delta(self.delta)

    def noise_law(self) -> Law | None:
        """The law of the noise, where it is stated."""
        return None if self.scale is None else SinhNormalLaw(sigma=self.scale, bound=_stated(self.bound))

    def settle(self, sensitivity: Sensitivity) -> SinhNormal:
        """The noise that the budget asks for."""
        if self.scale is not None or not sensitivity:
            return self
        scale = sensitivity.l2 * math.sqrt(8 / _stated(self.rho))
        settled = SinhNormal(scale=scale, bound=8 * sensitivity.linf * _stated(self.omega), delta=self.delta)
        settled.check(sensitivity)
        return settled

    def check(self, sensitivity: Sensitivity) -> None:
        """Refuse noise for which the theorem says nothing."""
        scale, bound = _stated(self.scale), _stated(self.bound)
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

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors of this sensitivity."""
        if not sensitivity:
            return Guarantee(kind="zcdp", unit=unit, rho=0.0)
        if self.scale is None:
            self.settle(sensitivity)  # refuses what is outside the theorem
            rho, omega = _stated(self.rho), _stated(self.omega)
        else:
            self.check(sensitivity)
            rho = 8 * (sensitivity.l2 / self.scale) ** 2 * _UP
            omega = _stated(self.bound) / (8 * sensitivity.linf) / _UP
        return Guarantee(kind="tcdp", unit=unit, rho=rho, omega=omega, delta=self.delta, float_safe=False)

    def widened(self, factor: float) -> SinhNormal:
        """With noise larger by a factor."""
        return SinhNormal(scale=_stated(self.scale) * factor, bound=_stated(self.bound) * factor, delta=self.delta)

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        return {
            "name": self.name,
            "rho": self.rho,
            "omega": self.omega,
            "delta": self.delta,
            "scale": self.scale,
            "bound": self.bound,
        }


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Whole-numbered noise (the two-sided geometric law) on counts: how many means are in each of some bins.

    One reviewer moves few counts, so for large conferences this needs far less noise than the vector itself. Give a
    budget (``epsilon``) or the noise itself (``scale``), not both. Bins come from public data alone: they are finer
    where many means are likely, and no finer than attainable means. ``bins`` says how many there are at most, by
    default twice the cube root of reviewers over scale.

    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5, counts=10)
    >>> Histogram(epsilon=0.5).settle(bound)
    Histogram(epsilon=None, scale=20.0, bins=None)
    >>> round(Histogram(scale=20.0).guarantee(bound, "reviewer").epsilon, 12)
    0.5
    """

    name: ClassVar[str] = "histogram"
    epsilon: float | None = None
    scale: float | None = None
    bins: int | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.scale is None):
            raise InputError("histogram noise needs ", _EPSILON, " or ", _SCALE, ", one of the two")
        _check_positive(self, "epsilon", "scale")
        if self.bins is not None:
            object.__setattr__(self, "bins", check_number(self.bins))

    def noise_law(self) -> Law | None:
        """The law of the noise on each count, where the scale is stated."""
        return None if self.scale is None else DiscreteLaplaceLaw(scale=self.scale)

    def settle(self, sensitivity: Sensitivity) -> Histogram:
        """The scale that the budget asks for."""
        if self.epsilon is None:
            return self
        return Histogram(scale=_counts(sensitivity) / self.epsilon, bins=self.bins)

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for counts of this sensitivity."""
        if self.epsilon is not None:
            epsilon = self.epsilon if sensitivity else 0.0
        else:
            epsilon = _counts(sensitivity) / _stated(self.scale) * _UP
        return Guarantee(kind="pure", unit=unit, epsilon=epsilon)

    def widened(self, factor: float) -> Histogram:
        """With noise larger by a factor."""
        return Histogram(scale=_stated(self.scale) * factor, bins=self.bins)

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.name, "epsilon": self.epsilon, "scale": self.scale, "bins": self.bins}


@dataclass(frozen=True, kw_only=True)
class External:
    """A vector that was made private elsewhere, by any means.

    Its words are carried into the release; Peerveil adds none of its own.

    Attributes:
        words: how the vector was made private, and by whom.
        law: a mechanism that states its noise, where the law of the noise is known.

    >>> External(words="By the 2024 chairs.", law=Laplace(scale=1.0)).noise_law()
    LaplaceLaw(scale=1.0)
    """

    name: ClassVar[str] = "external"
    words: str
    law: Laplace | Gaussian | SinhNormal | None = None

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise InputError(Argument("words"), " must say how the vector was made private, and by whom; got nothing")
        if self.law is not None and (isinstance(self.law, External | Histogram) or self.law.noise_law() is None):
            raise InputError(
                Argument("law"),
                f" must state the noise on the vector itself, e.g. Laplace(scale=1.0), got {self.law!r}",
            )

    def noise_law(self) -> Law | None:
        """The law of the noise, where it is known."""
        return None if self.law is None else self.law.noise_law()

    def describe(self) -> dict[str, Any]:
        """Name, words and law."""
        return {"name": self.name, "words": self.words, "law": None if self.law is None else self.law.describe()}


#: The mechanisms whose noise Peerveil can draw, by name.
OWN: dict[str, type[Laplace | Gaussian | SinhNormal | Histogram]] = {
    m.name: m for m in (Laplace, Gaussian, SinhNormal, Histogram)
}


def histogram_bins(
    weights: PublicWeights, mechanism: Histogram, sensitivity: Sensitivity, *, drawn: Sequence[Ensemble] | None = None
) -> Bins:
    """The bins of a histogram of a public record: they follow from public data, the mechanism and its sensitivity.

    >>> weights = PublicWeights.from_rows([[1, 3], [2, 2], [1, 3]], load=2)
    >>> bound = Sensitivity(l1=3.0, l2=2.0, linf=1.5, counts=6)
    >>> histogram_bins(weights, Histogram(epsilon=1.0, bins=5), bound).number
    5
    >>> histogram_bins(weights, Histogram(epsilon=1.0), bound).number
    2
    """
    number = mechanism.bins
    if number is None:
        scale = _stated(mechanism.settle(sensitivity).scale) if sensitivity else 1.0
        number = default_number(weights.reviewers, scale)
    return bins_of(weights, number, drawn=drawn)


def mechanism_from(described: Mapping[str, Any]) -> Mechanism | None:
    """The mechanism that a release describes; ``None`` if this program does not know it.

    >>> mechanism_from(Laplace(scale=2.0).describe())
    Laplace(epsilon=None, scale=2.0)
    """
    parameters = {key: value for key, value in described.items() if key != "name"}
    try:
        if described["name"] == External.name:
            law = parameters.get("law")
            known = None if law is None else mechanism_from(law)
            stated = known if isinstance(known, Laplace | Gaussian | SinhNormal) else None
            return External(words=parameters["words"], law=stated)
        return OWN[described["name"]](**parameters)
    except (KeyError, TypeError, AttributeError, InputError):
        return None


def _named(argument: str) -> Argument:
    """A parameter of noise, told apart from the scale of scores."""
    return Argument(argument, of="noise" if argument in ("scale", "bound") else "")


def _as_real(mechanism: object, *arguments: str) -> None:
    """Make parameters plain numbers, whichever library they come from."""
    for argument in arguments:
        if (given := getattr(mechanism, argument)) is not None:
            object.__setattr__(mechanism, argument, real(_named(argument), given))


def _check_positive(mechanism: object, *arguments: str) -> None:
    _as_real(mechanism, *arguments)
    for argument in arguments:
        value = getattr(mechanism, argument)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(_named(argument), f" must be a finite number > 0, got {value}")


def _counts(sensitivity: Sensitivity) -> int:
    if sensitivity.counts is None:
        raise InputError("a histogram needs the sensitivity of counts; this one states none")
    return sensitivity.counts


def _stated(value: float | None) -> float:
    assert value is not None  # noqa: S101 - which parameters go together is checked at construction
    return value
