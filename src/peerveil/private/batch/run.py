"""Batches of releases: a venue that fails does not stop the others, and an interrupted batch can be resumed.

This module takes venues through their steps: plan, read, charge and draw, estimate, write. Only public work goes to the
engine: plans from public records, regions and estimates of noisy vectors. A bounded number of venues is under way. The
journal of each venue (:mod:`peerveil.private.journal`) is in the private folder, so a batch that is resumed never
charges a venue twice.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from peerveil.errors import Argument, InputError, PeerveilError, spelled, unexpected
from peerveil.planning.auto import Auto, Undecided
from peerveil.private.batch.events import VenueEstimated, VenueFailed, VenuePlanned
from peerveil.private.batch.folders import open_folders
from peerveil.private.batch.patience import Patience
from peerveil.private.batch.plans import SharedPlans
from peerveil.private.batch.steps import Steps
from peerveil.private.batch.venue import Outcome, Venue
from peerveil.private.charging import Spending
from peerveil.releases.refinement import Unfinished, work
from peerveil.support import parallel
from peerveil.support.logs import emit
from peerveil.support.time_limits import check_time_limit, limited

#: For so few venues, starting processes takes longer than the work.
_FEW = 4


def run_batch(
    venues: Sequence[Venue],
    folder: str | os.PathLike[str],
    *,
    private: str | os.PathLike[str] | None = None,
    ledger: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
    told: Callable[[Outcome], None] | None = None,
    report: bool = True,
    spending: Spending | None = None,
    spell: Callable[[Argument], str] = str,
    retries: int = Patience.retries,
    in_flight: int = parallel.AHEAD,
    time_limit: float | None = None,
    share_plans: bool = False,
) -> list[Outcome]:
    """The outcomes of releasing each venue into a folder of its own, in the order of the venues.

    Args:
        venues: the venues. Names that differ only in case are refused, as some systems do not distinguish them.
        folder: the folder of the releases. A batch with the same folder is resumed.
        private: the folder of what is not published, outside of the other; ``<folder>.private`` by default.
        ledger: the ledger to charge.
        workers: number of processes for the public work; all cores by default.
        executor: used for the public work instead, e.g. a cluster's.
        progress: called after each venue.
        told: called with each outcome as it becomes known.
        report: whether to write report.html and its figures, which take most of a small venue's time.
        spending: records the charges.
        spell: how reasons and warnings spell arguments; as in Python by default.
        retries: how often a charge is tried again if the ledger cannot be reached.
        in_flight: the greatest number of venues that are read, or drawn and not yet written.
        time_limit: the most seconds that reading a venue, its plan and its estimate may take each.
        share_plans: whether venues that are alike share a plan.
    """
    count = Counter(venue.name.casefold() for venue in venues)
    for venue in venues:
        if count[venue.name.casefold()] > 1:
            raise InputError(f"two venues are named {venue.name!r}; each needs a name of its own")
    if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
        raise InputError(Argument("in_flight"), f" must be a whole number of at least 1, got {in_flight!r}")
    patience, limit = Patience(retries), check_time_limit(time_limit)
    where: dict[str, Any] = {"workers": 1 if len(venues) <= _FEW else workers, "executor": executor}
    with spending or Spending(ledger) as noted:
        folders, book = open_folders(folder, private), None
        if ledger is not None:
            from peerveil.private.ledger import Ledger  # noqa: PLC0415 - databases only where they are needed

            book = Ledger.create(ledger) if any(venue.budget for venue in venues) else Ledger(ledger)
        flow = _Flow(
            venues=venues,
            steps=Steps(folders, book, report, noted, spell, patience, limit),
            plans=SharedPlans(folders.plans) if share_plans else None,
            tell=told or (lambda _: None),
            show=progress or (lambda _done, _total: None),
        )
        function: Callable[[Any, Any], parallel.Timed[Any]] = parallel.timed(limited(work, limit))
        for task, made in parallel.stream(function, flow.tasks(), ahead=in_flight, lost=_lost, **where):
            flow.take(task, made)
    return [flow.outcomes[venue.name] for venue in venues]


def _lost(error: Exception) -> parallel.Timed[Any]:
    """The result of public work that could not be run."""
    problem = PeerveilError(
        f"the cluster could not run it ({type(error).__name__}); did its workers have enough memory?"
    )
    return parallel.Timed(problem, 0.0)


@dataclass(eq=False, kw_only=True)
class _Flow:
    """Venues on their way through a batch.

    Attributes:
        venues: all venues.
        steps: the private steps.
        plans: shared plans; ``None`` if each venue is planned for itself.
        tell, show: called with each outcome, and with the number of them.
        outcomes: the outcomes so far, by name.
        ready: public work that can be submitted.
        planned: venues whose plan is made, and that are to be read.
        waiting: venues that wait for the plan of another, by its key.
    """

    venues: Sequence[Venue]
    steps: Steps
    plans: SharedPlans | None
    tell: Callable[[Outcome], None]
    show: parallel.Progress
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    ready: deque[Undecided | Unfinished] = field(default_factory=deque)
    planned: deque[Venue] = field(default_factory=deque)
    waiting: dict[str, list[Venue]] = field(default_factory=dict)
    _keys: dict[str, str | None] = field(default_factory=dict)
    _under_way: dict[str, Venue] = field(default_factory=dict)
    _remarks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _running: int = 0

    def tasks(self) -> Iterator[Undecided | Unfinished | parallel.Later]:
        """Public work as far as it can be submitted. Venues are read only when it is asked for."""
        unread = iter(self.venues)
        while True:
            if self.ready:
                self._running += 1
                yield self.ready.popleft()
            elif self.planned:
                venue = self.planned.popleft()
                self._attempt(venue.name, partial(self._begin, venue))
            elif (new := next(unread, None)) is not None:
                self._attempt(new.name, partial(self._plan, new))
            elif self._running:
                yield parallel.LATER
            else:
                return

    def take(self, task: Any, made: parallel.Timed[Any]) -> None:
        """Go on with the result of public work."""
        self._running -= 1
        venue, seconds = self._under_way[task.name], round(made.seconds, 3)
        if isinstance(task, Undecided):
            emit(VenuePlanned(venue=venue.name, seconds=seconds))
            self._attempt(venue.name, partial(self._decided, venue, made.result))
        else:
            emit(VenueEstimated(venue=venue.name, seconds=seconds))
            self._attempt(venue.name, partial(self._end, venue, made.result))

    def _plan(self, venue: Venue) -> None:
        """Begin a venue; or plan it first, or let it wait for the plan of another."""
        self._under_way[venue.name] = venue
        task = self.steps.undecided(venue)
        if task is None:
            self._begin(venue)
            return
        key = self.plans.key(task) if self.plans else None
        if key in self.waiting:
            self.waiting[key].append(venue)
        elif self.plans and (asked := self.plans.find(key, venue.name, venue.mechanism)):
            self._begin(replace(venue, mechanism=asked))
        else:
            self._keys[venue.name] = key
            if key is not None:
                self.waiting[key] = []
            self.ready.append(task)

    def _decided(self, venue: Venue, asked: Any) -> None:
        """Let a venue be read with its plan, and those that waited for it."""
        key = self._keys.pop(venue.name)
        others = [] if key is None else self.waiting.pop(key)
        if self.plans and isinstance(asked, Auto):
            asked = self.plans.keep(key, venue.name, asked)
        for other in others:
            shared = self.plans.find(key, other.name, other.mechanism) if self.plans else None
            self.planned.append(replace(other, mechanism=shared or other.mechanism))  # which then plans for itself
        if isinstance(asked, PeerveilError):
            raise asked
        self.planned.appendleft(replace(venue, mechanism=asked))

    def _begin(self, venue: Venue) -> None:
        self._under_way[venue.name] = venue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                begun = self.steps.begin(venue)
            finally:
                self._remarks[venue.name] = tuple(spelled(warning.message, self.steps.spell) for warning in caught)
        if isinstance(begun, Outcome):
            self._add(begun)
        else:
            self.ready.append(begun)

    def _end(self, venue: Venue, result: Any) -> None:
        self._add(self.steps.end(venue.name, result, self._remarks[venue.name], venue.report))

    def _attempt(self, name: str, step: Callable[[], None]) -> None:
        """Do a step; a venue that fails must not stop the others."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - see above
            known = isinstance(error, PeerveilError)
            reason = (
                spelled(error, self.steps.spell) if known else getattr(error, "strerror", None) or unexpected(error)
            )
            words = ". ".join([reason, *getattr(error, "__notes__", [])])
            self._add(Outcome(name=name, status="failed", reason=words, error=type(error).__name__))

    def _add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.name] = outcome
        self._under_way.pop(outcome.name, None)
        self._remarks.pop(outcome.name, None)
        if outcome.status == "failed":
            emit(VenueFailed(venue=outcome.name, error=outcome.error))
        self.tell(outcome)
        self.show(len(self.outcomes), len(self.venues))
