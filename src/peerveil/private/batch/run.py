"""Many releases at once: a venue that fails is reported and stops nobody, and a batch that was ended goes on.

Reading, charging and drawing happen here, a venue after the other. Only what is public goes to the engine: regions and
estimates of noisy vectors.

What was done is kept in a private folder, one file per venue: first the number under which the venue will be charged,
then, as soon as it is drawn, the noisy vector with its claim. So a batch that is started again never charges a venue
twice, and goes on with every venue that it charged (:mod:`peerveil.private.journal`).
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
from peerveil.mechanisms import Asked
from peerveil.planning.auto import Undecided, decide
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
from peerveil.releases.terms import Terms
from peerveil.support import parallel
from peerveil.support.atomic_files import staged_folder
from peerveil.support.version import software

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

#: What is published of the reason why a venue was not released: the reason itself may hold private values.
SEE_PRIVATE = "failed: see the private log"

#: So few venues are faster done in this process than processes are started.
_FEW = 4

#: Under which setting a digest of the reviews and of the claim is kept.
_REVIEWS = "reviews"

_NAME = re.compile(r"[\w][\w.+-]{0,99}")

Status = Literal["released", "stands", "failed"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Venue:
    """A venue of a batch: what is read when its turn comes, and how it is released.

    Attributes:
        name: its name, which becomes its folder's.
        read: gives the private reviews and what is public of them.
        mechanism: the mechanism, with its budget.
        quantity, unit, region, estimator, lone, accept_float_noise, declare_kept: as in a release.
        licence, citation: on which terms the release is published.
        dataset: the data set whose budget is charged; the venue's name by default.
        budget: opens a budget where the data set has none: arguments of the ledger's ``open``.
        report: write report.html and its figures, too.
        settings: all that was said about it. If that changes, the venue is another one.
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
    licence: str | None = None
    citation: str | None = None
    dataset: str | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    report: bool = True
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_venue_name(self.name)
        check_region(self.region)
        if self.estimator is not None:
            check_estimator(self.estimator)
        self.terms()

    def terms(self) -> Terms:
        """On which terms its release is published."""
        return Terms(licence=self.licence, citation=self.citation)

    def undecided(self) -> Undecided:
        """What a plan needs to choose its mechanism."""
        reviews, public = self.read()
        weights = weigh(reviews.public(public, declare_kept=self.declare_kept), self.quantity, lone=self.lone)
        return Undecided(
            name=self.name, asked=self.mechanism, weights=weights, unit=self.unit, estimator=self.estimator
        )

    def ready(self) -> Ready:
        """Everything read and checked."""
        reviews, public = self.read()
        return prepare_release(
            reviews,
            public=public,
            quantity=self.quantity,
            mechanism=self.mechanism,
            unit=self.unit,
            estimator=self.estimator,
            lone=self.lone,
            accept_float_noise=self.accept_float_noise,
            declare_kept=self.declare_kept,
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a venue.

    Attributes:
        name: the venue's name.
        status: ``"released"``; ``"stands"``: it was released by an earlier run; ``"failed"``.
        reason: why it failed. It may hold private values.
        claim: the privacy claim of its release.
        warnings: what whoever released it should know; nobody else.
        expected_error: how far the release is expected to be from the truth, where it says so.
        folder: the folder of its release, in that of the batch.
    """

    name: str
    status: Status
    reason: str = ""
    claim: str = ""
    warnings: tuple[str, ...] = ()
    expected_error: float | None = None
    folder: str = ""

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
        )

    def published(self) -> dict[str, Any]:
        """What may be published of it."""
        return {
            "name": self.name,
            "status": self.status,
            "reason": SEE_PRIVATE if self.status == "failed" else "",
            "claim": self.claim,
            "expected_error": self.expected_error,
            "folder": self.folder,
        }


def public_report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What became of the venues, without what only the chair may see."""
    return report(outcomes) | {"outcomes": [outcome.published() for outcome in outcomes]}


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What became of the venues, with reasons and warnings, which may hold private values."""
    count = Counter(outcome.status for outcome in outcomes)
    return {
        "software": software(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "venues": len(outcomes),
        **{status: count[status] for status in get_args(Status)},
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def check_venue_name(name: str) -> str:
    """A venue's name, which must do for a folder on every system.

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
    """Release every venue into a folder of its own; outcomes come in the order of the venues.

    Args:
        venues: what to release. Names that differ by case only are one folder on some systems: they are refused.
        folder: where the folders go. Started again with the same one, a batch goes on where it was.
        private: the folder of what is not published, outside of the other; ``<folder>.private`` by default.
        ledger: the ledger to charge.
        workers: how many processes for the public work; all cores by default.
        executor: where to do the public work instead, e.g. a cluster's.
        progress: called after each venue.
        told: called with each outcome as it comes.
        report: write report.html and its figures, too; they take most of a small venue's time.
        spending: where to note what is charged, for whoever tells of it.
        spell: how reasons and warnings spell arguments; as in Python by default.
    """
    _check_names(venues)
    with spending or Spending(ledger) as noted:
        return _run(
            venues,
            _Batch(open_folders(folder, private), _ledger_for(venues, ledger), report, noted, spell),
            {"workers": 1 if len(venues) <= _FEW else workers, "executor": executor},
            progress,
            told,
        )


def _run(
    venues: Sequence[Venue],
    batch: _Batch,
    where: dict[str, Any],
    progress: parallel.Progress | None,
    told: Callable[[Outcome], None] | None,
) -> list[Outcome]:
    tell, show = told or (lambda _: None), progress or (lambda _done, _total: None)
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
                begun = _attempt(venue.name, lambda: batch.begin(venue), batch.spell)  # noqa: B023 - called at once
            remarks[venue.name] = tuple(spelled(warning.message, batch.spell) for warning in caught)
            if isinstance(begun, Outcome):
                add(begun)
            else:
                yield begun

    whole = {venue.name: venue.report for venue in venues}
    for work, found in parallel.stream(finish, works(), **where):
        add(_attempt(work.name, lambda: batch.end(work, found, remarks[work.name], whole[work.name]), batch.spell))  # noqa: B023
    return [outcomes[venue.name] for venue in venues]


def _attempt(name: str, step: Callable[[], Any], spell: Callable[[Argument], str]) -> Any:
    """What a step gives, or the outcome of a venue that failed at it."""
    try:
        return step()
    except Exception as error:  # noqa: BLE001 - one venue must not stop the others
        known = isinstance(error, PeerveilError)
        reason = spelled(error, spell) if known else getattr(error, "strerror", None) or unexpected(error)
        return Outcome(name=name, status="failed", reason=". ".join([reason, *getattr(error, "__notes__", [])]))


def _check_names(venues: Sequence[Venue]) -> None:
    seen: set[str] = set()
    for venue in venues:
        if venue.name.casefold() in seen:
            raise InputError(f"two venues are named {venue.name!r}; each needs a name of its own")
        seen.add(venue.name.casefold())


@dataclass(frozen=True)
class _Batch:
    """The steps of a batch that happen here."""

    folders: BatchFolders
    ledger: Ledger | None
    report: bool
    spending: Spending
    spell: Callable[[Argument], str]
    items: dict[str, Item] = field(default_factory=dict)

    def undecided(self, venues: Sequence[Venue]) -> Iterator[Undecided]:
        """The public weights of venues whose mechanism a plan is to choose, and whose noise is not drawn yet."""
        for venue in venues:
            if venue.mechanism.chooses:
                with suppress(Exception):  # met again, and reported, when the venue's turn comes
                    held = look(self._file(venue))
                    if held is None or held[1] is None:
                        yield venue.undecided()

    def _file(self, venue: Venue) -> Path:
        return self.folders.state_of(venue.name)

    def begin(self, venue: Venue) -> Unfinished | Outcome:
        """Read, charge and draw; or find what was drawn before."""
        settings = self._fingerprints(venue)
        target = self.folders.output / venue.name
        if (held := look(self._file(venue))) is not None and held[1] is not None:
            _check_same(held[0]["settings"], settings)
            if (target / FILES[0]).is_file():
                return Outcome.of(venue.name, "stands", Release.load(target))
        if target.exists():
            raise OutputError(f"output folder {target} is there already, and not from this batch; choose another name")
        ready = venue.ready()
        settings[_REVIEWS] = ready.digest()
        kept = self._kept(venue, ready, settings)
        _check_reviews_known(kept)
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
            terms=venue.terms(),
        )

    def end(self, work: Unfinished, found: Release | PeerveilError, remarks: tuple[str, ...], report: bool) -> Outcome:
        """Write what the engine made."""
        item = self.items.pop(work.name)
        try:
            self._write(work, found, None if self.ledger is None else item.kept.number, report)
        except Exception as error:
            self.spending.leave(item, error)
            raise
        self.spending.written(item)
        assert isinstance(found, Release)  # noqa: S101 - it was written
        return Outcome.of(work.name, "released", found, remarks)

    def _write(self, work: Unfinished, found: Release | PeerveilError, number: str | None, report: bool) -> None:
        if isinstance(found, PeerveilError):
            raise PeerveilError(*found.parts, "; its noisy vector is kept, and a later run goes on with it")
        with staged_folder(self.folders.output / work.name, own=FILES) as stage:
            replace(found, charge=number).write_into(stage, report=self.report and report)

    def _kept(self, venue: Venue, ready: Ready, settings: dict[str, str]) -> Kept:
        """The file of a venue: one that an earlier run left, or a new one, which one run alone can make."""
        from peerveil.private.ledger import new_release_number  # noqa: PLC0415 - databases only where they are needed

        file = self._file(venue)
        if (kept := take(file)) is not None:
            if kept.drawn is not None or (self.ledger is not None and self.ledger.charged(kept.number)):
                return kept
            kept.remove()  # nothing came of it, so it may be another venue now
        try:
            return begin(file, {"release": new_release_number(), "settings": settings}, ready.size)
        except FileExistsError:
            raise BusyError("another batch works on this venue; wait until it ends") from None
        except OSError as error:
            raise WriteError(f"{file.parent} cannot be written: {error.strerror or type(error).__name__}") from None

    def _charge(self, venue: Venue, ready: Ready, number: str) -> None:
        book = self.ledger
        assert book is not None  # noqa: S101 - asked before
        dataset = venue.dataset or venue.name
        if venue.budget:
            _open_budget(book, dataset, venue)
        ready.charge(book, dataset, release=number)

    def _fingerprints(self, venue: Venue) -> dict[str, str]:
        """A digest of each setting: what changed can be named, and nothing is told."""
        said = dict(venue.settings) | {"ledger": self.ledger and _whole_name(self.ledger)}
        return {
            key: hashlib.sha256(json.dumps([key, value], sort_keys=True, default=str).encode()).hexdigest()[:16]
            for key, value in said.items()
        }


