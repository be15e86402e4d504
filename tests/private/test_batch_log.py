"""The log and the metrics of a batch: what they hold, and what they never hold."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from cli.test_cli import Run, run
from documents import check_document
from marks import slow
from peerveil.app.batch import venues as manifests
from peerveil.private.batch.metrics import prometheus_text
from peerveil.support.logs import LOGGER, Event, attached, emit, logging_to

__all__ = ["run"]  # a fixture

parser = pytest.importorskip("prometheus_client.parser", reason="the extra metrics is not installed")

#: Marks in private files that nothing may hold: names, addresses, ids of papers and reviewers.
PEOPLE = ("Quillfeather", "quill7731@example.org", "~Quill_Feather7731", "rev-7731", "Sub-7731")
#: Scores in private files; reasons of failures may hold them, in the private report only.
SCORES = ("77.31", "7.731049271", "seven-7731")


def reviews(*scores: str) -> str:
    """A file of six reviews, by people with marks, on papers with marks."""
    papers = [f"paper-7731-{letter}" for letter in "ppqqrr"]
    people = [f"{PEOPLE[0]} {number} <{PEOPLE[1]}>" for number in (1, 2, 2, 3, 3, 1)]
    rows = zip(papers, people, scores or "354486", strict=True)
    return "paper,reviewer,score\n" + "".join(f"{paper},{person},{score}\n" for paper, person, score in rows)


#: Exports of which all but the first fail, each in a way of its own.
EXPORTS = {
    "good": reviews(),
    "outside": reviews("3", "5", "4", "4", SCORES[0], "6"),
    "words": reviews("3", "5", "4", "4", SCORES[2], "6"),
    "twice": reviews() + reviews().split("\n", 1)[1],
    "lonely": f"paper,reviewer,score\npaper-7731,{PEOPLE[3]},3\n",
    "headless": reviews().split("\n", 1)[1],
    "surprising": reviews(),
}


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    for name, text in EXPORTS.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


OPTIONS = ["--public", "none", "--mechanism", "laplace", "--epsilon", "0.5", "--score-scale", "1,10", "--no-report"]
OPTIONS += ["--workers", "1", "-o", "out", "--metrics", "batch.prom"]


def surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one file fail with an error that nobody foresaw, whose text and cause hold marks."""
    usual: Any = manifests.__dict__["read_reviews"]

    def read(file: str, reading: Any) -> Any:
        if "surprising" in file:
            raise KeyError(*PEOPLE, *SCORES) from ValueError(PEOPLE[0])
        return usual(file, reading)

    monkeypatch.setattr(manifests, "read_reviews", read)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def everything(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_bytes().decode(errors='replace')}" for path in files)


