"""Many venues: the good ones are released, the others are named, and nothing is charged twice."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import GOOD, PUBLIC, Run, run
from peerveil.private import journal
from peerveil.private.batch.run import run_batch
from peerveil.private.batch.venue import Outcome, Venue
from peerveil.private.ledger import Ledger
from peerveil.private.noise import Prepared
from peerveil.private.reviews import Reviews
from peerveil.releases import refinement
from peerveil.releases.refinement import finish

__all__ = ["run"]  # a fixture

PAPERS = ["p", "p", "q", "q", "r", "r"]
PEOPLE = ["ann", "bob", "bob", "cem", "cem", "ann"]


def reviews(number: int = 0) -> Reviews:
    return Reviews.from_columns(PAPERS, PEOPLE, [1 + (number + 3 * i) % 9 for i in range(6)], scale=(1, 10))


def venue(name: str = "conf", number: int = 0, **options: Any) -> Venue:
    given: dict[str, Any] = {"mechanism": pv.Laplace(epsilon=0.5), "region": "envelope", "estimator": "projection"}
    return Venue(name=name, read=lambda: (reviews(number), "all"), **given | options)


def broken(name: str, read: Callable[[], Any]) -> Venue:
    return Venue(name=name, read=read, mechanism=pv.Laplace(epsilon=0.5), budget={"epsilon": 1.0})


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "budgets.db")
    Ledger.create(place).open("conf", epsilon=1.0)
    return place


def spent(place: str, dataset: str = "conf") -> float:
    return Ledger(place).accounts(dataset)[0].spent


@pytest.mark.promise("P-PLATFORM-4")
@pytest.mark.slow
def test_a_thousand_venues_with_some_broken(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")

    def unreadable() -> Any:
        raise pv.InputError("there is no such file")

    def surprising() -> Any:
        raise KeyError("ann@example.org")

    bad = {f"venue-{number:04d}": (unreadable if number % 2 else surprising) for number in (3, 400, 401, 998)}
    poor = "venue-0007"
    venues = []
    for number in range(1000):
        name = f"venue-{number:04d}"
        if name in bad:
            venues.append(broken(name, bad[name]))
        else:
            budget = {"epsilon": 0.25 if name == poor else 1.0}
            venues.append(venue(name, number, budget=budget))
    outcomes = run_batch(venues, tmp_path / "out", ledger=place, workers=2, report=False)

    assert [outcome.name for outcome in outcomes] == [v.name for v in venues]
    failed = {outcome.name: outcome.reason for outcome in outcomes if outcome.status == "failed"}
    assert failed.keys() == bad.keys() | {poor}
    assert failed["venue-0003"] == "there is no such file"
    assert "KeyError in test_batch.py" in failed["venue-0400"]
    assert "ann" not in failed["venue-0400"]
    assert "costs epsilon 0.5" in failed[poor]
    for outcome in outcomes:
        assert (tmp_path / "out" / outcome.name / "release.json").is_file() == (outcome.status == "released")
    released = pv.Release.load(tmp_path / "out" / "venue-0999")
    assert released.guarantee.epsilon == 0.5
    accounts = {account.dataset: account for account in Ledger(place).accounts()}
    assert accounts.keys() == {v.name for v in venues} - bad.keys()
    assert all(account.spent == (0.0 if name == poor else 0.5) for name, account in accounts.items())
    assert len(Ledger(place).history()) == 995


@pytest.mark.promise("P-PLATFORM-7")
def test_a_batch_goes_on_where_it_was_and_charges_nothing_twice(tmp_path: Path, ledger: str) -> None:
    first = run_batch([venue()], tmp_path / "out", ledger=ledger)
    values = (tmp_path / "out" / "conf" / "release.json").read_bytes()
    again = run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert [first[0].status, again[0].status] == ["released", "stands"]
    assert again[0].claim == first[0].claim == "epsilon = 0.5 per reviewer (pure differential privacy)"
    assert (tmp_path / "out" / "conf" / "release.json").read_bytes() == values
    assert spent(ledger) == 0.5


@pytest.mark.promise("P-PLATFORM-7")
@pytest.mark.parametrize("mechanism", [pv.Laplace(epsilon=0.5), pv.Histogram(epsilon=0.5)])
def test_noise_that_was_drawn_is_refined_without_another_charge(
    tmp_path: Path, ledger: str, monkeypatch: pytest.MonkeyPatch, mechanism: pv.Laplace | pv.Histogram
) -> None:
    monkeypatch.setattr(refinement, "finish", lambda *_: pv.PeerveilError("the power failed"))
    (failed,) = run_batch([venue(mechanism=mechanism)], tmp_path / "out", ledger=ledger)
    assert failed.reason.startswith("the power failed; its noisy vector is kept, and a later run goes on with it")
    assert "was charged (epsilon 0.5 of 'conf'); what was drawn is kept" in failed.reason
    held = journal.look(tmp_path / "out.private" / "states" / "conf.json")
    assert held is not None
    noise = held[1]
    assert noise is not None
    monkeypatch.setattr(refinement, "finish", finish)
    for draw in ("draw", "draw_counts"):
        monkeypatch.setattr(Prepared, draw, lambda *_: pytest.fail("noise was drawn again"))
    (done,) = run_batch([venue(mechanism=mechanism)], tmp_path / "out", ledger=ledger)
    assert done.status == "released"
    made = pv.Release.load(tmp_path / "out" / "conf")
    if made.histogram is None:
        assert made.noisy.tolist() == noise["noisy"]
    else:
        assert made.histogram.to_document() == noise["histogram"]
    assert spent(ledger) == 0.5


def test_a_release_that_was_lost_is_made_again_from_the_same_noise(tmp_path: Path, ledger: str) -> None:
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    before = pv.Release.load(tmp_path / "out" / "conf")
    shutil.rmtree(tmp_path / "out" / "conf")
    (done,) = run_batch([venue()], tmp_path / "out", ledger=ledger)
    after = pv.Release.load(tmp_path / "out" / "conf")
    assert done.status == "released"
    assert after.noisy.tolist() == before.noisy.tolist()
    assert after.values.tolist() == before.values.tolist()
    assert after.guarantee == before.guarantee
    assert spent(ledger) == 0.5


@pytest.mark.promise("P-PLATFORM-7", "P-PLATFORM-8")
def test_a_charge_whose_noise_was_not_kept_is_drawn_for_without_another(
    tmp_path: Path, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Prepared, "draw", killed)
        with pytest.raises(KeyboardInterrupt) as stopped:
            run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert "nothing that was drawn was shown" in stopped.value.__notes__[0]
    assert spent(ledger) == 0.5
    (other,) = run_batch([venue(number=1)], tmp_path / "out", ledger=ledger)
    assert "other settings (reviews)" in other.reason, "what was charged is for other reviews"
    (done,) = run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert done.status == "released"
    assert spent(ledger) == 0.5
    assert pv.Release.load(tmp_path / "out" / "conf").charge == Ledger(ledger).history()[0].release


def test_a_venue_that_version_0_1_0_charged_and_did_not_draw_is_left_alone(tmp_path: Path, ledger: str) -> None:
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    shutil.rmtree(tmp_path / "out" / "conf")
    file = tmp_path / "out.private" / "states" / "conf.json"
    held = journal.look(file)
    assert held is not None
    facts, noise = held
    facts["settings"].pop("reviews")
    file.write_text(json.dumps({**facts, "noise": None}))
    (lost,) = run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert lost.status == "failed"
    assert "it is not charged again" in lost.reason
    file.write_text(json.dumps({**facts, "noise": noise}))
    (done,) = run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert done.status == "released"
    assert noise is not None
    assert pv.Release.load(tmp_path / "out" / "conf").noisy.tolist() == noise["noisy"]
    assert spent(ledger) == 0.5


def test_a_venue_that_failed_before_its_charge_may_change(tmp_path: Path, ledger: str) -> None:
    def missing() -> Any:
        raise pv.InputError("there is no such file")

    run_batch([broken("conf", missing)], tmp_path / "out", ledger=ledger)
    assert spent(ledger) == 0
    (done,) = run_batch([venue(settings={"file": "other.csv"})], tmp_path / "out", ledger=ledger)
    assert done.status == "released"
    assert spent(ledger) == 0.5


@pytest.mark.promise("P-PLATFORM-8")
def test_other_settings_are_another_venue(tmp_path: Path, ledger: str) -> None:
    run_batch([venue(settings={"epsilon": 0.5, "file": "secret/path.csv"})], tmp_path / "out", ledger=ledger)
    (changed,) = run_batch(
        [venue(settings={"epsilon": 0.6, "file": "secret/path.csv"})], tmp_path / "out", ledger=ledger
    )
    assert changed.status == "failed"
    assert "other settings (epsilon)" in changed.reason
    (moved,) = run_batch([venue(settings={"epsilon": 0.5, "file": "secret/path.csv"})], tmp_path / "out")
    assert "other settings (ledger)" in moved.reason
    assert spent(ledger) == 0.5
    assert "secret" not in (tmp_path / "out.private" / "states" / "conf.json").read_text()


def test_another_public_record_is_not_given_the_old_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "finish", lambda *_: pv.PeerveilError("the power failed"))
    run_batch([venue()], tmp_path / "out")
    monkeypatch.setattr(refinement, "finish", finish)
    (other,) = run_batch([venue(number=1)], tmp_path / "out")
    assert "other settings (reviews)" in other.reason


def test_another_settled_mechanism_is_told_apart_from_other_reviews(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same options may settle on another mechanism, such as without the plan that venues shared."""
    monkeypatch.setattr(refinement, "finish", lambda *_: pv.PeerveilError("the power failed"))
    run_batch([venue()], tmp_path / "out")
    monkeypatch.setattr(refinement, "finish", finish)
    (other,) = run_batch([venue(mechanism=pv.Laplace(epsilon=0.4))], tmp_path / "out")
    assert "other settings (settled mechanism)" in other.reason
    assert "share_plans" in other.reason
    (both,) = run_batch([venue(number=1, mechanism=pv.Laplace(epsilon=0.4))], tmp_path / "out")
    assert "other settings (reviews)" in both.reason
    (done,) = run_batch([venue()], tmp_path / "out")
    assert done.status == "released"


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path, ledger: str) -> None:
    (tmp_path / "out" / "conf").mkdir(parents=True)
    (tmp_path / "out" / "conf" / "thesis.txt").write_text("mine")
    (refused,) = run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert "not from this batch" in refused.reason
    assert spent(ledger) == 0