def _check_reviews_known(kept: Kept) -> None:
    """Refuse a venue that was charged for reviews that are not known: a draw for others could cost more."""
    if kept.drawn is None and _REVIEWS not in kept.facts["settings"]:
        kept.close()
        raise BudgetError(
            f"it was charged as release {kept.number} by version 0.1.0, which kept neither its noise nor for which "
            "reviews it was charged; it is not charged again. To spend budget on it anew, give it another name"
        )


def _check_same(before: dict[str, str], settings: dict[str, str]) -> None:
    """Refuse a venue that was charged or drawn with other settings; those that one of both does not say are the same.

    A claim may depend on the reviews, so drawing for others could cost more than was charged.
    """
    known = {**before, **settings}
    if _REVIEWS not in before or _REVIEWS not in settings:
        known.pop(_REVIEWS, None)  # not read yet, or kept by version 0.1.0
    if changed := [key for key in known if settings.get(key) != before.get(key)]:
        raise InputError(
            f"its noise was drawn with other settings ({', '.join(changed)}); go on with the same ones, or give "
            "the venue another name, which is charged anew"
        )


def _ledger_for(venues: Sequence[Venue], place: str | None) -> Ledger | None:
    """The ledger, made where venues open budgets in it."""
    if place is None:
        return None
    from peerveil.private.ledger import Ledger  # noqa: PLC0415 - databases only where they are needed

    return Ledger.create(place) if any(venue.budget for venue in venues) else Ledger(place)


def _whole_name(book: Ledger) -> str:
    """A ledger's name that does not depend on the folder one is in."""
    return book.name if "://" in book.name else str(Path(book.name).resolve())


def _open_budget(book: Ledger, dataset: str, venue: Venue) -> None:
    """Open the budget that the venue states, unless it is open."""
    from peerveil.privacy.budget import Budget  # noqa: PLC0415

    stated = Budget.of(**venue.budget)
    for account in book.accounts(dataset):
        if account.unit == venue.unit:
            if account.budget != stated:
                raise BudgetError(
                    f"the budget of {dataset!r} ({venue.unit}) is another one than stated; a budget cannot be changed"
                )
            return
    book.open(dataset, venue.unit, **venue.budget)
