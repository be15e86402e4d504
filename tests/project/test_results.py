"""Results of benchmarks as data: valid by construction, written and read alike, compared, and inserted in documents."""

from __future__ import annotations

import json
import math
import platform
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import compare
import insertions
import page
import provenance
import results
from output import Output
from results import Column, Measured, Table

COLUMNS = (
    Column("world", "world"),
    Column("n", "reviewers", digits=",d"),
    Column("error", "error", "points", ".3f", better="lower"),
    Column("ratio", "time over that of a sort", digits=".1f", better="lower", tolerance=0.3),
    Column("seconds", "time", "s", ".2f"),
    Column("held", "covered", "%", ".1f", target=90.0),
)
ROWS: tuple[Any, ...] = (
    ("two camps", 1_000, Measured(0.5, 0.01), 4.0, 2.0, Measured(91.0, 1.0)),
    ("flat, 10 %", 1_000, Measured(0.7, 0.02), 5.0, None, Measured(88.0, 1.0)),
)


RUN = provenance.this_run((), quick=False)


def table(rows: tuple[Any, ...] = ROWS, **changed: Any) -> Table:
    given: dict[str, Any] = {
        "name": "errors",
        "title": "Errors",
        "columns": COLUMNS,
        "keys": 2,
        "rows": rows,
        "seeds": "1",
        "draws": "100",
        "notes": ("A note.",),
        "promises": (),
        "run": RUN,
    }
    return Table(**given | changed)


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = results.write(tmp_path, "worlds", [table()])
    assert results.load(file) == (table(),)
    assert results.load_all(tmp_path) == {"worlds": (table(),)}


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.none() | st.floats(0, 1e9)), max_size=5))
def test_numbers_survive_a_round_trip(numbers: list[tuple[float, float | None]]) -> None:
    columns = (Column("row", "row", digits="d"), Column("value", "value"))
    rows = tuple((i, v if e is None else Measured(v, e)) for i, (v, e) in enumerate(numbers))
    made = table(rows, columns=columns, keys=1)
    assert Table.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_a_run_of_one_table_leaves_the_others(tmp_path: Path) -> None:
    other = table(name="others")
    results.write(tmp_path, "worlds", [table(), other])
    results.write(tmp_path, "worlds", [table(ROWS[:1])])
    assert results.load(tmp_path / "worlds.json") == (table(ROWS[:1]), other)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"rows": (ROWS[0], ROWS[0])}, "two rows have one key"),
        ({"rows": (ROWS[0][:-1],)}, "5 cells for 6 columns"),
        ({"rows": ((*ROWS[0][:-1], math.nan),)}, "cannot be kept"),
        ({"rows": ((*ROWS[0][:-1], True),)}, "is no cell"),
        ({"rows": ((*ROWS[0][:-1], np.float64(1.0), 2),)}, "7 cells"),
        ({"keys": 0}, "keys is from 1"),
        ({"columns": (*COLUMNS[:-1], COLUMNS[0])}, "different keys"),
        ({"name": "two words"}, "lower-case"),
    ],
)
def test_a_table_that_exists_is_valid(changed: dict[str, Any], match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        table(**changed)


def test_columns_and_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="compared by ratios"):
        Column("t", "time", "s", better="lower")
    with pytest.raises(ValueError, match="not both"):
        Column("t", "time", better="lower", target=1.0)
    with pytest.raises(ValueError, match="lower-case"):
        Column("a/b", "time")
    with pytest.raises(ValueError, match="Invalid format"):
        Column("a", "time", digits="no format")
    for value, error in ((math.nan, 1.0), (1.0, -1.0), (math.inf, 0.0)):
        with pytest.raises(ValueError, match="standard error"):
            Measured(value, error)


def test_a_run_names_no_machine() -> None:
    run = provenance.this_run(("300", "--folder", "/tmp/somewhere", "--to=~/there"), quick=False)  # noqa: S108
    assert run.arguments == ("300", "--folder", "PATH", "--to=PATH")
    assert run.setting == "chosen"
    assert provenance.Run.from_json(json.loads(json.dumps(run.to_json()))) == run
    text = json.dumps(run.to_json())
    assert str(Path.home()) not in text
    assert str(provenance.ROOT) not in text
    for bad in ("/tmp/somewhere", "--folder=/home/someone", "~/results", platform.node()):  # noqa: S108
        with pytest.raises(ValueError, match="names a machine"):
            replace(run, arguments=(bad,))
    with pytest.raises(ValueError, match="lack numpy"):
        replace(run, versions={name: "1" for name in run.versions if name != "numpy"})
    with pytest.raises(ValueError, match="setting"):
        replace(run, setting="some")  # type: ignore[arg-type]


