"""Noise of real releases: exact arithmetic and the operating system's randomness, from OpenDP.

A ledger is charged between two steps: :func:`prepare` settles everything that can fail, and :meth:`Prepared.draw` draws
the noise. :func:`draws` registers how the noise of a mechanism is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import SystemRandom
from typing import Any, NamedTuple, TypeVar

import numpy as np
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from peerveil.errors import Argument, InputError, PeerveilError
from peerveil.mechanisms import Gaussian, Histogram, Laplace, Mechanism, Settled, SinhNormal
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, NormalLaw, SinhNormalLaw
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.record.public_record import Floats, Ints
from peerveil.support.extensions import repeat_in_workers

enable_features("contrib")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Noise that is ready to be drawn.

    Attributes:
        mechanism: the mechanism with its noise stated; with its budget where no noise is needed.
        settled: its noise; ``None`` where no noise is needed.
        guarantee: the claim.
        length: the number of entries, or of counts.
    """

    mechanism: Mechanism
    settled: Settled | None
    guarantee: Guarantee
    length: int
    _add: Callable[[list[Any]], list[Any]]

    def about(self, neighbours: Neighbours) -> Prepared:
        """The same noise with a claim about these neighbours."""
        return replace(self, guarantee=self.guarantee.about(neighbours))

    def checked(self, vector: Floats) -> Floats:
        """The vector, checked for the noise source: OpenDP treats a NaN as 0 and does not check lengths."""
        if self.mechanism.on_counts:
            raise PeerveilError("this noise is for counts, not for a vector; nothing was released")
        if vector.shape != (self.length,) or vector.dtype != np.float64 or not np.isfinite(vector).all():
            raise PeerveilError("the vector to protect must hold finite numbers; nothing was released")
        return vector

    def draw(self, vector: Floats) -> Floats:
        """The vector with noise."""
        noisy: Floats = self.draw_often(self.checked(vector), 1)[0]
        return noisy

    def checked_counts(self, counts: Ints) -> Ints:
        """The counts, checked for the noise source."""
        fit = counts.shape == (self.length,) and counts.dtype == np.int64 and self.mechanism.on_counts
        if not fit or (counts < 0).any():
            raise PeerveilError("the counts to protect must be whole numbers, one per bin; nothing was released")
        return counts

    def draw_counts(self, counts: Ints) -> Ints:
        """The counts with noise."""
        noisy: Ints = self.draw_often(self.checked_counts(counts), 1)[0]
        return noisy

    def draw_often(self, truth: Any, times: int) -> Any:
        """Independent draws for the same vector, or the same counts, one per row."""
        checked = self.checked_counts(truth) if self.mechanism.on_counts else self.checked(truth)
        noisy = np.array(self._add(checked.tolist() * times))
        if noisy.shape != (times * self.length,) or noisy.dtype != checked.dtype or not np.isfinite(noisy).all():
            raise PeerveilError("the noise source failed; nothing was released")
        return noisy.reshape(times, self.length)


def prepare(mechanism: Mechanism, sensitivity: Sensitivity, unit: Unit, length: int) -> Prepared:
    """The noise for vectors or counts of a length and a sensitivity, with its claim.

    With a sensitivity of 0 the vector is the same for every assignment, so a budget needs no noise.
    """
    if length < 1:
        raise PeerveilError("the vector to protect must hold finite numbers; nothing was released")
    claim = mechanism.guarantee(sensitivity, unit)
    if not sensitivity and mechanism.stated is None:
        return Prepared(mechanism=mechanism, settled=None, guarantee=claim, length=length, _add=list)
    if mechanism.name not in _DRAWS:
        raise InputError(
            Argument("mechanism"),
            f" must be one whose noise Peerveil draws ({', '.join(_DRAWS)}), got {mechanism.name}",
        )
    noise = mechanism.settle(sensitivity)
    claimed = (claim.epsilon if claim.rho is None else claim.rho) or 0.0
    for _ in range(8):
        source = _DRAWS[mechanism.name](noise.law, length)
        if source.loss(sensitivity) <= claimed:
            return Prepared(mechanism=noise.mechanism, settled=noise, guarantee=claim, length=length, _add=source.add)
        # OpenDP rounds as well: a scale that is a few bits larger keeps the loss within the claim.
        noise = noise.widened(1 + 2.0**-50)
    raise PeerveilError("the noise would lose more than is claimed; nothing was released")


class Source(NamedTuple):
    """A source of noise.

    Attributes:
        add: adds independent noise to the entries of a vector, or to counts.
        loss: returns the loss for a sensitivity as computed by the source: epsilon of a pure claim, else rho; 0 by
            default, if it computes none.
    """

    add: Callable[[list[Any]], list[Any]]
    loss: Callable[[Sensitivity], float] = lambda _: 0.0


#: Functions from a law and a number of entries to a source, by the name of the mechanism.
_DRAWS: dict[str, Callable[[Any, int], Source]] = {}

Draw = TypeVar("Draw", bound=Callable[[Any, int], Source])


def draws(kind: type[Mechanism]) -> Callable[[Draw], Draw]:
    """A decorator that registers how the noise of a mechanism is drawn, from its law and the number of entries."""

    def registered(draw: Draw) -> Draw:
        _register(kind.name, draw)
        return draw

    return registered


def _register(name: str, draw: Callable[[Any, int], Source]) -> None:
    if name in _DRAWS:
        raise InputError(f"noise of {name!r} is drawn already; call your mechanism something else")
    _DRAWS[name] = draw
    repeat_in_workers(_register, name, draw)


@draws(Laplace)
def _laplace(law: LaplaceLaw, length: int) -> Source:
    source = _measurement(make_laplace, l1_distance, float, law.scale, length)
    return Source(source, lambda sensitivity: source.map(d_in=sensitivity.l1))


@draws(Histogram)
def _histogram(law: DiscreteLaplaceLaw, length: int) -> Source:
    source = _measurement(make_laplace, l1_distance, int, law.scale, length)
    return Source(source, lambda sensitivity: source.map(d_in=sensitivity.counts))


@draws(Gaussian)
def _gaussian(law: NormalLaw, length: int) -> Source:
    source = _measurement(make_gaussian, l2_distance, float, law.sigma, length)
    return Source(source, lambda sensitivity: source.map(d_in=sensitivity.l2))


@draws(SinhNormal)
def _sinh_normal(law: SinhNormalLaw, _: int) -> Source:
    """Sinh-normal noise in floating point, from the operating system's randomness. OpenDP has none."""
    sigma, bound, system = law.sigma, law.bound, SystemRandom()
    return Source(lambda vector: [x + bound * math.asinh(system.normalvariate(0.0, sigma) / bound) for x in vector])


@lru_cache(maxsize=8)
def _measurement(make: Any, metric: Any, numbers: type, scale: float, length: int) -> Any:
    """The measurement of OpenDP for a number of entries."""
    # Noise on counts must stay far below 2**63, where it would be cut off.
    least, most = (1e-6, 1e12) if numbers is int else (1e-150, 1e150)
    if not least <= scale <= most:
        raise InputError(
            f"noise of scale {scale:g} cannot be drawn faithfully; ask for another ",
            Argument("epsilon"),
            " or ",
            Argument("scale", of="noise"),
        )
    atoms = atom_domain(T="i64") if numbers is int else atom_domain(T=float, nan=False)
    return make(vector_domain(atoms, size=length), metric(T="i64" if numbers is int else float), scale=scale)