def test_budgets_are_opened_once_and_never_changed(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    (one,) = run_batch([venue("a", budget={"epsilon": 1.0})], tmp_path / "out", ledger=place)
    (two,) = run_batch([venue("b", dataset="a", budget={"epsilon": 1.0})], tmp_path / "out", ledger=place)
    (three,) = run_batch([venue("c", dataset="a", budget={"epsilon": 9.0})], tmp_path / "out", ledger=place)
    assert [one.status, two.status, three.status] == ["released", "released", "failed"]
    assert "cannot be changed" in three.reason
    assert spent(place, "a") == 1.0


def test_names_must_do_for_folders(tmp_path: Path) -> None:
    for name in ("", "..", "a/b", "a\\b", ".hidden", "x.", "batch.json", "a b", "x" * 101):
        with pytest.raises(pv.InputError, match="a venue's name"):
            venue(name)
    with pytest.raises(pv.InputError, match="two venues"):
        run_batch([venue("Conf"), venue("conf")], tmp_path / "out")


class Watched(Executor):
    """An executor that lets everything be seen which it is given."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.seen.append(pickle.dumps((function, args, kwargs)))
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future


@pytest.mark.promise("P-README-1", "P-PLATFORM-13")
def test_no_review_goes_to_the_engine(tmp_path: Path) -> None:
    watched = Watched()
    hidden = Venue(
        name="hidden", read=lambda: (reviews(1), "none"), mechanism=pv.Laplace(epsilon=0.5), estimator="projection"
    )
    outcomes = run_batch([venue(), hidden], tmp_path / "out", executor=watched)
    assert [outcome.status for outcome in outcomes] == ["released", "released"]
    assert len(watched.seen) == 2
    for sent in watched.seen:
        assert b"peerveil.private" not in sent
        assert not any(person.encode() in sent for person in PEOPLE)


@pytest.mark.promise("P-README-1", "P-PLATFORM-13", "P-THREAT-3")
@pytest.mark.parametrize("public", ["all", "none"])
def test_what_goes_to_the_engine_is_the_same_whoever_wrote_which_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: str
) -> None:
    """Byte for byte, if the noisy vector is the same; and with no score public, whatever the scores are."""
    noisy = np.array([2.0, 4.0, 6.0])
    monkeypatch.setattr(Prepared, "draw", lambda *_: noisy.copy())
    scores = [[1, 4, 7, 1, 4, 7], [4, 1, 1, 7, 7, 4] if public == "all" else [9, 2, 8, 3, 5, 5]]
    sent = []
    for place, own in enumerate(scores):
        private = Reviews.from_columns(PAPERS, PEOPLE, own, scale=(1, 10))
        watched, one = Watched(), venue()
        one = Venue(**vars(one) | {"read": lambda private=private: (private, public)})
        (outcome,) = run_batch([one], tmp_path / str(place), executor=watched)
        assert outcome.status == "released"
        sent.append(watched.seen)
    assert len(sent[0]) == 1
    assert sent[0] == sent[1]


TOML = """
ledger = "budgets.db"

[defaults]
public = "all"
mechanism = "laplace"
epsilon = 0.5
score-scale = [1, 10]
budget = {{ epsilon = 1 }}
estimator = "projection"

[[venue]]
name = "first"
file = "reviews.csv"

[[venue]]
name = "second"
file = "reviews.csv"
dataset = "first"
public = "public.csv"
loads = {{ 2 = 3 }}
{more}
"""


def write(tmp_path: Path, more: str = "") -> None:
    (tmp_path / "reviews.csv").write_text(GOOD)
    (tmp_path / "public.csv").write_text(PUBLIC)
    (tmp_path / "venues.toml").write_text(TOML.format(more=more))


def test_the_command_releases_what_a_toml_file_says(run: Run, tmp_path: Path) -> None:
    write(tmp_path, more='conference = "Conf"\nyear = 2026\nauthor = ["Ada Lovelace", "Turing, Alan"]')
    result = run("batch", "venues.toml", "-o", "out")
    assert result.code == 0, result.err
    about = pv.Release.load(tmp_path / "out" / "second").terms.about
    assert about == pv.About(conference="Conf", year=2026, authors=["Ada Lovelace", "Turing, Alan"])
    assert "2 venues: 2 released, 0 released before, 0 failed" in result.out
    assert pv.Release.load(tmp_path / "out" / "second").public.startswith("a public record")
    assert spent("budgets.db", "first") == 1.0
    report = json.loads((tmp_path / "out" / "batch.json").read_text())
    assert (report["venues"], report["released"], report["failed"]) == (2, 2, 0)
    again = run("batch", "venues.toml", "-o", "out", "--json")
    assert again.code == 0
    assert json.loads(again.out)["stands"] == 2
    assert spent("budgets.db", "first") == 1.0


def test_a_batch_is_the_same_from_another_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    assert run("batch", "venues.toml", "-o", "out").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = run("batch", "../venues.toml", "-o", "../out", "--json")
    assert json.loads(again.out)["stands"] == 2, again.out


@pytest.mark.promise("P-PLATFORM-4")
@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('file = "reviews.csv"', "it needs a name"),
        ('name = "x"', "it needs a file"),
        ('name = "x"\nfile = "absent.csv"', "absent.csv"),
        ('name = "x"\nfile = "reviews.csv"\nepsilom = 1', "'epsilom' is no option of a release; do you mean epsilon?"),
        ('name = "x"\nfile = "reviews.csv"\nepsilon = "1"', "epsilon must be a number"),
        ('name = "x"\nfile = "reviews.csv"\nepsilon = -1', "--epsilon must be"),
        ('name = "x"\nfile = "reviews.csv"\npublic = ""', "--public is missing"),
        ('name = "x"\nfile = "reviews.csv"\nregion = "moon"', "region"),
        ('name = "x"\nfile = "reviews.csv"\nbudget = 3', "budget must be a table"),
        ('name = "x"\nfile = "reviews.csv"\naccept-float-noise = "yes"', "must be true or false"),
        ('name = "x"\nfile = "reviews.csv"\ndeclare-kept = 1', "declare-kept must be true or false"),
        ('name = "first"\nfile = "reviews.csv"', "another venue has this name"),
        ('name = "../x"\nfile = "reviews.csv"', "a venue's name"),
    ],
)
def test_a_bad_venue_is_named_and_stops_no_other(run: Run, tmp_path: Path, table: str, reason: str) -> None:
    write(tmp_path, f"[[venue]]\n{table}")
    result = run("batch", "venues.toml", "-o", "out", "--no-report")
    assert result.code == 1
    report = json.loads((tmp_path / "out" / "batch.json").read_text())
    assert (report["released"], report["failed"]) == (2, 1)
    assert report["outcomes"][2]["reason"] == "failed: see the private log"
    private = json.loads((tmp_path / "out.private" / "batch.json").read_text())
    assert reason in private["outcomes"][2]["reason"]
    assert report["outcomes"][2]["name"] in result.out


def test_the_command_releases_a_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    for name in ("a.csv", "b.csv", "broken.csv", ".hidden"):
        (tmp_path / "exports" / name).write_text("paper\n" if name == "broken.csv" else GOOD)
    options = ["--public", "all", "--mechanism", "laplace", "--epsilon", "1", "--score-scale", "1,10"]
    result = run("batch", "exports", *options, "-o", "out")
    assert result.code == 1
    assert "3 venues: 2 released, 0 released before, 1 failed" in result.out
    assert "broken" in result.out
    nothing = run("batch", "exports", "-o", "other")
    assert nothing.code == 1
    assert "--public is missing" in nothing.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[venue", "cannot be read as TOML"),
        ("", "there is no venue"),
        ("vanue = []", "'vanue' is not a known key"),
        ("ledger = 3\n[[venue]]\n", "ledger must be"),
    ],
)
def test_a_file_that_is_none_is_refused(run: Run, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "venues.toml").write_text(text)
    result = run("batch", "venues.toml", "-o", "out")
    assert result.code == 2
    assert words in result.err


def test_options_go_with_a_folder(run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    result = run("batch", "venues.toml", "--epsilon", "1", "-o", "out")
    assert result.code == 2
    assert "--epsilon goes with a folder or a CSV file" in result.err


#: The command, but for writing the twentieth release, which never ends: it is killed before, however busy the machine.
ENDLESS = """
import sys, time
from peerveil.releases.release import Release
from peerveil.cli import main

write, written = Release.write_into, []

def counted(self, *args, **options):
    written.append(1)
    if len(written) == 20:
        time.sleep(3600)
    return write(self, *args, **options)

Release.write_into = counted
if __name__ == "__main__":
    main()
"""


@pytest.mark.promise("P-PLATFORM-7")
@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)]
)
def test_a_batch_that_was_killed_goes_on(run: Run, tmp_path: Path, how: signal.Signals) -> None:
    tables = "\n".join(
        f'[[venue]]\nname = "v{i}"\nfile = "reviews.csv"\nbudget = {{ epsilon = 0.5 }}' for i in range(60)
    )
    write(tmp_path, tables)
    command = [sys.executable, "-c", ENDLESS, "batch", "venues.toml", "-o", "out", "--workers", "1", "--no-report"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list((tmp_path / "out").glob("v*/release.json"))) < 5:
        time.sleep(0.01)
    os.kill(process.pid, how)
    assert process.wait() != 0, "it ended before it could be killed"
    done = len(list((tmp_path / "out").glob("v*/release.json")))
    assert 5 <= done < 60

    result = run("batch", "venues.toml", "-o", "out", "--workers", "1", "--no-report", "--json")
    outcomes: list[Outcome] = [Outcome(**entry) for entry in json.loads(result.out)["outcomes"]]
    assert all(outcome.status in ("released", "stands") for outcome in outcomes)
    assert all(account.spent == 0.5 for account in Ledger("budgets.db").accounts() if account.dataset != "first")


BAD_CELL = GOOD.replace(",7", ",66").replace(",8", ",66")


def everything_in(folder: Path) -> str:
    """The names and the texts of all files in a folder, hidden ones too."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_bytes().decode(errors='replace')}" for path in files)


