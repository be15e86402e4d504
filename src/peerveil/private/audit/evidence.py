"""Lower bounds on the privacy loss from releases of two neighbouring records, with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

from peerveil.mechanisms import Settled
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.law import Loss
from peerveil.private.audit.laws import noise_differs
from peerveil.private.audit.loss import loss_of
from peerveil.record.public_record import Floats, Ints

#: Number of simulated releases on which tests are chosen.
_SIMULATED = 10_000

#: Shares of the stated noise for which tests are chosen, with the part of the risk of each.
_SHARES = {1.0: 0.55, 0.5: 0.35, 0.125: 0.05, 0.015625: 0.05}

#: The part of the risk of the test of the noise against its stated law.
_LAW_RISK = 0.1

#: Orders of the Rényi divergences to evaluate; only those below omega, if the claim has one.
_ORDERS = 1 + np.geomspace(1e-3, 1e3, 61)


@dataclass(frozen=True)
class Part:
    """The noisy vector, or noisy counts, of a release.

    Attributes:
        noise: the stated noise.
        first: the true vector, or counts, of the first record.
        second: those of the second.
    """

    noise: Settled
    first: Floats
    second: Floats

    @cached_property
    def _moved(self) -> Ints:
        """The entries that differ between the two records."""
        return np.flatnonzero(self.first != self.second)

    def simulated(self, share: float, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Log-likelihood ratios of simulated releases of both records, with a share of the stated noise."""
        law, moved = self.noise.widened(share).law, self._moved
        noise = law.draw(rng, 2 * draws * moved.size).reshape(2, draws, moved.size)
        return self._log_ratio(self.first[moved] + noise[0]), self._log_ratio(self.second[moved] + noise[1])

    def log_ratio(self, released: Floats) -> Floats:
        """Log-likelihood ratios of the second record to the first, under the stated noise."""
        return self._log_ratio(released[:, self._moved])

    def _log_ratio(self, rows: Floats) -> Floats:
        first, second = (self.noise.law.log_density(rows - truth[self._moved]) for truth in (self.first, self.second))
        return np.asarray((second - first).sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Lower bounds on a loss that hold simultaneously.

    Attributes:
        epsilon: lower bound on epsilon at the delta.
        excess: lower bound on delta at the claimed epsilon.
        rho: lower bound on rho of a concentrated claim; 0 for others.
        noise: how the noise differs from its stated law: ``"smaller"``, ``"larger"`` or empty.
    """

    epsilon: float = 0.0
    excess: float = 0.0
    rho: float = 0.0
    noise: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Releases of two neighbouring records, and their claim.

    Attributes:
        guarantee: the claim.
        parts: the parts of a release, one for each vector.
        drawn: for each part, the releases of the first and of the second record, one per row.
        delta: the delta at which epsilon is bounded; 0 for pure claims.
    """

    guarantee: Guarantee
    parts: tuple[Part, ...]
    drawn: tuple[tuple[Floats, Floats], ...]
    delta: float

    @property
    def draws(self) -> int:
        """The number of releases of each record."""
        return len(self.drawn[0][0])

    @property
    def claimed(self) -> float:
        """The claimed epsilon at the delta."""
        if self.delta in (0.0, self.guarantee.delta):
            return self.guarantee.epsilon or 0.0
        return self.guarantee.epsilon_at(self.delta)

    @cached_property
    def loss(self) -> Loss:
        """The loss between the two records under the stated noise."""
        return loss_of([(part.noise.law, part.second - part.first) for part in self.parts])

    def bounds(self, risk: float) -> Bounds:
        """Lower bounds that all hold except with probability ``risk``.

        Events are chosen on simulated noise, so no real draw is spent on the choice, and their Clopper-Pearson limits
        are exact whatever the real noise is.
        """
        measures = ("epsilon", "excess") if self.guarantee.rho is None else ("rho", "epsilon")
        best = dict.fromkeys(measures, 0.0)
        for share, risk_share in _SHARES.items():
            each = risk * (1 - _LAW_RISK) * risk_share / len(measures)
            rng = np.random.default_rng(0)
            simulated = _sorted_sums([part.simulated(share, _SIMULATED, rng) for part in self.parts])
            for name in measures:
                event = self._best_event(name, simulated, each)
                bound = self._value(name, *_limits(self._ratios, *event, each, self.draws))
                best[name] = max(best[name], float(bound[0]))
        return Bounds(**best, noise=self._noise(risk * _LAW_RISK))

    @cached_property
    def _ratios(self) -> tuple[Floats, Floats]:
        pairs = zip(self.parts, self.drawn, strict=True)
        return _sorted_sums([(part.log_ratio(first), part.log_ratio(second)) for part, (first, second) in pairs])

    def _best_event(self, name: str, simulated: tuple[Floats, Floats], risk: float) -> tuple[float, Floats]:
        """The sign and threshold of the event with the largest bound: the ratio is above, or below, a threshold."""
        best: list[tuple[float, float, float]] = []
        for sign, expected in ((1.0, simulated[1]), (-1.0, simulated[0])):
            thresholds = np.unique(np.quantile(expected, np.linspace(0.002, 0.998, 250)))
            values = self._value(name, *_limits(simulated, sign, thresholds, risk, self.draws))
            place = int(np.argmax(values))
            best.append((float(values[place]), sign, float(thresholds[place])))
        _, sign, threshold = max(best)
        return sign, np.array([threshold])

    def _value(self, name: str, least: Floats, most: Floats) -> Floats:
        """The lower bound from limits on the rates of an event under the two records."""
        if name == "epsilon":
            above = least - self.delta
            safe = np.maximum(most, 1e-300)
            return np.where(above > safe, np.log(np.maximum(above, 1e-300) / safe), 0.0)
        if name == "excess":
            return np.maximum(0.0, least - math.exp(min(self.claimed, 700.0)) * most)
        if self.guarantee.kind == "gdp":
            return _gaussian_rho(least, most)
        return _rho(least, most, self.guarantee.omega or math.inf)

    def _noise(self, risk: float) -> str:
        for part, (first, second) in zip(self.parts, self.drawn, strict=True):
            noise = np.concatenate([(first - part.first).ravel(), (second - part.second).ravel()])
            if differs := noise_differs(part.noise.law, noise, risk / len(self.parts)):
                return differs
        return ""


def _sorted_sums(parts: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The sorted sums over parts, for the first and the second record."""
    first, second = (np.sort(np.sum(side, axis=0)) for side in zip(*parts, strict=True))
    return first, second


def _limits(
    ratios: Sequence[Floats], sign: float, thresholds: Floats, risk: float, draws: int
) -> tuple[Floats, Floats]:
    """Clopper-Pearson limits: the least rate of an event under one record, and the largest under the other.

    The limits are for ``draws`` releases of each record with the rates of the sorted ratios.
    """
    # Equal ratios must not be separated by round-off.
    cut = thresholds - sign * 1e-9 * (1 + np.abs(thresholds))
    rates = []
    for side in ratios:
        below = np.searchsorted(side, cut, side="left" if sign > 0 else "right")
        rates.append((side.size - below if sign > 0 else below) / side.size)
    hits, errors = (rate * draws for rate in (rates[::-1] if sign > 0 else rates))
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, beta.ppf(risk / 2, hits, draws - hits + 1), 0.0)
        most = np.where(errors < draws, beta.ppf(1 - risk / 2, errors + 1, draws - errors), 1.0)
    return least, most


def _gaussian_rho(least: Floats, most: Floats) -> Floats:
    """The smallest ``mu**2 / 2`` of two normal laws under which an event can have these rates."""
    p, q = np.clip(least, 1e-300, 1 - 1e-16), np.clip(most, 1e-300, 1 - 1e-16)
    return np.square(np.maximum(0.0, ndtri(p) - ndtri(q))) / 2


def _rho(least: Floats, most: Floats, omega: float) -> Floats:
    """The smallest rho of a concentrated loss under which an event can have these rates: the largest ``D_a / a``."""
    orders = _ORDERS[omega > _ORDERS][:, None]
    p, q = np.clip(least, 1e-300, 1 - 1e-16), np.clip(most, 1e-300, 1 - 1e-16)
    inside = orders * np.log(p) + (1 - orders) * np.log(q)
    outside = orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
    divergence = np.logaddexp(inside, outside) / (orders - 1)
    return np.where(p > q, np.maximum(0.0, (divergence / orders).max(axis=0)), 0.0)