def test_rows_are_printed_as_they_come_and_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PEERVEIL_RESULTS", str(tmp_path / "new"))
    with Output("worlds", ["--quick", "7"]) as out:
        assert out.quick
        assert out.arguments == ("7",)
        growing = out.table("errors", "Errors", COLUMNS, keys=2, seeds=[3, "k"], draws=1_000)
        growing.add("two camps", np.int64(1_000), Measured(0.5, 0.01), np.float64(4), 2.0, None)
        printed = capsys.readouterr().out
        growing.note("Noted.")
    assert "0.500 ± 0.010" in printed
    assert "seeds: [3, 'k']; draws: 1000" in printed
    (kept,) = results.load(tmp_path / "new" / "worlds.json")
    assert kept.rows == (("two camps", 1_000, Measured(0.5, 0.01), 4.0, 2.0, None),)
    assert (kept.draws, kept.notes, kept.run.setting) == ("1,000", ("Noted.",), "quick")


def test_a_run_that_fails_writes_nothing_and_a_quick_one_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEERVEIL_RESULTS", str(tmp_path))
    out = Output("worlds", [])
    out.table("errors", "Errors", COLUMNS, keys=2)
    with pytest.raises(ZeroDivisionError), out:
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="full runs"):
        Output("worlds", ["--keep", "--quick"])
    assert Output("worlds", ["--keep"]).folder == results.KEPT
    monkeypatch.delenv("PEERVEIL_RESULTS")
    assert Output("worlds", []).folder is None


def test_means_and_ratios_have_the_errors_of_textbooks() -> None:
    rng = np.random.default_rng(1)
    top, bottom = rng.normal(2, 1, 400), rng.normal(5, 1, 400)
    mean = results.mean_of(top, 100)
    assert isinstance(mean, Measured)
    assert mean.value == pytest.approx(100 * top.mean())
    assert mean.error == pytest.approx(100 * top.std(ddof=1) / 20)
    ratio = results.ratio_of(top, bottom)
    assert isinstance(ratio, Measured)
    drawn = [rng.integers(0, 400, 400) for _ in range(4_000)]  # the bootstrap's error
    assert ratio.error == pytest.approx(np.std([top[i].mean() / bottom[i].mean() for i in drawn]), rel=0.1)
    assert results.mean_of([3.0]) == 3.0
    assert results.mean_of([]) is None


# Comparison of two runs


def compared(first: Table, second: Table) -> list[compare.Change]:
    return list(compare.changes({"worlds": (first,)}, {"worlds": (second,)}))


def test_only_numbers_of_which_it_is_known_what_is_better_are_compared() -> None:
    found = compared(table(), table())
    assert {change.address.rsplit("/", 1)[1] for change in found} == {"error", "ratio", "held"}
    assert not any(change.beyond_noise(0.0) for change in found)
    assert len(found) == 6


@pytest.mark.parametrize(
    ("place", "cell", "worse"),
    [
        (2, Measured(0.56, 0.01), True),
        (2, Measured(0.44, 0.01), False),
        (2, Measured(0.53, 0.01), None),
        (3, 5.0, None),
        (3, 6.0, True),
        (3, 2.0, False),
        (5, Measured(96.5, 1.0), True),
        (5, Measured(84.0, 1.0), True),
        (5, Measured(89.0, 1.0), None),
        (4, 200.0, None),
    ],
)
def test_noise_is_told_from_change(place: int, cell: Any, worse: bool | None) -> None:
    row = (*ROWS[0][:place], cell, *ROWS[0][place + 1 :])
    apart = [change for change in compared(table(), table((row, ROWS[1]))) if change.beyond_noise(3.0)]
    assert [change.worse_by > 0 for change in apart] == ([] if worse is None else [worse])


def test_false_alarms_are_rare_and_real_changes_found() -> None:
    """Two runs of the same code with other seeds, in 20 comparisons of 100 numbers: one alarm in twenty is meant."""
    rng = np.random.default_rng(5)
    columns = (Column("row", "row", digits="d"), Column("error", "error", better="lower"))
    alarms, noticed = 0, 0
    for _ in range(20):
        runs = [[results.mean_of(rng.normal(1, 0.3, 100)) for _ in range(100)] for _ in range(2)]
        errors = float(norm.isf(compare.ALARM / 2 / 100))
        runs.append([Measured(cell.value * 1.3, cell.error) for cell in runs[1] if isinstance(cell, Measured)])
        first, second, third = (table(tuple(enumerate(run)), columns=columns, keys=1) for run in runs)
        alarms += any(change.beyond_noise(errors) for change in compared(first, second))
        noticed += sum(change.beyond_noise(errors) for change in compared(first, third))
    assert alarms <= 4  # exceeded with a chance of less than 1 % if each has one of 5 %
    assert noticed > 0.9 * 20 * 100


