"""The audit: are the claims true, and is the noise no larger than they need?

Two neighbouring records as far apart as the sensitivity allows are released many times, by the real release path. How
well the releases can be told apart gives a lower bound on the loss that holds with a stated confidence. It must not
exceed the claim; where the claim is tight it comes close to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import beta

from peerveil import engine
from peerveil.accounting import check_delta
from peerveil.binning import bins_of
from peerveil.bins import Bins, NoisyCounts
from peerveil.errors import InputError
from peerveil.guarantee import DELTA, Guarantee, Unit, check_unit
from peerveil.mechanisms import Gaussian, Histogram, Laplace, OwnMechanism, SinhNormal, mechanism_from
from peerveil.private.release import prepare_release
from peerveil.private.reviews import Reviews
from peerveil.private.truth import true_vector
from peerveil.record import Floats
from peerveil.weights import weigh

#: Releases in one task: long enough that starting a task costs nothing, short enough to show progress.
_BLOCK = 250

#: Simulated releases on which the test is chosen.
_SIMULATED = 40_000

#: Which shares of the stated noise the tests are chosen for.
_SMALLER = (1.0, 0.5, 0.125, 0.015625)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes:
        guarantee: the claim of the audited releases.
        draws: how many releases of each of the two records.
        confidence: with which each lower bound holds.
        delta: the delta at which epsilon is bounded; 0 for pure claims.
        claimed: the claimed epsilon at that delta.
        epsilon: a lower bound on the true epsilon at that delta.
        delta_found: a lower bound on the true delta at the claimed epsilon.
    """

    guarantee: Guarantee
    draws: int
    confidence: float
    delta: float
    claimed: float
    epsilon: float
    delta_found: float
    _evidence: _Evidence = field(repr=False)

    def at(self, confidence: float) -> Audit:
        """The same releases, judged with another confidence."""
        _check_confidence(confidence)
        return _judged(self.guarantee, self._evidence, confidence)

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim."""
        return self.epsilon <= self.claimed and self.delta_found <= self.delta


def audit(
    mechanism: OwnMechanism,
    *,
    unit: str = "reviewer",
    load: int = 2,
    public: str = "all",
    draws: int = 20_000,
    confidence: float = 0.99,
    delta: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: engine.Progress | None = None,
) -> Audit:
    """Audit a mechanism on the worst neighbours of a unit.

    Args:
        mechanism: what to audit, with its budget or noise.
        unit: ``"reviewer"`` or ``"review"``.
        load: how many reviews each reviewer of the audited records has.
        public: whether ``"all"`` scores of the audited records are public, or ``"none"``.
        draws: how many releases of each record.
        confidence: with which the lower bounds are to hold.
        delta: at which delta to bound epsilon, where the claim is not pure.
        workers: how many processes; all cores by default.
        executor: run on this instead.
        progress: called as the work goes on.

    Noise is real, so no two audits are the same.

    >>> from peerveil.mechanisms import Laplace
    >>> audit(Laplace(epsilon=1.0), draws=500, workers=1).passed
    True
    """
    protected = check_unit(unit)
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 100:
        raise InputError(f"draws must be a whole number of at least 100, got {draws!r}")
    _check_confidence(confidence)
    if delta is not None:
        check_delta(delta)
    bins = None
    if isinstance(mechanism, Histogram):
        # Enough bins to tell all means of the audited records apart, unless their number is part of the question.
        number = mechanism.bins or 2 * load + 1
        mechanism = replace(mechanism, bins=number)
        *pair, bins = worst_neighbours_counted(protected, load, public, number)
    else:
        pair = list(worst_neighbours(protected, load, public))
    sizes = [_BLOCK] * (draws // _BLOCK) + ([draws % _BLOCK] if draws % _BLOCK else [])
    tasks = [_Task(reviews, mechanism, protected, public, size) for size in sizes for reviews in pair]
    blocks = engine.run(_release_often, tasks, workers=workers, executor=executor, progress=progress)
    guarantee, stated = blocks[0][1]
    described = mechanism_from(stated)
    if not isinstance(described, Laplace | Gaussian | SinhNormal | Histogram) or described.noise_law() is None:
        raise InputError("the release states no noise, so there is nothing to audit")
    at = 0.0 if guarantee.kind == "pure" else delta or guarantee.delta or DELTA
    evidence = _Evidence(
        mechanism=described,
        truths=tuple(_to_protect(true_vector(reviews, "ratings"), bins) for reviews in pair),
        drawn=tuple(np.concatenate([vectors for vectors, _ in blocks[side::2]]) for side in (0, 1)),
        delta=at,
        claimed=guarantee.epsilon_at(at) if at else guarantee.epsilon or 0.0,
    )
    return _judged(guarantee, evidence, confidence)


def _check_confidence(confidence: float) -> None:
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must be at least 0.5 and less than 1, got {confidence}")


def _judged(guarantee: Guarantee, evidence: _Evidence, confidence: float) -> Audit:
    epsilon, found = evidence.bounds(1 - confidence)
    return Audit(
        guarantee=guarantee,
        draws=len(evidence.drawn[0]),
        confidence=confidence,
        delta=evidence.delta,
        claimed=evidence.claimed,
        epsilon=epsilon,
        delta_found=found,
        _evidence=evidence,
    )


def _check_pair(load: int, public: str) -> None:
    if isinstance(load, bool) or not isinstance(load, int) or load < 2:
        raise InputError(f"load must be a whole number of at least 2, got {load!r}; with a load of 1 nothing is secret")
    if public not in ("all", "none"):
        raise InputError(f"public must be 'all' or 'none', got {public!r}")


def worst_neighbours(unit: Unit, load: int, public: str) -> tuple[Reviews, Reviews]:
    """Two neighbouring records, as far apart as the sensitivity allows; scores from 0 to 1, each on a paper of its own.

    For the unit reviewer with public scores, a reviewer of zeros exchanges all but one of them with reviewers of ones.
    For the unit review, two reviewers in the middle exchange a zero for a one and move apart. Where scores are hidden,
    what is exchanged may change as well: two reviewers of zeros exchange one, or all, and these become ones.

    >>> [true_vector(reviews, "ratings").tolist() for reviews in worst_neighbours("reviewer", 2, "all")]
    [[0.0, 1.0], [0.5, 0.5]]
    """
    _check_pair(load, public)
    hidden = public == "none"
    # Which review of the first reviewer is exchanged with which other reviewer's which.
    if hidden:
        holdings = [[0.0] * load, [0.0] * load]
        exchanges = [(i, 1, i) for i in range(1 if unit == "review" else load)]
    elif unit == "review":
        holdings, exchanges = [[0.0] + [1.0] * (load - 1), [1.0] + [0.0] * (load - 1)], [(0, 1, 0)]
    else:
        holdings = [[0.0] * load, *([1.0] * load for _ in range(load - 1))]
        exchanges = [(i, i + 1, 0) for i in range(load - 1)]
    scores = [score for row in holdings for score in row]
    holders = [f"r{j}" for j, row in enumerate(holdings) for _ in row]
    after, changed = holders.copy(), scores.copy()
    for mine, partner, place in exchanges:
        theirs = partner * load + place
        after[mine], after[theirs] = f"r{partner}", "r0"
        if hidden:
            changed[mine] = changed[theirs] = 1.0
    papers = [f"p{i:06d}" for i in range(len(scores))]
    return (
        Reviews.from_columns(papers, holders, scores, scale=(0, 1)),
        Reviews.from_columns(papers, after, changed, scale=(0, 1)),
    )


def worst_neighbours_counted(unit: Unit, load: int, public: str, number: int) -> tuple[Reviews, Reviews, Bins]:
    """Two neighbouring records whose counts are as far apart as the sensitivity allows, and the bins of both.

    Everybody who takes part in an exchange leaves a bin for one that nobody leaves. With scores of 0, 1/2 and 1, a
    reviewer of zeros gets a one from each of the others, who have halves besides. Where scores are hidden, what is
    exchanged becomes ones, and the others are as near to the end of a bin as makes them leave it.

    >>> one, other, bins = worst_neighbours_counted("reviewer", 2, "all", 5)
    >>> [bins.counts(true_vector(reviews, "ratings")).tolist() for reviews in (one, other)]
    [[1, 0, 0, 2, 0], [0, 2, 0, 0, 1]]
    """
    _check_pair(load, public)
    others = 1 if unit == "review" else load
    if public == "none":
        papers = [f"p{i:06d}" for i in range(load * (others + 1))]
        holders = [f"r{j}" for j in range(others + 1) for _ in range(load)]
        blank = Reviews.from_columns(papers, holders, [0.0] * len(papers), scale=(0, 1))
        bins = bins_of(weigh(blank.public("none")), number)
        cut = float(bins.cuts[np.argmin(np.abs(bins.cuts - 0.5))])
        near = [min(1.0, max(0.0, (cut * load - 0.5) / (load - 1)))] * (load - 1)
        # What is exchanged is a zero before and a one after, on both sides.
        first = [0.0, *near] if unit == "review" else [0.0] * load
        return *_exchanged([first, *([0.0, *near] for _ in range(others))], others, becomes=1.0), bins
    if unit == "review":
        holdings = [[0.0] + [0.5] * (load - 1), [1.0] * load]
    else:
        holdings = [[0.0] * load, *([1.0] + [0.5] * (load - 1) for _ in range(load))]
    pair = _exchanged(holdings, others)
    return *pair, bins_of(weigh(pair[0].public("all")), number)


def _exchanged(holdings: list[list[float]], exchanges: int, *, becomes: float | None = None) -> tuple[Reviews, Reviews]:
    """A record, and the same after the first reviewer exchanged reviews for the first ones of others, one each."""
    load = len(holdings[0])
    scores = [score for row in holdings for score in row]
    holders = [f"r{j}" for j, row in enumerate(holdings) for _ in row]
    after, changed = holders.copy(), scores.copy()
    for mine in range(exchanges):
        theirs = (mine + 1) * load
        after[mine], after[theirs] = f"r{mine + 1}", "r0"
        if becomes is not None:
            changed[mine] = changed[theirs] = becomes
    papers = [f"p{i:06d}" for i in range(len(scores))]
    return (
        Reviews.from_columns(papers, holders, scores, scale=(0, 1)),
        Reviews.from_columns(papers, after, changed, scale=(0, 1)),
    )


def _to_protect(vector: Floats, bins: Bins | None) -> Floats:
    return vector if bins is None else bins.counts(vector).astype(np.float64)


@dataclass(frozen=True)
class _Task:
    reviews: Reviews
    mechanism: OwnMechanism
    unit: Unit
    public: str
    draws: int


def _release_often(task: _Task, _: np.random.SeedSequence) -> tuple[Floats, tuple[Guarantee, dict[str, object]]]:
    """Release a record many times, by the path of every release up to the noise, which refining cannot undo.

    Returns the noisy vectors (or counts), the claim and the mechanism. Seeds are of no use: noise is real.
    """
    made = [
        prepare_release(
            task.reviews,
            public=task.public,
            quantity="ratings",
            mechanism=task.mechanism,
            unit=task.unit,
            accept_float_noise=True,
        ).draw()
        for _ in range(task.draws)
    ]
    noisy = [one.noisy.counts if isinstance(one.noisy, NoisyCounts) else one.noisy for one in made]
    return np.stack(noisy).astype(np.float64), (made[0].guarantee, made[0].mechanism.describe())


@dataclass(frozen=True)
class _Test:
    """Says "second" where the likelihood ratio, in one direction, is above a threshold."""

    sign: float
    threshold: float

    def rates(self, ratios: tuple[Floats, Floats], risk: float, draws: int | None = None) -> tuple[float, float]:
        """At least how often it is right, at most how often it is wrong: exact limits (Clopper and Pearson).

        With ``draws``: the limits that so many draws would give, if the rates were as seen here.
        """
        right, wrong = ratios if self.sign < 0 else ratios[::-1]
        # Where the ratio is the same for many vectors, round-off must not part them.
        cut = self.threshold - 1e-9 * (1 + abs(self.threshold))
        size = draws or right.size
        hits, errors = (float(np.mean(self.sign * ratio >= cut)) * size for ratio in (right, wrong))
        least = float(beta.ppf(risk / 2, hits, size - hits + 1)) if hits else 0.0
        most = float(beta.ppf(1 - risk / 2, errors + 1, size - errors)) if errors < size else 1.0
        return least, most


@dataclass(frozen=True, kw_only=True, eq=False)
class _Evidence:
    """The releases of two records, and what they are to be judged by."""

    mechanism: OwnMechanism
    truths: tuple[Floats, ...]
    drawn: tuple[Floats, ...]
    delta: float
    claimed: float

    def bounds(self, risk: float) -> tuple[float, float]:
        """Lower bounds on epsilon at the delta, and on delta at the claimed epsilon.

        Which tests to use is chosen on simulated noise, so every real draw counts, and their bounds are honest ones
        whatever the real noise is. Most of the risk goes to the best test for noise as stated, the rest to the best
        ones for smaller noise: with that, what is far out for the stated noise may never be seen.
        """
        real = self._ratios(self.drawn)
        epsilon = excess = 0.0
        for factor in _SMALLER:
            share = risk * (0.75 if factor == 1 else 0.25 / (len(_SMALLER) - 1))
            one, other = self._best_tests(factor, share)
            epsilon = max(epsilon, self._epsilon(*one.rates(real, share)))
            excess = max(excess, self._excess(*other.rates(real, share)))
        return epsilon, excess

    def _best_tests(self, factor: float, risk: float) -> tuple[_Test, _Test]:
        """The tests that would show the most of epsilon and of delta, if the noise were so much smaller than stated."""
        rng = np.random.default_rng(0)
        draws, entries = self.drawn[0].shape
        smaller = self.mechanism.widened(factor).noise_law()
        assert smaller is not None  # noqa: S101 - stated noise, made smaller
        noise = [smaller.draw(rng, _SIMULATED * entries).reshape(_SIMULATED, entries) for _ in self.truths]
        simulated = self._ratios([truth + drawn for truth, drawn in zip(self.truths, noise, strict=True)])
        tests = [
            _Test(sign, float(threshold))
            for sign in (1.0, -1.0)
            for threshold in np.quantile(sign * simulated[sign > 0], np.linspace(0, 0.99, 100))
        ]
        seen = [(test, test.rates(simulated, risk, draws)) for test in tests]
        by_epsilon = max(seen, key=lambda pair: (pair[1][0] - self.delta) / pair[1][1])
        by_excess = max(seen, key=lambda pair: pair[1][0] - self._factor * pair[1][1])
        return by_epsilon[0], by_excess[0]

    def _ratios(self, vectors: Sequence[Floats]) -> tuple[Floats, Floats]:
        """How much likelier vectors are under the second record than the first: no test tells them apart better."""
        law = self.mechanism.noise_law()
        assert law is not None  # noqa: S101 - checked before
        logs = [[law.log_density(some - truth).sum(axis=1) for truth in self.truths] for some in vectors]
        return logs[0][1] - logs[0][0], logs[1][1] - logs[1][0]

    def _epsilon(self, least: float, most: float) -> float:
        return math.log((least - self.delta) / most) if least - self.delta > most else 0.0

    def _excess(self, least: float, most: float) -> float:
        return max(0.0, least - self._factor * most)

    @property
    def _factor(self) -> float:
        return math.exp(min(self.claimed, 700.0))
