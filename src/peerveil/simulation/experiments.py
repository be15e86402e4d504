"""The errors of each method in the paper's simulations, and on a real public record.

The true vectors are synthetic, so errors may be published. An error is the sum of squared errors, as in the paper.
Methods are compared on the same records, assignments and noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.assignments import deal
from peerveil.inference.prior import prior
from peerveil.mechanisms import Laplace, Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support import parallel

#: The titles of the methods: the noisy vector, projections on regions, and estimators on the tight region.
TITLES = {
    "noisy": "noisy vector",
    "baseline": "baseline",
    "chain": "chain (the paper)",
    "tight": "tight projection",
    "safe": "safe",
    "bayes": "bayes",
}
METHODS = tuple(TITLES)

#: Draws per task: enough to outweigh the overhead of a task, few enough to show progress.
_BLOCK = 10

#: Reviews per reviewer and per paper, as in the paper.
_LOAD = 2

#: The two parameters of each weight's Beta distribution, given the value of the axis and, for each review, its paper
#: and its reviewer (both counted from 1).
Beta = Callable[[float, Floats, Floats], tuple[Floats | float, Floats | float]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A series of settings in which one number, the ``axis``, is each of ``points``: ``"reviewers"`` or ``"a"``."""

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    beta: Beta = field(repr=False)

    def draw(self, point: float, rng: np.random.Generator) -> tuple[PublicWeights, Floats]:
        """Return a public record and its true vector."""
        n = int(point) if self.axis == "reviewers" else 10
        paper = np.repeat(np.arange(n, dtype=np.int64), _LOAD)
        holder = deal(paper, np.full(n, _LOAD, dtype=np.int64), rng)
        places = (paper.astype(np.float64) + 1, holder.astype(np.float64) + 1)
        weight = rng.beta(*self.beta(point, *places), size=paper.size)
        truth = np.sort(np.bincount(holder, weights=weight) / _LOAD)
        return PublicWeights.from_rows(weight.reshape(n, _LOAD), load=_LOAD), truth


def _over_reviewers(name: str, title: str, beta: Beta) -> Experiment:
    points = tuple(float(n) for n in range(10, 51, 5))
    return Experiment(name=name, title=title, axis="reviewers", points=points, beta=beta)


def _fixed(a: float, b: float) -> Experiment:
    return _over_reviewers(f"beta-{a:g}-{b:g}", f"Beta({a:g}, {b:g})", lambda _point, _paper, _reviewer: (a, b))


def _one_two(_point: float, paper: Floats, _reviewer: Floats) -> tuple[Floats, Floats]:
    """Return the first parameter 1 for the first review of each paper and 2 for the second, and ``i`` for paper i."""
    return np.where(np.arange(paper.size) % _LOAD == 0, 1.0, 2.0), paper


_ALL = (
    *(_fixed(a, b) for a, b in ((5.0, 1.0), (2.0, 5.0), (1.0, 3.0), (2.0, 2.0), (0.5, 0.5))),
    Experiment(
        name="beta-a-a",
        title="Beta(a, a), 10 reviewers",
        axis="a",
        points=tuple(np.arange(0.5, 10.01, 0.5).tolist()),
        beta=lambda a, _paper, _reviewer: (a, a),
    ),
    _over_reviewers("beta-12-i", "Beta(1, i) and Beta(2, i), for paper i", _one_two),
    _over_reviewers(
        "beta-i-j", "Beta(i, j), for paper i and reviewer j", lambda _point, paper, reviewer: (paper, reviewer)
    ),
)

#: The paper's eight simulations, by name.
EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _ALL}


class Point(NamedTuple):
    """The errors of one method at one setting."""

    experiment: str
    axis: str
    point: float
    method: str
    mean: float
    error: float
    draws: int


@dataclass(frozen=True, eq=False)
class Sweep:
    """The results of a simulation: the error of every draw, for each setting and method.

    Attributes:
        experiment: its name.
        title: its title in figures.
        axis: the number that varies.
        methods: the methods compared.
        errors: for each value of the axis, one row per draw and one column per method.
        seed: the seed of the draws.
    """

    experiment: str
    title: str
    axis: str
    methods: tuple[str, ...]
    errors: Mapping[float, Floats] = field(repr=False)
    seed: int

    def table(self) -> list[Point]:
        """Return the mean error and its standard error, for each setting and method."""
        return [
            Point(
                experiment=self.experiment,
                axis=self.axis,
                point=point,
                method=method,
                mean=float(column.mean()),
                error=float(column.std(ddof=1) / math.sqrt(column.size)) if column.size > 1 else math.nan,
                draws=column.size,
            )
            for point, errors in self.errors.items()
            for method, column in zip(self.methods, errors.T, strict=True)
        ]

    def difference(self, point: float, worse: str, better: str) -> tuple[float, float]:
        """Return the mean of the paired differences of two methods' errors at a setting, and its standard error."""
        errors = self.errors[point]
        gap = errors[:, self.methods.index(worse)] - errors[:, self.methods.index(better)]
        return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(gap.size))


def errors_of(rehearsal: Rehearsal, truth: Floats, rng: np.random.Generator, methods: Sequence[str]) -> list[float]:
    """Return the sum of squared errors of each method, for noise drawn on a synthetic true vector.

    >>> rehearsal = Rehearsal.of(PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2), Laplace(scale=1.0))
    >>> errors = errors_of(rehearsal, np.array([0.3, 0.7]), np.random.default_rng(1), METHODS)
    >>> errors[0] > errors[1] >= errors[2] >= errors[3]
    True
    """
    answers = rehearsal.answers(rehearsal.perturb(truth, rng), methods)
    return [float(np.sum((answers[method] - truth) ** 2)) for method in methods]


