"""The paper's simulations, and the same on a real public record: how far each method's answer is from the truth.

The truth is synthetic, so errors may be known and shown. An error is the summed squared one, as in the paper. Methods
are compared on the same records, assignments and noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.assignments import deal
from peerveil.inference.prior import prior
from peerveil.mechanisms import Laplace, Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support import parallel

#: What is compared: the noisy vector, projections on regions, and estimators on the tight region.
METHODS = ("noisy", "baseline", "chain", "tight", "safe", "bayes")

#: What a table and a figure call them.
TITLES = {
    "noisy": "noisy vector",
    "baseline": "baseline",
    "chain": "chain (the paper)",
    "tight": "tight projection",
    "safe": "safe",
    "bayes": "bayes",
}

#: Draws in one task: long enough that a task's own cost does not matter, short enough to show progress.
_BLOCK = 10

#: Each reviewer writes two reviews, each paper gets two, as in the paper.
_LOAD = 2


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A series of settings with one number that varies.

    Attributes:
        name: what users write.
        title: what figures say.
        axis: what varies: ``"reviewers"`` or ``"a"``.
        points: its values.
        beta: the two parameters of the weights' Beta distribution, for each review: from the value, the papers and the
            reviewers of all reviews (both counted from 1).
    """

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    beta: Callable[[float, Floats, Floats], tuple[Floats | float, Floats | float]] = field(repr=False)

    def draw(self, point: float, rng: np.random.Generator) -> tuple[PublicWeights, Floats]:
        """A public record and its true vector."""
        n = int(point) if self.axis == "reviewers" else 10
        paper = np.repeat(np.arange(n, dtype=np.int64), _LOAD)
        holder = deal(paper, np.full(n, _LOAD, dtype=np.int64), rng)
        places = (paper.astype(np.float64) + 1, holder.astype(np.float64) + 1)
        weight = rng.beta(*self.beta(point, *places), size=paper.size)
        truth = np.sort(np.bincount(holder, weights=weight) / _LOAD)
        return PublicWeights.from_rows(weight.reshape(n, _LOAD), load=_LOAD), truth


_REVIEWERS = tuple(float(n) for n in range(10, 51, 5))


def _same(a: float, b: float) -> Callable[[float, Floats, Floats], tuple[float, float]]:
    return lambda _point, _paper, _reviewer: (a, b)


def _second_of_paper(paper: Floats) -> Floats:
    """1 for the first review of each paper, 2 for the second."""
    return np.where(np.arange(paper.size) % _LOAD == 0, 1.0, 2.0)


def _all() -> dict[str, Experiment]:
    listed = [
        Experiment(
            name=f"beta-{a:g}-{b:g}", title=f"Beta({a:g}, {b:g})", axis="reviewers", points=_REVIEWERS, beta=_same(a, b)
        )
        for a, b in ((5.0, 1.0), (2.0, 5.0), (1.0, 3.0), (2.0, 2.0), (0.5, 0.5))
    ]
    listed += [
        Experiment(
            name="beta-a-a",
            title="Beta(a, a), 10 reviewers",
            axis="a",
            points=tuple(np.arange(0.5, 10.01, 0.5).tolist()),
            beta=lambda a, _paper, _reviewer: (a, a),
        ),
        Experiment(
            name="beta-12-i",
            title="Beta(1, i) and Beta(2, i), for paper i",
            axis="reviewers",
            points=_REVIEWERS,
            beta=lambda _point, paper, _reviewer: (_second_of_paper(paper), paper),
        ),
        Experiment(
            name="beta-i-j",
            title="Beta(i, j), for paper i and reviewer j",
            axis="reviewers",
            points=_REVIEWERS,
            beta=lambda _point, paper, reviewer: (paper, reviewer),
        ),
    ]
    return {experiment.name: experiment for experiment in listed}


#: The paper's eight simulations, by name.
EXPERIMENTS: Mapping[str, Experiment] = _all()


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
    """What a simulation found: the error of every draw, for each setting and method.

    Attributes:
        experiment: its name.
        title: what figures say.
        axis: what varies.
        methods: what was compared.
        errors: for each value of the axis, a row a draw and a column a method.
        seed: where the draws come from.
    """

    experiment: str
    title: str
    axis: str
    methods: tuple[str, ...]
    errors: Mapping[float, Floats] = field(repr=False)
    seed: int

    def table(self) -> list[Point]:
        """Mean error and its standard error, for each setting and method."""
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
        """Mean of the paired differences of two methods' errors at a setting, and its standard error."""
        errors = self.errors[point]
        gap = errors[:, self.methods.index(worse)] - errors[:, self.methods.index(better)]
        return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(gap.size))


def errors_of(rehearsal: Rehearsal, truth: Floats, rng: np.random.Generator, methods: Sequence[str]) -> list[float]:
    """The summed squared error of each method's answer, for noise drawn on a synthetic truth.

    >>> rehearsal = Rehearsal.of(PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2), Laplace(scale=1.0))
    >>> errors = errors_of(rehearsal, np.array([0.3, 0.7]), np.random.default_rng(1), METHODS)
    >>> errors[0] > errors[1] >= errors[2] >= errors[3]
    True
    """
    found = rehearsal.answers(rehearsal.perturb(truth, rng), methods)
    return [float(np.sum((found[method] - truth) ** 2)) for method in methods]


