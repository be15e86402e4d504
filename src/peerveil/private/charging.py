"""Charges of releases, each made once and drawn once even if interrupted (see :mod:`peerveil.private.journal`)."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from peerveil.errors import BudgetError, BusyError, LedgerError, PeerveilError, Phrase
from peerveil.privacy.guarantee import upward
from peerveil.private.journal import Kept, begin, look, remove_parts, take
from peerveil.support.atomic_files import Room

if TYPE_CHECKING:
    from peerveil.privacy.series_claims import SeriesClaim
    from peerveil.private.fingerprint import Fingerprint
    from peerveil.private.ledger import Ledger

# ruff: noqa: PLC0415 - databases only where they are needed

#: Seconds to wait for another process that makes the same release.
_PATIENCE = 60.0

#: The largest number of releases that messages list one by one.
_FEW = 3


@dataclass(frozen=True, kw_only=True)
class Order:
    """A release to charge and draw.

    Attributes:
        dataset: the data set to charge; optional if the ledger has a single one.
        what: a description of the release.
        settings: the settings that identify the release, as a JSON document without private data.
        data: the fingerprint of the private data. Without one only settings are compared, which hold the claim and the
            digest of the public record: a changed assignment is not detected, but a charge never pays for two draws or
            for more than it claims.
        size: the largest size of the draw, in bytes.
        room: the size of the files of the release, in bytes.
        charge: charges a data set in the ledger under a number.
        draw: draws the noise.
        also: further data sets that are charged with it.
    """

    dataset: str | None
    what: str
    settings: object
    data: Fingerprint | None
    size: int
    room: int
    charge: Callable[[Ledger, str, str], None]
    draw: Callable[[], dict[str, Any]]
    also: tuple[str, ...] = ()


@dataclass(eq=False)
class Item:
    """A release of a run and its progress.

    Attributes:
        kept: its file in the journal.
        book: the ledger; ``None`` if none is charged.
        dataset: the data set to charge.
        where: the folder of the written release.
        fresh: whether this run charges it.
        alone: whether to remove the folder of its file once it is empty.
        also: further data sets that are charged with it.
    """

    kept: Kept
    book: Ledger | None
    dataset: str
    where: str = ""
    fresh: bool = False
    alone: bool = False
    also: tuple[str, ...] = ()

    @property
    def resumed(self) -> bool:
        """Whether an earlier run charged it."""
        return self.kept.resumed and not self.fresh

    def drawn(self, charge: Callable[[str], None], draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The draw of the release: that of an earlier run, or a new one after the charge."""
        number = self.kept.number
        if self.book is not None and not self.book.charged(number):
            self.fresh = True
            try:
                charge(number)
            except BudgetError:
                if not self.book.charged(number):  # a commit whose connection was lost, and that ended only now
                    raise
        return self.kept.keep(draw()) if self.kept.drawn is None else self.kept.drawn

    def cost(self) -> str:
        """The cost of the release in words; empty if it was not charged."""
        if self.book is None:
            return ""
        entries = [entry for entry in self.book.history(self.dataset) if entry.release == self.kept.number]
        return " and ".join(
            (f"rho {upward(one.spend.rho)}" if one.spend.epsilon is None else f"epsilon {upward(one.spend.epsilon)}")
            + (f" per {one.unit}" if len(entries) > 1 else "")
            for one in entries
        )

    def words(self, remedy: str) -> str:
        """A sentence on the charge of the release; empty if nothing was charged."""
        number = self.kept.number
        try:
            cost = self.cost()
        except Exception:  # noqa: BLE001 - another error is being reported, which this one must not hide
            return f"Whether release {number} was charged cannot be told now; {remedy}: it is not charged twice."
        if not cost:
            return ""
        whose = f"of {self.dataset!r}" + "".join(f" and of {name!r}" for name in self.also)
        charged = f"Release {number} was charged ({cost} {whose})"
        if self.resumed:
            charged += " by an earlier run, and nothing more was charged"
        if self.where:
            return f"{charged}; it is written to {self.where}."
        state = "nothing that was drawn was shown" if self.kept.drawn is None else "what was drawn is kept"
        return f"{charged}; {state}: {remedy} to finish it without another charge."


