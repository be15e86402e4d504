"""Rehearsals of many mechanisms on the same plausible assignments, in parallel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from peerveil.inference.family import CORRELATIONS
from peerveil.inference.pooling import used_prior
from peerveil.inference.prior import prior
from peerveil.mechanisms import Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.guarantee import Unit
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support import parallel

#: How strongly reviewers are taken to differ in leniency, each as likely as the others; 0 is not at all.
LENIENCIES = (0.0, 0.4, 0.9, 2.0)

#: The quantiles of leniency that stand for all, where earlier releases tell how likely each is.
_QUANTILES = (0.125, 0.375, 0.625, 0.875)

_DECILES = np.arange(1, 10) / 10

#: The number of blocks in which posteriors of long vectors are computed.
_BLOCKS = 512

#: With fewer simulated reviewers, each assignment counted as so many more, starting processes takes too long.
_FEW, _MORE = 150_000, 500


def leniencies_of(weights: PublicWeights) -> tuple[float, ...]:
    """The leniencies of plausible assignments, equally likely: the usual ones, or those that earlier releases imply."""
    prior = used_prior(weights)
    if prior is None:
        return LENIENCIES
    below = np.cumsum(prior.mixed.sum(axis=(0, 2)))
    middle = below - np.diff(below, prepend=0.0) / 2
    correlations = np.maximum(np.interp(_QUANTILES, middle, CORRELATIONS), 0.0)
    return tuple((correlations / np.sqrt(1 - correlations**2)).tolist())


def plausible(weights: PublicWeights, leniency: int, draw: int, seed: int) -> Floats:
    """The sorted means of an assignment that fits the record, the same for every candidate.

    >>> weights = PublicWeights.from_rows([[0, 1], [0, 1]], load=2)
    >>> float(plausible(weights, leniency=0, draw=3, seed=1).sum())
    1.0
    """
    planned = _planned(weights)
    if (leniency, draw, seed) not in planned.truths:
        seeds = np.random.SeedSequence(seed, spawn_key=(1, leniency, draw))
        (truth,) = prior(planned.weights, draws=1, seed=seeds).ensemble(planned.leniencies[leniency]).vectors
        truth.flags.writeable = False  # shared by all candidates
        planned.truths[leniency, draw, seed] = truth
    return planned.truths[leniency, draw, seed]


@dataclass(frozen=True)
class Rounds:
    """Rehearses candidates on assignments."""

    weights: PublicWeights
    unit: Unit
    estimators: tuple[str, ...]
    seed: int
    workers: int | None
    executor: Executor | None

    def run(
        self, candidates: Sequence[Mechanism], draws: range, progress: parallel.Progress
    ) -> dict[Mechanism, Floats]:
        """For each candidate: leniency, draw, estimator, and squared error and largest error of a decile."""
        tasks = [
            _Task(self.weights, self.unit, candidate, leniency, draw, self.estimators, self.seed)
            for candidate in candidates
            for leniency in range(len(LENIENCIES))
            for draw in draws
        ]
        few = len(tasks) * (self.weights.reviewers + _MORE) < _FEW
        workers = 1 if few and self.workers is None else self.workers
        found = parallel.run(
            _rehearse, tasks, seed=self.seed, workers=workers, executor=self.executor, progress=progress
        )
        shape = (len(candidates), len(LENIENCIES), len(draws), len(self.estimators), 2)
        return dict(zip(candidates, np.array(found).reshape(shape), strict=True))


@dataclass(frozen=True, eq=False)
class _Task:
    weights: PublicWeights
    unit: Unit
    candidate: Mechanism
    leniency: int
    draw: int
    estimators: tuple[str, ...]
    seed: int


def _rehearse(task: _Task, seeds: np.random.SeedSequence) -> list[list[float]]:
    truth = plausible(task.weights, task.leniency, task.draw, task.seed)
    rehearsal = _rehearsal(task.weights, task.candidate, task.unit)
    answers = rehearsal.answers(rehearsal.perturb(truth, np.random.default_rng(seeds)), task.estimators)
    return [
        [
            float(np.mean((answers[name] - truth) ** 2)),
            float(np.abs(np.quantile(answers[name], _DECILES) - np.quantile(truth, _DECILES)).max()),
        ]
        for name in task.estimators
    ]


@dataclass(frozen=True, eq=False)
class _Planned:
    """The weights that a process is planning for, with rehearsals on them and synthetic truths."""

    weights: PublicWeights
    leniencies: tuple[float, ...]
    rehearsals: dict[tuple[Mechanism, Unit], Rehearsal] = field(default_factory=dict)
    truths: dict[tuple[int, int, int], Floats] = field(default_factory=dict)


#: What this process is planning for, by everything that weights contain.
_PLANNED: dict[Hashable, _Planned] = {}


def _planned(weights: PublicWeights) -> _Planned:
    """What is shared by all tasks on the same weights. Each task unpickles them anew; the first ones serve all."""
    prior = None if weights.prior is None else weights.prior.digest
    key = (weights.digest(), weights.loads, weights.hidden_span, weights.reach, weights.model, prior)
    if key not in _PLANNED:
        _PLANNED.clear()
        _PLANNED[key] = _Planned(weights, leniencies_of(weights))
    return _PLANNED[key]


def _rehearsal(weights: PublicWeights, candidate: Mechanism, unit: Unit) -> Rehearsal:
    """The rehearsal of a candidate."""
    planned = _planned(weights)
    if (candidate, unit) not in planned.rehearsals:
        planned.rehearsals[candidate, unit] = Rehearsal.of(planned.weights, candidate, unit=unit, blocks=_BLOCKS)
    return planned.rehearsals[candidate, unit]
