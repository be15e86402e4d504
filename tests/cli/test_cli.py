from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.console import Console

import peerveil as pv
from documents import check_all_printed
from marks import slow
from peerveil.cli import main, show
from peerveil.cli.show import rows_table
from peerveil.mechanisms import OWN
from peerveil.private import noise
from peerveil.private.true_vector import true_vector
from peerveil.regions import REGIONS
from peerveil.releases.release import DATA_FILES, FILES
from peerveil.simulation.conferences import synthetic_conference
from peerveil.support.discovery import declared
from spreadsheets import Rows, by_openpyxl

Run = Callable[..., "Result"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command line as a user runs it, in a folder of its own; JSON that it prints must fit its schema."""
    check_all_printed(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["peerveil", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


GOOD = "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n"
PUBLIC = "paper,ratings\np,3;5\nq,4;4\nr,8;6\n"
GRADED = "paper,reviewer,score,clarity\np,ann,3,1\np,bob,5,2\nq,bob,4,3\nq,cem,4,2\nr,cem,8,\nr,ann,6,5\n"


# Without the report, which most tests are not about: drawing takes longer than all the rest.
RELEASE = ["release", "reviews.csv", "--public", "all", "--mechanism", "laplace", "--epsilon", "1", "-o", "out"]
RELEASE += ["--no-report"]


def changed(flag: str, value: str | None) -> list[str]:
    place = RELEASE.index(flag)
    return [*RELEASE[:place], *([] if value is None else [flag, value]), *RELEASE[place + 2 :]]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> Path:
    (tmp_path / "reviews.csv").write_text(GOOD)
    (tmp_path / "public.csv").write_text(PUBLIC)
    (tmp_path / "noisy.txt").write_text("1.5\n9\n-3\n")
    (tmp_path / "graded.csv").write_text(GRADED)
    return tmp_path


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "peerveil", *arguments], text=True, **options)


def test_workbooks_are_taken_wherever_a_file_is(run: Run) -> None:
    rows: Rows = [
        ["paper", "reviewer", "score"],
        *([f"p{i // 3}", f"r{(i + i // 3) % 5}@x.org", i % 9 + 1] for i in range(30)),
    ]
    public: Rows = [
        ["paper", "ratings"],
        *([f"p{i}", f"{3 * i % 9 + 1};{(3 * i + 1) % 9 + 1};{(3 * i + 2) % 9 + 1}"] for i in range(10)),
    ]
    by_openpyxl(Path("a.xlsx"), {"Title": [["x"]], "All": rows, "Scores": public})
    stated = ["--public", "a.xlsx", "--load", "6", "--score-scale", "1,9", "--mechanism", "laplace", "--epsilon", "1"]
    asked = run("release", "a.xlsx", *stated, "-o", "out")
    assert asked.code == 2
    assert (
        "several sheets could be meant, of 'Title', 'All', 'Scores'; say which sheet to read with --public-sheet"
        in asked.err
    )
    done = run("release", "a.xlsx", *stated, "--public-sheet", "Scores", "-o", "out", "--no-report")
    assert done.code == 0, done.err
    assert "peerveil: note: a.xlsx: its sheet 'All' was read, as the only one" in done.err
    assert run("verify", "out", "--public", "a.xlsx", "--sheet", "Scores", "--score-scale", "1,9").code == 0
    assert run("plan", "a.xlsx", "--load", "6").code == 2
    for place in Path("out").rglob("*.*"):
        assert b"Scores" not in place.read_bytes()
    Path("batch.toml").write_text(
        '[[venue]]\npublic = "all"\nepsilon = 1\nmechanism = "laplace"\nname = "v"\nfile = "a.xlsx"\nsheet = "All"\n'
    )
    assert run("batch", "batch.toml", "-o", "many", "--no-report", "--workers", "1").code == 0
    facts = json.loads(run("inspect", "a.xlsx", "--sheet", "All", "--json").out)
    assert (facts["format"], facts["reviewers"]) == ("xlsx", 5)


def test_estimators_are_chosen_and_the_error_to_expect_is_shown(run: Run) -> None:
    refine = ["refine", "noisy.txt", "--public", "public.csv", "--load", "2"]
    for number, (options, estimator) in enumerate(
        (
            (["--noise-scale", "2"], "safe"),
            (["--noise-scale", "2", "--estimator", "bayes"], "bayes"),
            (["--noise-scale", "2", "--estimator", "projection"], "projection"),
            ([], "projection"),
        )
    ):
        facts = json.loads(run(*refine, *options, "--json", "-o", f"out{number}").out)
        assert facts["estimator"] == estimator
        assert (facts["expected_rmse"] is None) == (not options)
        assert pv.Release.load(f"out{number}").estimator == estimator
    shown = run(*refine, "--noise-scale", "2", "-o", "shown").out
    assert "expected error" in shown
    assert "90 % bands" in shown
    failed = run(*refine, "--estimator", "safe", "-o", "failed")
    assert failed.code == 2
    assert "state it with --noise-scale" in failed.err


def everything_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.usefixtures("quick_plans")
def test_release_writes_what_it_says(run: Run, tmp_path: Path) -> None:
    result = run("release", "reviews.csv", "--public", "all", "--epsilon", "1", "--score-scale", "1,10", "-o", "out")
    assert result.code == 0, result.err
    assert "epsilon = 1 per reviewer" in result.out
    assert "Not protected" in result.out
    made = pv.Release.load(tmp_path / "out")
    assert made.reviewers == 3
    assert made.values.sum() == pytest.approx(15)
    assert everything_under(tmp_path / "out") == {*FILES, "figures"}
    assert run(*changed("-o", "bare")).code == 0
    assert everything_under(tmp_path / "bare") == set(DATA_FILES)


def test_release_with_a_public_file_and_a_range_of_loads(run: Run, tmp_path: Path) -> None:
    options = ["--public", "public.csv", "--loads", "1-3", "--reviewers", "3", "--noise-scale", "2", "--unit", "review"]
    result = run("release", "reviews.csv", *options, "--quantity", "miscalibration", "-o", "out", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["quantity"] == "miscalibration"
    assert pv.Release.load(tmp_path / "out").loads.sizes == (1, 2, 3)


def test_a_table_as_chairs_have_it(run: Run, tmp_path: Path) -> None:
    rows = [f"{p};{r};{s}" for p, r, s in zip("aabbcc", ["Ann", "Bo", "Bo", "Cy", "Cy", "Ann"], "675489", strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(["Submission ID;Reviewer Name;Overall Rating", *rows]) + "\n")
    found = run("inspect", "own.csv").out
    assert "private reviews" in found
    assert re.search(r"^load counts +2:3 *$", found, re.MULTILINE)
    # An address is the better id, where there is one.
    both = [f"{row};{row.split(';')[1]}@x.org" for row in rows]
    (tmp_path / "both.csv").write_text("\n".join(["paper;reviewer name;score;email", *both]) + "\n")
    assert re.search(r"^load counts +2:3 *$", run("inspect", "both.csv").out, re.MULTILINE)
    # A column by another name is not passed over in silence.
    (tmp_path / "other.csv").write_text("\n".join(["paper;Gutachterin;score", *rows]) + "\n")
    assert "no column of reviewers was found" in " ".join(run("inspect", "other.csv").out.split())
    assert "private reviews" in run("inspect", "other.csv", "--reviewer", "Gutachterin").out


def test_release_with_hidden_scores(run: Run, tmp_path: Path) -> None:
    common = ["release", "reviews.csv", "--mechanism", "laplace", "--epsilon", "1", "--score-scale", "1,10"]
    result = run(*common, "--public", "none", "-o", "none")
    assert result.code == 0, result.err
    assert "no scores; load counts" in result.out
    assert pv.Release.load(tmp_path / "none").lower.tolist() == [1, 1, 1]
    (tmp_path / "partly.csv").write_text("paper,ratings,reviews\np,3;5,2\nq,4;?,2\nr,,2\n")
    result = run(*common, "--public", "partly.csv", "--load", "2", "-o", "partly")
    assert result.code == 0, result.err
    noisy = str(tmp_path / "partly" / "release.json")
    options = ["--public", "partly.csv", "--load", "2", "--score-scale", "1,10", "-o", "again"]
    assert run("refine", noisy, *options).code == 0
    (first, second) = (pv.Release.load(tmp_path / name).values.tolist() for name in ("partly", "again"))
    assert first == second
    assert json.loads(run("inspect", "partly.csv", "--json").out)["hidden scores"] == 3


def test_release_with_criteria(run: Run, tmp_path: Path) -> None:
    options = ["--criteria", "clarity", "--missing-criteria", "leave-out"]
    common = ["release", "graded.csv", "--noise-scale", "1", "--quantity", "subjectivity", *options]
    result = run(*common, "--public", "all", "-o", "out")
    assert result.code == 0, result.err
    assert "all scores and criteria (clarity), and load counts" in result.out
    assert "2 reviews of 1 paper were left out with their papers" in result.out
    (tmp_path / "open.csv").write_text("paper,ratings,clarity\np,3;5,1;2\nq,4;4,2;3\nr,8;6,;5\n")
    result = run(*common, "--public", "open.csv", "--load", "2", "-o", "open")
    assert result.code == 0, result.err
    facts = json.loads(run("inspect", "graded.csv", "--criteria", "clarity", "--json").out)
    assert facts["problems"] == ["1 of 6 reviews lack the criterion 'clarity'"]


def test_refine_reads_every_form_of_a_noisy_vector(run: Run, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1.5, 9, -3]")
    (tmp_path / "table.csv").write_text("rank,noisy,value\n1,1.5,0\n2,9,0\n3,-3,0\n")
    values = []
    for i, name in enumerate(("noisy.txt", "list.json", "table.csv", "out0/release.json")):
        words = [] if name.startswith("out0") else ["--words", "By X."]
        result = run("refine", name, "--public", "public.csv", "--load", "2", *words, "-o", f"out{i}")
        assert result.code == 0, result.err
        values.append(pv.Release.load(tmp_path / f"out{i}").values.tolist())
    assert values[0] == values[1] == values[2] == values[3]
    assert "as stated by the source: By X." in result.out


def test_refining_a_release_keeps_what_it_says(run: Run, tmp_path: Path) -> None:
    assert run(*RELEASE, "--quantity", "miscalibration", "--region", "baseline").code == 0
    again = ["refine", "out/release.json", "--public", "public.csv", "--load", "2"]
    result = run(*again, "-o", "again")
    assert result.code == 0, result.err
    first, second = pv.Release.load(tmp_path / "out"), pv.Release.load(tmp_path / "again")
    assert second.quantity == "miscalibration"
    assert (second.guarantee, second.mechanism) == (first.guarantee, first.mechanism)
    assert "epsilon = 1 per reviewer" in result.out
    (tmp_path / "other.csv").write_text(PUBLIC.replace("8;6", "8;7"))
    for arguments, message in (
        ([*again, "--quantity", "ratings"], "--quantity is ratings, but the release is of miscalibration"),
        ([*again, "--noise-scale", "1"], "says itself how it was made private"),
        ([*again[:3], "other.csv", *again[4:]], "the public record is not the one this release was made from"),
    ):
        refused = run(*arguments, "-o", "refused")
        assert refused.code == 2
        assert message in refused.err
    assert not (tmp_path / "refused").exists()


def test_columns_of_public_files_can_be_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(PUBLIC.replace("paper,ratings", "nr,marks"))
    names = ["--public-paper", "nr", "--public-ratings", "marks"]
    result = run(*changed("--public", "odd.csv"), "--load", "2", *names)
    assert result.code == 0, result.err
    names = ["--paper", "nr", "--ratings", "marks"]
    result = run("refine", "out/release.json", "--public", "odd.csv", "--load", "2", *names, "-o", "again")
    assert result.code == 0, result.err


def test_inspect_says_once_how_a_file_was_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "titled.csv").write_text("All reviews\npaper,reviewer,score\np,ann,3\np,bob,3\nq,ann,5\nq,bob,5\n")
    result = run("inspect", "titled.csv", "--score-scale", "1,9", "--write-public", "titled-public.csv")
    assert result.code == 0, result.err
    assert "line 1 was skipped" in result.out
    assert "line 1 was skipped" not in result.err


def test_a_file_that_is_read_twice_is_spoken_of_once(run: Run, tmp_path: Path) -> None:
    lines = [f"p{i},r{(i + k) % 20}@x.org,{1 + i % 5},{'ab'[i % 2]}" for i in range(20) for k in (0, 1)]
    (tmp_path / "titled.csv").write_text("\n".join(["All reviews", "paper,reviewer,score,track", *lines]))
    result = run(
        *("release", "titled.csv", "--public", "all", "--score-scale", "1,5", "--group-column", "track", "--dry-run"),
        *("--mechanism", "histogram", "--epsilon", "1"),
    )
    assert result.code == 0, result.err
    assert result.err.count("line 1 was skipped") == 1


def test_inspect_tells_of_addresses_that_differ_in_case(run: Run, tmp_path: Path) -> None:
    (tmp_path / "case.csv").write_text("paper,reviewer,score\np,Ann@x.org,3\np,bob@x.org,3\nq,ann@x.org,5\nq,BOB,5\n")
    shown = run("inspect", "case.csv", "--json").out
    assert "1 address that differs from another only in case was taken for the same person" in shown
    assert "ann" not in shown.lower()
    assert "only in case" not in run("inspect", "reviews.csv", "--json").out


def test_brackets_and_colons_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(GOOD.replace("score", "score [/5]"))
    result = run(RELEASE[0], "odd.csv", *changed("-o", "out[/x]:smile:")[2:], "--score", "score [/5]")
    assert result.code == 0, result.err
    assert "out[/x]:smile:/release.json" in result.out
    assert "score [/5]" in run("inspect", "odd.csv", "--score", "score [/5]").out
    refine = ["refine", "noisy.txt", "--public", "public.csv", "--load", "2", "--words", "see [/doc]", "-o", "out"]
    result = run(*refine)
    assert result.code == 0, result.err
    assert "[/doc]" in result.out


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_narrow_terminals_are_served(encoding: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": encoding}
    for extra in ([], ["--json"]):
        process = start(*changed("-o", f"out-µ{len(extra)}"), *extra, cwd=tmp_path, env=environment, **pipes)
        shown, problems = process.communicate()
        assert process.returncode == 0, problems
        assert "epsilon = 1" in shown
    assert json.loads(shown)["folder"] == "out-µ1"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [RELEASE, slow([*RELEASE, "--json"]), slow(["demo", "-o", "out"])],
    ids=" ".join,
)
def test_what_was_written_is_said_to_be_where_it_cannot_be_shown(arguments: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = start(*arguments, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
        problems = process.communicate()[1]
    assert process.returncode == 1
    assert problems.endswith("peerveil: written to out, but the summary could not be shown\n")
    assert list((tmp_path / "out").rglob("release.json"))


@pytest.mark.slow
def test_a_full_stdout_is_told_once(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = start("inspect", "reviews.csv", stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
        problems = process.communicate()[1]
    assert (process.returncode, problems) == (1, "peerveil: No space left on device; nothing was released\n")


def test_a_failing_summary_takes_nothing_back(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("peerveil.cli.show.release_panel", lambda _, **__: 1 / 0)
    result = run(*RELEASE)
    assert result.code == 1
    assert result.err.endswith("\npeerveil: written to out, but the summary could not be shown\n")
    assert pv.Release.load(tmp_path / "out").reviewers == 3


def test_a_full_disk_is_exit_1(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = everything_under(tmp_path)
    monkeypatch.setattr(pv.Release, "write_into", full)
    result = run(*changed("-o", "new/deep/out"))
    assert (result.code, result.out) == (1, "")
    assert "output folder new/deep/out cannot be written: No space left" in result.err
    assert everything_under(tmp_path) == before


@pytest.mark.slow
def test_being_terminated_leaves_nothing_behind(tmp_path: Path) -> None:
    before = everything_under(tmp_path)
    code = (
        "import time, peerveil.cli, peerveil.private.readers as readers\n"
        "readers.read = lambda *_, **__: (print('reading', flush=True), time.sleep(3600))\n"
        "peerveil.cli.main()"
    )
    command = [sys.executable, "-c", code, *changed("-o", "new/out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        assert everything_under(tmp_path) != before
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=600) == 128 + signal.SIGTERM
    assert everything_under(tmp_path) == before


def test_overwriting_never_takes_the_files_of_others(run: Run, tmp_path: Path) -> None:
    assert run(*RELEASE).code == 0
    assert run(*RELEASE, "--overwrite").code == 0
    (tmp_path / "reviews.csv").rename(tmp_path / "out" / "reviews.csv")
    result = run("release", "out/reviews.csv", *RELEASE[2:], "--overwrite")
    assert result.code == 2
    assert "does not write there (1)" in result.err
    assert (tmp_path / "out" / "reviews.csv").read_text() == GOOD


def test_the_demo_replaces_only_what_a_demo_writes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "peerveil-demo").mkdir()
    (tmp_path / "peerveil-demo" / "thesis.tex").write_text("mine")
    assert run("demo").code == 2
    assert (tmp_path / "peerveil-demo" / "thesis.tex").read_text() == "mine"


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out == f"peerveil {pv.__version__}\n"


def test_inspect_tells_what_is_there_and_nobody(run: Run) -> None:
    private = json.loads(run("inspect", "reviews.csv", "--json").out)
    assert private["content"] == "private reviews"
    assert (private["papers"], private["reviews"], private["reviewers"]) == (3, 6, 3)
    assert (private["loads"], private["load counts"]) == ("2 reviews each", "2:3")
    shown = run("inspect", "public.csv", "--score-scale", "1,10").out
    assert "public scores" in shown
    assert "1 to 10" in shown


@pytest.mark.slow
@pytest.mark.usefixtures("quick_plans")
def test_demo_releases_every_quantity_and_can_be_repeated(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerveil.app.demo.synthetic_conference", partial(synthetic_conference, reviewers=12))
    with monkeypatch.context() as patch:
        patch.setattr("peerveil.app.demo.QUANTITIES", ("ratings",))
        assert run("demo").code == 0
    monkeypatch.setattr(show, "out", Console(markup=False, emoji=False, highlight=False, width=80))
    result = run("demo")
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) <= 40
    assert "How public data helped" in result.out
    offered = [line.split()[1:] for line in result.out.split("Next", 1)[1].splitlines()[1:]]
    assert [arguments[0] for arguments in offered] == ["inspect", "plan", "verify"]
    for arguments in offered[::2]:  # a plan takes long, and is run as *Start here* has it
        assert run(*arguments).code == 0
    for quantity in ("ratings", "miscalibration", "normalized", "subjectivity"):
        assert re.search(rf"^{quantity} +\w+, \w+", result.out, re.MULTILINE)
        made = pv.Release.load(tmp_path / "peerveil-demo" / quantity)
        assert made.reviewers == 12
        assert made.quantity == quantity
    public = ["--public", "peerveil-demo/public.csv", "--load", "4", "--criteria", "soundness,clarity,originality"]
    options = [*public, "--estimator", made.estimator, "-o", "again"]
    again = run("refine", "peerveil-demo/subjectivity/release.json", *options)
    assert again.code == 0, again.err
    assert pv.Release.load(tmp_path / "again").values.tolist() == made.values.tolist()
    assert run("demo", "-o", "peerveil-demo/ratings").code == 2  # only its own folder is replaced


def test_help_lists_the_mechanisms_that_are_registered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(OWN) == list(declared("mechanisms").values())
    assert sorted(REGIONS) == list(declared("regions").values())
    assert "gaussian | histogram | laplace | sinh-normal | auto (chosen" in run("release", "--help").out
    monkeypatch.setitem(sys.modules, "peerveil.mechanisms", SimpleNamespace(OWN={"mixture": None}))
    assert "mixture | auto (chosen" in run("release", "--help").out


def test_help_has_an_example_of_each_command(run: Run) -> None:
    for command in ("inspect", "release", "refine", "demo"):
        assert f"Example:  peerveil {command}" in run(command, "--help").out
        assert command in run("--help").out


SHOWN = [*changed("--public", "public.csv"), "--load", "2"]
BAD_CALLS: list[tuple[list[str], str]] = [
    (["release", "absent.csv", *RELEASE[2:]], "absent.csv: cannot be read: No such file"),
    (changed("--public", None), "--public is missing: which scores are public must be stated"),
    (changed("--public", "none"), "6 scores are hidden: state the scale"),
    (changed("--public", "none"), "their lowest and highest possible value (--score-scale)"),
    (changed("--public", "absent.csv"), "absent.csv"),
    (changed("--public", "public.csv"), "what is public about loads must be stated"),
    (
        ["plan", "public.csv", "--loads", "2:1,3:2", "--score-scale", "1,9"],
        "state a range of loads (--loads 1-3) and the number of reviewers (--reviewers 3)",
    ),
    (changed("--public", "public.csv"), "--loads 3:800,4:900, --loads 1-6 or --loads 3,4 with --reviewers, or"),
    ([*SHOWN, "--loads", "1-2"], "not both (got --load 2, --loads 1-2)"),
    ([*SHOWN, "--reviewers", "2"], "--reviewers 2 with --load 2 make 4 reviews"),
    ([*changed("--public", "several.csv"), "--load", "2"], "say which it is with --public-ratings"),
    ([*changed("--public", "public.csv"), "--load", "4"], "--load 4 does not divide the 6 reviews"),
    ([*changed("--public", "public.csv"), "--load", "1"], "states 6 reviewers, the private file has 3"),
    ([*changed("--public", "public.csv"), "--loads", "x"], "--loads must look like"),
    ([*RELEASE, "--load", "2"], "go with a file of public scores"),
    (changed("--epsilon", None), "give a budget with --epsilon"),
    ([*RELEASE, "--noise-scale", "1"], "Laplace noise needs --epsilon or --noise-scale, one of the two"),
    ([*RELEASE, "--noise-bound", "1"], "--noise-bound does not go with laplace noise"),
    ([*RELEASE, "--mechanism", "gaussian"], "noise needs --delta along with --epsilon, e.g. --delta 1e-06"),
    (
        [*RELEASE, "--mechanism", "gaussian", "--rho", "1"],
        "needs --rho, --epsilon with --delta, or --noise-scale, one of",
    ),
    ([*RELEASE, "--mechanism", "histogram", "--bins", "1"], "--bins must be a whole number between 2 and"),
    ([*RELEASE, "--person", "x"], "--person must be 'member' or 'subreviewer', got 'x'"),
    ([*RELEASE, "--ids", "x"], "--ids must be 'people' or left out"),
    ([*RELEASE, "--missing-score", "x"], "--missing-score must be 'refuse', 'absent' or 'leave-out'"),
    ([*RELEASE, "--symbols", "A"], "--symbols must be declared from the lowest to the highest"),
    ([*RELEASE, "--dataset", "x"], "--dataset x names a budget, but no ledger is given (--ledger)"),
    ([*RELEASE, "--licence", " "], "--licence must be 1 to 2000 printable characters"),
    (changed("--epsilon", "0"), "--epsilon must be a finite number > 0, got 0.0"),
    (changed("--epsilon", "-1"), "--epsilon must be a finite number > 0, got -1.0"),
    (changed("--epsilon", "nan"), "--epsilon must be a finite number > 0, got nan"),
    (changed("--epsilon", "inf"), "--epsilon must be a finite number > 0, got inf"),
    (changed("--epsilon", "much"), "--epsilon"),
    ([*RELEASE, "--unit", "paper"], "--unit must be 'reviewer' or 'review', got 'paper'"),
    ([*RELEASE, "--region", "cube"], "--region must be one of"),
    ([*RELEASE, "--estimator", "mean"], "--estimator must be one of"),
    ([*RELEASE, "--quantity", "mood"], "--quantity must be one of"),
    ([*RELEASE, "--lone", "drop"], "--lone must be 'refuse' or 'zero', got 'drop'"),
    ([*RELEASE, "--quantity", "mood"], "'subjectivity', got 'mood'"),
    ([*RELEASE, "--quantity", "normalized"], "normalized needs criteria; name their columns (--criteria)"),
    ([*RELEASE, "--quantity", "subjectivity"], "subjectivity needs criteria; name their columns (--criteria)"),
    (
        [*RELEASE, "--criteria", "clarity"],
        "has no column 'clarity' for the criterion 'clarity' (--criteria); its columns are",
    ),
    ([*RELEASE, "--criteria", "clarity,clarity"], "--criteria must be names of different columns"),
    ([*RELEASE, "--missing-criteria", "drop"], "--missing-criteria must be 'refuse' or 'leave-out', got 'drop'"),
    (
        [*RELEASE[:1], "graded.csv", *RELEASE[2:], "--criteria", "clarity"],
        "leave these papers out whole (--missing-criteria leave-out)",
    ),
    ([*RELEASE, "--score-scale", "1-10"], "--score-scale must look like"),
    ([*RELEASE, "--score-scale", "10,1"], "--score-scale must be two finite numbers, the lower first"),
    ([*RELEASE, "--score-scale", "nan,nan"], "--score-scale must be two finite numbers, the lower first"),
    (["inspect", "public.csv", "--score-scale", "9,1"], "peerveil: --score-scale must be two finite numbers"),
    ([*changed("--epsilon", None), "--noise-scale", "-1"], "--noise-scale must be a finite number > 0"),
    (changed("--public", ""), "--public is missing: which scores are public must be stated: --public all if"),
    ([*changed("--public", "public.csv"), "--loads", "2:3,2:3"], "--loads states a load twice"),
    ([*RELEASE, "--public-paper", "x"], "go with a file of public scores"),
    ([*changed("--public", "odd.csv"), "--load", "2"], "odd.csv: has no column for the paper; its 2 columns are not"),
    ([*changed("--public", "odd.csv"), "--load", "2"], "say which it is with --public-paper"),
    ([*changed("--public", "odd.csv"), "--load", "2", "--public-paper", "nr"], "say which it is with --public-ratings"),
    ([*RELEASE[:1], "odd.csv", *RELEASE[2:], "--paper", "nr"], "say which it is with --reviewer"),
    (["inspect", "odd.csv", "--paper", "nr"], "say which it is with --score"),
    (["refine", "noisy.txt", "--public", "odd.csv", "--load", "2", "-o", "out"], "say which it is with --paper"),
    (["refine", "noisy.txt", "--public", "", "--load", "2", "-o", "out"], "is no name of a file"),
    (
        ["refine", "noisy.txt", "--public", "public.csv", "--load", "2", "--words", "", "-o", "out"],
        "words must say how",
    ),
    ([*RELEASE[:1], "lone.csv", *RELEASE[2:], "--quantity", "miscalibration"], "weight zero (--lone zero)"),
    (["demo", "--seed", "-1"], "--seed"),
    (changed("-o", "dangling"), "a broken link"),
    ([*RELEASE, "--score-scale", "1,5"], "reviews.csv, line 6, column 'score': 8 lies outside"),
    (
        [*RELEASE, "--score", "grade"],
        "has no column 'grade' for the score (--score); its columns are 'paper', 'reviewer'",
    ),
    ([*RELEASE, "--weight", "words"], "has no column 'words' for the score (--weight); its columns are 'paper'"),
    ([*RELEASE, "--share", "words>3"], "has no column 'words' for the score (--share); its columns are 'paper'"),
    (changed("-o", "noisy.txt"), "output folder noisy.txt is a file"),
    (changed("-o", "noisy.txt/below"), "cannot be written"),
    (changed("-o", "."), "or replace it (--overwrite)"),
    (changed("--public", "everything"), "--public must be 'all', 'none', or a file with the public scores"),
    ([*RELEASE, "--mechanism", "histogram (2 bins)"], "say how many bins with --bins"),
    (["refine", "absent", "--public", "public.csv", "--load", "2", "-o", "out"], "absent: cannot be read"),
    (["refine", "noisy.txt", "--public", "public.csv", "--load", "3", "-o", "out"], "noisy has 3 entries, but"),
    (["refine", "nan.txt", "--public", "public.csv", "--load", "2", "-o", "out"], "noisy must be finite: entry 2"),
    (["refine", "words.txt", "--public", "public.csv", "--load", "2", "-o", "out"], "words.txt, line 2: is not a"),
    (["refine", "empty.txt", "--public", "public.csv", "--load", "2", "-o", "out"], "empty.txt: is empty"),
    (["refine", "noisy.txt", "--public", "public.csv", "--load", "5", "-o", "out"], "--load 5 does not divide"),
    (["refine", "noisy.txt", "--public", "public.csv", "--loads", "2:3,1:1", "-o", "out"], "4 reviewers and 7 reviews"),
    (["inspect", "empty.txt"], "is empty"),
    (["inspect", "words.txt"], "has no column for the paper"),
    (["no-such-command"], "No such command"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS, ids=[" ".join(call) for call, _ in BAD_CALLS])
def test_bad_calls_exit_with_2_say_why_and_write_nothing(
    run: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "nan.txt").write_text("1\nnan\n2\n")
    (tmp_path / "words.txt").write_text("1\ntwo\n3\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "odd.csv").write_text(PUBLIC.replace("paper,ratings", "nr,marks"))
    (tmp_path / "lone.csv").write_text(GOOD + "s,ann,3\n")
    (tmp_path / "several.csv").write_text("paper,ratings,rating\np,3;5,3\nq,4;4,3\nr,8;6,3\n")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    before = everything_under(tmp_path)
    result = run(*arguments)
    assert result.code == 2
    assert message in " ".join(result.err.split())
    assert "Traceback" not in result.err
    assert not re.search(r"(?<!\S)\(?\w+=|\b[a-z]+_[a-z]+\b", result.err), "options are spelled as users write them"
    assert not result.out
    assert everything_under(tmp_path) == before


BAD_FILES = {
    "one reviewer only": "paper,reviewer,score\np,ann,3\nq,ann,5\n",
    "reviews.csv, line 3, column 'reviewer': the same reviewer": "paper,reviewer,score\np,ann,3\np,ann,5\n",
    "reviews.csv: has no column for the score": "paper,reviewer\np,ann\n",
    "reviews.csv, line 2, column 'score': text (not shown": "paper,reviewer,score\np,ann,good\n",
    "reviews.csv, line 2, column 'score': 'inf' is not": "paper,reviewer,score\np,ann,inf\n",
    "reviews.csv: is empty": "",
}


@pytest.mark.parametrize("message", BAD_FILES)
def test_bad_files_exit_with_2_say_where_and_write_nothing(run: Run, tmp_path: Path, message: str) -> None:
    (tmp_path / "reviews.csv").write_text(BAD_FILES[message])
    before = everything_under(tmp_path)
    result = run(*RELEASE)
    assert result.code == 2
    assert message in result.err
    assert everything_under(tmp_path) == before


@pytest.mark.promise("P-KEPT-10")
def test_an_unwritable_place_is_found_before_noise_is_drawn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise.Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
    assert run(*changed("-o", "noisy.txt/below")).code == 2


@pytest.mark.promise("P-KEPT-8")
def test_failures_inside_never_show_what_they_hold(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ann@secret.org gave 3.14159")

    monkeypatch.setattr(noise.Prepared, "draw", broken)
    result = run(*RELEASE)
    assert result.code == 1
    assert "internal error (RuntimeError in test_cli.py" in result.err
    assert "secret" not in result.err + result.out
    assert not (tmp_path / "out").exists()


# Identities and values that occur nowhere else, so that finding one anywhere is a leak.
MARK = "zqx"
PEOPLE = [f"{MARK}-{i}-{MARK}@{MARK}.org" for i in range(8)]
SCORES = np.random.default_rng(14).uniform(1, 10, size=(8, 2)).round(4)
MEANS = [f"{(SCORES[i, 0] + SCORES[i - 1, 1]) / 2:.5f}"[:7] for i in range(8)]


def planted(*, bad_score: str = "") -> str:
    """A file whose addresses, comments and means are all marked: reviewer i has papers i and i - 1."""
    cells = [(i, i, f"{SCORES[i, 0]:.4f}") for i in range(8)] + [
        (i - 1, i, f"{SCORES[i - 1, 1]:.4f}") for i in range(8)
    ]
    if bad_score:
        cells[5] = (*cells[5][:2], bad_score)
    rows = [f'paper-{p % 8},{PEOPLE[i]},{x},"{MARK} {PEOPLE[i]}"\n' for p, i, x in cells]
    return "paper,email,score,comment\n" + "".join(rows)


def planted_public() -> str:
    return "paper,ratings\n" + "".join(f"paper-{p},{x:.4f};{y:.4f}\n" for p, (x, y) in enumerate(SCORES))


REFINE = ["refine", "reviews.csv", "--public", "public.csv", "--load", "2", "-o", "out"]
AS_PUBLIC = ["release", "public.csv", "--public", "reviews.csv", "--load", "2", "--noise-scale", "1", "-o", "out"]

# Names where a header should be, or in it.
HEADINGS = [
    f"paper-1,~{MARK}_Smith1,6: marginally above\npaper-2,~{MARK}_Smith1,5: marginally below\n",
    f"paper,{MARK} Smith,{MARK} Jones\np,3,4\nq,5,6\n",
    f'{{"paper": "p", "~{MARK}_Smith1": 3}}\n{{"paper": "q", "~{MARK}_Jones1": 4}}\n',
    f'{{"{MARK} Smith": {{"paper-1": 3}}}}\n',
    f"paper,reviewer,score,{MARK} Smith\np,a,3,1\np,b,4,2\n",
]

#: Those with a header, in which people have named columns.
OWN_HEADINGS = (HEADINGS[1], HEADINGS[4])

LEAK_CALLS: list[tuple[list[str], str]] = [
    (["inspect", "reviews.csv"], planted()),
    (["inspect", "reviews.csv", "--json"], planted()),
    (RELEASE, planted()),
    ([*RELEASE, "--json"], planted()),
    ([*RELEASE, "--quantity", "miscalibration"], planted()),
    ([*changed("--public", "public.csv"), "--load", "2"], planted()),
    ([*RELEASE, "--paper", "email", "--reviewer", "paper"], planted()),
    ([*changed("--public", "public.csv"), "--load", "2", "--paper", "email", "--reviewer", "paper"], planted()),
    ([*RELEASE, "--score", "email"], planted()),
    ([*RELEASE, "--score", "comment"], planted()),
    ([*RELEASE, "--score", MARK], planted()),
    ([*RELEASE, "--criteria", "email"], planted()),
    ([*RELEASE, "--criteria", "comment", "--quantity", "normalized"], planted()),
    ([*RELEASE, "--criteria", "score", "--quantity", "subjectivity"], planted()),
    (["inspect", "reviews.csv", "--criteria", "comment"], planted()),
    (RELEASE, planted(bad_score=PEOPLE[0])),
    (RELEASE, planted(bad_score=f"{MARK} Ann")),
    (RELEASE, planted().replace(f',"{MARK}', f',{PEOPLE[1]},"{MARK}', 1)),
    (RELEASE, planted().split("\n", 1)[1]),
    (RELEASE, planted() + planted().split("\n", 1)[1]),
    (RELEASE, f"paper,paper,{PEOPLE[0]},{PEOPLE[0]}\n1,2,3,4\n"),
    (["inspect", "reviews.csv"], planted().split("\n", 1)[1]),
    *((call, text) for text in HEADINGS for call in (RELEASE, ["inspect", "reviews.csv"], REFINE, AS_PUBLIC)),
    *((["inspect", "reviews.csv", "--json"], text) for text in HEADINGS),
    (["inspect", "reviews.csv", "--paper", "paper", "--score", "score"], HEADINGS[-1]),
    (["refine", "reviews.csv", "--public", "public.csv", "--load", "2", "-o", "out"], planted()),
    (
        ["release", "reviews.csv", "--public", "reviews.csv", "--load", "2", "--noise-scale", "1", "-o", "out"],
        planted(),
    ),
]


@pytest.mark.promise("P-KEPT-8")
@pytest.mark.parametrize(("arguments", "text"), LEAK_CALLS, ids=[str(i) for i in range(len(LEAK_CALLS))])
def test_no_identity_and_no_true_value_is_left_behind(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, arguments: list[str], text: str
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "reviews.csv").write_text(text)
    (tmp_path / "public.csv").write_text(planted_public())
    result = run(*arguments)
    asked = MARK if MARK in arguments else "\0"
    terminal = result.out + result.err.replace(repr(asked), "")
    # Headings are shown to the owner of the file: by inspect, and by errors if there is a column of reviewers.
    if text in OWN_HEADINGS and (arguments[0] == "inspect" or text == HEADINGS[-1]):
        terminal = re.sub(rf"{MARK} (Smith|Jones)", "", terminal)
    left = terminal + caplog.text
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name not in ("reviews.csv", "public.csv"):
            left += path.read_text()
    assert left
    for secret in (MARK, *MEANS):
        assert secret not in left
    assert result.code in (0, 2), result.err


def test_the_leak_test_can_fail(run: Run, tmp_path: Path) -> None:
    """What is looked for is what a leak would show: the true means, which public data alone does not hold."""
    (tmp_path / "reviews.csv").write_text(planted())
    reviews = pv.read(tmp_path / "reviews.csv")
    truth = true_vector(reviews, "ratings")
    assert sorted(MEANS) == [f"{mean:.5f}"[:7] for mean in truth]
    region = pv.region(pv.weigh(reviews.public("all")), "chain")
    bounds = [f"{x:.5f}"[:7] for x in (*region.lower, *region.upper)]
    assert not set(MEANS) & set(bounds)
    assert run(*RELEASE).code == 0
    assert MARK not in (tmp_path / "out" / "release.json").read_text()


def test_exports_are_written_and_read(run: Run, tmp_path: Path) -> None:
    result = run("demo", "--export", "all")
    assert result.code == 0, result.err
    commands = [line.split("#")[0].split()[1:] for line in result.out.splitlines() if "peerveil inspect" in line]
    assert len(commands) == len(list((tmp_path / "peerveil-demo").iterdir()))
    for command in commands:
        looked = run(*command, "--json")
        assert looked.code == 0, looked.err
        facts = json.loads(looked.out)
        assert facts["papers"] == 300
        assert facts["because"]
    refused = run("demo", "--export", "word", "-o", "other")
    assert refused.code == 2
    assert "export must be one of table, openreview" in refused.err
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_platforms_are_released_from_and_what_is_left_out_is_told(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--export", "all", "-o", "made").code == 0
    options = ["--public", "made/peerread.json", "--loads", "4-5", "--reviewers", "300", "--noise-scale", "1"]
    options += ["--score-scale", "1,10"]
    refused = run("release", "made/hotcrp-rqc.json", *options, "-o", "out")
    assert "it is not stated that everyone can see which; state that (--missing-score absent)" in refused.err
    result = run("release", "made/hotcrp-rqc.json", *options, "--missing-score", "absent", "-o", "out")
    assert result.code == 0, result.err
    assert "peerveil: left out: 1 metareviews\n" in result.err
    easy = ["release", "made/easychair.zip", "--public", "all", "--noise-scale", "1", "-o", "easy"]
    result = run(*easy)
    assert result.code == 2
    assert "(--person member)" in result.err
    result = run(*easy, "--person", "member")
    assert result.code == 0, result.err


def test_letters_and_mappings_at_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letters.csv").write_text("paper,reviewer,mark\np,ann,A\np,bob,B\nq,ann,B\nq,bob,C\n")
    result = run("inspect", "letters.csv", "--score", "mark")
    assert result.code == 2
    assert "(--symbols 'D<C<B<A')" in result.err
    result = run("inspect", "letters.csv", "--score", "mark", "--symbols", "C<B<A", "--write-mapping", "m.toml")
    assert result.code == 0, result.err
    assert 'symbols = "C<B<A"' in (tmp_path / "m.toml").read_text()
    result = run("inspect", "letters.csv", "--mapping", "m.toml", "--json")
    assert json.loads(result.out)["declared scale"] == "1 to 3"
    result = run("release", "letters.csv", "--mapping", "m.toml", "--public", "none", "--noise-scale", "1", "-o", "out")
    assert result.code == 0, result.err


def test_inspect_says_what_it_found_and_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(
        "pid,review,email,status,Overall merit\n1,1A,a@x.org,complete,3\n2,2A,a@x.org,draft,\n"
    )
    facts = json.loads(run("inspect", "h.csv", "--json").out)
    assert (facts["format"], facts["because"]) == ("hotcrp", "its header has HotCRP's pid, review, email")
    assert facts["left out"] == ["1 reviews that were not submitted"]
    assert "nothing is assumed" in facts["public"][-1]
    outside = run("inspect", "public.csv", "--score-scale", "1,2")
    assert outside.code == 2
    assert "public.csv: 6 of 6 scores lie outside the declared scale 1 to 2" in outside.err
    forced = run("inspect", "h.csv", "--format", "csv", "--paper", "pid", "--score", "Overall merit", "--json")
    assert "1 review of 1 paper was left out of all means, having no score" in forced.out
    (tmp_path / "anon.csv").write_text("paper,reviewer,score\np,Reviewer_AbCd,3\nq,Reviewer_EfGh,4\n")
    refused = run("inspect", "anon.csv")
    assert refused.code == 2
    assert "--ids people" in refused.err
    assert "AbCd" not in refused.err
    assert run("inspect", "anon.csv", "--ids", "people").code == 0


def test_verify_accepts_and_refuses(run: Run, tmp_path: Path) -> None:
    assert run(*RELEASE).code == 0
    checked = run("verify", "out", "--public", "public.csv")
    assert checked.code == 0, checked.err
    assert "Verified." in checked.out
    assert run("verify", "out/release.json", "--public", "public.csv", "--load", "2").code == 0
    facts = json.loads(run("verify", "out", "--public", "public.csv", "--json").out)
    assert facts["verified"] is True
    assert [check["name"] for check in facts["checks"] if check["result"] != "holds"] == [
        "report.html",
        "pictures",
        "croissant.json",
        "signature",
    ]
    (tmp_path / "other.csv").write_text(PUBLIC.replace("8;6", "8;7"))
    refused = run("verify", "out", "--public", "other.csv")
    assert refused.code == 1
    assert "Refused: record." in refused.out
    place = tmp_path / "out" / "release.json"
    place.write_text(place.read_text().replace('"schema_version": 2', '"schema_version": 7'))
    refused = run("verify", "out", "--public", "public.csv", "--json")
    assert refused.code == 1
    assert json.loads(refused.out)["checks"][0]["result"] == "fails"
    place.write_text("[")
    assert run("verify", "out", "--public", "public.csv").code == 2
    assert run("verify", "nowhere", "--public", "public.csv").code == 2


def test_verify_of_hidden_scores_and_of_a_users_own_quantity(run: Run, tmp_path: Path) -> None:
    hidden = [*changed("--public", "none"), "--score-scale", "1,10", "--quantity", "miscalibration"]
    assert run(*hidden).code == 0
    (tmp_path / "hidden.csv").write_text("paper,ratings\np,?;?\nq,?;?\nr,?;?\n")
    assert run("verify", "out", "--public", "hidden.csv", "--score-scale", "1,10").code == 0
    assert run("verify", "out", "--public", "hidden.csv", "--score-scale", "1,9").code == 1
    weights = pv.weigh(pv.read_public("public.csv", load=2), lambda record: record.score**2, name="squares")
    pv.refine([1.0, 2.0, 3.0], weights).save("own")
    refused = run("verify", "own", "--public", "public.csv")
    assert refused.code == 2
    assert "check it in Python" in refused.err


def test_refine_reads_everything_from_a_release(run: Run, tmp_path: Path) -> None:
    options = ["--public", "public.csv", "--loads", "1-3", "--reviewers", "3", "--quantity", "miscalibration"]
    assert run("release", "reviews.csv", *options, "--epsilon", "1", "--mechanism", "laplace", "-o", "out").code == 0
    again = run("refine", "out/release.json", "--public", "public.csv", "--region", "baseline", "-o", "again")
    assert again.code == 0, again.err
    first, second = pv.Release.load("out"), pv.Release.load("again")
    assert (first.guarantee, first.mechanism, first.loads) == (second.guarantee, second.mechanism, second.loads)
    assert second.region == "baseline"
    assert run("verify", "again", "--public", "public.csv").code == 0


def test_compare(run: Run) -> None:
    for folder in ("one", "two"):
        assert run(*changed("-o", folder)).code == 0
    shown = run("compare", "one", "two/release.json")
    assert shown.code == 0, shown.err
    assert "3 reviewers in the first release" in shown.out
    assert "the same public record" in shown.out
    assert json.loads(run("compare", "one", "two", "--json").out)["level"] == pytest.approx(0.8)
    assert run(*changed("-o", "other"), "--quantity", "miscalibration").code == 0
    refused = run("compare", "one", "other")
    assert refused.code == 2
    assert "compare releases of the same quantity" in refused.err
    assert run("compare", "one", "nowhere").code == 2
    alone = run("compare", "one")
    assert alone.code == 2
    assert alone.err.strip() == "peerveil: give two releases or more to compare, the earlier one first; got one"


def test_licence_and_citation(run: Run) -> None:
    assert run(*RELEASE, "--licence", "CC-BY-4.0", "--citation", "The chairs of Conf, 2026").code == 0
    terms = pv.Release.load("out").terms
    assert (terms.licence, terms.citation) == ("CC-BY-4.0", "The chairs of Conf, 2026")


def test_the_report_says_whose_it_is(run: Run) -> None:
    given = ["--title", "Our reviewers", "--conference", "Conf", "--year", "2026", "--url", "https://conf.org/"]
    given += ["--author", "Ada Lovelace", "--author", "Turing, Alan", "--contact", "chairs@conf.org"]
    assert run(*[part for part in RELEASE if part != "--no-report"], *given).code == 0
    about = pv.About(
        title="Our reviewers",
        conference="Conf",
        year=2026,
        authors=["Ada Lovelace", "Turing, Alan"],
        contact="chairs@conf.org",
        url="https://conf.org/",
    )
    assert pv.Release.load("out").terms.about == about
    text = Path("out/report.html").read_text(encoding="utf-8")
    assert all(word in text for word in ("Conf 2026", "Our reviewers", "Ada Lovelace, Turing, Alan"))
    refused = run(*changed("-o", "other"), "--url", "conf.org")
    assert refused.code == 2
    assert "--url must be an address" in refused.err
    assert not Path("other").exists()


TRACKS = "paper,reviewer,score,track\n" + "".join(
    f"p{i},r{(i + k) % 6},{1 + (3 * i + 5 * k) % 9},{'theory' if i < 4 else 'Systems & nets'}\n"
    for i in range(8)
    for k in range(3)
)


@pytest.fixture
def tracks(tmp_path: Path) -> list[str]:
    (tmp_path / "tracks.csv").write_text(TRACKS)
    rows = [line.split(",") for line in TRACKS.splitlines()[1:]]
    shown = "".join(f"{paper},{score},{track}\n" for paper, _, score, track in rows)
    (tmp_path / "shown.csv").write_text("paper,score,track\n" + shown)
    (tmp_path / "groups.csv").write_text(
        "paper,group\n" + "".join(f"{p},{t}\n" for p, t in {(r[0], r[3]) for r in rows})
    )
    noise = ["--mechanism", "laplace", "--epsilon", "1"]
    return ["release", "tracks.csv", "--public", "all", *noise, "--score-scale", "1,9"]


def test_groups_get_a_folder_each_and_one_charge(run: Run, tmp_path: Path, tracks: list[str]) -> None:
    assert run("ledger", "open", "budgets.db", "--dataset", "conf", "--epsilon", "5").code == 0
    made = run(*tracks, "--group-column", "track", "--ledger", "budgets.db", "--no-report", "-o", "out")
    assert made.code == 0, made.err
    assert "All groups together: epsilon = 2 per reviewer" in made.out
    assert "Written: a folder for each group in out" in made.out
    assert "Charged to the ledger as release " in made.out
    assert "after 1 release: epsilon 3 of 5" in made.out
    assert "fewer than 20 reviewers" in made.err
    own = {"release.json", "release.csv"}
    files = {"theory", "Systems-nets"} | {f"{name}/{file}" for name in ("theory", "Systems-nets") for file in own}
    assert everything_under(tmp_path / "out") == files
    assert json.loads(run("ledger", "show", "budgets.db", "--json").out)[0]["spent"] == pytest.approx(2)
    facts = json.loads(run(*tracks, "--groups", "groups.csv", "-o", "again", "--json").out)
    assert [row["group"] for row in facts["groups"]] == ["Systems & nets", "theory"]
    assert facts["guarantee"] == "epsilon = 2 per reviewer (pure differential privacy)"
    for options in (["--group-column", "track"], ["--groups", "groups.csv"]):
        checked = run("verify", "out/theory", "--public", "shown.csv", *options)
        assert checked.code == 0, checked.out + checked.err
    of_all = run("verify", "out/theory", "--public", "shown.csv")  # it is not of all papers
    assert of_all.code == 1
    told = " ".join(of_all.out.split())
    assert "the group 'theory'; state the group of each paper (--groups or --group-column)" in told
    refined = run("refine", "out/theory", "--public", "shown.csv", "--groups", "groups.csv", "-o", "better")
    assert refined.code == 0, refined.err
    assert pv.Release.load("better").group == pv.Release.load("out/theory").group
    assert run("compare", "out/theory", "out/Systems-nets").code == 0


def test_groups_that_cannot_be_released(run: Run, tmp_path: Path, tracks: list[str]) -> None:
    refused = run(*tracks, "--group-column", "track", "--no-shared-reviewers", "-o", "out")
    assert refused.code == 2
    assert "(--no-shared-reviewers), but some have" in refused.err
    assert not (tmp_path / "out").exists()
    assert run(*tracks, "--no-shared-reviewers", "-o", "out").code == 2
    assert "has no column 'area'" in run(*tracks, "--group-column", "area", "-o", "out").err
    (tmp_path / "groups.csv").write_text("paper,group\np1,theory\n")
    assert "7 of 8 papers are in no group" in run(*tracks, "--groups", "groups.csv", "-o", "out").err
    assert run(*tracks, "-o", "whole").code == 0
    assert run("verify", "whole", "--public", "shown.csv", "--groups", "groups.csv").code == 2
    refine = ["refine", "noisy.txt", "--public", "public.csv", "--load", "2", "-o", "x"]
    assert run(*refine, "--groups", "groups.csv").code == 2


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_table_loses_words_in_a_narrow_terminal(width: int) -> None:
    rows = [
        ("7", "reviews.csv, line 3: score must be a number, found 'x'; correct it or leave the row out", "0.1 ± 0.02")
    ]
    shown = io.StringIO()
    Console(file=shown, width=width).print(rows_table(("venue", "why it was not released", "error"), rows))
    assert max(map(len, shown.getvalue().splitlines())) <= width
    assert {word for row in rows for cell in row for word in cell.split()} <= set(shown.getvalue().split())


def test_public_scores_are_written_without_reviewers(run: Run, tmp_path: Path) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    shown = run("inspect", "reviews.csv", "--write-public", "seen.csv")
    assert shown.code == 0, shown.err
    assert "Written: seen.csv" in shown.out
    assert (tmp_path / "seen.csv").read_text() == PUBLIC.replace("8;6", "6;8")
    assert {path.name for path in tmp_path.iterdir()} == {*before, "seen.csv"}
    again = run("inspect", "reviews.csv", "--write-public", "seen.csv")
    assert again.code == 2
    assert "seen.csv already exists" in again.err
    assert "cannot be written" in run("inspect", "reviews.csv", "--write-public", "no/where.csv").err


def test_inspect_names_the_column_of_scores_by_its_own_option(run: Run, tmp_path: Path) -> None:
    (tmp_path / "several.csv").write_text("paper,ratings,rating\np,3;5,3\nq,4;4,3\n")
    result = run("inspect", "several.csv")
    assert result.code == 2
    assert "say which it is with --score" in result.err


def test_reasons_of_a_batch_name_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "venues.toml").write_text(
        '[defaults]\npublic = "public.csv"\nepsilon = 1\n'
        '[[venue]]\nname = "one"\nfile = "reviews.csv"\nload = 4\n'
        '[[venue]]\nname = "two"\nfile = "reviews.csv"\nload = 2\nquantity = "normalized"\n'
        '[[venue]]\nname = "three"\nfile = "reviews.csv"\nmechanism = "gaussian"\n'
    )
    result = run("batch", "venues.toml", "-o", "many", "--no-report", "--json")
    assert result.code == 1
    one, two, three = (outcome["reason"] for outcome in json.loads(result.out)["outcomes"])
    assert "over; state --loads 3:800,4:900 if loads differ" in one
    assert two.endswith("name their columns (--criteria)")
    assert "--delta along with --epsilon" in three


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["compare"], "Two or more releases of the same quantity"),
        (["correlate", "reviews.csv"], "Private reviews of the second conference"),
        (["plan"], "Public scores: one row per paper"),
        (["ledger", "show"], "A file, or a database"),
    ],
)
def test_what_a_missing_argument_is(run: Run, command: list[str], told: str) -> None:
    done = run(*command)
    assert done.code == 2
    assert told in " ".join(re.sub("[│╭╮╰╯─]", " ", done.err).split())


def test_messages_name_what_was_given(run: Run) -> None:
    assert "there is no schema 'foo'; the kinds are" in run("schema", "foo").err
    (Path("public.csv")).write_text("paper,scores\na,1;5\nb,2;2\n")
    done = run("plan", "public.csv", "--load", "2", "--epsilon", "1,-1")
    assert "--epsilon must be finite and above 0, got 1, -1" in done.err