@dataclass(eq=False)
class Spending:
    """The charges of a run; a context that leaves the journal as the next run needs it.

    Attributes:
        ledger: the place of the ledger; ``None`` if none is charged.
        remedy: how to resume after an interruption.
        room: space for the files of the release, reserved before the charge.
        target: the folder to which the release will be written, if any.
        items: the releases that are in progress.
        finished: number of other releases that are charged and written.
    """

    ledger: str | None
    remedy: str = "call it again with the same arguments"
    room: Room | None = None
    target: str = ""
    items: list[Item] = field(default_factory=list)
    finished: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        unsettled = error is not None and self.target and self.items and not self.items[0].where
        if unsettled and _stands(Path(self.target), self.items[0].kept.number):
            self.done(self.target)  # interrupted after it was written
        if error is not None and self.items:
            error.add_note(self.words())
        for item in self.items:
            _leave(item)

    def add(self, kept: Kept, book: Ledger | None, dataset: str) -> Item:
        """Add a release that is in progress."""
        self.items.append(Item(kept, book, dataset))
        return self.items[-1]

    def leave(self, item: Item, error: Exception) -> None:
        """Drop a release that failed, and add a note on its charge to the error."""
        if words := item.words(self.remedy):
            error.add_note(words)
        _leave(item)
        self.items.remove(item)

    def written(self, item: Item) -> None:
        """Drop a release that was written as one of many; its file in the journal stays."""
        item.kept.close()
        self.items.remove(item)
        self.finished += item.book is not None

    @property
    def resumed(self) -> tuple[str, ...]:
        """The numbers of releases that an earlier run charged."""
        return tuple(item.kept.number for item in self.items if item.resumed)

    def words(self) -> str:
        """Sentences on the charges so far."""
        sentences = list(filter(None, (item.words(self.remedy) for item in self.items)))
        if len(sentences) > _FEW:
            unwritten = f"{len(sentences)} releases were charged and are not written"
            sentences = [f"{unwritten}: {self.remedy} to finish them without another charge."]
        if self.finished:
            sentences.append(f"{self.finished} releases are charged and written.")
        return " ".join(sentences) or "Nothing was charged."

    def drawn(self, order: Order) -> tuple[str, dict[str, Any]]:
        """The number of a release, which is charged first, and its draw."""
        from peerveil.private.ledger import Ledger

        assert self.ledger is not None  # noqa: S101 - checked by the caller
        book = Ledger(self.ledger)
        dataset = book.dataset(order.dataset)
        if self.room is not None:
            self.room.take(order.room)
        item = self.add(_kept_for(order, _folder(self.ledger), book, dataset), book, dataset)
        item.alone, item.also = True, order.also
        return item.kept.number, item.drawn(lambda number: order.charge(book, dataset, number), order.draw)

    def series(self, number: str | None) -> tuple[SeriesClaim, ...]:
        """What the series that count a charged release promise."""
        books = [item.book for item in self.items if item.kept.number == number and item.book is not None]
        return books[0].series_claims(str(number)) if books else ()

    def free(self) -> None:
        """Free the space that was reserved for the files of the release."""
        if self.room is not None:
            self.room.free()

    def done(self, where: str | os.PathLike[str]) -> None:
        """Remove the files in the journal of releases that were written."""
        for item in self.items:
            item.where = os.fspath(where)  # first, as the removal may be interrupted
            item.kept.remove()
            with suppress(OSError):  # others are pending
                item.kept.file.parent.rmdir()


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A release that was begun and is not written.

    Attributes:
        release: its number.
        begun: the time it was begun, in UTC.
        dataset: the data set.
        what: its description.
        charged: whether it was charged.
        drawn: whether its draw is kept.
        running: whether a process works on it.
    """

    release: str
    begun: str
    dataset: str
    what: str
    charged: bool
    drawn: bool
    running: bool

    @property
    def state(self) -> str:
        """Its progress in words."""
        charged = "charged" if self.charged else "not charged"
        return f"{charged}, {'drawn' if self.drawn else 'not drawn'}, {'under way' if self.running else 'interrupted'}"


def pending(place: str) -> list[Pending]:
    """The releases of a ledger that were begun on this machine and are not written, oldest first."""
    from peerveil.private.ledger import Ledger

    book = Ledger(place)
    releases = []
    for file in _folder(place).glob("*.json"):
        if (content := look(file)) is not None:
            facts, drawn = content
            running = True
            with suppress(PeerveilError):  # of a file that another process holds
                if (kept := take(file)) is not None:
                    kept.close()
                running = False
            release = Pending(
                release=facts["release"],
                **{name: str(facts.get(name, "")) for name in ("begun", "dataset", "what")},
                charged=book.charged(facts["release"]),
                drawn=drawn is not None,
                running=running,
            )
            if release.charged or release.drawn or release.running:  # the next release removes others
                releases.append(release)
    return sorted(releases, key=lambda release: release.begun)


def _stands(folder: Path, number: str) -> bool:
    """Whether a folder holds the release of a charge, or its releases of groups."""
    with suppress(OSError, ValueError, StopIteration):
        file = next(filter(Path.is_file, (folder / "release.json", *folder.glob("*/release.json"))))
        return bool(json.loads(file.read_text(encoding="utf-8")).get("charge") == number)
    return False


def _folder(place: str) -> Path:
    """The folder of the journal of a ledger: beside an SQLite file, or in the user's state folder."""
    from peerveil.private.ledger.database import ledger_url

    url = ledger_url(place)
    beside = url.get_backend_name() == "sqlite"
    file = Path(url.database or "").resolve()
    base = os.environ.get("PEERVEIL_STATE_DIR")
    if beside and not base:
        return file.with_name(f"{file.name}.pending")
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - need not exist
    name = str(file) if beside else json.dumps([url.host, url.port, url.database])
    return Path(base or f"{home}/peerveil") / hashlib.sha256(name.encode()).hexdigest()[:16]


