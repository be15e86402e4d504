"""A mechanism as users write one, in a module that loads quickly: processes of tests import it as an extension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom
from typing import ClassVar

import numpy as np

from peerveil.mechanisms import Mechanism, register
from peerveil.mechanisms.base import given, pure_claim
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.law import Law
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.private import noise
from peerveil.record.public_record import Floats


@dataclass(frozen=True)
class MixtureLaw(Law):
    """Laplace noise of one scale or of twice that scale, with probability one half each."""

    scale: float

    @property
    def deviation(self) -> float:
        return math.sqrt(5) * self.scale

    def log_density(self, noise: Floats) -> Floats:
        size = np.abs(noise) / self.scale
        return np.logaddexp(-size, -size / 2 - math.log(2)) - math.log(4 * self.scale)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        return np.asarray(rng.laplace(scale=self.scale, size=size) * rng.integers(1, 3, size))

    def log_tail(self, size: Floats) -> Floats:
        return np.logaddexp(-size / self.scale, -size / (2 * self.scale)) - math.log(2)


@dataclass(frozen=True, kw_only=True)
class Mixture(Mechanism):
    """The log density has a slope of at most 1 / scale, so epsilon is at most the L1 sensitivity over the scale."""

    name: ClassVar[str] = "mixture"
    title: ClassVar[str] = "mixture"
    label: ClassVar[str] = "mixture of two Laplace laws"
    sentence: ClassVar[str] = "Noise of a mixture of two Laplace laws was added to each entry"
    law_of: ClassVar[Callable[..., Law]] = MixtureLaw
    planned: ClassVar[tuple[str, ...]] = ("epsilon",)
    epsilon: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        self._given()

    def _given(self) -> tuple[str, float]:
        return given(self, ("epsilon", "scale"), "mixture noise needs epsilon= or scale=, one of the two")

    def needed(self, sensitivity: Sensitivity) -> Mixture:
        return Mixture(scale=sensitivity.l1 / self._given()[1])

    def guarantee(self, sensitivity: Sensitivity, unit: Unit) -> Guarantee:
        return pure_claim(*self._given(), sensitivity.l1, unit)


def mixture_source(law: MixtureLaw, length: int) -> noise.Source:
    """Exact noise: both vectors come from OpenDP, and a fair coin chooses between their entries."""
    narrow, wide = (noise._laplace(LaplaceLaw(scale=law.scale * factor), length) for factor in (1, 2))
    coin = SystemRandom()

    def add(vector: list[float]) -> list[float]:
        return [pair[coin.getrandbits(1)] for pair in zip(narrow.add(vector), wide.add(vector), strict=True)]

    return noise.Source(add, narrow.loss)


def install() -> None:
    """Register the mechanism and its draw, as a user's module does when it is imported."""
    register(Mixture)
    noise.draws(Mixture)(mixture_source)
