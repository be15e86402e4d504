"""The interface and registry of mechanisms.

A mechanism is requested by a budget or by its noise; :meth:`Mechanism.settle` returns the :class:`Settled` noise. How
the noise of a release is drawn is registered on the private side.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from peerveil.errors import Argument, InputError, Part
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.law import Law
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.support.arguments import real
from peerveil.support.extensions import repeat_in_workers

if TYPE_CHECKING:
    from peerveil.privacy.bins import Bins

#: The factor by which claims computed from noise are rounded up.
UP = 1 + 2.0**-50

# Parameters in messages; the scale of noise is distinguished from that of scores.
EPSILON, DELTA, RHO, OMEGA = (Argument(name, ...) for name in ("epsilon", "delta", "rho", "omega"))
SCALE, BOUND = (Argument(name, ..., of="noise") for name in ("scale", "bound"))


@dataclass(frozen=True)
class Settled:
    """Noise of a known distribution, and the mechanism that requests exactly this noise, as a release states it."""

    mechanism: Mechanism
    law: Law

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for vectors or counts of this sensitivity."""
        return self.mechanism.guarantee(sensitivity, unit)

    def widened(self, factor: float) -> Settled:
        """Return noise that is larger by a factor."""
        larger = {parameter: getattr(self.mechanism, parameter) * factor for parameter in self.mechanism.noise}
        return Settled(self.mechanism.changed(**larger), self.mechanism.law_of(**larger))


