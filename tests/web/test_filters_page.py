"""Filters on the page: a wrong one is told at its own field, and nothing that was typed is lost."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import Any

import pytest

from asked import AtOnce, Chair
from peerveil.web import work
from peerveil.web.jobs import Job
from peerveil.web.work import Task

REVIEWS = "paper,reviewer,score,Type,Decision,Country\n" + "".join(
    f"p{i},r{(i * 3 + j) % 8},{(i + 2 * j) % 9 + 1},{'Draft' if i + j == 9 else 'Review'},"
    f"{('Accept', 'Reject')[i % 2]},land{(i * 3 + j) % 8}\n"
    for i in range(12)
    for j in range(2)
)
TYPED = {
    "lowest": "1",
    "highest": "10",
    "paper": "paper",
    "visible_column": "Type=review\nDecision=paper\nCountry=review",
}


class ReadAtOnce(AtOnce):
    """Work that is done as soon as it is asked for; files are really read."""

    def start(self, task: Task, *, title: str, ahead: str, back: str, name: str | None = None, then: Any = None) -> Job:
        if task.kind != "inspect":
            return super().start(task, title=title, ahead=ahead, back=back, name=name, then=then)
        before = Path.cwd()
        self.tasks.append(task)
        job = Job(f"job{len(self.tasks)}", title, ahead, back)
        self[job.id] = job
        outcome, result = work._outcome(task, lambda _: None)
        os.chdir(before)
        if outcome == "done":
            job.result, job.state = result, "done"
        else:
            job.state, job.message, job.about = "failed", result.words, result.field
        then(job, job.state)
        job.finished.set()
        return job


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    monkeypatch.setattr("asked.AtOnce", ReadAtOnce)
    return Chair(tmp_path, monkeypatch, reviews=REVIEWS)


def shown_after(chair: Chair, **form: str) -> str:
    """The page that a chair sees after these answers on how to read the file."""
    chair.post("/file", **TYPED | form)
    job = [*chair.jobs.values()][-1]
    address = job.ahead if job.state == "done" else f"{job.back}?failed={job.id}"
    return html.unescape(chair.ask("GET", address).body.decode())


def told_at(shown: str) -> dict[str, str]:
    """The messages at fields."""
    return dict(re.findall(r'<p class="error" id="e-(\w+)">(.*?)</p>', shown))


@pytest.mark.parametrize(
    ("field", "typed", "message"),
    [
        ("only", "Type=Reviews", "none of the 24 rows has this value; the column has 'Draft' and 'Review'"),
        ("only", "Decision=Accepted", "none of the 24 rows has this value; the column has 'Accept' and 'Reject'"),
        ("only", "Country=land9", "none of the 24 rows has this value (values of this column are not shown here"),
        ("only", "Typ=Review", "has no column 'Typ' for the filter (“Keep only reviews with”: Typ=Review); its"),
        ("leave_out", "Type!=Reviews", "“Leave out reviews with”: Type!=Reviews leaves no review: all 24 rows are"),
        ("leave_out", "Type=Drafts", "leaves no review out: none of the 24 rows has this value; the column has 'Dr"),
        ("only", "Type!=Drafts", "leaves no review out: none of the 24 rows has this value; the column has 'Draft'"),
        ("only", "Type", "“Keep only reviews with” must be a column, a sign"),
    ],
)
def test_a_filter_that_keeps_or_leaves_out_nothing_is_told_at_its_field(
    field: str, typed: str, message: str, chair: Chair
) -> None:
    shown = shown_after(chair, **{field: typed})
    told = told_at(shown)
    assert [*told] == [field]
    assert message in told[field]
    assert re.search(
        rf'<textarea id="f-{field}" name="{field}" rows="2" aria-invalid="true"[^>]*>{re.escape(typed)}</', shown
    )
    assert TYPED["visible_column"] in shown, "nothing that was typed is lost"
    assert [f'value="{end}"' in shown for end in ("1", "10")] == [True, True]
    assert re.search(r'<option value="paper" selected>', shown)
    assert not re.search(r"land[0-8]|r[0-7]\b", told[field])


def test_a_filter_that_leaves_nothing_out_is_told_once_and_then_accepted(chair: Chair) -> None:
    shown = shown_after(chair, leave_out="Type=Drafts")
    assert "Correct it, or continue with it as it is" in shown
    assert "Please check</h2>" in shown
    answer = chair.post("/file", **TYPED, leave_out="Type=Drafts")
    assert answer.headers["location"].endswith("/public")


def test_a_filter_that_works_goes_on(chair: Chair) -> None:
    assert chair.ask("GET", f"{chair.here}/file").status == 200  # what was read is seen first
    chair.post("/file", **TYPED, only="Type=Review", leave_out="Decision=Reject")
    assert [*chair.jobs.values()][-1].ahead.endswith("/public")
    assert chair.case.inspected["reviews"] < 24
