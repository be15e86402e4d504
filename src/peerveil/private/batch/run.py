"""Batches of releases: a venue that fails does not stop the others, and an interrupted batch can be resumed.

This module reads, charges and draws one venue after another. Only public work goes to the engine: regions and estimates
of noisy vectors. The journal of each venue (:mod:`peerveil.private.journal`) is in the private folder, so a batch that
is resumed never charges a venue twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from peerveil.errors import (
    Argument,
    BudgetError,
    BusyError,
    InputError,
    OutputError,
    PeerveilError,
    WriteError,
    spelled,
    unexpected,
)
from peerveil.inference.estimators import check_estimator
from peerveil.inference.pooling import POOLED, PooledPrior, with_prior
from peerveil.mechanisms import Asked
from peerveil.planning.auto import Undecided, decide
from peerveil.privacy.budget import Budget
from peerveil.private.batch.folders import REPORT, BatchFolders, open_folders
from peerveil.private.charging import Item, Spending
from peerveil.private.journal import Kept, begin, look, take
from peerveil.private.release import Ready, prepare_release
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.weights import weigh
from peerveil.record.public_record import PublicRecord
from peerveil.regions import check_region
from peerveil.releases.refinement import Perturbed, Unfinished, finish
from peerveil.releases.release import FILES, Release
from peerveil.reporting.terms import About, Terms
from peerveil.support import parallel
from peerveil.support.atomic_files import staged_folder
from peerveil.support.version import software

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

#: Published instead of the reason of a failure, which may hold private values.
SEE_PRIVATE = "failed: see the private log"

#: For so few venues, starting processes takes longer than the work.
_FEW = 4

#: The setting that holds a digest of the reviews and of the claim.
_REVIEWS = "reviews"

_NAME = re.compile(r"[\w][\w.+-]{0,99}")

Status = Literal["released", "stands", "failed"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Venue:
    """A venue of a batch.

    Attributes:
        name: its name, also the name of its folder.
        read: returns the private reviews and the public record.
        mechanism: the mechanism, with its budget.
        quantity, unit, region, estimator, lone, accept_float_noise, declare_kept, prior: as in a release.
        licence, citation, about: the terms of publication, and what the release is about.
        dataset: the data set to charge; the venue's name by default.
        budget: the budget to open if the data set has none: arguments of ``Ledger.open``.
        report: whether to write report.html and its figures.
        settings: all settings of the venue, which must stay the same when a batch is resumed.
    """

    name: str
    read: Callable[[], tuple[Reviews, str | PublicRecord]] = field(repr=False)
    mechanism: Asked
    quantity: str = "ratings"
    unit: str = "reviewer"
    region: str = "tight"
    estimator: str | None = None
    lone: Lone = "refuse"
    accept_float_noise: bool = False
    declare_kept: bool = False
    prior: PooledPrior | None = None
    licence: str | None = None
    citation: str | None = None
    about: About = field(default=About())
    dataset: str | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    report: bool = True
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_venue_name(self.name)
        check_region(self.region)
        if self.estimator is not None:
            check_estimator(self.estimator)
        Terms(licence=self.licence, citation=self.citation, about=self.about)

    def undecided(self) -> Undecided:
        """The public data from which a plan chooses its mechanism."""
        reviews, public = self.read()
        weights = weigh(reviews.public(public, declare_kept=self.declare_kept), self.quantity, lone=self.lone)
        pooled = with_prior(weights, self.prior)
        return Undecided(name=self.name, asked=self.mechanism, weights=pooled, unit=self.unit)

    def ready(self) -> Ready:
        """Its release, read and checked."""
        reviews, public = self.read()
        names = ("quantity", "mechanism", "unit", "estimator", "lone", "accept_float_noise", "declare_kept", "prior")
        return prepare_release(reviews, public=public, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a venue.

    Attributes:
        name: the venue's name.
        status: ``"released"``; ``"stands"``: released by an earlier run; ``"failed"``.
        reason: the reason of a failure, which may hold private values.
        claim: the privacy claim of the release.
        warnings: private warnings for the user who releases it.
        expected_error: the expected error of the release, if stated.
        folder: the folder of the release within that of the batch.
        verdict: the verdict on the release against no release, if stated.
    """

    name: str
    status: Status
    reason: str = ""
    claim: str = ""
    warnings: tuple[str, ...] = ()
    expected_error: float | None = None
    folder: str = ""
    verdict: str = ""

    @classmethod
    def of(cls, name: str, status: Status, release: Release, warnings: tuple[str, ...] = ()) -> Outcome:
        """The outcome of a venue that has a release."""
        return cls(
            name=name,
            status=status,
            claim=release.guarantee.summary,
            warnings=warnings,
            expected_error=release.outlook.expected_rmse if release.outlook else None,
            folder=name,
            verdict=release.verdict.word if release.verdict else "",
        )