def simulate(
    experiment: str,
    *,
    draws: int = 100,
    methods: Sequence[str] = METHODS,
    scale: float = 1.0,
    points: Sequence[float] | None = None,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
    keep: Path | None = None,
) -> Sweep:
    """Run one of the paper's simulations.

    Args:
        experiment: its name, one of ``EXPERIMENTS``.
        draws: records, assignments and noises for each setting.
        methods: what to compare.
        scale: of the Laplace noise; the paper's is 1.
        points: the values of the axis; the paper's by default.
        seed: where the draws come from.
        workers: how many processes; all cores by default.
        executor: run on this instead, e.g. a cluster's.
        progress: called as the work goes on.
        keep: a folder for finished tasks, which are then not run again.

    >>> sweep = simulate("beta-2-2", draws=5, points=[10], methods=("noisy", "baseline"), workers=1)
    >>> [point.method for point in sweep.table()]
    ['noisy', 'baseline']
    """
    if experiment not in EXPERIMENTS:
        raise InputError(Argument("experiment"), f" must be one of {', '.join(EXPERIMENTS)}, got {experiment!r}")
    found = EXPERIMENTS[experiment]
    settings = tuple(float(point) for point in (found.points if points is None else points))
    _check(draws, methods)
    tasks = [
        _PaperTask(experiment, point, block, size, tuple(methods), scale)
        for point in settings
        for block, size in enumerate(_blocks(draws))
    ]
    results = parallel.run(
        _run_paper_task, tasks, seed=seed, workers=workers, executor=executor, progress=progress, keep=keep
    )
    errors = {
        point: np.array([row for task, rows in zip(tasks, results, strict=True) if task.point == point for row in rows])
        for point in settings
    }
    return Sweep(experiment, found.title, found.axis, tuple(methods), errors, seed)


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
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
    keep: Path | None = None,
) -> Sweep:
    """Simulate on a real public record: assignments are synthetic, at several strengths of leniency.

    Args:
        weights: public weights of the record.
        leniency: how strongly reviewers differ; 0 is random dealing.
        mechanism: with a budget, or with its noise.
        unit: what a budget is for.
        draws: assignments and noises for each leniency.
        methods: what to compare.
        name: what figures call the record.
        seed: where the draws come from.
        workers: how many processes; all cores by default.
        executor: run on this instead, e.g. a cluster's.
        progress: called as the work goes on.
        keep: a folder for finished tasks, which are then not run again.
    """
    _check(draws, methods)
    if not leniency or not all(math.isfinite(s) and s >= 0 for s in leniency):
        raise InputError(Argument("leniency"), f" must be finite numbers of at least 0, got {list(leniency)}")
    settled = Rehearsal.of(weights, mechanism, unit=unit).mechanism
    tasks = [_RecordTask(weights, float(s), draw, tuple(methods), settled) for s in leniency for draw in range(draws)]
    results = parallel.run(
        _run_record_task, tasks, seed=seed, workers=workers, executor=executor, progress=progress, keep=keep
    )
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


def _blocks(draws: int) -> list[int]:
    return [_BLOCK] * (draws // _BLOCK) + ([draws % _BLOCK] if draws % _BLOCK else [])


class _PaperTask(NamedTuple):
    experiment: str
    point: float
    block: int
    draws: int
    methods: tuple[str, ...]
    scale: float


def _run_paper_task(task: _PaperTask, seeds: np.random.SeedSequence) -> list[list[float]]:
    rng = np.random.default_rng(seeds)
    found = []
    for _ in range(task.draws):
        weights, truth = EXPERIMENTS[task.experiment].draw(task.point, rng)
        found.append(errors_of(Rehearsal.of(weights, Laplace(scale=task.scale)), truth, rng, task.methods))
    return found


@dataclass(frozen=True, eq=False)
class _RecordTask:
    weights: PublicWeights
    leniency: float
    draw: int
    methods: tuple[str, ...]
    mechanism: Mechanism

    def __repr__(self) -> str:
        """What kept results are found by."""
        return f"{self.weights.digest()} {self.leniency!r} {self.draw} {self.methods} {self.mechanism!r}"

    def rehearsal(self) -> Rehearsal:
        """What all tasks of a record share: made once in a process."""
        key = (self.weights.digest(), repr(self.mechanism))
        if key not in _REHEARSED:
            _REHEARSED.clear()
            _REHEARSED[key] = Rehearsal.of(self.weights, self.mechanism)
        return _REHEARSED[key]


#: The last rehearsal of this process.
_REHEARSED: dict[tuple[str, str], Rehearsal] = {}


def _run_record_task(task: _RecordTask, seeds: np.random.SeedSequence) -> list[float]:
    of_truth, of_noise = seeds.spawn(2)
    truth = prior(task.weights, draws=1, seed=of_truth).ensemble(task.leniency).vectors[0]
    return errors_of(task.rehearsal(), truth, np.random.default_rng(of_noise), task.methods)
