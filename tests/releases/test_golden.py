"""What version 0.1.0 wrote can still be read: releases, ledgers, an unfinished batch, a mapping, plans, commands."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from markupsafe import escape

import peerveil as pv
from cli.test_cli import Run, run
from frozen import V1, Frozen, batch_v1, releases_v1
from marks import mostly_slow
from peerveil.planning.choices import Choice
from peerveil.private.ledger import Ledger
from peerveil.private.readers.mapping import read_mapping
from peerveil.record.tracks import part_of
from peerveil.releases.plan_files import plan_document
from peerveil.releases.release import DATA_FILES, FILES
from peerveil.reporting.published import CROISSANT
from peerveil.reporting.typography import unbroken
from private.test_ledger import postgres_server

__all__ = ["postgres_server", "run"]  # fixtures

RELEASES = releases_v1()
FACTS = json.loads((V1 / "ledger" / "facts.json").read_text(encoding="utf-8"))
CALLS = json.loads((V1 / "commands" / "calls.json").read_text(encoding="utf-8"))

#: Releases that 0.1.0 made and this version refuses, by name, with the check that fails and the reason it gives.
REFUSED: dict[str, tuple[str, str]] = {
    f"{name}/release": ("guarantee", "That is not proven: papers were left out")
    for name in ("27-left-out-laplace", "28-left-out-histogram")
}


def test_the_files_are_as_they_were_written() -> None:
    lines = (V1 / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    stated = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {path.relative_to(V1).as_posix(): path for path in V1.rglob("*/**/*") if path.is_file()}
    assert files.keys() == stated.keys()
    changed = [
        name for name, digest in stated.items() if hashlib.sha256(files[name].read_bytes()).hexdigest() != digest
    ]
    assert not changed


def test_every_pair_of_choices_occurs() -> None:
    names = ("mechanism", "quantity", "unit", "public", "tracks", "loads", "region", "estimator")
    values = {name: {frozen.case[name] for frozen in RELEASES} - {None, "squares"} for name in names}
    assert [len(values[name]) for name in names] == [5, 4, 2, 3, 3, 2, 2, 3]
    for one, other in itertools.combinations(names, 2):
        found = {(frozen.case[one], frozen.case[other]) for frozen in RELEASES}
        missing = set(itertools.product(values[one], values[other])) - found
        # The law of what was perturbed elsewhere is not known, nor its unit; a monotone map needs public criteria.
        impossible = {
            (a, b)
            for a, b in missing
            if "external" in (a, b) or ({a, b} & {"normalized", "subjectivity"} and "none" in (a, b))
        }
        assert not missing - impossible, (one, other)
    assert sum((frozen.folder / "report.html").is_file() for frozen in RELEASES) >= 6


#: A few of every kind, and those that are refused.
FEW = [place for place, frozen in enumerate(RELEASES) if place % 4 == 0 or frozen.name in REFUSED]


@pytest.mark.parametrize("frozen", mostly_slow(RELEASES, *FEW), ids=lambda frozen: frozen.name)
def test_a_release_loads_and_verifies_or_is_refused_with_the_reason(frozen: Frozen) -> None:
    release = frozen.release()
    case = frozen.case
    assert release.intact
    assert (release.software, release.schema) == ("peerveil 0.1.0", 1)
    assert (release.quantity, release.mechanism["name"]) == (case["quantity"], case["mechanism"])
    assert (release.region, release.estimator) == (case["region"], case["estimator"])
    assert release.guarantee.unit == case["unit"]
    assert (release.group is None) == (case["tracks"] == "whole")
    assert release.group is None or release.group.shared == (case["tracks"] == "shared")
    present = {path.relative_to(frozen.folder).as_posix() for path in frozen.folder.rglob("*") if path.is_file()}
    assert present == (set(FILES) - {CROISSANT} if frozen.reading["complete"] else set(DATA_FILES))
    verification = pv.verify(frozen.folder, frozen.weights())
    if frozen.name not in REFUSED:
        assert verification.verified, [check for check in verification.checks if check.result == "fails"]
        return
    name, reason = REFUSED[frozen.name]
    assert name in verification.failed
    assert any(check.name == name and reason in check.found for check in verification.checks)


def test_every_release_that_is_refused_is_there() -> None:
    assert REFUSED.keys() <= {frozen.name for frozen in RELEASES}


@pytest.mark.promise("P-FORMAT-5")
@pytest.mark.parametrize("frozen", RELEASES, ids=lambda frozen: frozen.name)
def test_a_release_is_written_again_as_it_was(frozen: Frozen, tmp_path: Path) -> None:
    frozen.release().save(tmp_path / "again", report=False)
    for name in DATA_FILES:
        assert (tmp_path / "again" / name).read_bytes() == (frozen.folder / name).read_bytes()


@pytest.mark.slow
def test_a_report_of_an_earlier_release_keeps_its_words(tmp_path: Path) -> None:
    for frozen in RELEASES:
        if frozen.reading["complete"]:
            release = frozen.release()
            assert release.promise == json.loads((frozen.folder / "release.json").read_text())["guarantee"]["promise"]
            release.save(tmp_path / frozen.name)
            text = (tmp_path / frozen.name / "report.html").read_text(encoding="utf-8")
            for words in (release.promise, release.not_protected):
                assert unbroken(str(escape(words))) in text


@pytest.mark.promise("P-FORMAT-7")
def test_what_is_refined_from_an_earlier_release_keeps_its_claim_and_schema() -> None:
    frozen = next(one for one in RELEASES if one.case["mechanism"] == "laplace" and one.papers is None)
    before = frozen.release()
    after = pv.refine(before, frozen.weights(), estimator="projection")
    assert (before.schema, after.schema) == (1, 1)
    assert after.promise == before.promise
    assert after.guarantee == before.guarantee
    assert after.software == f"peerveil {pv.__version__}"
    assert json.loads(after.to_json())["schema_version"] == 1
    assert pv.verify(after, frozen.weights()).verified


def stored_document() -> dict[str, Any]:
    frozen = next(one for one in RELEASES if one.case["mechanism"] == "laplace")
    document: dict[str, Any] = json.loads((frozen.folder / "release.json").read_text(encoding="utf-8"))
    return document


@pytest.mark.promise("P-FORMAT-6")
@pytest.mark.parametrize(
    ("place", "word"),
    [(("guarantee", "promise"), "promise"), (("guarantee", "not_protected"), "not_protected"),
     (("outlook", "assumption"), "assumption")],
)  # fmt: skip
def test_changed_words_of_an_earlier_release_are_refused(place: tuple[str, str], word: str) -> None:
    document = stored_document()
    pv.Release.from_document(document)
    document[place[0]][place[1]] += " Almost."
    with pytest.raises(pv.FileError, match=f"{word} is not what"):
        pv.Release.from_document(document)


def test_an_earlier_release_with_fields_of_a_later_schema_is_refused() -> None:
    for key, value in (("charge", "0" * 16), ("extension", {}), ("rendered", {"peerveil": "0.1.0"})):
        with pytest.raises(pv.FileError, match="schema of version 1"):
            pv.Release.from_document(stored_document() | {key: value})
    with pytest.raises(pv.FileError, match="schema of version 2"):
        pv.Release.from_document(stored_document() | {"schema_version": 2})
    with pytest.raises(pv.InputError, match="schema 1 has no charge"):
        replace(pv.Release.from_document(stored_document()), charge="0" * 16)


def check_ledger(place: str) -> None:
    """Every budget and every charge is there, and the next charge counts them."""
    ledger = Ledger(place)
    accounts = {(account.dataset, account.unit): account for account in ledger.accounts()}
    assert accounts.keys() == {(stated["dataset"], stated["unit"]) for stated in FACTS["accounts"]}
    for stated in FACTS["accounts"]:
        account = accounts[stated["dataset"], stated["unit"]]
        assert (account.budget.currency, account.budget.limit) == (stated["currency"], stated["limit"])
        assert account.budget.delta == stated["delta"]
        assert len(account.spends) == stated["releases"]
        assert account.spent == pytest.approx(stated["spent"], rel=1e-9)
        assert account.left == pytest.approx(stated["left"], rel=1e-9)
    history = ledger.history()
    assert len(history) == len(FACTS["charges"])
    for entry, stated in zip(history, FACTS["charges"], strict=True):
        assert (entry.dataset, entry.unit, entry.release) == (stated["dataset"], stated["unit"], stated["release"])
        assert (entry.quantity, entry.released_unit) == (stated["quantity"], stated["released_unit"])
        assert (entry.spend.epsilon, entry.spend.rho) == (stated["epsilon"], stated["rho"])
        assert entry.mechanism == stated["mechanism"]
        assert entry.software == "peerveil 0.1.0"
    with pytest.raises(pv.BudgetError, match=r"1\.25 of 3 is left"):
        charge(ledger, 1.5)
    charge(ledger, 1.25)
    assert ledger.accounts("conf2026")[0].left == 0
    assert len(ledger.history()) == len(history) + 1


def charge(ledger: Ledger, epsilon: float) -> None:
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=epsilon)
    noise = pv.Laplace(scale=4.0)
    ledger.charge("conf2026", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=noise)


def test_the_sqlite_ledger_loads(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    shutil.copy(V1 / "ledger" / "ledger.db", place)
    check_ledger(str(place))


def test_the_postgresql_ledger_loads(postgres_server: tuple[str, Path]) -> None:
    server, _ = postgres_server
    name = f"golden{random.randrange(10**12)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((V1 / "ledger" / "postgresql.sql").read_bytes())
    check_ledger(url)


@pytest.mark.slow
def test_an_unfinished_batch_goes_on(tmp_path: Path, run: Run) -> None:
    folder = batch_v1(tmp_path)
    drawn = json.loads((folder / "out" / ".batch" / "drawn.json").read_text(encoding="utf-8"))
    before = (folder / "out" / "released" / "release.json").read_bytes()
    call = run("batch", str(folder / "venues.toml"), "-o", str(folder / "out"), "--no-report", "--json")
    outcomes = {one["name"]: one for one in json.loads(call.out)["outcomes"]}
    assert {name: one["status"] for name, one in outcomes.items()} == {
        "released": "stands",
        "drawn": "released",
        "charged": "failed",
        "waiting": "released",
    }
    assert call.code == 1
    assert "was charged as release" in outcomes["charged"]["reason"]
    assert "run the same command" not in outcomes["charged"]["reason"]
    assert (folder / "out" / "released" / "release.json").read_bytes() == before
    finished = pv.Release.load(folder / "out" / "drawn")
    assert finished.histogram is not None
    assert finished.histogram.counts.tolist() == drawn["noise"]["histogram"]["counts"]
    spent = {
        account.dataset: (account.spent, len(account.spends))
        for account in Ledger(str(folder / "budgets.db")).accounts()
    }
    assert spent == dict.fromkeys(("released", "drawn", "charged", "waiting"), (0.5, 1))


def test_a_batch_remembers_where_it_ran(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "elsewhere"
    shutil.copytree(V1 / "batch", folder)
    call = run("batch", str(folder / "venues.toml"), "-o", str(folder / "out"), "--no-report", "--json")
    reasons = {one["name"]: one["reason"] for one in json.loads(call.out)["outcomes"]}
    assert "drawn with other settings (" in reasons["drawn"]


@pytest.mark.parametrize("name", ["mapping.toml", "draft.toml"])
def test_a_mapping_reads(name: str) -> None:
    said = read_mapping(V1 / "mapping" / name)
    assert (said["paper"], said["reviewer"], said["score"]) == ("submission", "pc member", "overall")
    assert said.get("scale") in (None, (1.0, 10.0))
    reviews = pv.read(V1 / "mapping" / "export.csv", mapping=V1 / "mapping" / name)
    assert (len(reviews.papers), reviews.score.size, reviews.reviewers) == (20, 80, 20)
    assert reviews.criteria_names == (("clarity", "soundness") if name == "mapping.toml" else ())


@pytest.mark.slow
def test_a_plan_has_no_field_that_was_lost() -> None:
    stored = json.loads((V1 / "plan" / "plan" / "plan.json").read_text(encoding="utf-8"))
    weights = pv.weigh(pv.read_public(V1 / "plan" / "public.csv", load=4), "ratings")
    made = pv.plan(weights, epsilons=[1, 3], delta=1e-6, draws=4, workers=1)
    today = json.loads(json.dumps(plan_document(made)))
    assert_same_keys(stored, today)
    with (V1 / "plan" / "plan" / "plan.csv").open(encoding="utf-8", newline="") as handle:
        header, *rows = csv.reader(handle)
    assert set(header) <= set(Choice._fields)
    assert len(rows) == len(stored["choices"])
    for choice in stored["choices"]:
        assert Choice(**choice).make().name == choice["mechanism"]


def test_an_unfinished_sweep_goes_on(tmp_path: Path, run: Run) -> None:
    shutil.copytree(V1 / "sweep", tmp_path, dirs_exist_ok=True)
    stored = (tmp_path / "sweep" / "public.csv").read_text(encoding="utf-8")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "sweep" / "tasks").rglob("*.json")}
    assert len(kept) == 2
    (tmp_path / "sweep" / "public.csv").unlink()
    sweep = ["simulate", "--public", "public.csv", "--load", "4", "--noise-scale", "1", "--draws", "2"]
    sweep += ["--leniency", "0,0.9", "--methods", "noisy,baseline,chain", "--workers", "1", "-o", "sweep"]
    call = run(*sweep)
    assert call.code == 0, call.err
    now = {path.name: path.read_bytes() for path in (tmp_path / "sweep" / "tasks").rglob("*.json")}
    assert kept.items() < now.items()  # found again, not computed again
    ours, theirs = (
        [*csv.reader(text.splitlines())] for text in ((tmp_path / "sweep" / "public.csv").read_text(), stored)
    )
    assert ours[0] == theirs[0]
    assert len(ours) == len(theirs)


def options_of(text: str) -> set[str]:
    """The options that a help text lists at the beginning of a line."""
    return set(re.findall(r"^│ \*?\s*(--[a-z][\w-]*)", text, re.MULTILINE))


@pytest.mark.parametrize("call", [c for c in CALLS if c["compared"] == "options"], ids=lambda c: c["file"])
def test_commands_and_their_options_are_still_there(
    call: dict[str, Any], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stored = (V1 / "commands" / call["file"]).read_text(encoding="utf-8")
    now = run(*call["arguments"])
    assert now.code == 0
    assert "--help" in options_of(stored)
    assert options_of(stored) <= options_of(now.out)
    listed = re.findall(r"^│ ([a-z]+) ", stored.partition("─ Commands ─")[2], re.MULTILINE)
    assert set(listed) <= set(re.findall(r"^│ ([a-z]+) ", now.out.partition("─ Commands ─")[2], re.MULTILINE))


def assert_same_keys(stored: Any, now: Any, where: str = "") -> None:
    """Every key of 0.1.0 is there, and what it holds is of the same type."""
    if isinstance(stored, dict):
        assert isinstance(now, dict), where
        assert stored.keys() <= now.keys(), (where, stored.keys() - now.keys())
        for key, value in stored.items():
            assert_same_keys(value, now[key], f"{where}/{key}")
    elif isinstance(stored, list):
        assert isinstance(now, list), where
        if stored and now:
            assert_same_keys(stored[0], now[0], f"{where}/0")
    elif stored is not None and now is not None:
        number = isinstance(stored, int | float) and not isinstance(stored, bool)
        assert isinstance(now, (int, float) if number else type(stored)), where


@pytest.mark.slow
def test_commands_still_work_and_their_json_has_every_key(run: Run, tmp_path: Path) -> None:
    for name in ("reviews.csv", "public.csv", "groups.csv"):
        shutil.copy(V1 / "commands" / name, tmp_path)
    for call in CALLS:
        if call["compared"] == "options":
            continue
        now = run(*call["arguments"])
        # An audit is a test: with few draws, chance may have it.
        assert now.code == call["code"] or call["arguments"][0] == "audit", (call["file"], now.err)
        if call["compared"] == "keys":
            stored = (V1 / "commands" / call["file"]).read_text(encoding="utf-8")
            assert_same_keys(json.loads(stored), json.loads(now.out), call["file"])


@pytest.mark.parametrize("name", ["histogram", "gaussian", "part"])
def test_releases_of_version_0_2_0_load_and_verify(name: str) -> None:
    place = V1.parent / "v0.2.0"
    release = pv.Release.load(place / name)
    record = pv.read_public(place / "public.csv", load=4, scale=(1, 10))
    if release.part is not None:
        record = part_of(record, record.papers[:30], part=release.part, **release.loads.stated())
    checked = pv.verify(place / name, pv.weigh(record, release.quantity))
    assert checked, [check for check in checked.checks if check.result == "fails"]
    assert "made by peerveil 0.2.0" in {check.name: check.found for check in checked.checks}["document"]