@pytest.mark.promise("P-PLATFORM-5")
def test_nothing_beside_the_releases_holds_a_private_value(run: Run, tmp_path: Path) -> None:
    assert ",66" in BAD_CELL
    write(tmp_path, '[[venue]]\nname = "bad"\nfile = "bad.csv"\n[[venue]]\nname = "copy"\nfile = "reviews.csv"')
    (tmp_path / "bad.csv").write_text(BAD_CELL)
    result = run("batch", "venues.toml", "-o", "out", "--no-report")
    assert "66 lies outside" in result.out, "the chair is told"
    remark = "same reviews"
    private = json.loads((tmp_path / "out.private" / "batch.json").read_text())
    by_name = {outcome["name"]: outcome for outcome in private["outcomes"]}
    assert "66 lies outside" in by_name["bad"]["reason"]
    assert any(outcome["warnings"] for outcome in private["outcomes"]), "two venues have the same reviews"
    shown = everything_in(tmp_path / "out")
    for words in (
        "66 lies",
        "lies outside",
        "bad.csv",
        remark,
        *by_name["copy"]["warnings"],
        *by_name["first"]["warnings"],
    ):
        assert words not in shown
    report = json.loads((tmp_path / "out" / "batch.json").read_text())
    assert {frozenset(outcome) for outcome in report["outcomes"]} == {
        frozenset({"name", "status", "reason", "claim", "expected_error", "folder", "verdict"})
    }
    published = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")}
    releases = {f"{name}/{file}" for name in ("first", "second", "copy") for file in ("release.json", "release.csv")}
    assert published == {"batch.json", "batch.csv", "batch.html", ".batch", "first", "second", "copy"} | releases
    again = run("batch", "venues.toml", "-o", "out", "--no-report")
    assert again.code == 1
    assert "lies outside" not in everything_in(tmp_path / "out")


