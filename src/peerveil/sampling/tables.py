"""Sampled tables: whole assignments of the public reviews to pseudonymous reviewers, drawn given releases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.inference.family import model_of
from peerveil.inference.prior import prior
from peerveil.quantities.base import Lone
from peerveil.quantities.statistics import split
from peerveil.quantities.weights import PublicWeights, review_weights, weigh
from peerveil.record.public_record import Floats, Ints, PublicRecord
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.release import Release
from peerveil.sampling.cells import Cells, Holding
from peerveil.sampling.drawing import Drawn, draw
from peerveil.sampling.settling import Settling, settling
from peerveil.sampling.stress import stressed
from peerveil.sampling.table import Table as Table  # noqa: PLC0414 - named here by earlier versions
from peerveil.sampling.targets import Attribute, Fitted, Source, Targets, targets_of
from peerveil.support.parallel import Progress, run

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The least and the greatest number of tables. A single one would be read as the truth.
FEWEST, MOST = 20, 1_000

#: The number of tables that are changed to find out what a function depends on; half for more reviewers than this.
_STRESSED, _SMALL = 4, 1_000

#: Public scores that stand for the law of hidden ones, at least; and the number of scores of a scale, at most.
_ENOUGH, _MOST_SCORES = 20, 100


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledTables(Sequence[Table]):
    """Tables drawn from the posterior of one or several releases, with what they were fitted to and how draws went.

    Attributes:
        tables: the tables.
        fitted_to: what the releases tell of reviewers, such as ``"ratings"`` or ``"ratings by seniority"``: all that
            the tables know.
        record_digest: the digest of the public record, as the first release states it.
        seed: the seed of the draws.
        wanted: the numbers of reviewers in cells of what was released, drawn from the posterior; one row per table.
        draws: the draws with their diagnostics.
        cells: what was released and its cells, with the loads of the first table.
        attributes: the attributes of reviewers by which statistics were released.

    >>> import peerveil as pv
    >>> record = pv.PublicRecord.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([1.5, 2.5, 3.0, 4.5], pv.weigh(record), mechanism=pv.Laplace(scale=0.5))
    >>> tables = pv.sample_tables(release, record, workers=1)
    >>> sorted(tables.diagnostics), tables[0].score.tolist()
    (['acceptance', 'misplaced', 'renewed'], [1.0, 5.0, 2.0, 2.0, 4.0, 5.0, 1.0, 3.0])
    """

    tables: tuple[Table, ...]
    fitted_to: tuple[str, ...]
    record_digest: str
    seed: int
    wanted: Ints
    draws: tuple[Drawn, ...]
    cells: Cells
    attributes: tuple[Attribute, ...] = ()

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
    def quantity(self) -> str:
        """What the tables were fitted to, in one line."""
        return ", ".join(self.fitted_to)

    @property
    def record(self) -> PublicRecord:
        """The public record."""
        return self.tables[0].record

    @cached_property
    def diagnostics(self) -> dict[str, list[float]]:
        """How each draw went: the share of misplaced reviewers, of accepted swaps, and of renewed reviews.

        Misplaced reviewers are in other cells of the statistic than the posterior draw asked for. Renewed reviews
        changed hands after the target was fixed: :attr:`settling` tells whether enough did.
        """
        reviewers = self.record.loads.reviewers
        return {
            "misplaced": [drawn.misplaced / reviewers for drawn in self.draws],
            "acceptance": [drawn.acceptance for drawn in self.draws],
            "renewed": [drawn.renewed for drawn in self.draws],
        }

    @property
    def trace(self) -> list[list[float]]:
        """The share of misplaced reviewers after each sweep, for each table; the target is fixed in the last third."""
        return [[missing / self.record.loads.reviewers for missing in drawn.trace] for drawn in self.draws]

    @cached_property
    def settling(self) -> Settling:
        """What tells whether the draws have settled."""
        return settling(self.draws, [table.loads for table in self.tables])

    @cached_property
    def dealt(self) -> list[Table]:
        """Tables that are dealt at random, regardless of the releases."""
        made = []
        for index, table in enumerate(self.tables[:_STRESSED]):
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(index, 3)))
            cells = replace(self.cells, loads=table.loads)
            dealt = cells.dealt(rng, self._labels(table))
            made.append(_table_of(self.record, dealt.holders(cells.owner), dealt, self.attributes))
        return made

    @cached_property
    def stressed(self) -> dict[str, list[tuple[int, Table]]]:
        """Changed tables with the index of the original, by aspect: the release tells no table from its changes."""
        changed: dict[str, list[tuple[int, Table]]] = {}
        few = _STRESSED if self.record.loads.reviewers <= _SMALL else _STRESSED // 2
        for index, table in enumerate(self.tables[:few]):
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(index, 2)))
            cells = replace(self.cells, loads=table.loads)
            holding = Holding(np.argsort(table.reviewer, kind="stable"), table.score, self._labels(table))
            for aspect, made in stressed(cells, holding, rng).items():
                other = _table_of(self.record, made.holders(cells.owner), made, self.attributes)
                changed.setdefault(aspect, []).append((index, other))
        return changed

    def _labels(self, table: Table) -> Ints:
        """The values of attributes as numbers."""
        numbers = [[of.values.index(value) for value in table.attributes[of.name]] for of in self.attributes]
        return np.array(numbers, dtype=np.int64).reshape(-1, self.record.loads.reviewers)

    def plot(self) -> Plot:
        """Return a chart of the diagnostics: how well the tables fit what was released, and how they mixed."""
        from peerveil.sampling.pictures import diagnostics_plot  # noqa: PLC0415 - slow to load

        return diagnostics_plot(self)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write each table as Parquet and CSV, with README.md and tables.json, into a new folder; return it."""
        from peerveil.sampling.files import save  # noqa: PLC0415 - polars is slow to load

        return save(self, folder, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"SampledTables({len(self)} tables of {self.record!r}, fitted to {self.quantity})"


@dataclass(frozen=True, eq=False)
class _Task:
    """A table to be drawn: what is counted, how many are wanted in each cell, and the values of attributes."""

    cells: Cells
    targets: Targets


def sample_tables(
    release: Fitted | Sequence[Fitted],
    record: PublicRecord,
    *,
    tables: int = FEWEST,
    seed: int = 1,
    lone: Lone = "refuse",
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SampledTables:
    """Return tables (paper, pseudonymous reviewer, score) drawn from the joint posterior of one or several releases.

    Papers, public scores and loads are those of the record, exactly; only who holds which review is drawn, and scores
    that are hidden. The tables are a function of releases, record and seed alone, so they cost no privacy. They know
    what the releases tell, and nothing else about reviewers: see :func:`peerveil.combine`, which gives an estimate and
    an interval of any function.

    Args:
        release: a release of one statistic, such as means of ratings, one of :func:`peerveil.release_by`, or several
            of the same record, for example of means and of spreads. Several of one quantity need histogram noise.
        record: the public record. Scores may be hidden if all releases are of ratings; each table then has drawn ones.
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
    releases = [release] if isinstance(release, Release | Crosstab) else list(release)
    sources = [source_of(one, record, lone) for one in releases]
    if not sources:
        raise InputError("give at least one release")
    targets = targets_of(sources)
    support = support_of(record)
    loads = _drawn_loads(sources[0].weights, tables, seed)
    tasks = [_Task(Cells(record.paper, record.score, each, targets.margins, support), targets) for each in loads]
    made = run(_table, tasks, seed=seed, workers=workers, executor=executor, progress=progress)
    draws = tuple(drawn for drawn, _ in made)
    return SampledTables(
        tables=tuple(_table_of(record, drawn.holder, drawn, targets.attributes) for drawn in draws),
        fitted_to=tuple(dict.fromkeys(map(_told, releases))),
        record_digest=sources[0].release.record_digest,
        seed=seed,
        wanted=np.array([wanted for _, wanted in made]),
        draws=draws,
        cells=tasks[0].cells,
        attributes=targets.attributes,
    )


def _told(release: Fitted) -> str:
    return f"{release.quantity} by {release.question.by}" if isinstance(release, Crosstab) else release.quantity


def _table_of(record: PublicRecord, holder: Ints, drawn: Drawn | Holding, attributes: Sequence[Attribute]) -> Table:
    named = {
        of.name: tuple(of.values[number] for number in numbers)
        for of, numbers in zip(attributes, drawn.labels.tolist(), strict=True)
    }
    return Table(record, holder, drawn.score, named)


def _table(task: _Task, seeds: np.random.SeedSequence) -> tuple[Drawn, Ints]:
    """Draw a table; a task for parallel workers."""
    rng = np.random.default_rng(seeds)
    wanted = task.targets.draw(rng)
    try:
        drawn = draw(task.cells, wanted.counts, rng, labels=wanted.labels)
    except ValueError as error:
        raise RecordError("no valid assignment was found for these papers and loads") from error
    fresh = rng.permutation(task.cells.loads.size)  # pseudonyms
    return replace(drawn, holder=fresh[drawn.holder], labels=drawn.labels[:, np.argsort(fresh)]), wanted.counts


def support_of(record: PublicRecord) -> Floats:
    """Return the scores that a hidden one may have, equally likely: those that are public, if they are not too few.

    Otherwise all whole scores of a scale with whole ends; of another scale, a hundred evenly spread ones.
    """
    if not record.hidden:
        return np.empty(0)
    public = record.score[~np.isnan(record.score)]
    if public.size >= _ENOUGH:
        return np.sort(public)
    assert record.scale is not None  # noqa: S101 - a record with hidden scores has one
    low, high = record.scale
    if low == round(low) and high == round(high) and high - low < _MOST_SCORES:
        return np.arange(low, high + 1)
    return np.linspace(low, high, _MOST_SCORES)


def _drawn_loads(weights: PublicWeights, tables: int, seed: int) -> Ints:
    """The loads of the reviewers of each table: public, or drawn if only their set is public."""
    loads = weights.loads
    if loads.counts is not None:
        return np.tile(loads.per_reviewer(), (tables, 1))
    seeds = (np.random.SeedSequence(seed, spawn_key=(index, 1)) for index in range(tables))
    return np.array([prior(weights, draws=1, seed=own).loads[0] for own in seeds])


def source_of(release: Fitted, record: PublicRecord, lone: Lone) -> Source:
    """Return a release with its public weights, if tables can be drawn for it.

    Raises:
        InputError: if they cannot.
    """
    if not isinstance(release, Release | Crosstab):
        raise InputError(f"tables are drawn from releases of a statistic of reviewers, got {type(release).__name__}")
    if not isinstance(record, PublicRecord):
        raise InputError(f"record must be a public record, got {type(record).__name__}; peerveil.read_public reads one")
    weighed = split(release.quantity)[1]
    if record.hidden and weighed != "ratings":
        raise InputError(
            f"{record.hidden} scores are hidden, and {weighed} of a review depends on more than its own score; with "
            "hidden scores, tables are drawn from releases of ratings only"
        )
    weights = replace(weigh(record, release.quantity, lone=lone), model=model_of(release.software))
    if weights.open:
        raise InputError(
            "the number of reviewers with a kept review is not public, so their loads are not known; tables need them. "
            "A release that declares them (",
            Argument("declare_kept", True),
            ") has them",
        )
    if weights.digest() != release.record_digest:
        raise InputError(
            f"the public record is not the one that the release of {release.quantity} was made from; give the same "
            "scores and loads"
        )
    own = None if weighed == "ratings" else review_weights(record, release.quantity, record=record, lone=lone)
    return Source(release, weights, own)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(Argument(name), f" must be a whole number of at least 0, got {value!r}")
    return int(value)


def _too_few(tables: int) -> str:
    return (
        f" must be from {FEWEST} to {MOST}, got {tables}: what is uncertain shows only in how tables differ, and a few "
        "would be read as the truth"
    )