def test_few_draws_raise_no_false_alarm() -> None:
    """Three hits are 100 ± 0 %; and where nothing changed, 5 % of comparisons may raise an alarm."""
    some = Column("held", "covered", "%", target=90.0)
    before, after = Measured(92.0, 1.6, 25), Measured(100.0, 0.0, 3)
    assert compare.Change("a", some, before, replace(after, draws=None)).beyond_noise(4.0)
    assert not compare.Change("a", some, before, after).beyond_noise(4.0)
    assert not compare.Change("a", some, before, replace(after, draws=20)).beyond_noise(4.0)
    assert compare.Change("a", some, replace(before, value=90.0), replace(after, value=70.0, draws=100)).beyond_noise(
        4.0
    )
    rng = np.random.default_rng(5)
    column, errors, alarms = Column("error", "error", better="lower"), float(norm.isf(0.025)), 0
    for _ in range(1_000):
        first, second = (results.mean_of(rng.standard_normal(size)) for size in (40, 3))
        assert isinstance(first, Measured)
        assert isinstance(second, Measured)
        alarms += compare.Change("a", column, first, second).beyond_noise(errors)
    assert 0 < alarms <= 50 + 3 * math.sqrt(1_000 * 0.05 * 0.95)


def test_a_number_without_an_error_is_not_exact_beside_one_that_has_an_error() -> None:
    column, before = Column("width", "width", better="lower", tolerance=0.1), 1.0
    assert not compare.Change("a", column, before, Measured(1.1, 0.03)).beyond_noise(4.0)
    assert not compare.Change("a", column, before, Measured(1.15, 0.03)).beyond_noise(4.0)  # 4 errors of each: 0.17
    assert compare.Change("a", column, before, Measured(1.3, 0.03)).beyond_noise(4.0)
    assert compare.Change("a", column, Measured(1.3, 0.03), before).beyond_noise(4.0)
    assert not compare.Change("a", column, before, Measured(1.5, 0.0, 3)).beyond_noise(4.0)  # three draws alike
    assert not compare.Change("a", column, before, Measured(1.05, 0.001, 400)).beyond_noise(4.0)  # is tolerated


def test_a_comparison_says_what_is_worse_and_what_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "a", "worlds", [table(), table(name="old")])
    row = (*ROWS[0][:2], Measured(0.9, 0.01), *ROWS[0][3:])
    results.write(tmp_path / "b", "worlds", [table((row,))])
    assert compare.main([str(tmp_path / "a"), str(tmp_path / "b" / "worlds.json")]) == 1
    printed = capsys.readouterr().out
    assert "worlds/errors/two-camps-1000/error: 0.500 ± 0.010 → 0.900 ± 0.010" in printed
    assert "Only in the first run, not compared:\n  worlds/errors/flat-10-%-1000\n  worlds/old\n" in printed
    assert "Before: 2 tables, " in printed
    assert compare.main([str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    with pytest.raises(SystemExit, match="no results there"):
        compare.main([str(tmp_path / "a"), str(tmp_path / "none")])


# Insertion in documents

KEPT = {"worlds": (table(),)}


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("worlds/errors/two-camps-1000/error", "0.500 ± 0.010"),
        ("worlds/errors/two-camps-1000/error value", "0.500"),
        ("worlds/errors/two-camps-1000/error error .1g", "0.01"),
        ("worlds/errors/two-camps-1000/error value percent .0f", "50"),
        ("worlds/errors/two-camps-1000/error inverse .2f", "2.00 ± 0.04"),
        ("worlds/errors/*/error range .1f", "0.5 to 0.7"),
        ("worlds/errors/*/error max value", "0.700"),
        ("worlds/errors/*/error min", "0.500 ± 0.010"),
        ("worlds/errors/*/error count", "2"),
        ("worlds/errors/flat*/world", "flat, 10 %"),
        ("worlds/errors/two*|flat*/error range .1f", "0.5 to 0.7"),
        ("worlds/errors/two-camps-1000|none/error count", "1"),
        ("worlds/errors/@/draws", "100"),
    ],
)
def test_markers_insert_numbers(marker: str, text: str) -> None:
    document = f"It is <!--={marker}-->17<!--/--> or <!--={marker}--><!--/-->."
    filled = insertions.filled(document, KEPT)
    assert filled == f"It is <!--={marker}-->{text}<!--/--> or <!--={marker}-->{text}<!--/-->."
    assert insertions.filled(filled, KEPT) == filled


