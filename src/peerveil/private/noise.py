"""Noise for real releases: exact arithmetic and the operating system's randomness, from OpenDP; no seeds.

In two steps, so that a ledger can be charged between them: :func:`prepare` settles everything that can fail, and
:meth:`Prepared.draw` draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import SystemRandom
from typing import Any

import numpy as np
import opendp.prelude as dp

from peerveil.errors import Argument, InputError, PeerveilError
from peerveil.mechanisms.base import Gaussian, Histogram, Laplace, OwnMechanism, SinhNormal
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.record.public_record import Floats, Ints

dp.enable_features("contrib")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Noise that is ready to be drawn.

    Attributes:
        mechanism: the mechanism with its noise stated; with its budget where nothing needs noise.
        guarantee: the claim.
        length: how many entries, or how many counts.
    """

    mechanism: OwnMechanism
    guarantee: Guarantee
    length: int
    _add: Callable[[list[Any]], list[Any]]

    def about(self, neighbours: Neighbours) -> Prepared:
        """The same noise, whose claim speaks of these neighbours."""
        return replace(self, guarantee=self.guarantee.about(neighbours))

    def checked(self, vector: Floats) -> Floats:
        """The vector, if it may be given to the noise source.

        OpenDP takes a NaN for 0 and a wrong length for granted, so nothing doubtful may reach it.
        """
        if isinstance(self.mechanism, Histogram):
            raise PeerveilError("this noise is for counts, not for a vector; nothing was released")
        if vector.shape != (self.length,) or vector.dtype != np.float64 or not np.isfinite(vector).all():
            raise PeerveilError("the vector to protect must hold finite numbers; nothing was released")
        return vector

    def draw(self, vector: Floats) -> Floats:
        """The vector with noise."""
        noisy: Floats = self.draw_often(self.checked(vector), 1)[0]
        return noisy

    def checked_counts(self, counts: Ints) -> Ints:
        """The counts, if they may be given to the noise source."""
        fit = counts.shape == (self.length,) and counts.dtype == np.int64 and isinstance(self.mechanism, Histogram)
        if not fit or (counts < 0).any():
            raise PeerveilError("the counts to protect must be whole numbers, one a bin; nothing was released")
        return counts

    def draw_counts(self, counts: Ints) -> Ints:
        """The counts with noise."""
        noisy: Ints = self.draw_often(self.checked_counts(counts), 1)[0]
        return noisy

    def draw_often(self, truth: Any, times: int) -> Any:
        """Independent draws for the same vector, or the same counts, one per row.

        Noise is independent from entry to entry, so the source that draws one release draws many at once.
        """
        checked = self.checked_counts(truth) if isinstance(self.mechanism, Histogram) else self.checked(truth)
        noisy = np.array(self._add(checked.tolist() * times))
        if noisy.shape != (times * self.length,) or noisy.dtype != checked.dtype or not np.isfinite(noisy).all():
            raise PeerveilError("the noise source failed; nothing was released")
        return noisy.reshape(times, self.length)


def prepare(mechanism: OwnMechanism, sensitivity: Sensitivity, unit: Unit, length: int) -> Prepared:
    """Settle the noise for vectors or counts of a length and a sensitivity, and the claim that comes with it.

    Where the sensitivity is 0 the vector is the same for every assignment, so a budget buys it without noise.
    """
    if length < 1:
        raise PeerveilError("the vector to protect must hold finite numbers; nothing was released")
    claim = mechanism.guarantee(sensitivity, unit)
    if not sensitivity and mechanism.noise_law() is None:
        return Prepared(mechanism=mechanism, guarantee=claim, length=length, _add=list)
    settled = mechanism.settle(sensitivity)
    if isinstance(settled, SinhNormal):
        return Prepared(mechanism=settled, guarantee=claim, length=length, _add=_sinh_normal(settled))
    for _ in range(8):
        measurement, loss, claimed = _measure(settled, claim, sensitivity, length)
        if loss <= claimed:
            return Prepared(mechanism=settled, guarantee=claim, length=length, _add=measurement)
        # OpenDP's own rounding counts too: a scale a few bits larger keeps the loss within the claim.
        settled = settled.widened(1 + 2.0**-50)
    raise PeerveilError("the noise would lose more than is claimed; nothing was released")


def _measure(
    mechanism: OwnMechanism, claim: Guarantee, sensitivity: Sensitivity, length: int
) -> tuple[Any, float, float]:
    """OpenDP's measurement, the loss it reports, and the loss that is claimed in the same terms."""
    distance: float | None
    if isinstance(mechanism, Laplace):
        distance, claimed = sensitivity.l1, claim.epsilon
    elif isinstance(mechanism, Histogram):
        distance, claimed = sensitivity.counts, claim.epsilon
    elif isinstance(mechanism, Gaussian):
        distance, claimed = sensitivity.l2, claim.rho
    else:
        raise InputError(Argument("mechanism"), f" must be one whose noise Peerveil draws, got {mechanism.name}")
    assert mechanism.scale is not None and claimed is not None  # noqa: S101, PT018 - settled, and of its kind
    measurement = _measurement(mechanism.name, mechanism.scale, length)
    loss: float = measurement.map(d_in=distance)
    return measurement, loss, claimed


@lru_cache(maxsize=8)
def _measurement(name: str, scale: float, length: int) -> Any:
    # Whole numbers end at 2**63: noise must stay far below, or it would be cut off.
    least, most = (1e-6, 1e12) if name == Histogram.name else (1e-150, 1e150)
    if not least <= scale <= most:
        raise InputError(
            f"noise of scale {scale:g} cannot be drawn faithfully; ask for another ",
            Argument("epsilon"),
            " or ",
            Argument("scale", of="noise"),
        )
    if name == Histogram.name:
        counts = dp.vector_domain(dp.atom_domain(T="i64"), size=length)
        return dp.m.make_laplace(counts, dp.l1_distance(T="i64"), scale=scale)
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=length)
    if name == Laplace.name:
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def _sinh_normal(mechanism: SinhNormal) -> Callable[[list[float]], list[float]]:
    """Sinh-normal noise in floating point, from the operating system's randomness. OpenDP has none."""
    scale, bound = mechanism.scale, mechanism.bound
    assert scale is not None and bound is not None  # noqa: S101, PT018 - settled
    source = SystemRandom()

    def add(vector: list[float]) -> list[float]:
        return [x + bound * math.asinh(source.normalvariate(0.0, scale) / bound) for x in vector]

    return add