def test_the_report_says_the_expected_error_and_the_folder(run: Run, tmp_path: Path) -> None:
    write(tmp_path, '[[venue]]\nname = "absent"\nfile = "absent.csv"')
    for status in ("released", "stands"):
        run("batch", "venues.toml", "-o", "out", "--no-report")
        first, _, absent = json.loads((tmp_path / "out" / "batch.json").read_text())["outcomes"]
        made = pv.Release.load(tmp_path / "out" / first["folder"])
        assert first["status"] == status
        assert made.outlook is not None
        assert first["expected_error"] == made.outlook.expected_rmse
        assert (absent["status"], absent["expected_error"], absent["folder"]) == ("failed", None, "")


@pytest.mark.promise("P-PLATFORM-6")
def test_only_the_chair_can_read_the_private_folder(run: Run, tmp_path: Path) -> None:
    write(tmp_path, '[[venue]]\nname = "absent"\nfile = "absent.csv"')
    mask = os.umask(0)
    try:
        run("batch", "venues.toml", "-o", "out", "--no-report")
    finally:
        os.umask(mask)
    private = tmp_path / "out.private"
    modes = {path.relative_to(private).as_posix(): path.stat().st_mode & 0o777 for path in private.rglob("*")}
    assert private.stat().st_mode & 0o777 == 0o700
    states = {f"states/{name}.json": 0o600 for name in ("first", "second")}
    files = dict.fromkeys(("batch.json", "batch-id", "log.jsonl", "metrics.json"), 0o600)
    assert modes == files | {"states": 0o700} | states


