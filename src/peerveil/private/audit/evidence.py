"""What releases of two neighbouring records show about the loss: lower bounds that hold with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

from peerveil.mechanisms import Settled
from peerveil.privacy.guarantee import DELTA, Guarantee
from peerveil.privacy.law import Law, Loss
from peerveil.private.audit.laws import noise_differs
from peerveil.private.audit.loss import contradicts, loss_of
from peerveil.record.public_record import Floats, Ints

#: Simulated releases on which tests are chosen.
_SIMULATED = 10_000

#: For which shares of the stated noise tests are chosen, with the part of the risk that each may take.
_SHARES = {1.0: 0.55, 0.5: 0.35, 0.125: 0.05, 0.015625: 0.05}

#: The part of the risk that goes to the test of the noise against its stated law.
_LAW_RISK = 0.1

#: Orders of Rényi divergences that are looked at; below omega, where there is one.
_ORDERS = 1 + np.geomspace(1e-3, 1e3, 61)


@dataclass(frozen=True)
class Part:
    """A noisy vector, or noisy counts, of one record.

    Attributes:
        noise: the stated noise.
        first: the true vector, or counts, of the first record.
        second: that of the second.
    """

    noise: Settled
    first: Floats
    second: Floats

    @property
    def law(self) -> Law:
        """The stated law of the noise."""
        return self.noise.law

    def simulated(self, share: float, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Log-likelihood ratios of simulated releases of both records, if the noise were a share of what is stated."""
        smaller = self.noise.widened(share).law
        moved = np.flatnonzero(self.first != self.second)
        noise = smaller.draw(rng, 2 * draws * moved.size).reshape(2, draws, moved.size)
        first, second = self.first[moved], self.second[moved]
        return self._log_ratio(first + noise[0], moved), self._log_ratio(second + noise[1], moved)

    def log_ratio(self, released: Floats) -> Floats:
        """How much likelier releases are under the second record than under the first, if the noise is as stated."""
        moved = np.flatnonzero(self.first != self.second)
        return self._log_ratio(released[:, moved], moved)

    def _log_ratio(self, rows: Floats, moved: Ints) -> Floats:
        """The same, of those entries alone that are not the same in both records."""
        logs = [self.law.log_density(rows - truth[moved]) for truth in (self.first, self.second)]
        return np.asarray((logs[1] - logs[0]).sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Lower bounds on a loss, that hold together.

    Attributes:
        epsilon: on epsilon at the delta.
        excess: on delta at the claimed epsilon.
        rho: on rho of a concentrated claim; 0 for others.
        noise: in which way the noise differs from what is stated; empty where it does not.
    """

    epsilon: float
    excess: float
    rho: float
    noise: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Releases of two neighbouring records, and what they are to be judged by.

    Attributes:
        guarantee: the claim.
        parts: what was released, one entry for each vector.
        drawn: for each part the releases of the first and of the second record, one per row.
        delta: the delta at which epsilon is bounded; 0 for pure claims.
    """

    guarantee: Guarantee
    parts: tuple[Part, ...]
    drawn: tuple[tuple[Floats, Floats], ...]
    delta: float

    @property
    def draws(self) -> int:
        """How many releases of each record."""
        return len(self.drawn[0][0])

    @property
    def claimed(self) -> float:
        """The claimed epsilon at the delta."""
        if self.delta in (0.0, self.guarantee.delta):
            return self.guarantee.epsilon or 0.0
        return self.guarantee.epsilon_at(self.delta)

    @cached_property
    def loss(self) -> Loss:
        """The loss between the two records, if the noise is as stated."""
        return loss_of([(part.law, part.second - part.first) for part in self.parts])

    @property
    def supported(self) -> bool:
        """Whether the claim covers that loss."""
        return not contradicts(self.loss, self.guarantee)

    def bounds(self, risk: float) -> Bounds:
        """Lower bounds that all hold but for a risk.

        Which events to look at is chosen on simulated noise, so every real draw counts, and the limits are exact
        (Clopper and Pearson) whatever the real noise is.
        """
        ratios = self._ratios
        measures = self._measures
        best = dict.fromkeys(measures, 0.0)
        for share, part in _SHARES.items():
            each = risk * (1 - _LAW_RISK) * part / len(measures)
            simulated = self._simulated(share)
            for name in measures:
                event = self._best_event(name, simulated, each)
                least, most = (limit[0] for limit in _limits(ratios, *event, each, self.draws))
                best[name] = max(best[name], float(self._value(name, np.array([least]), np.array([most]))[0]))
        return Bounds(
            epsilon=best.get("epsilon", 0.0),
            excess=best.get("excess", 0.0),
            rho=best.get("rho", 0.0),
            noise=self._noise(risk * _LAW_RISK),
        )

    @property
    def _measures(self) -> tuple[str, ...]:
        return ("epsilon", "excess") if self.guarantee.rho is None else ("rho", "epsilon")

    @cached_property
    def _ratios(self) -> tuple[Floats, Floats]:
        sides = [
            np.sum([part.log_ratio(drawn[side]) for part, drawn in zip(self.parts, self.drawn, strict=True)], axis=0)
            for side in (0, 1)
        ]
        return np.sort(sides[0]), np.sort(sides[1])

    def _simulated(self, share: float) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(0)
        parts = [part.simulated(share, _SIMULATED, rng) for part in self.parts]
        first, second = (np.sort(np.sum([part[side] for part in parts], axis=0)) for side in (0, 1))
        return first, second

    def _best_event(self, name: str, simulated: tuple[Floats, Floats], risk: float) -> tuple[float, Floats]:
        """The event that would show the most, among those that the ratio is above, or below, a threshold."""
        found: list[tuple[float, float, float]] = []
        for sign in (1.0, -1.0):
            expected = simulated[1] if sign > 0 else simulated[0]
            thresholds = np.unique(np.quantile(expected, np.linspace(0.002, 0.998, 250)))
            least, most = _limits(simulated, sign, thresholds, risk, self.draws)
            values = self._value(name, least, most)
            place = int(np.argmax(values))
            found.append((float(values[place]), sign, float(thresholds[place])))
        _, sign, threshold = max(found)
        return sign, np.array([threshold])

    def _value(self, name: str, least: Floats, most: Floats) -> Floats:
        """What the rates of an event under both records prove, at least."""
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
        noise = [
            (part.law, np.concatenate([(drawn[0] - part.first).ravel(), (drawn[1] - part.second).ravel()]))
            for part, drawn in zip(self.parts, self.drawn, strict=True)
        ]
        return next((differs for law, some in noise if (differs := noise_differs(law, some, risk / len(noise)))), "")


def delta_of(guarantee: Guarantee, delta: float | None) -> float:
    """The delta at which a claim is looked at: 0 for a pure one."""
    return 0.0 if guarantee.kind == "pure" else delta or guarantee.delta or DELTA


def _limits(
    ratios: Sequence[Floats], sign: float, thresholds: Floats, risk: float, draws: int
) -> tuple[Floats, Floats]:
    """At least how often an event happens under one record, and at most how often under the other.

    Exact limits for ``draws`` releases of each record whose rates are as seen in sorted ratios.
    """
    # Where the ratio is the same for many vectors, round-off must not part them.
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
    """The least rho of two normal laws, ``mu**2 / 2``, between which an event can have these rates."""
    p, q = np.clip(least, 1e-300, 1 - 1e-16), np.clip(most, 1e-300, 1 - 1e-16)
    return np.square(np.maximum(0.0, ndtri(p) - ndtri(q))) / 2


def _rho(least: Floats, most: Floats, omega: float) -> Floats:
    """The least rho of a concentrated loss under which an event can have these rates: ``D_a / a``, over all orders."""
    orders = _ORDERS[omega > _ORDERS][:, None]
    p, q = np.clip(least, 1e-300, 1 - 1e-16), np.clip(most, 1e-300, 1 - 1e-16)
    inside = orders * np.log(p) + (1 - orders) * np.log(q)
    outside = orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
    divergence = np.logaddexp(inside, outside) / (orders - 1)
    return np.where(p > q, np.maximum(0.0, (divergence / orders).max(axis=0)), 0.0)
