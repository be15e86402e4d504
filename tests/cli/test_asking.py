"""Questions about the columns of a file that is not understood, in the terminal and on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from asked import KEYS, Chair
from cli.test_cli import Run, files, run

__all__ = ["files", "run"]  # fixtures

OWN = """Nr;Gutachter;Note;Klarheit;Strenge, gemessen
p1;Planted Person;gut;2;1
p1;Other Person;mies;3;1
p2;Planted Person;mies;1;2
p2;Third Person;gut;2;2
"""
#: One answer per line: paper, reviewer, score, letters, scale, criteria, and whether to write the mapping.
ANSWERS = ("1", "2", "3", "mies<gut", "", "4", "")
OPTIONS = ["--paper", "Nr", "--reviewer", "Gutachter", "--score", "Note", "--symbols", "mies<gut"]
OPTIONS += ["--criteria", "Klarheit"]


@pytest.fixture(autouse=True)
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.csv").write_text(OWN)
    return tmp_path / "own.csv"


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let the user answer; the questions as they come."""
    left: Iterator[str] = iter(answers)
    questions: list[str] = []

    def answer(question: str) -> str:
        questions.append(question)
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    return questions


def test_answers_are_written_to_a_mapping_that_serves_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = answering(monkeypatch, *ANSWERS)
    asked = run("inspect", "own.csv", "--ask")
    assert asked.code == 0, asked.err
    assert len(questions) == len(ANSWERS)
    for number, heading in enumerate(OWN.splitlines()[0].split(";"), 1):
        assert f"{number}  {heading}" in asked.out
    assert asked.out.index("taken as") < asked.out.index("Written.")  # the summary comes first
    assert "Person" not in asked.out + "".join(questions) + Path("own.toml").read_text()
    mapped = json.loads(run("inspect", "own.csv", "--mapping", "own.toml", "--json").out)
    assert mapped == json.loads(run("inspect", "own.csv", *OPTIONS, "--json").out)
    assert mapped["reviewers"] == 3
    release = ["--public", "all", "--noise-scale", "1", "--no-report", "-o", "out"]
    assert run("release", "own.csv", "--mapping", "own.toml", *release).code == 0


def test_answers_that_are_no_column_are_asked_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ("", "0", "6", "Paper", "1", "Gutachter", "3", "mies<gut", "", "5", "4,9", "4", "no")
    questions = answering(monkeypatch, *wrong)
    asked = run("inspect", "own.csv", "--ask")
    assert asked.code == 0, asked.err
    assert len(questions) == len(wrong)
    assert asked.out.count("Please answer with a number from 1 to 5.") == 4
    assert asked.out.count("Please answer with numbers of columns whose names have no comma") == 2
    assert not Path("own.toml").exists()


def test_a_file_that_cannot_be_read_so_is_asked_about_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ("1", "2", "3", "", "", "")  # the scores are words
    questions = answering(monkeypatch, *first, "yes", "", "", "", "mies<gut", "", "", "no")
    asked = run("inspect", "own.csv", "--ask")
    assert asked.code == 0, asked.err
    assert "This cannot be read" in asked.out
    assert "--symbols" in asked.out
    assert "[Gutachter]" in questions[8]  # earlier answers are offered
    answering(monkeypatch, *first, "no")
    assert run("inspect", "own.csv", "--ask").code == 2


def test_answers_that_end_early_are_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "1")
    ended = run("inspect", "own.csv", "--ask")
    assert (ended.code, ended.err.count("peerveil: the answers ended early")) == (2, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p1,Planted Person,5\np2,Planted Person,6\n", "its first line looks like a review"),
        ("paper,planted@example.org\np1,5\n", "its first line looks like a review"),
        ("Planted Person\nOther Person\n", "its first line looks like a review"),
        ("p1,Planted Person,gut\np1,Other Person,mies\np2,Third Person,mies\n", "its first line looks like a review"),
        ("pid,review,email,Overall merit\n1,1A,planted@example.org,4\n", "read as it is (its header has HotCRP's"),
    ],
)
def test_nothing_is_asked_where_cells_would_be_shown_or_all_is_known(
    text: str, words: str, run: Run, monkeypatch: pytest.MonkeyPatch, own: Path
) -> None:
    own.write_text(text)
    assert answering(monkeypatch) == []
    asked = run("inspect", "own.csv", "--ask")
    assert asked.code == 2
    assert words in asked.err
    assert "lanted" not in asked.out + asked.err
    assert "lanted" not in run("inspect", "own.csv").err


def test_a_file_that_is_not_understood_is_shown_with_its_headings_to_its_owner(run: Run) -> None:
    failed = run("inspect", "own.csv")
    assert failed.code == 2
    assert "The columns are: Nr, Gutachter, Note, Klarheit" in failed.err
    assert "inspect own.csv --ask" in failed.err
    assert "Person" not in failed.err


def test_the_page_has_menus_of_columns_and_writes_the_same_mapping(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answering(monkeypatch, *ANSWERS)
    assert run("inspect", "own.csv", "--ask").code == 0
    chair = Chair(tmp_path, monkeypatch)
    assert chair.put("/chair?name=own.csv", OWN).status == 200
    chair.case = list(chair.page.chairs.values())[-1]
    chair.here = f"/chair/{chair.case.id}"
    shown = chair.ask("GET", f"{chair.here}/file").body.decode()
    for name in ("paper", "reviewer", "score"):
        menu = shown.partition(f'<select id="f-{name}"')[2].partition("</select>")[0]
        assert '<option value="Gutachter" >Gutachter</option>' in menu
    criteria = shown.partition("<select multiple")[2].partition("</select>")[0]
    assert "Klarheit" in criteria
    assert "Strenge" not in criteria  # a list of names is separated by commas
    assert "Person" not in shown
    form = {"paper": "Nr", "reviewer": "Gutachter", "score": "Note", "symbols": "mies<gut", "criteria": "Klarheit"}
    chair.post("/file", **form, again="yes")
    assert chair.jobs.tasks[-1].options["criteria"] == "Klarheit"
    saved = chair.ask("GET", f"{chair.here}/mapping.toml")
    assert saved.body.decode() == Path("own.toml").read_text()
    shown = chair.ask("GET", f"{chair.here}/file").body.decode()
    assert '<option value="Note" selected>Note</option>' in shown
    assert f"{KEYS.at}{chair.here}/mapping.toml" in shown
    several = urlencode([*form.items(), ("criteria", "Note"), ("again", "yes")])
    assert chair.ask("POST", f"{chair.here}/file", several).status == 303
    assert chair.jobs.tasks[-1].options["criteria"] == "Klarheit,Note"