def test_the_private_folder_may_be_anywhere_but_in_the_published_one(run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for place, words in {
        "out": "lies in the output folder",
        "out/secret": "lies in the output folder",
        "link/secret": "lies in the output folder",
        "full": "holds other files",
    }.items():
        refused = run("batch", "venues.toml", "-o", "out", "--private", place)
        assert refused.code == 2
        assert words in refused.err
        assert "--private" in refused.err
    assert not (tmp_path / "budgets.db").exists()
    assert run("batch", "venues.toml", "-o", "out", "--private", "chair/secret", "--no-report").code == 0
    assert (tmp_path / "chair" / "secret" / "batch.json").exists()
    assert not (tmp_path / "out.private").exists()


def test_a_batch_is_not_taken_up_with_another_private_folder(tmp_path: Path, ledger: str) -> None:
    run_batch([venue()], tmp_path / "out", ledger=ledger, private=tmp_path / "mine")
    shutil.rmtree(tmp_path / "out" / "conf")
    for other in (None, tmp_path / "other"):
        with pytest.raises(pv.InputError, match="begun with another private folder"):
            run_batch([venue()], tmp_path / "out", ledger=ledger, private=other)
    assert spent(ledger) == 0.5
    (done,) = run_batch([venue()], tmp_path / "out", ledger=ledger, private=tmp_path / "mine")
    assert done.status == "released"
    assert spent(ledger) == 0.5


def test_a_folder_that_was_removed_is_made_again_from_the_same_noise(tmp_path: Path, ledger: str) -> None:
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    before = pv.Release.load(tmp_path / "out" / "conf").noisy.tolist()
    shutil.rmtree(tmp_path / "out")
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    assert pv.Release.load(tmp_path / "out" / "conf").noisy.tolist() == before
    assert spent(ledger) == 0.5


def as_version_1(folder: Path) -> None:
    """Put what a batch keeps where version 0.1.0 kept it."""
    (folder / ".batch").unlink()
    Path(f"{folder}.private", "states").rename(folder / ".batch")
    shutil.rmtree(f"{folder}.private")


@pytest.mark.slow
@pytest.mark.parametrize("moved", [0, 1, 2], ids=["not begun", "ended amid", "ended before the old one was gone"])
def test_a_batch_of_version_1_is_moved_over(tmp_path: Path, ledger: str, moved: int) -> None:
    Ledger(ledger).open("more", epsilon=1.0)
    venues = [venue(), venue("more")]
    run_batch(venues, tmp_path / "out", ledger=ledger)
    as_version_1(tmp_path / "out")
    old, states = tmp_path / "out" / ".batch", tmp_path / "out.private" / "states"
    (old / "conf.123.part").write_text("half")
    if moved:
        states.mkdir(parents=True)
        (states.parent / "batch-id").write_text("0123456789abcdef\n")
        shutil.copy(old / "conf.json", states / "conf.json")
    if moved == 1:
        (old / "conf.json").unlink()
    shutil.rmtree(tmp_path / "out" / "conf")
    outcomes = run_batch(venues, tmp_path / "out", ledger=ledger)
    assert [outcome.status for outcome in outcomes] == ["released", "stands"]
    assert spent(ledger) == spent(ledger, "more") == 0.5
    assert old.is_file()
    assert sorted(path.name for path in states.iterdir()) == ["conf.json", "more.json"]


def test_two_states_of_a_venue_are_not_mixed_up(tmp_path: Path, ledger: str) -> None:
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    as_version_1(tmp_path / "out")
    run_batch([venue()], tmp_path / "out", ledger=ledger)
    (tmp_path / "out" / ".batch").unlink()
    (tmp_path / "out" / ".batch").mkdir()
    (tmp_path / "out" / ".batch" / "conf.json").write_text("{}")
    with pytest.raises(pv.InputError, match="differ, so it is not known what was drawn"):
        run_batch([venue()], tmp_path / "out", ledger=ledger)


@pytest.mark.parametrize("where", ["defaults", "venue"])
def test_reports_can_be_left_out_in_the_toml_file(run: Run, tmp_path: Path, where: str) -> None:
    write(tmp_path, "no-report = true")
    if where == "defaults":
        text = (tmp_path / "venues.toml").read_text().replace("no-report = true", "no-report = false")
        (tmp_path / "venues.toml").write_text(text.replace("[defaults]", "[defaults]\nno-report = true"))
    assert run("batch", "venues.toml", "-o", "out").code == 0
    written = {name: (tmp_path / "out" / name / "report.html").exists() for name in ("first", "second")}
    assert written == {"first": where == "venue", "second": where == "defaults"}
    write(tmp_path, 'no-report = "yes"')
    assert "no-report must be true or false" in run("batch", "venues.toml", "-o", "other").out