def simulate(
    experiment: str,
    *,
    draws: int = 100,
    methods: Sequence[str] = METHODS,
    scale: float = 1.0,
    points: Sequence[float] | None = None,
    seed: int = 1,
    **options: Unpack[parallel.Options],
) -> Sweep:
    """Run one of the paper's simulations.

    Args:
        experiment: its name, one of ``EXPERIMENTS``.
        draws: number of records with assignment and noise, for each setting.
        methods: the methods to compare.
        scale: the scale of the Laplace noise; 1 in the paper.
        points: the values of the axis; the paper's by default.
        seed: the seed of the draws.
        options: where and how to run, as in :func:`peerveil.support.parallel.run`.

    >>> sweep = simulate("beta-2-2", draws=5, points=[10], methods=("noisy", "baseline"), workers=1)
    >>> [point.method for point in sweep.table()]
    ['noisy', 'baseline']
    """
    if experiment not in EXPERIMENTS:
        raise InputError(Argument("experiment"), f" must be one of {', '.join(EXPERIMENTS)}, got {experiment!r}")
    chosen = EXPERIMENTS[experiment]
    settings = tuple(float(point) for point in (chosen.points if points is None else points))
    _check(draws, methods)
    tasks = [
        _PaperTask(experiment, point, block, min(_BLOCK, draws - first), tuple(methods), scale)
        for point in settings
        for block, first in enumerate(range(0, draws, _BLOCK))
    ]
    results = parallel.run(_run_paper_task, tasks, seed=seed, **options)
    errors = {
        point: np.array([row for task, rows in zip(tasks, results, strict=True) if task.point == point for row in rows])
        for point in settings
    }
    return Sweep(experiment, chosen.title, chosen.axis, tuple(methods), errors, seed)


def simulate_record(
    weights: PublicWeights,
    *,
    leniency: Sequence[float] = (0.0, 0.4, 0.9, 2.0),
    mechanism: Mechanism,
    unit: str = "reviewer",
    draws: int = 20,
    methods: Sequence[str] = METHODS,
    name: str = "record",
    seed: int = 1,
    **options: Unpack[parallel.Options],
) -> Sweep:
    """Simulate on a real public record, with synthetic assignments at several strengths of leniency.

    Args:
        weights: the public weights of the record.
        leniency: how strongly reviewers differ; 0 assigns reviews at random.
        mechanism: the mechanism, with a budget or a noise scale.
        unit: the protected unit of a budget.
        draws: number of assignments with noise, for each leniency.
        methods: the methods to compare.
        name: the name of the record in figures.
        seed: the seed of the draws.
        options: where and how to run, as in :func:`peerveil.support.parallel.run`.
    """
    _check(draws, methods)
    if not leniency or not all(math.isfinite(s) and s >= 0 for s in leniency):
        raise InputError(Argument("leniency"), f" must be finite numbers of at least 0, got {list(leniency)}")
    settled = Rehearsal.of(weights, mechanism, unit=unit).mechanism
    tasks = [_RecordTask(weights, float(s), draw, tuple(methods), settled) for s in leniency for draw in range(draws)]
    results = parallel.run(_run_record_task, tasks, seed=seed, **options)
    errors = {
        float(s): np.array([row for task, row in zip(tasks, results, strict=True) if task.leniency == s])
        for s in leniency
    }
    return Sweep(name, f"{name}: {weights.reviewers} reviewers", "leniency", tuple(methods), errors, seed)


def _check(draws: int, methods: Sequence[str]) -> None:
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise InputError(Argument("draws"), f" must be a whole number of at least 1, got {draws!r}")
    for method in methods:
        if method not in METHODS:
            raise InputError(Argument("methods"), f" must be among {', '.join(METHODS)}, got {method!r}")
    if not methods:
        raise InputError(Argument("methods"), " must name at least one")


class _PaperTask(NamedTuple):
    experiment: str
    point: float
    block: int
    draws: int
    methods: tuple[str, ...]
    scale: float


def _run_paper_task(task: _PaperTask, seeds: np.random.SeedSequence) -> list[list[float]]:
    rng = np.random.default_rng(seeds)
    errors = []
    for _ in range(task.draws):
        weights, truth = EXPERIMENTS[task.experiment].draw(task.point, rng)
        errors.append(errors_of(Rehearsal.of(weights, Laplace(scale=task.scale)), truth, rng, task.methods))
    return errors


class _RecordTask(NamedTuple):
    weights: PublicWeights
    leniency: float
    draw: int
    methods: tuple[str, ...]
    mechanism: Mechanism

    def __repr__(self) -> str:
        """Return the key of kept results."""
        return f"{self.weights.digest()} {self.leniency!r} {self.draw} {self.methods} {self.mechanism!r}"

    def rehearsal(self) -> Rehearsal:
        """Return the rehearsal that all tasks of a record share, made once per process."""
        key = (self.weights.digest(), repr(self.mechanism))
        if key not in _REHEARSALS:
            _REHEARSALS.clear()
            _REHEARSALS[key] = Rehearsal.of(self.weights, self.mechanism)
        return _REHEARSALS[key]


#: The latest rehearsal of this process.
_REHEARSALS: dict[tuple[str, str], Rehearsal] = {}


def _run_record_task(task: _RecordTask, seeds: np.random.SeedSequence) -> list[float]:
    truth_seed, noise_seed = seeds.spawn(2)
    truth = prior(task.weights, draws=1, seed=truth_seed).ensemble(task.leniency).vectors[0]
    return errors_of(task.rehearsal(), truth, np.random.default_rng(noise_seed), task.methods)
