"""Whatever interrupts a release, its charge is not lost: it is written, or goes on without another charge."""

from __future__ import annotations

import hashlib
import json
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import moments
import peerveil as pv
from cli.test_cli import GOOD, Run, run
from marks import mostly_slow
from peerveil.errors import BusyError
from peerveil.private import charging, journal
from peerveil.private.charging import pending
from peerveil.private.fingerprint import key_file
from peerveil.private.ledger import Ledger
from peerveil.private.noise import Prepared
from peerveil.private.release import claim_settings, prepare_release
from peerveil.releases.refinement import Perturbed

__all__ = ["run"]  # a fixture


def reviewed_by(*people: str) -> pv.Reviews:
    return pv.Reviews.from_columns([*"ppqqrr"], people, [3, 5, 4, 4, 8, 6], scale=(1, 10))


REVIEWS = reviewed_by("ann", "bob", "bob", "cem", "cem", "ann")
OPTIONS = {"--public": "all", "--epsilon": "1", "--score-scale": "1,10", "--ledger": "budgets.db", "-o": "out"}
QUICK = {"--mechanism": "laplace", "--region": "baseline", "--estimator": "projection"}
RELEASE = ["release", "reviews.csv", "--no-report", *(word for option in (OPTIONS | QUICK).items() for word in option)]
GROUPED = [*RELEASE, "--group-column", "track"]
CODES = {"SIGKILL": -signal.SIGKILL, "SIGINT": 130, "SIGTERM": 143}


@pytest.fixture(scope="module")
def runner() -> Iterator[moments.Runner]:
    with moments.running() as runner:
        yield runner


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "reviews.csv").write_text(
        "\n".join(f"{line},{'track' if i == 0 else 'ab'[i > 4]}" for i, line in enumerate(GOOD.splitlines())) + "\n"
    )
    place = str(tmp_path / "budgets.db")
    Ledger.create(place).open("conf", epsilon=5.0)
    return place