def _kept_for(order: Order, folder: Path, book: Ledger, dataset: str) -> Kept:
    """The file of a release: that of an interrupted run, or a new one."""
    from peerveil.private.ledger import new_release_number

    identity = ["\n".join((dataset, *order.also)), order.settings, order.data and [order.data.key, order.data.digest]]
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    try:
        if folder.is_dir():
            remove_parts(folder)
            _remove_uncharged(folder, book)
        if (kept := _taken(folder, key)) is not None:
            return kept
        number, begun = new_release_number(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        facts = {"release": number, "begun": begun, "dataset": dataset, "what": order.what}
        while True:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileNotFoundError):  # another process removed the empty folder
                return begin(folder / f"{key}-{number}.json", facts, order.size)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise LedgerError(
        Phrase("ledger_place", f"the ledger at {book.name}"),
        " was not charged: what is drawn cannot be kept ",
        Phrase("kept_in", f"in {folder}"),
        f" ({reason}); nothing was released",
    )


def _taken(folder: Path, key: str) -> Kept | None:
    """The file of an interrupted release, after waiting for another process that works on it."""
    until = time.monotonic() + _PATIENCE
    while True:
        busy = False
        for file in sorted(folder.glob(f"{key}-*.json")):
            try:
                if (kept := take(file)) is not None:
                    return kept
            except BusyError:
                busy = True
        if not busy:
            return None
        if time.monotonic() > until:
            raise LedgerError(
                "another process makes the same release; wait until it ends, or end it; nothing was charged"
            )
        time.sleep(0.05)


def _remove_uncharged(folder: Path, book: Ledger) -> None:
    """Remove files of processes that were killed before they charged anything."""
    for file in folder.glob("*.json"):
        content = look(file)
        if content is None or content[1] is not None or book.charged(content[0]["release"]):
            continue
        with suppress(PeerveilError):
            if (kept := take(file)) is not None:
                _leave(Item(kept, book, "", alone=True))


def _leave(item: Item) -> None:
    """Close the file of a release, and remove it if nothing was charged."""
    kept = item.kept
    try:
        if not item.where and kept.drawn is None and item.book is not None and not item.book.charged(kept.number):
            kept.remove()
            if item.alone:
                kept.file.parent.rmdir()
    except Exception:  # noqa: BLE001, S110 - if it may have been charged, the file stays
        pass
    finally:
        kept.close()
