"""What a mechanism offers, and the registry in which every part of the program finds it by name.

A mechanism is *asked for* by a budget or by its noise; :meth:`Mechanism.settle` turns that into :class:`Settled` noise,
whose law is known. How the noise of a real release is drawn is registered on the private side.
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
from peerveil.privacy.law import CountLaw, Law
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.support.arguments import real

if TYPE_CHECKING:
    from peerveil.privacy.bins import Bins

#: A claim computed from noise is rounded up by this.
UP = 1 + 2.0**-50

# Parameters that messages ask for; the scale of noise is told apart from that of scores.
EPSILON, DELTA, RHO, OMEGA = (Argument(name, ...) for name in ("epsilon", "delta", "rho", "omega"))
SCALE, BOUND = (Argument(name, ..., of="noise") for name in ("scale", "bound"))


@dataclass(frozen=True)
class Settled:
    """Noise whose law is known.

    Attributes:
        mechanism: the mechanism that asks for exactly this noise, as a release states it.
        law: the law of the noise.
    """

    mechanism: Mechanism
    law: Law

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors, or counts, of this sensitivity."""
        return self.mechanism.guarantee(sensitivity, unit)

    def widened(self, factor: float) -> Settled:
        """The same noise, larger by a factor."""
        larger = {parameter: getattr(self.mechanism, parameter) * factor for parameter in self.mechanism.noise}
        return Settled(self.mechanism.changed(**larger), self.mechanism.law_of(**larger))


class Described(ABC):
    """What a release may state about the noise of its vector.

    Attributes:
        name: the name that users write and releases carry.
        sentence: how the vector was made private, for the report.
        on_counts: whether noise is on counts in bins; otherwise it is on the vector itself.
        claims: the kind of its guarantee.
    """

    name: ClassVar[str]
    sentence: ClassVar[str]
    on_counts: ClassVar[bool] = False
    claims: ClassVar[str] = "pure"

    @property
    @abstractmethod
    def stated(self) -> Settled | None:
        """The noise, where it is stated; ``None`` where only a budget or nothing is."""

    @property
    def scale_on_counts(self) -> float | None:
        """The scale of noise on counts; ``None`` where none is stated, or noise is on the vector."""
        law = None if self.stated is None else self.stated.law
        return law.scale if isinstance(law, CountLaw) else None

    def describe(self) -> dict[str, Any]:
        """The name and all parameters, as a release publishes them."""
        return {"name": self.name} | {parameter: getattr(self, parameter) for parameter in self.parameters()}

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """The mechanism with parameters as :meth:`describe` gives them."""
        return cls(**parameters)

    def in_words(self) -> str:
        """What a release says that the source of a noisy vector states.

        >>> from peerveil.mechanisms.laplace import Laplace
        >>> Laplace(scale=1.0).in_words()
        'laplace noise (scale 1).'
        """
        numbers = ", ".join(f"{k} {v:g}" for k, v in self.describe().items() if isinstance(v, float | int))
        return f"{self.name} noise ({numbers})."


class Asked(ABC):
    """What a release may be asked to use: a mechanism, or a plan that chooses one.

    Attributes:
        name: the name that users write.
        float_safe: whether the claim covers the last digits of the noise.
        chooses: whether a mechanism is to be chosen from public data first.
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
        """The mechanism and the estimator for a public record, and notes on how they were chosen."""


class Mechanism(Asked, Described):
    """A mechanism that a release can use, asked for by a budget or by its noise. A frozen dataclass inherits from it.

    Attributes:
        title: its name in a list of kinds of noise.
        label: the same with a word on when to use it.
        noise: the parameters that state the noise itself.
        law_of: the law of the noise, from these parameters.
        planned: the parameters that a plan gives it, of ``"epsilon"`` and ``"delta"``; a plan leaves others out.
        bins: how many bins there are at most, if noise is on counts.
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
        """The noise, where it is asked for itself; ``None`` where a budget is."""
        noise = {parameter: getattr(self, parameter) for parameter in self.noise}
        return None if None in noise.values() else Settled(self, self.law_of(**noise))

    def changed(self, **parameters: Any) -> Self:
        """The same mechanism with other values of some parameters."""
        return replace(self, **parameters)  # type: ignore[type-var]

    @abstractmethod
    def needed(self, sensitivity: Sensitivity) -> Mechanism:
        """The mechanism with the noise that its budget needs for a sensitivity above 0."""

    def settle(self, sensitivity: Sensitivity) -> Settled:
        """The noise that is asked for, or that the budget needs for a sensitivity above 0."""
        stated = self.stated
        return self.needed(sensitivity).settle(sensitivity) if stated is None else stated

    @abstractmethod
    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        """The claim for vectors, or counts, of this sensitivity."""

    def binned(self, weights: PublicWeights, sensitivity: Sensitivity) -> Bins | None:
        """The bins whose counts get noise; ``None`` where the vector does."""
        return None

    @classmethod
    def candidates(
        cls, weights: PublicWeights, sensitivity: Sensitivity, budget: Mapping[str, float]
    ) -> Iterable[Mechanism]:
        """What a plan compares at a budget."""
        return (cls(**budget),)

    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """This mechanism itself."""
        return self, estimator, ()


#: The former name.
OwnMechanism = Mechanism

Kind = TypeVar("Kind", bound=type[Mechanism])


class _Registry(dict[str, Any]):
    """Mechanisms by name. Setting an entry is the way of version 0.1."""

    def __setitem__(self, name: str, kind: type[Mechanism]) -> None:
        warnings.warn("use peerveil.mechanisms.register instead of OWN[...] = ...", DeprecationWarning, stacklevel=2)
        super().__setitem__(name, kind)


#: The mechanisms that a release can use, by name.
OWN = _Registry()


def register(kind: Kind) -> Kind:
    """Return a class of mechanisms, which every part of the program now finds by its name: a class decorator."""
    dict.__setitem__(OWN, kind.name, kind)
    return kind


def given(mechanism: object, parameters: Sequence[str], *needs: Part) -> tuple[str, float]:
    """The one of some parameters that is given, with its value; none or several are refused."""
    stated = [(name, getattr(mechanism, name)) for name in parameters if getattr(mechanism, name) is not None]
    if len(stated) != 1:
        raise InputError(*needs)
    return stated[0]


def _named(parameter: str) -> Argument:
    """A parameter of noise, told apart from the scale of scores."""
    return Argument(parameter, of="noise" if parameter in ("scale", "bound") else "")


def as_real(mechanism: object, *parameters: str) -> None:
    """Make parameters plain numbers, whichever library they come from."""
    for parameter in parameters:
        if (value := getattr(mechanism, parameter)) is not None:
            object.__setattr__(mechanism, parameter, real(_named(parameter), value))


def check_positive(mechanism: object, *parameters: str) -> None:
    """Make parameters plain numbers, and refuse others than finite ones above 0."""
    as_real(mechanism, *parameters)
    for parameter in parameters:
        value = getattr(mechanism, parameter)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(_named(parameter), f" must be a finite number > 0, got {value}")


def pure_claim(parameter: str, value: float, distance: float, unit: Unit) -> Guarantee:
    """The claim of noise whose epsilon is a distance over its scale, where one of the two is given.

    >>> pure_claim("scale", 6.0, 3.0, "reviewer").summary
    'epsilon = 0.5000... per reviewer (pure differential privacy)'
    """
    epsilon = distance / value * UP if parameter == "scale" else value if distance else 0.0
    return Guarantee(kind="pure", unit=unit, epsilon=epsilon)