def spread(count: int, total: int) -> list[int]:
    """So many moments of a run, evenly spread."""
    return [1 + total * place // count for place in range(count)]


def fresh(folder: Path, number: int) -> Path:
    """A folder with the same reviews and a ledger of its own, so that every moment begins alike."""
    made = folder / f"at-{number}"
    made.mkdir()
    (made / "reviews.csv").write_text((folder / "reviews.csv").read_text())
    Ledger.create(str(made / "budgets.db")).open("conf", epsilon=5.0)
    return made


def noise_of(out: Path) -> list[list[float]]:
    """The noisy vectors of a release, or of the releases of groups; each must be whole."""
    folders = [out] if (out / "release.json").exists() else sorted(out.iterdir())
    assert folders
    return [pv.Release.load(folder).noisy.tolist() for folder in folders]


def kept_noise(folder: Path) -> list[list[float]] | None:
    """The noisy vectors that are kept of an interrupted release."""
    held = [journal.look(file) for file in (folder / "budgets.db.pending").glob("*.json")]
    assert len(held) <= 1
    if not held or held[0] is None or held[0][1] is None:
        return None
    drawn = held[0][1]
    return [drawn["noisy"]] if "noisy" in drawn else [drawn[group]["noisy"] for group in sorted(drawn)]


def check_moment(runner: moments.Runner, folder: Path, command: list[str], happening: str, moment: int) -> str:
    """Let something happen to a release, then run it again; returns what became of the first run."""
    place, out = str(folder / "budgets.db"), folder / "out"
    first = runner.run(folder, command, happening, moment)
    charges = Ledger(place).history()
    assert len(charges) <= 1
    if happening in CODES:
        assert first.code == CODES[happening], first
    else:
        assert first.code in (0, 1), first
        assert first.code == 1 or out.exists(), first
    if first.code > 0:  # it could still speak
        assert "Traceback" not in first.said
        if happening in CODES:
            assert "peerveil: Cancelled. " in first.said, first
        if charges:
            assert f"Release {charges[0].release} was charged (epsilon " in first.said, first
            end = "it is written to out." if out.exists() else "to finish it without another charge."
            assert end in first.said, first
        else:
            assert "Nothing was charged." in first.said, first
    kept = kept_noise(folder)

    again = runner.run(folder, command)
    if out.exists() and again.code == 2:
        assert "already holds files" in again.said
        state = "written"
    else:
        assert again.code == 0, (first, again)
        assert ("resumed release" in again.said) == bool(charges), (first, again)
        assert not (folder / "budgets.db.pending").exists()
        state = "resumed" if charges else "not charged"
    charges = Ledger(place).history()
    assert len(charges) == 1
    assert {release["charge"] for release in documents(out)} == {charges[0].release}
    if kept is not None:
        assert noise_of(out) == kept
    assert not list(folder.glob(".peerveil-*"))
    assert not list(folder.rglob(".reserved"))
    return state


def documents(out: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in out.rglob("release.json")]


#: The moments of each command, if nothing happens.
MOMENTS: dict[tuple[str, ...], int] = {}


def check_moments(runner: moments.Runner, folder: Path, command: list[str], happening: str, count: int) -> set[str]:
    if tuple(command) not in MOMENTS:
        whole = runner.run(fresh(folder, 0), command, moment=0)
        assert whole.code == 0
        assert whole.moments > 300
        MOMENTS[tuple(command)] = whole.moments
    places = spread(count, MOMENTS[tuple(command)])
    return {check_moment(runner, fresh(folder, 1 + n), command, happening, m) for n, m in enumerate(places)}


@pytest.mark.promise("P-LEDGER-4", "P-LEDGER-5")
@pytest.mark.parametrize("happening", mostly_slow(moments.HAPPENINGS))
def test_a_release_that_is_interrupted_goes_on(
    runner: moments.Runner, tmp_path: Path, place: str, happening: str
) -> None:
    assert "not charged" in check_moments(runner, tmp_path, RELEASE, happening, 2)


@pytest.mark.promise("P-LEDGER-4")
@pytest.mark.slow
@pytest.mark.parametrize("happening", moments.HAPPENINGS)
@pytest.mark.parametrize("command", [RELEASE, GROUPED], ids=["release", "groups"])
def test_at_three_hundred_moments_no_charge_is_lost(
    runner: moments.Runner, tmp_path: Path, place: str, command: list[str], happening: str
) -> None:
    seen = check_moments(runner, tmp_path, command, happening, 60 if command is RELEASE else 20)
    assert {"not charged", "resumed"} <= seen


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def publish(place: str, **options: Any) -> pv.Release:
    given: dict[str, Any] = {"reviews": REVIEWS, "public": "all", "mechanism": pv.Laplace(epsilon=0.5)}
    given |= {"region": "baseline", "estimator": "projection", "ledger": place} | options
    made: pv.Release = pv.release(**given)
    return made


def interrupt(place: str, monkeypatch: pytest.MonkeyPatch, *, drawn: bool = True, **options: Any) -> str:
    """Interrupt a release of the library after its charge; returns what is said of that."""
    with monkeypatch.context() as patch:
        if drawn:
            patch.setattr(Perturbed, "refined", killed)
        else:
            patch.setattr(Prepared, "draw", killed)
        with pytest.raises(KeyboardInterrupt) as stopped:
            publish(place, **options)
    (words,) = stopped.value.__notes__
    return str(words)


@pytest.mark.promise("P-LEDGER-5")
@pytest.mark.parametrize("drawn", [True, False])
def test_a_call_that_was_interrupted_goes_on_when_it_is_repeated(
    place: str, monkeypatch: pytest.MonkeyPatch, drawn: bool
) -> None:
    words = interrupt(place, monkeypatch, drawn=drawn)
    (charge,) = Ledger(place).history()
    state = "what was drawn is kept" if drawn else "nothing that was drawn was shown"
    assert f"Release {charge.release} was charged (epsilon 0.5 of 'conf'); {state}: call it again" in words
    kept = kept_noise(Path(place).parent)
    assert (kept is not None) == drawn
    with pytest.warns(pv.LedgerWarning, match=f"resumed release {charge.release}: charged before"):
        made = publish(place, estimator="safe", region="envelope")  # however it is refined
    assert made.charge == charge.release
    assert kept is None or [made.noisy.tolist()] == kept
    assert len(Ledger(place).history()) == 1
    assert publish(place).charge != charge.release, "whoever has the release and asks for another gets another"
    assert len(Ledger(place).history()) == 2


@pytest.mark.promise("P-LEDGER-5")
@pytest.mark.parametrize(
    "other",
    [
        {"mechanism": pv.Laplace(epsilon=0.6)},
        {"quantity": "miscalibration"},
        {"unit": "review"},
        {"public": "none"},
        {
            "reviews": pv.Reviews.from_columns(
                [*"ppqqrr"], ["ann", "bob", "bob", "cem", "ann", "cem"], [3, 5, 4, 4, 8, 6]
            )
        },
    ],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.filterwarnings("ignore:the reviews differ")
def test_what_was_drawn_is_used_for_the_same_settings_and_data_only(
    place: str, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    interrupt(place, monkeypatch)
    made = publish(place, **other)
    assert made.charge == Ledger(place).history()[1].release
    assert len(pending(place)) == 1


def test_where_nothing_is_pending_one_sentence_says_so(run: Run, place: str) -> None:
    assert run("ledger", "pending", place).out.strip() == "No release with this ledger is interrupted or under way."
    assert json.loads(run("ledger", "pending", place, "--json").out) == []


@pytest.mark.promise("P-LEDGER-7")
def test_what_is_pending_is_listed(run: Run, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(place, monkeypatch)
    interrupt(place, monkeypatch, drawn=False, unit="review")
    numbers = [entry.release for entry in Ledger(place).history()]
    listed = json.loads(run("ledger", "pending", "budgets.db", "--json").out)
    assert {one["release"]: one["drawn"] for one in listed} == dict(zip(numbers, (True, False), strict=True))
    assert all(one["charged"] and not one["running"] and one["dataset"] == "conf" for one in listed)
    shown = run("ledger", "pending", "budgets.db").out
    assert "interrupted" in shown
    assert "ann" not in shown


@pytest.mark.promise("P-PLATFORM-15")
def test_only_its_owner_can_read_what_is_kept_and_no_private_value_is_in_it(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(place, monkeypatch)
    folder = Path(f"{place}.pending")
    (file,) = folder.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, file)] == [0o700, 0o600]
    facts = journal.look(file)
    assert facts is not None
    assert facts[0].keys() == {"release", "begun", "dataset", "what"}
    key_file().unlink()  # another key: the same data has another name
    publish(place)
    assert len(Ledger(place).history()) == 2


def test_without_a_key_the_public_part_is_compared(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file().parent.mkdir(parents=True)
    key_file().write_text("not a key")
    interrupt(place, monkeypatch)
    with pytest.warns(pv.LedgerWarning, match="resumed"):
        publish(place)
    assert len(Ledger(place).history()) == 1


@pytest.mark.promise("P-LEDGER-6")
def test_a_draw_that_was_not_wholly_written_is_drawn_anew(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(place, monkeypatch)
    (file,) = Path(f"{place}.pending").iterdir()
    content = bytearray(file.read_bytes())
    begin = content.index(b'"noisy": [') + 12
    content[begin : begin + 3] = b"   "
    file.write_bytes(content)
    with pytest.warns(pv.LedgerWarning, match="resumed"):
        publish(place)
    assert len(Ledger(place).history()) == 1


def test_a_draw_whose_charge_a_restored_ledger_lost_is_charged_again(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backup = Path(place).read_bytes()
    interrupt(place, monkeypatch)
    (lost,) = Ledger(place).history()
    Path(place).write_bytes(backup)
    assert Ledger(place).history() == []
    assert publish(place).charge == lost.release
    assert [entry.release for entry in Ledger(place).history()] == [lost.release]


@pytest.mark.promise("P-LEDGER-6", "P-PLATFORM-16")
def test_two_processes_never_draw_for_one_charge(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(place, monkeypatch, drawn=False)
    (file,) = Path(f"{place}.pending").iterdir()
    first = journal.take(file)
    assert first is not None
    with pytest.raises(BusyError):
        journal.take(file)
    assert [one.running for one in pending(place)] == [True]
    monkeypatch.setattr(charging, "_PATIENCE", 0.1)
    with pytest.raises(pv.LedgerError, match="another process makes the same release"):
        publish(place)
    first.close()
    with pytest.warns(pv.LedgerWarning, match="resumed"):
        publish(place)
    assert len(Ledger(place).history()) == 1


def test_whoever_waits_goes_on_when_the_other_one_is_done(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(place, monkeypatch)
    (file,) = Path(f"{place}.pending").iterdir()
    first = journal.take(file)
    assert first is not None
    threading.Timer(0.2, first.remove).start()
    publish(place)
    assert len(Ledger(place).history()) == 2
    assert not file.parent.exists()


def test_what_cannot_be_kept_is_not_charged(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PEERVEIL_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(pv.LedgerError, match="was not charged: what is drawn cannot be kept"):
        publish(place)
    assert Ledger(place).history() == []
    monkeypatch.setenv("PEERVEIL_STATE_DIR", str(tmp_path / "state"))
    interrupt(place, monkeypatch)
    assert len(pending(place)) == 1
    assert not Path(f"{place}.pending").exists()


def test_a_refused_release_leaves_nothing(run: Run, place: str) -> None:
    Ledger(place).open("poor", epsilon=0.1)
    result = run(*RELEASE, "--dataset", "poor")
    assert (result.code, "is left; nothing was released" in result.err) == (1, True)
    assert "peerveil: Nothing was charged.\n" in result.err
    assert not Path(f"{place}.pending").exists()


def test_settings_are_those_of_version_0_2_0() -> None:
    """Otherwise a release that version 0.2.0 charged and did not write would be charged again."""
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    assert claim_settings(claim)["neighbours"] == {"hidden": False, "part": False, "declared": False}
    reviews = reviewed_by("ann", "bob", "bob", "cem", "cem", "ann")
    ready = prepare_release(
        reviews, public="all", quantity="ratings", unit="reviewer", mechanism=pv.Laplace(epsilon=1.0)
    )
    stated = json.dumps(ready.settings(), sort_keys=True).encode()
    assert hashlib.sha256(stated).hexdigest()[:16] == "e2034706b9463fff"
