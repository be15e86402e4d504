"""The private steps of a batch: reading, charging and drawing a venue, and writing its release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.errors import Argument, BudgetError, BusyError, InputError, OutputError, Part, PeerveilError, WriteError
from peerveil.inference.pooling import POOLED
from peerveil.planning.auto import Undecided
from peerveil.privacy.budget import Budget
from peerveil.private.batch.events import Clock, VenueCharged, VenueRead, VenueReleased, VenueStands
from peerveil.private.batch.folders import BatchFolders
from peerveil.private.batch.patience import Patience
from peerveil.private.batch.venue import Outcome, Venue
from peerveil.private.charging import Item, Spending
from peerveil.private.journal import Kept, begin, look, take
from peerveil.private.release import Ready
from peerveil.releases.refinement import Perturbed, Unfinished
from peerveil.releases.release import FILES, Release
from peerveil.reporting.terms import Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.logs import emit
from peerveil.support.time_limits import time_limit

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

#: The setting that holds a digest of the reviews and of the claim.
_REVIEWS = "reviews"

#: The names of the public record and of the settled mechanism among them. The digest of the reviews covers both; for
#: the same record and options, planning may choose another mechanism.
_RECORD, _MECHANISM = "public record", "settled mechanism"


@dataclass(frozen=True)
class Steps:
    """The private steps of a batch."""

    folders: BatchFolders
    ledger: Ledger | None
    report: bool
    spending: Spending
    spell: Callable[[Argument], str]
    patience: Patience
    limit: float | None
    items: dict[str, Item] = field(default_factory=dict)

    def undecided(self, venue: Venue) -> Undecided | None:
        """The public data of a venue, if a plan is to choose its mechanism and it is not released.

        A venue whose noise was drawn by an earlier run needs the same plan again, which it may share with others.
        """
        if not venue.mechanism.chooses:
            return None
        content = look(self.folders.state_of(venue.name))
        if content is not None and content[1] is not None and self._is_written(venue):
            return None
        with time_limit(self.limit):
            return venue.undecided()

    def begin(self, venue: Venue) -> Unfinished | Outcome:
        """A venue that was read, charged and drawn; or the outcome of an earlier run."""
        settings = self._fingerprints(venue)
        target = self.folders.output / venue.name
        content = look(self.folders.state_of(venue.name))
        if content is not None and content[1] is not None:
            _check_same(content[0]["settings"], settings)
            if self._is_written(venue):
                released = Outcome.of(venue.name, "stands", Release.load(target))
                emit(VenueStands(venue=venue.name))
                return released
        if target.exists():
            raise OutputError(f"output folder {target} is there already, and not from this batch; choose another name")
        clock = Clock()
        with time_limit(self.limit):
            ready = venue.ready()
        settings |= {
            _REVIEWS: ready.digest(),
            _RECORD: ready.weights.digest(),
            _MECHANISM: _digest(ready.noise.mechanism.describe()),
        }
        emit(VenueRead(venue=venue.name, seconds=clock.lap()))
        kept = self._kept(venue, ready, settings)
        item = self.spending.add(kept, self.ledger, venue.dataset or venue.name)
        try:
            _check_same(item.kept.facts["settings"], settings)
            charge, draw = partial(self._charge, venue, ready), lambda: ready.draw().to_document()
            drawn = self.patience(venue.name, partial(item.drawn, charge, draw))
            perturbed = Perturbed.from_document(drawn, ready.weights)
            if item.fresh:
                emit(VenueCharged(venue=venue.name, charge=item.kept.number, seconds=clock.lap()))
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
        item, clock = self.items.pop(name), Clock()
        try:
            if isinstance(result, PeerveilError):
                raise PeerveilError(*result.parts, "; its noisy vector is kept, and a later run goes on with it")  # noqa: TRY301
            with staged_folder(self.folders.output / name, own=FILES) as stage:
                charged = result
                if (book := self.ledger) is not None:
                    series = self.patience(name, lambda: book.series_claims(item.kept.number))
                    charged = replace(result, charge=item.kept.number, series=series)
                charged.write_into(stage, report=self.report and report)
        except Exception as error:
            self.spending.leave(item, error)
            raise
        self.spending.written(item)
        emit(VenueReleased(venue=name, seconds=clock.lap()))
        unlike = result.notes if result.prior is not None and result.prior.unlike else ()
        told = tuple(note for note in unlike if POOLED in note)
        return Outcome.of(name, "released", result, (*remarks, *told))

    def _is_written(self, venue: Venue) -> bool:
        return (self.folders.output / venue.name / FILES[0]).is_file()

    def _kept(self, venue: Venue, ready: Ready, settings: dict[str, str]) -> Kept:
        """The file of a venue: that of an earlier run, or a new one."""
        from peerveil.private.ledger import new_release_number  # noqa: PLC0415 - databases only where they are needed

        file = self.folders.state_of(venue.name)
        if (kept := take(file)) is not None:
            try:
                usable = self._usable(venue, kept)
            except BaseException:
                kept.close()
                raise
            if usable:
                return kept
            kept.remove()  # neither charged nor drawn, so its settings may change
        try:
            return begin(file, {"release": new_release_number(), "settings": settings}, ready.size)
        except FileExistsError:
            raise BusyError("another batch works on this venue; wait until it ends") from None
        except OSError as error:
            raise WriteError(f"{file.parent} cannot be written: {error.strerror or type(error).__name__}") from None

    def _usable(self, venue: Venue, kept: Kept) -> bool:
        """Whether the file of an earlier run was charged or drawn."""
        book = self.ledger
        if kept.drawn is not None:
            return True
        if book is None or not self.patience(venue.name, lambda: book.charged(kept.number)):
            return False
        if _REVIEWS in kept.facts["settings"]:
            return True
        raise BudgetError(  # a draw for other reviews could cost more than was charged
            f"it was charged as release {kept.number} by version 0.1.0, which kept neither its noise nor for "
            "which reviews it was charged; it is not charged again. To spend budget on it anew, give it "
            "another name"
        )

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
        return {key: _digest([key, value]) for key, value in settings.items()}


def _check_same(before: dict[str, str], settings: dict[str, str]) -> None:
    """Raise if a venue was charged or drawn with other settings: the draw could cost more than was charged."""
    known = {**before, **settings}
    for key in (_REVIEWS, _RECORD, _MECHANISM):
        if key not in before or key not in settings:
            known.pop(key, None)  # not read yet, or written by an earlier version
    changed = [key for key in known if settings.get(key) != before.get(key)]
    if not changed:
        return
    planned: tuple[Part, ...] = ()
    # Another record has another scale of noise; of the same one, the mechanism tells more than the reviews.
    hidden = {_RECORD, _MECHANISM} if _RECORD in changed else {_REVIEWS} if _MECHANISM in changed else set()
    changed = [key for key in changed if key not in hidden]
    if changed == [_MECHANISM]:
        planned = (" (plans that venues share may settle on another mechanism: see ", Argument("share_plans"), ")")
    raise InputError(
        f"its noise was drawn with other settings ({', '.join(changed)}); go on with the same ones",
        *planned,
        ", or give the venue another name, which is charged anew",
    )


def _digest(settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]
