"""Sampled tables: whole assignments of the public reviews to pseudonymous reviewers, drawn given a release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.inference.family import model_of
from peerveil.inference.prior import prior
from peerveil.quantities.base import Lone
from peerveil.quantities.weights import PublicWeights, review_weights, weigh
from peerveil.record.public_record import Floats, Ints, PublicRecord, frozen
from peerveil.releases.release import Release
from peerveil.sampling.chain import Cells, Drawn, draw
from peerveil.sampling.stress import stressed
from peerveil.sampling.targets import targets_of
from peerveil.support.frames import Backend, make_frame
from peerveil.support.parallel import Progress, run

#: The least and the greatest number of tables. A single one would be read as the truth.
FEWEST, MOST = 20, 1_000

#: The number of tables that are changed to find out what a function depends on; half for more reviewers than this.
_STRESSED, _SMALL = 4, 1_000


@dataclass(frozen=True, eq=False)
class Table:
    """One assignment of the public reviews to pseudonymous reviewers; an object that exists is valid.

    Attributes:
        record: the public record, whose order of reviews the table has.
        reviewer: the reviewer of each review, from 0; numbers mean nothing and differ between tables.
    """

    record: PublicRecord
    reviewer: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "reviewer", frozen(self.reviewer))
        record, reviewer, loads = self.record, self.reviewer, self.record.loads
        if reviewer.shape != record.paper.shape or reviewer.min() < 0:
            raise RecordError("a table needs one reviewer per review")
        load, count = np.unique(np.bincount(reviewer, minlength=loads.reviewers), return_counts=True)
        stated = dict(zip(load.tolist(), count.tolist(), strict=True))
        counted = None if loads.counts is None else dict(zip(loads.sizes, loads.counts, strict=True))
        if (
            int(reviewer.max()) >= loads.reviewers
            or not set(stated) <= set(loads.sizes)
            or counted not in (None, stated)
        ):
            raise RecordError("the loads of a table are not those of the record")
        if np.unique(record.paper * loads.reviewers + reviewer).size < reviewer.size:
            raise RecordError("a table gives somebody two reviews of one paper")

    @property
    def paper(self) -> Ints:
        """The index of the paper of each review."""
        return self.record.paper

    @property
    def score(self) -> Floats:
        """The score of each review."""
        return self.record.score

    @property
    def loads(self) -> Ints:
        """The number of reviews of each reviewer."""
        return np.bincount(self.reviewer, minlength=self.record.loads.reviewers)

    def of_reviewers(self, values: Floats) -> Floats:
        """Return the mean of values, one per review, for each reviewer."""
        return np.bincount(self.reviewer, weights=values) / self.loads

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return one row per review: paper, reviewer, score, and criteria if there are any."""
        return make_frame(self.columns(), backend)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table's files."""
        width = len(str(self.record.loads.reviewers))
        names = [f"reviewer {number:0{width}d}" for number in range(1, self.record.loads.reviewers + 1)]
        criteria = self.record.criteria
        return {
            "paper": [self.record.papers[i] for i in self.paper.tolist()],
            "reviewer": [names[i] for i in self.reviewer.tolist()],
            "score": self.score.tolist(),
            **({} if criteria is None else dict(zip(self.record.criteria_names, criteria.T.tolist(), strict=True))),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledTables(Sequence[Table]):
    """Tables drawn from the posterior of a release, with what they were fitted to and how the draws went.

    Attributes:
        tables: the tables.
        quantity: the quantity of the release: the only statistic of reviewers that the tables know.
        record_digest: the digest of the public record, as the release states it.
        seed: the seed of the draws.
        wanted: the numbers of reviewers in cells of the statistic, drawn from the posterior; one row per table.
        draws: the draws with their diagnostics.
        cells: the released statistic and its cells.

    >>> import peerveil as pv
    >>> record = pv.PublicRecord.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([1.5, 2.5, 3.0, 4.5], pv.weigh(record), mechanism=pv.Laplace(scale=0.5))
    >>> tables = pv.sample_tables(release, record, workers=1)
    >>> sorted(tables.diagnostics), tables[0].score.tolist()
    (['acceptance', 'misplaced', 'renewed'], [1.0, 5.0, 2.0, 2.0, 4.0, 5.0, 1.0, 3.0])
    """

    tables: tuple[Table, ...]
    quantity: str
    record_digest: str
    seed: int
    wanted: Ints
    draws: tuple[Drawn, ...]
    cells: Cells

    def __post_init__(self) -> None:
        if len(self.tables) < FEWEST:
            raise InputError(Argument("tables"), _too_few(len(self.tables)))

    @overload
    def __getitem__(self, index: int) -> Table: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Table, ...]: ...
    def __getitem__(self, index: int | slice) -> Table | tuple[Table, ...]:
        return self.tables[index]

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    @property
    def record(self) -> PublicRecord:
        """The public record."""
        return self.tables[0].record

    @cached_property
    def diagnostics(self) -> dict[str, list[float]]:
        """How each draw went: the share of misplaced reviewers, of accepted swaps, and of renewed reviews.

        Misplaced reviewers are in other cells of the statistic than the posterior draw asked for. Renewed reviews
        changed hands after the target was fixed: near the share that random dealing would renew, the chain has mixed.
        """
        reviewers = self.record.loads.reviewers
        return {
            "misplaced": [drawn.misplaced / reviewers for drawn in self.draws],
            "acceptance": [drawn.acceptance for drawn in self.draws],
            "renewed": [drawn.renewed for drawn in self.draws],
        }

    @cached_property
    def stressed(self) -> dict[str, list[tuple[int, Table]]]:
        """Changed tables with the index of the original, by aspect: the release tells no table from its changes."""
        changed: dict[str, list[tuple[int, Table]]] = {}
        few = _STRESSED if self.record.loads.reviewers <= _SMALL else _STRESSED // 2
        for index, table in enumerate(self.tables[:few]):
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(index, 2)))
            cells = replace(self.cells, loads=table.loads)
            for aspect, holder in stressed(cells, table.reviewer, table.score, rng).items():
                changed.setdefault(aspect, []).append((index, Table(self.record, holder)))
        return changed

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write each table as Parquet and CSV, with README.md and tables.json, into a new folder; return it."""
        from peerveil.sampling.files import save  # noqa: PLC0415 - polars is slow to load

        return save(self, folder, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"SampledTables({len(self)} tables of {self.record!r}, fitted to {self.quantity})"


@dataclass(frozen=True, eq=False)
class _Task:
    """A table to be drawn: what is counted, how many are wanted in each cell."""

    cells: Cells
    wanted: Ints


def sample_tables(
    release: Release,
    record: PublicRecord,
    *,
    tables: int = FEWEST,
    seed: int = 1,
    lone: Lone = "refuse",
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SampledTables:
    """Return tables (paper, pseudonymous reviewer, score) drawn from the posterior of a release.

    Papers, scores and loads are those of the record, exactly; only who holds which review is drawn. The tables are a
    function of release, record and seed alone, so they cost no privacy. They know what the release tells, and nothing
    else about reviewers: see :func:`peerveil.combine`, which gives an estimate and an interval of any function.

    Args:
        release: a release of one statistic, such as means of ratings.
        record: its public record, in which all scores are public.
        tables: the number of tables, at least 20.
        seed: the seed; the same seed gives the same tables, whatever the number of workers.
        lone: as in :func:`peerveil.weigh`.
        workers: the number of processes; all cores by default.
        executor: runs the draws instead of local processes.
        progress: called after each table.

    >>> import peerveil as pv
    >>> record = pv.PublicRecord.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([1.5, 2.5, 3.0, 4.5], pv.weigh(record), mechanism=pv.Laplace(scale=0.5))
    >>> tables = pv.sample_tables(release, record, seed=3, workers=1)
    >>> len(tables), tables[0].to_frame().columns
    (20, ['paper', 'reviewer', 'score'])
    """
    tables, seed = _whole("tables", tables), _whole("seed", seed)
    if not FEWEST <= tables <= MOST:
        raise InputError(Argument("tables"), _too_few(tables))
    weights = _weights(release, record, lone)
    targets = targets_of(release, weights)
    loads = _drawn_loads(weights, tables, seed)
    weight = review_weights(record, release.quantity, record=record, lone=lone)
    tasks = []
    for index in range(tables):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 0)))
        cells = Cells(record.paper, weight, loads[index], weights.statistic, targets.cuts)
        tasks.append(_Task(cells, targets.draw(rng)))
    draws = tuple(run(_table, tasks, seed=seed, workers=workers, executor=executor, progress=progress))
    return SampledTables(
        tables=tuple(Table(record, drawn.holder) for drawn in draws),
        quantity=release.quantity,
        record_digest=release.record_digest,
        seed=seed,
        wanted=np.array([task.wanted for task in tasks]),
        draws=draws,
        cells=tasks[0].cells,
    )


def _table(task: _Task, seeds: np.random.SeedSequence) -> Drawn:
    """Draw a table; a task for parallel workers."""
    rng = np.random.default_rng(seeds)
    try:
        drawn = draw(task.cells, task.wanted, rng)
    except ValueError as error:
        raise RecordError("no valid assignment was found for these papers and loads") from error
    return replace(drawn, holder=rng.permutation(task.cells.loads.size)[drawn.holder])  # fresh pseudonyms


def _drawn_loads(weights: PublicWeights, tables: int, seed: int) -> Ints:
    """The loads of the reviewers of each table: public, or drawn if only their set is public."""
    loads = weights.loads
    if loads.counts is not None:
        return np.tile(loads.per_reviewer(), (tables, 1))
    seeds = (np.random.SeedSequence(seed, spawn_key=(index, 1)) for index in range(tables))
    return np.array([prior(weights, draws=1, seed=own).loads[0] for own in seeds])


def _weights(release: Release, record: PublicRecord, lone: Lone) -> PublicWeights:
    """The public weights of a release, if tables can be drawn for it."""
    if not isinstance(release, Release):
        raise InputError(f"tables are drawn from a release of one statistic, got {type(release).__name__}")
    if not isinstance(record, PublicRecord):
        raise InputError(f"record must be a public record, got {type(record).__name__}; peerveil.read_public reads one")
    if record.hidden:
        raise InputError(f"{record.hidden} scores are hidden; tables are drawn only where all scores are public")
    weights = replace(weigh(record, release.quantity, lone=lone), model=model_of(release.software))
    if weights.open:
        raise InputError("the number of reviewers is not public, so their loads are not known; tables need them")
    if weights.digest() != release.record_digest:
        raise InputError("the public record is not the one this release was made from; give the same scores and loads")
    return weights


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(Argument(name), f" must be a whole number of at least 0, got {value!r}")
    return int(value)


def _too_few(tables: int) -> str:
    return (
        f" must be from {FEWEST} to {MOST}, got {tables}: what is uncertain shows only in how tables differ, and a few "
        "would be read as the truth"
    )
