"""Charge a release once and draw it once, whatever interrupts it, and say at any time what was charged.

Why that is sound is said in :mod:`peerveil.private.journal`.
"""

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

from peerveil.errors import BusyError, LedgerError, PeerveilError
from peerveil.privacy.guarantee import upward
from peerveil.private.journal import Kept, begin, look, remove_parts, take
from peerveil.support.atomic_files import Room

if TYPE_CHECKING:
    from peerveil.private.fingerprint import Fingerprint
    from peerveil.private.ledger import Ledger

# ruff: noqa: PLC0415 - databases only where they are needed

#: How long to wait for another process that makes the same release, in seconds.
_PATIENCE = 60.0


#: So many releases are spoken of one by one.
_FEW = 3


@dataclass(frozen=True, kw_only=True)
class Order:
    """A release that is to be charged and drawn.

    Attributes:
        dataset: the data set to charge; may be left out if the ledger has one only.
        what: what is released, in words.
        settings: what makes it this release and no other, as JSON can hold it. Nothing in it is private.
        data: the fingerprint of the private data. Without one (no key can be kept), only settings are compared, which
            hold the claim and the digest of the public record: a changed assignment goes unnoticed, but still no charge
            pays for two draws, nor for more than it claims.
        size: how many bytes what is drawn will take, at most.
        room: how many bytes the release's files will take.
        charge: charges the ledger, for a data set, under a number.
        draw: draws the noise.
    """

    dataset: str | None
    what: str
    settings: object
    data: Fingerprint | None
    size: int
    room: int
    charge: Callable[[Ledger, str, str], None]
    draw: Callable[[], dict[str, Any]]