class Described(ABC):
    """A description of the noise in a release.

    Attributes:
        name: its name in options and releases.
        sentence: a description for the report.
        on_counts: whether noise is added to counts in bins instead of the vector.
        claims: the kind of its guarantee.
    """

    name: ClassVar[str]
    sentence: ClassVar[str]
    on_counts: ClassVar[bool] = False
    claims: ClassVar[str] = "pure"

    @property
    @abstractmethod
    def stated(self) -> Settled | None:
        """The noise; ``None`` if only a budget or nothing is stated."""

    @property
    def scale_on_counts(self) -> float | None:
        """The scale of Laplace noise on counts; ``None`` if it is not stated, or if the noise is another."""
        law = None if self.stated is None else self.stated.law
        return law.scale if isinstance(law, DiscreteLaplaceLaw) else None

    def describe(self) -> dict[str, Any]:
        """Return the name and all parameters, as a release publishes them."""
        return {"name": self.name} | {parameter: getattr(self, parameter) for parameter in self.parameters()}

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the mechanism with parameters as :meth:`describe` returns them."""
        return cls(**parameters)

    def in_words(self) -> str:
        """Return the statement of the source of a noisy vector.

        >>> from peerveil.mechanisms.laplace import Laplace
        >>> Laplace(scale=1.0).in_words()
        'laplace noise (scale 1).'
        """
        numbers = ", ".join(f"{k} {v:g}" for k, v in self.describe().items() if isinstance(v, float | int))
        return f"{self.name} noise ({numbers})."


class Asked(ABC):
    """A mechanism for a release, or a plan that chooses one.

    Attributes:
        name: its name in options.
        float_safe: whether the claim covers floating-point effects.
        chooses: whether it chooses a mechanism from public data.
    """

    name: ClassVar[str]
    float_safe: ClassVar[bool] = True
    chooses: ClassVar[bool] = False

    @property
    def named(self) -> Mechanism | None:
        """The mechanism itself; ``None`` where one is to be chosen first."""
        return None

    @abstractmethod
    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """Return mechanism and estimator for a public record, and notes on the choice."""


class Mechanism(Asked, Described):
    """A mechanism with a budget or with stated noise; implementations are frozen dataclasses.

    Attributes:
        title: its name in lists.
        label: its name with a hint on its use.
        noise: the parameters of the noise.
        law_of: the noise distribution as a function of these parameters.
        planned: the parameters that plans set, of ``"epsilon"`` and ``"delta"``; plans leave out mechanisms without.
        bins: the greatest number of bins, if noise is added to counts.
    """

    title: ClassVar[str]
    label: ClassVar[str]
    noise: ClassVar[tuple[str, ...]] = ("scale",)
    law_of: ClassVar[Callable[..., Law]]
    planned: ClassVar[tuple[str, ...]] = ()
    bins: int | None = None

    @property
    def named(self) -> Mechanism:
        """This mechanism itself."""
        return self

    @property
    def stated(self) -> Settled | None:
        """The noise; ``None`` if a budget is given."""
        noise = {parameter: getattr(self, parameter) for parameter in self.noise}
        return None if None in noise.values() else Settled(self, self.law_of(**noise))

    def changed(self, **parameters: Any) -> Self:
        """Return the mechanism with other values of some parameters."""
        return replace(self, **parameters)  # type: ignore[type-var]

    @abstractmethod
    def needed(self, sensitivity: Sensitivity) -> Mechanism:
        """Return the mechanism with the noise that its budget requires for a sensitivity above 0."""

    def settle(self, sensitivity: Sensitivity) -> Settled:
        """Return the stated noise, or that which the budget requires for a sensitivity above 0."""
        stated = self.stated
        return self.needed(sensitivity).settle(sensitivity) if stated is None else stated

    @abstractmethod
    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """Return the claim for vectors or counts of this sensitivity."""

    def binned(self, weights: PublicWeights, sensitivity: Sensitivity) -> Bins | None:
        """Return the bins whose counts get noise; ``None`` if the vector does."""
        return None

    @classmethod
    def candidates(
        cls, weights: PublicWeights, sensitivity: Sensitivity, budget: Mapping[str, float]
    ) -> Iterable[Mechanism]:
        """Return the mechanisms that a plan compares at a budget."""
        return (cls(**budget),)

    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """Return this mechanism."""
        return self, estimator, ()


#: The name in version 0.1.
OwnMechanism = Mechanism

Kind = TypeVar("Kind", bound=type[Mechanism])


class _Registry(dict[str, Any]):
    """Mechanisms by name; setting an entry is deprecated."""

    def __setitem__(self, name: str, kind: type[Mechanism]) -> None:
        warnings.warn("use peerveil.mechanisms.register instead of OWN[...] = ...", DeprecationWarning, stacklevel=2)
        super().__setitem__(name, kind)


#: The mechanisms that a release can use, by name.
OWN = _Registry()


def register(kind: Kind) -> Kind:
    """Register a mechanism by its name, which must be new, and return it; a class decorator."""
    if OWN.get(kind.name, kind) is not kind:
        raise InputError(f"{kind.name!r} is a mechanism already; call yours something else")
    dict.__setitem__(OWN, kind.name, kind)
    repeat_in_workers(register, kind)
    return kind


def given(mechanism: object, parameters: Sequence[str], *needs: Part) -> tuple[str, float]:
    """Return name and value of the only given parameter; none or several are refused."""
    stated = [(name, getattr(mechanism, name)) for name in parameters if getattr(mechanism, name) is not None]
    if len(stated) != 1:
        raise InputError(*needs)
    return stated[0]


def _named(parameter: str) -> Argument:
    """A parameter in a message, distinguished from the scale of scores."""
    return Argument(parameter, of="noise" if parameter in ("scale", "bound") else "")


def as_real(mechanism: object, *parameters: str) -> None:
    """Convert parameters to Python numbers."""
    for parameter in parameters:
        if (value := getattr(mechanism, parameter)) is not None:
            object.__setattr__(mechanism, parameter, real(_named(parameter), value))


def check_positive(mechanism: object, *parameters: str) -> None:
    """Convert parameters to Python numbers, which must be finite and above 0."""
    as_real(mechanism, *parameters)
    for parameter in parameters:
        value = getattr(mechanism, parameter)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(_named(parameter), f" must be a finite number > 0, got {value}")


def pure_claim(parameter: str, value: float, distance: float, unit: Unit) -> Guarantee:
    """Return the claim of noise whose epsilon is distance / scale, given its epsilon or scale.

    >>> pure_claim("scale", 6.0, 3.0, "reviewer").summary
    'epsilon = 0.5000... per reviewer (pure differential privacy)'
    """
    epsilon = distance / value * UP if parameter == "scale" else value if distance else 0.0
    return Guarantee(kind="pure", unit=unit, epsilon=epsilon)