def public_report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report on the outcomes without private values."""
    facts = report(outcomes)
    for outcome in facts["outcomes"]:
        del outcome["warnings"]
        outcome["reason"] = SEE_PRIVATE if outcome["status"] == "failed" else ""
    return facts


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report on the outcomes with reasons and warnings, which may hold private values."""
    count = Counter(outcome.status for outcome in outcomes)
    return {
        "software": software(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "venues": len(outcomes),
        **{status: count[status] for status in get_args(Status)},
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def check_venue_name(name: str) -> str:
    """The name of a venue; raises unless it is valid as a folder name on every system.

    >>> check_venue_name("iclr-2021")
    'iclr-2021'
    """
    if not _NAME.fullmatch(name) or name.endswith(".") or name.casefold() == REPORT:
        raise InputError(f"a venue's name must be of letters, digits, '-', '_', '+' and '.', got {name!r}")
    return name


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
    """
    count = Counter(venue.name.casefold() for venue in venues)
    for venue in venues:
        if count[venue.name.casefold()] > 1:
            raise InputError(f"two venues are named {venue.name!r}; each needs a name of its own")
    where: dict[str, Any] = {"workers": 1 if len(venues) <= _FEW else workers, "executor": executor}
    with spending or Spending(ledger) as noted:
        folders, book = open_folders(folder, private), None
        if ledger is not None:
            from peerveil.private.ledger import Ledger  # noqa: PLC0415 - databases only where they are needed

            book = Ledger.create(ledger) if any(venue.budget for venue in venues) else Ledger(ledger)
        batch = _Batch(folders, book, report, noted, spell)
        return _run(venues, batch, where, told or (lambda _: None), progress or (lambda _done, _total: None))


def _run(
    venues: Sequence[Venue],
    batch: _Batch,
    where: dict[str, Any],
    tell: Callable[[Outcome], None],
    show: parallel.Progress,
) -> list[Outcome]:
    outcomes: dict[str, Outcome] = {}

    def add(outcome: Outcome) -> None:
        outcomes[outcome.name] = outcome
        tell(outcome)
        show(len(outcomes), len(venues))

    remarks: dict[str, tuple[str, ...]] = {}
    decided = {task.name: asked for task, asked in parallel.stream(decide, batch.undecided(venues), **where)}

    def works() -> Iterator[Unfinished]:
        for given in venues:
            venue = replace(given, mechanism=decided.get(given.name, given.mechanism))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                begun = _attempt(venue.name, partial(batch.begin, venue), batch.spell)
            remarks[venue.name] = tuple(spelled(warning.message, batch.spell) for warning in caught)
            if isinstance(begun, Outcome):
                add(begun)
            else:
                yield begun

    reports = {venue.name: venue.report for venue in venues}
    for work, result in parallel.stream(finish, works(), **where):
        step = partial(batch.end, work.name, result, remarks[work.name], reports[work.name])
        add(_attempt(work.name, step, batch.spell))
    return [outcomes[venue.name] for venue in venues]


def _attempt(name: str, step: Callable[[], Any], spell: Callable[[Argument], str]) -> Any:
    """The result of a step, or the outcome of a venue that failed."""
    try:
        return step()
    except Exception as error:  # noqa: BLE001 - one venue must not stop the others
        known = isinstance(error, PeerveilError)
        reason = spelled(error, spell) if known else getattr(error, "strerror", None) or unexpected(error)
        return Outcome(name=name, status="failed", reason=". ".join([reason, *getattr(error, "__notes__", [])]))


@dataclass(frozen=True)
class _Batch:
    """The private steps of a batch."""

    folders: BatchFolders
    ledger: Ledger | None
    report: bool
    spending: Spending
    spell: Callable[[Argument], str]
    items: dict[str, Item] = field(default_factory=dict)

    def undecided(self, venues: Sequence[Venue]) -> Iterator[Undecided]:
        """The public data of venues whose mechanism a plan is to choose and whose noise is not drawn."""
        for venue in venues:
            if venue.mechanism.chooses:
                with suppress(Exception):  # raised again, and reported, when the venue is begun
                    content = look(self.folders.state_of(venue.name))
                    if content is None or content[1] is None:
                        yield venue.undecided()

    def begin(self, venue: Venue) -> Unfinished | Outcome:
        """A venue that was read, charged and drawn; or the outcome of an earlier run."""
        settings = self._fingerprints(venue)
        target = self.folders.output / venue.name
        content = look(self.folders.state_of(venue.name))
        if content is not None and content[1] is not None:
            _check_same(content[0]["settings"], settings)
            if (target / FILES[0]).is_file():
                return Outcome.of(venue.name, "stands", Release.load(target))
        if target.exists():
            raise OutputError(f"output folder {target} is there already, and not from this batch; choose another name")
        ready = venue.ready()
        settings[_REVIEWS] = ready.digest()
        kept = self._kept(venue, ready, settings)
        item = self.spending.add(kept, self.ledger, venue.dataset or venue.name)
        try:
            _check_same(item.kept.facts["settings"], settings)
            drawn = item.drawn(lambda number: self._charge(venue, ready, number), lambda: ready.draw().to_document())
            perturbed = Perturbed.from_document(drawn, ready.weights)
        except Exception as error:
            self.spending.leave(item, error)
            raise
        self.items[venue.name] = item
        return Unfinished(
            name=venue.name,
            perturbed=perturbed,
            region=venue.region,
            estimator=ready.estimator,
            terms=Terms(licence=venue.licence, citation=venue.citation, about=venue.about),
        )

    def end(self, name: str, result: Release | PeerveilError, remarks: tuple[str, ...], report: bool) -> Outcome:
        """The outcome of a venue, whose release is written."""
        item = self.items.pop(name)
        try:
            if isinstance(result, PeerveilError):
                raise PeerveilError(*result.parts, "; its noisy vector is kept, and a later run goes on with it")  # noqa: TRY301
            with staged_folder(self.folders.output / name, own=FILES) as stage:
                charged = replace(result, charge=None if self.ledger is None else item.kept.number)
                charged.write_into(stage, report=self.report and report)
        except Exception as error:
            self.spending.leave(item, error)
            raise
        self.spending.written(item)
        unlike = result.notes if result.prior is not None and result.prior.unlike else ()
        told = tuple(note for note in unlike if POOLED in note)
        return Outcome.of(name, "released", result, (*remarks, *told))

    def _kept(self, venue: Venue, ready: Ready, settings: dict[str, str]) -> Kept:
        """The file of a venue: that of an earlier run, or a new one."""
        from peerveil.private.ledger import new_release_number  # noqa: PLC0415 - databases only where they are needed

        file = self.folders.state_of(venue.name)
        if (kept := take(file)) is not None:
            if kept.drawn is not None:
                return kept
            if self.ledger is not None and self.ledger.charged(kept.number):
                if _REVIEWS in kept.facts["settings"]:
                    return kept
                kept.close()  # a draw for other reviews could cost more than was charged
                raise BudgetError(
                    f"it was charged as release {kept.number} by version 0.1.0, which kept neither its noise nor for "
                    "which reviews it was charged; it is not charged again. To spend budget on it anew, give it "
                    "another name"
                )
            kept.remove()  # neither charged nor drawn, so its settings may change
        try:
            return begin(file, {"release": new_release_number(), "settings": settings}, ready.size)
        except FileExistsError:
            raise BusyError("another batch works on this venue; wait until it ends") from None
        except OSError as error:
            raise WriteError(f"{file.parent} cannot be written: {error.strerror or type(error).__name__}") from None

    def _charge(self, venue: Venue, ready: Ready, number: str) -> None:
        """Charge a release, after opening the budget that its venue states, unless that is open."""
        book, dataset = self.ledger, venue.dataset or venue.name
        assert book is not None  # noqa: S101 - checked by the caller
        if venue.budget:
            budgets = [account.budget for account in book.accounts(dataset) if account.unit == venue.unit]
            if not budgets:
                book.open(dataset, venue.unit, **venue.budget)
            elif budgets != [Budget.of(**venue.budget)]:
                raise BudgetError(
                    f"the budget of {dataset!r} ({venue.unit}) is another one than stated; a budget cannot be changed"
                )
        ready.charge(book, dataset, release=number)

    def _fingerprints(self, venue: Venue) -> dict[str, str]:
        """A digest of each setting, so that messages can name those that changed without their values."""
        place = self.ledger.name if self.ledger else None
        if place is not None and "://" not in place:
            place = str(Path(place).resolve())  # independent of the working directory
        settings = dict(venue.settings) | {"ledger": place}
        return {
            key: hashlib.sha256(json.dumps([key, value], sort_keys=True, default=str).encode()).hexdigest()[:16]
            for key, value in settings.items()
        }


def _check_same(before: dict[str, str], settings: dict[str, str]) -> None:
    """Raise if a venue was charged or drawn with other settings: the draw could cost more than was charged."""
    known = {**before, **settings}
    if _REVIEWS not in before or _REVIEWS not in settings:
        known.pop(_REVIEWS, None)  # not read yet, or written by version 0.1.0
    if changed := [key for key in known if settings.get(key) != before.get(key)]:
        raise InputError(
            f"its noise was drawn with other settings ({', '.join(changed)}); go on with the same ones, or give "
            "the venue another name, which is charged anew"
        )