@dataclass(eq=False)
class Item:
    """One release of a run, as far as it has come.

    Attributes:
        kept: its file.
        book: the ledger; ``None`` where none is charged.
        dataset: the data set that is charged.
        where: the folder in which the release stands, once it does.
        fresh: whether this run charges it.
        alone: whether the folder of its file is of use as long as there are files in it.
    """

    kept: Kept
    book: Ledger | None
    dataset: str
    where: str = ""
    fresh: bool = False
    alone: bool = False

    @property
    def resumed(self) -> bool:
        """Whether an earlier run charged it."""
        return self.kept.resumed and not self.fresh

    def drawn(self, charge: Callable[[str], None], draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What is drawn for the release: what an earlier run kept, or drawn now, after the charge."""
        if self.book is not None and not self.book.charged(self.kept.number):
            self.fresh = True
            charge(self.kept.number)
        if self.kept.drawn is None:
            self.kept.keep(draw())
        assert self.kept.drawn is not None  # noqa: S101 - it was kept
        return self.kept.drawn

    def cost(self) -> str:
        """What the release cost, in words; nothing if it was not charged."""
        if self.book is None:
            return ""
        entries = [entry for entry in self.book.history(self.dataset) if entry.release == self.kept.number]
        return " and ".join(
            (f"rho {upward(one.spend.rho)}" if one.spend.epsilon is None else f"epsilon {upward(one.spend.epsilon)}")
            + (f" per {one.unit}" if len(entries) > 1 else "")
            for one in entries
        )

    def words(self, remedy: str) -> str:
        """What was charged for the release, in a sentence; nothing if nothing was."""
        number = f"release {self.kept.number}"
        try:
            cost = self.cost()
        except Exception:  # noqa: BLE001 - this is said while something else fails; nothing may hide that
            return f"Whether {number} was charged cannot be told now; {remedy}: it is not charged twice."
        if not cost:
            return ""
        charged = f"{number[0].upper()}{number[1:]} was charged ({cost} of {self.dataset!r})"
        if self.resumed:
            charged += " by an earlier run, and nothing more was charged"
        if self.where:
            return f"{charged}; it is written to {self.where}."
        state = "nothing that was drawn was shown" if self.kept.drawn is None else "what was drawn is kept"
        return f"{charged}; {state}: {remedy} to finish it without another charge."


@dataclass(eq=False)
class Spending:
    """What a run charges, from before each charge until the release is written.

    Use it as a context: whatever ends the block, each file is left as the next run needs it.

    Attributes:
        ledger: the place of the ledger; ``None`` if none is charged.
        remedy: how to go on after an interruption.
        room: space for the release's files, taken before the charge.
        target: the folder in which the release will stand, if it is written to one.
        items: the releases that are followed.
        finished: how many others were charged, now or before, and stand.
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
            self.done(self.target)  # interrupted between its writing and the note of it
        if error is not None and self.items:
            error.add_note(self.words())
        for item in self.items:
            _leave(item)

    def add(self, kept: Kept, book: Ledger | None, dataset: str) -> Item:
        """Follow a release."""
        self.items.append(Item(kept, book, dataset))
        return self.items[-1]

    def leave(self, item: Item, error: Exception) -> None:
        """Give up a release that failed; the error is told what was charged for it."""
        if words := item.words(self.remedy):
            error.add_note(words)
        _leave(item)
        self.items.remove(item)

    def written(self, item: Item) -> None:
        """One of many releases stands. Its file stays, for whoever asks what was drawn."""
        item.kept.close()
        self.items.remove(item)
        self.finished += item.book is not None

    @property
    def resumed(self) -> tuple[str, ...]:
        """The numbers of releases that were charged by an earlier run."""
        return tuple(item.kept.number for item in self.items if item.resumed)

    def words(self) -> str:
        """What was charged so far, in sentences."""
        said = list(filter(None, (item.words(self.remedy) for item in self.items)))
        if len(said) > _FEW:
            many = f"{len(said)} releases were charged and are not written"
            said = [f"{many}: {self.remedy} to finish them without another charge."]
        if self.finished:
            said.append(f"{self.finished} releases are charged and written.")
        return " ".join(said) or "Nothing was charged."

    def drawn(self, order: Order) -> tuple[str, dict[str, Any]]:
        """The number of a release, charged before anything is drawn, and what is drawn for it."""
        from peerveil.private.ledger import Ledger

        assert self.ledger is not None  # noqa: S101 - whoever orders has one
        book = Ledger(self.ledger)
        dataset = book.dataset(order.dataset)
        if self.room is not None:
            self.room.take(order.room)
        item = self.add(_kept_for(order, _folder(self.ledger), book, dataset), book, dataset)
        item.alone = True
        drawn = item.drawn(lambda number: order.charge(book, dataset, number), order.draw)
        return item.kept.number, drawn

    def free(self) -> None:
        """Give back the space that was taken for the release's files, which are written next."""
        if self.room is not None:
            self.room.free()

    def done(self, where: str | os.PathLike[str]) -> None:
        """The releases stand: nothing needs to be kept of them any more."""
        for item in self.items:
            item.where = os.fspath(where)  # first: if the removal is interrupted, it stands all the same
            item.kept.remove()
            with suppress(OSError):  # others are pending
                item.kept.file.parent.rmdir()


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A release that was begun and is not written.

    Attributes:
        release: its number.
        begun: when, in UTC.
        dataset: the data set.
        what: what is released.
        charged: whether it was charged.
        drawn: whether what was drawn is kept.
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
        """How far it has come, in words."""
        come = "charged" if self.charged else "not charged"
        return f"{come}, {'drawn' if self.drawn else 'not drawn'}, {'under way' if self.running else 'interrupted'}"


def pending(place: str) -> list[Pending]:
    """The releases of a ledger that were begun on this machine and are not written, the oldest first."""
    from peerveil.private.ledger import Ledger

    book = Ledger(place)
    found = []
    for file in _folder(place).glob("*.json"):
        if (held := look(file)) is not None:
            facts, drawn = held
            one = Pending(
                release=facts["release"],
                begun=str(facts.get("begun", "")),
                dataset=str(facts.get("dataset", "")),
                what=str(facts.get("what", "")),
                charged=book.charged(facts["release"]),
                drawn=drawn is not None,
                running=_running(file),
            )
            if one.charged or one.drawn or one.running:  # else nothing came of it, and the next release removes it
                found.append(one)
    return sorted(found, key=lambda one: one.begun)


def _stands(folder: Path, number: str) -> bool:
    """Whether a folder holds a release that was charged under a number, or those of groups."""
    with suppress(OSError, ValueError):
        file = next(
            (file for file in (folder / "release.json", *folder.glob("*/release.json")) if file.is_file()), None
        )
        return file is not None and json.loads(file.read_text(encoding="utf-8")).get("charge") == number
    return False


def _running(file: Path) -> bool:
    try:
        kept = take(file)
    except PeerveilError:
        return True
    if kept is not None:
        kept.close()
    return False


def _folder(place: str) -> Path:
    """Where what is pending of a ledger is kept: beside an SQLite file, or in a folder of the user's."""
    from peerveil.private.ledger.database import ledger_url

    url = ledger_url(place)
    beside = url.get_backend_name() == "sqlite"
    file = Path(url.database or "").resolve()
    base = os.environ.get("PEERVEIL_STATE_DIR")
    if beside and not base:
        return file.with_name(f"{file.name}.pending")
    if not base:
        home = os.environ.get("XDG_STATE_HOME")
        base = os.path.join(home, "peerveil") if home else os.path.expanduser("~/.local/state/peerveil")  # noqa: PTH111, PTH118
    name = str(file) if beside else json.dumps([url.host, url.port, url.database])
    return Path(base) / hashlib.sha256(name.encode()).hexdigest()[:16]


def _kept_for(order: Order, folder: Path, book: Ledger, dataset: str) -> Kept:
    """The file of a release: one that was interrupted, or a new one."""
    facts = [dataset, order.settings, order.data and [order.data.key, order.data.digest]]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
    try:
        if folder.is_dir():
            remove_parts(folder)
            _remove_uncharged(folder, book)
        return _taken(folder, key) or _begun(folder, key, order, dataset)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise LedgerError(
        f"the ledger at {book.name} was not charged: what is drawn cannot be kept in {folder} ({reason}); nothing was "
        "released"
    )


def _taken(folder: Path, key: str) -> Kept | None:
    """A release that was interrupted; one that another process works on is waited for."""
    until = time.monotonic() + _PATIENCE
    while True:
        busy = False
        for file in sorted(folder.glob(f"{key}-*.json")):
            try:
                kept = take(file)
            except BusyError:
                busy = True
                continue
            if kept is not None:
                return kept
        if not busy:
            return None
        if time.monotonic() > until:
            raise LedgerError(
                "another process makes the same release; wait until it ends, or end it; nothing was charged"
            )
        time.sleep(0.05)


def _begun(folder: Path, key: str, order: Order, dataset: str) -> Kept:
    from peerveil.private.ledger import new_release_number

    number = new_release_number()
    facts = {
        "release": number,
        "begun": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "dataset": dataset,
        "what": order.what,
    }
    while True:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileNotFoundError):  # another process found the folder empty, and removed it
            return begin(folder / f"{key}-{number}.json", facts, order.size)


def _remove_uncharged(folder: Path, book: Ledger) -> None:
    """Remove what was begun by processes that were killed before they charged anything."""
    for file in folder.glob("*.json"):
        held = look(file)
        if held is None or held[1] is not None or book.charged(held[0]["release"]):
            continue
        with suppress(PeerveilError):
            kept = take(file)
            if kept is not None:
                _leave(Item(kept, book, "", alone=True))


def _leave(item: Item) -> None:
    """Give up a release: its file stays, unless nothing was charged for it."""
    kept = item.kept
    try:
        if not item.where and kept.drawn is None and item.book is not None and not item.book.charged(kept.number):
            kept.remove()
            if item.alone:
                kept.file.parent.rmdir()
    except Exception:  # noqa: BLE001, S110 - whether it was charged is not known, so the file stays
        pass
    finally:
        kept.close()