def test_markers_insert_tables() -> None:
    document = "A\n\n<!--table worlds/errors columns=world,error rows=two*-->\nold\n<!--/table-->\n\nB\n"
    filled = insertions.filled(document, KEPT)
    assert filled == (
        "A\n\n<!--table worlds/errors columns=world,error rows=two*-->\n\n"
        "| world | error, points |\n| --- | ---: |\n| two camps | 0.500 ± 0.010 |\n\n<!--/table-->\n\nB\n"
    )
    assert insertions.filled(filled, KEPT) == filled


@pytest.mark.parametrize(
    "marker",
    [
        "worlds/errors/none/error",
        "worlds/errors/*/error",
        "worlds/errors/two-camps-1000/none",
        "worlds/others/two-camps-1000/error",
        "others/errors/two-camps-1000/error",
        "worlds/errors/two-camps-1000/error often",
        "worlds/errors/@/host",
    ],
)
def test_markers_that_name_nothing_fail(marker: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        insertions.filled(f"<!--={marker}-->1<!--/-->", KEPT)


def test_a_table_that_is_still_empty_swallows_no_text_after_it() -> None:
    empty = "<!--table worlds/errors-->\n<!--/table-->\n"
    filled = insertions.filled(f"{empty}between\n{empty}after\n", KEPT)
    assert filled.count("| two camps |") == 2
    assert filled.index("between") < filled.rindex("| two camps |") < filled.index("after")


def test_the_page_has_every_table_with_its_provenance(tmp_path: Path) -> None:
    results.write(tmp_path, "scale", [table(), table(name="more", title="More")])
    made = page.page(tmp_path)
    assert "### Errors\n\n| world | reviewers |" in made
    assert "### More\n" in made
    assert "Seeds: 1. Draws: 100." in made
    assert provenance.processor() in made


# What is kept


def test_kept_results_are_of_full_runs_and_the_page_shows_them() -> None:
    for benchmark, tables in results.load_all().items():
        assert (provenance.ROOT / "benchmarks" / f"bench_{benchmark}.py").exists()
        assert not [one.name for one in tables if one.run.setting == "quick"]
    assert page.PAGE.read_text("utf-8") == page.page(), "run `make numbers`"


def test_numbers_in_documents_are_those_of_the_kept_results() -> None:
    kept = results.load_all()
    stale = [
        one.name for one in insertions.documents() if insertions.filled(text := one.read_text("utf-8"), kept) != text
    ]
    assert not stale, "run `make numbers`"


def test_the_kept_audits_found_every_sabotage_and_no_fault_of_honest_mechanisms() -> None:
    """As docs/testing.md says."""
    tables = {table.name: table for table in results.load_all()["audit"]}
    found = [tables["sabotage"].cell(tables["sabotage"].row_key(row), "shown")[1] for row in tables["sabotage"].rows]
    assert len(found) > 100
    assert "NOTHING" not in found
    assert [row[3] for row in tables["honest"].rows] == [0] * 5
    assert tables["honest"].columns[3].key == "failed"


def test_measured_numbers_without_a_marker_are_excused_one_by_one() -> None:
    """By document and section, with the number of lines: another line that looks measured needs a marker."""
    stored = tomllib.loads((provenance.ROOT / "benchmarks" / "unmarked.toml").read_text("utf-8")).get("excuse", [])
    excused = {(one["document"], one["section"]): one["lines"] for one in stored}
    assert all(one["why"] for one in stored)
    found: Counter[tuple[str, str]] = Counter()
    for document in insertions.documents():
        if document != page.PAGE:
            name = document.relative_to(provenance.ROOT).as_posix()
            found.update((name, section) for section, _ in insertions.unmarked(document.read_text("utf-8")))
    assert found == excused


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("It is 0.5 ± 0.1 here.", 1),
        ("It is 91 % ± 1.", 1),
        ("Drawn with seed 17.", 1),
        ("Intervals held 86 to 94 % of them.", 1),
        ("The error falls to 0.5 to 0.85 of it.", 1),
        ("It takes 0.05 s and 4 MB.", 1),
        ("Found in 26 of 40 simulated audits.", 1),
        ("The mean of 1,200 draws.", 1),
        ("At most 74 % sure at epsilon 1, or 3 times.", 0),
        ("<!-- promises: written -->\nheld 86 to 94 %\n<!-- /promises -->", 0),
        ("The interval is `M ± t`.", 0),
        ("It is <!--=a/b/c/d-->0.5 ± 0.1<!--/--> here.", 0),
        ("| a | 12 |", 0),
        ("```text\n0.5 ± 0.1\n```", 0),
        ("### Measurements\n\n| a | 12 |", 1),
    ],
)
def test_numbers_that_look_measured_are_found(line: str, number: int) -> None:
    found = insertions.unmarked(f"# Title\n\n## Section\n\n{line}\n")
    assert len(found) == number
    assert all(section.startswith("Section") for section, _ in found)