@pytest.mark.promise("P-KEPT-8", "P-PLATFORM-19")
def test_no_mark_of_a_private_file_is_logged_or_written(
    run: Run, exports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surprise(monkeypatch)
    result = run("batch", "exports", *OPTIONS, "--log-level", "debug")
    assert result.code == 1
    assert "1 released, 0 released before, 6 failed" in result.out
    private = json.loads((tmp_path / "out.private" / "batch.json").read_text())
    assert SCORES[0] in json.dumps(private), "the chair is told which score is wrong"
    log = lines(tmp_path / "out.private" / "log.jsonl")
    failed = {line["venue"]: line["error"] for line in log if line["event"] == "venue-failed"}
    assert failed.keys() == EXPORTS.keys() - {"good"}
    assert failed["surprising"] == "KeyError"
    written = {
        "log": (tmp_path / "out.private" / "log.jsonl").read_text(),
        "metrics": (tmp_path / "out.private" / "metrics.json").read_text(),
        "Prometheus": (tmp_path / "batch.prom").read_text(),
        "output folder": everything(tmp_path / "out"),
    }
    for place, text in written.items():
        marks = (*PEOPLE, *SCORES, "paper-7731")  # four digits alone would be found in noise, now and then
        assert not [mark for mark in marks if mark.lower() in text.lower()], place
    shown = everything(tmp_path / "out.private") + result.out + result.err
    assert not [mark for mark in PEOPLE if mark.lower() in shown.lower()], "not even where reasons may be"


@pytest.mark.promise("P-AUTOMATION-1")
def test_lines_and_metrics_fit_their_schemas(run: Run, exports: Path, tmp_path: Path) -> None:
    run("ledger", "open", "budgets.db", "--dataset", "good", "--epsilon", "1")
    for place, levels in {"quiet.jsonl": "error", "all.jsonl": "debug"}.items():
        run("batch", "exports", *OPTIONS, "--ledger", "budgets.db", "--log", place, "--log-level", levels)
        for line in lines(tmp_path / place):
            check_document(line, "log")
        metrics = json.loads((tmp_path / "out.private" / "metrics.json").read_text())
        check_document(metrics, "metrics")
        resumed = place != "quiet.jsonl"
        counts = tuple(metrics[name] for name in ("venues", "released", "stands", "failed", "charges"))
        assert counts == (7, int(not resumed), int(resumed), 6, int(not resumed))
        assert metrics["state"] == "complete"
    assert {line["level"] for line in lines(tmp_path / "quiet.jsonl")} == {"error"}
    events = [line["event"] for line in lines(tmp_path / "all.jsonl")]
    assert (events[0], events[-1]) == ("batch-started", "batch-finished")
    assert "venue-stands" in events
    assert not (tmp_path / "out.private" / "log.jsonl").exists()


@pytest.mark.slow
def test_prometheus_reads_the_metrics(run: Run, exports: Path, tmp_path: Path) -> None:
    run("batch", "exports", *OPTIONS)
    metrics = json.loads((tmp_path / "out.private" / "metrics.json").read_text())
    read = {
        (sample.name, *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families((tmp_path / "batch.prom").read_text())
        for sample in family.samples
    }
    assert read["peerveil_batch_venues",] == metrics["venues"] == 7
    assert read["peerveil_batch_outcomes_total", "failed"] == metrics["failed"]
    assert read["peerveil_batch_step_seconds_count", "estimate"] == metrics["steps"]["estimate"]["count"]
    assert sum(value for key, value in read.items() if key[0] == "peerveil_batch_failures_total") == metrics["failed"]
    assert read["peerveil_batch_complete",] == 1


@pytest.mark.slow
def test_a_batch_that_is_interrupted_says_so(
    run: Run, exports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "read_reviews", stop)
    assert run("batch", "exports", *OPTIONS).code == 130
    assert json.loads((tmp_path / "out.private" / "metrics.json").read_text())["state"] == "interrupted"
    assert lines(tmp_path / "out.private" / "log.jsonl")[-1]["complete"] is False


@pytest.mark.promise("P-PLATFORM-5")
@pytest.mark.parametrize("option", ["--log", slow("--metrics")])
def test_neither_goes_into_the_folder_to_publish(run: Run, exports: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for place in ("out/file", "link/file", "out/new/../file"):
        refused = run("batch", "exports", *OPTIONS, option, place)
        assert refused.code == 2
        assert f"{option} {place} lies in the output folder" in refused.err
    assert run("batch", "exports", *OPTIONS, option, "absent/file").code == 2


@pytest.mark.slow
def test_levels_are_checked(run: Run, exports: Path) -> None:
    refused = run("batch", "exports", *OPTIONS, "--log-level", "loud")
    assert refused.code == 2
    assert "--log-level must be one of debug, info, warning, error, got 'loud'" in refused.err


@pytest.mark.slow
def test_a_log_on_stderr(run: Run, exports: Path) -> None:
    result = run("batch", "exports", *OPTIONS, "--log", "-")
    logged = [json.loads(line) for line in result.err.splitlines() if line.startswith("{")]
    assert [line["event"] for line in logged][-1] == "batch-finished"


class Happened(Event):
    """An event without fields."""


def test_only_events_are_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "log.jsonl"
    with logging_to(file, "debug"):
        LOGGER.error("Ann gave 3", exc_info=ValueError("Ann"))
        emit(Happened())
    emit(Happened())
    assert [line["event"] for line in lines(file)] == ["happened"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_stops_nothing() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with logging_to("/dev/full", "info"):
        emit(Happened())


def test_levels_are_restored() -> None:
    before = LOGGER.level, list(LOGGER.handlers)
    with attached(logging.NullHandler(), "debug"):
        assert LOGGER.level == logging.DEBUG
    assert (LOGGER.level, list(LOGGER.handlers)) == before


def test_a_name_cannot_break_out_of_prometheus_text() -> None:
    step = {"count": 0, "seconds": 0.0}
    document: dict[str, Any] = dict.fromkeys(
        ("venues", "released", "stands", "failed", "charges", "retries", "seconds"), 0
    )
    document |= {"state": "running", "updated": "2026-01-01T00:00:00Z", "steps": {"read": step}}
    text = prometheus_text(document | {"failures": {'A"} 1\nevil 2': 1}})
    names = {family.name for family in parser.text_string_to_metric_families(text)}
    assert all(name.startswith("peerveil_batch_") for name in names)
