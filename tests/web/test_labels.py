"""Messages on the page name its fields, never options."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peerveil.errors import Argument, InputError
from peerveil.web import labels, work
from peerveil.web.cases import STEP_OF
from peerveil.web.work import Task
from technical import shown_words, terms_in, unexplained

TEMPLATES = Path(labels.__file__).parent / "templates"
GOOD = "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n"
ANSWERS: dict[str, Any] = {
    "file": "reviews.csv",
    "public": "all",
    "quantity": "ratings",
    "unit": "reviewer",
    "epsilon": 1.0,
    "mechanism": "laplace",
}


def test_labels_are_those_of_the_forms() -> None:
    shown = html.unescape("".join(file.read_text(encoding="utf-8") for file in TEMPLATES.glob("*.html")))
    for field, words in labels.LABELS.items():
        known = (f'"{field}", "{words}"', f'for="f-{field}">{words}<', f'for="{field}"><strong>{words}<')
        legend = re.search(rf"<legend[^>]*>{re.escape(words)}</legend>", shown)
        assert legend or any(form in shown for form in known), field
    for (field, value), words in labels.CHOICES.items():
        assert f'"{value}", "{words}"' in shown or f'"{field}", "{value}", answers.{field}, "{words}"' in shown, field


@pytest.mark.parametrize(
    ("kind", "answers", "words"),
    [
        ("promise", {"epsilon": -1.0}, "“Epsilon” must be a finite number > 0, got -1.0"),
        ("promise", {"mechanism": "gaussian"}, "needs “Delta” along with “Epsilon”, e.g. “Delta”: 1e-06"),
        ("promise", {"mechanism": "sinh"}, "“Noise” must be one of"),
        ("promise", {"mechanism": "histogram", "bins": 1}, "“Bins” must be a whole number between 2 and"),
        ("promise", {"quantity": "grades"}, "“One number per reviewer” must be one of"),
        ("promise", {"quantity": "normalized"}, "name their columns (“Columns of criteria”)"),
        ("promise", {"url": "conf.org"}, "“Address” must be an address that begins with https://"),
        ("promise", {"year": 26}, "“Year” must be a year such as 2026, got 26"),
        ("promise", {"unit": "paper"}, "“What is protected” must be 'reviewer' or 'review'"),
        ("promise", {"region": "wide"}, "“Region” must be one of"),
        ("promise", {"estimator": "mean"}, "“Estimator” must be one of"),
        ("promise", {"lone": "x"}, "“Miscalibration of a paper with a single review” must be 'refuse' or 'zero'"),
        ("promise", {"public": "none"}, "their lowest and highest possible value (“The score scale”)"),
        ("promise", {"public": ""}, "“What is public” is missing"),
        ("promise", {"public": "public.csv"}, "or “Number of reviewers” alone"),
        (
            "promise",
            {"public": "public.csv", "load": 4},
            "“Reviews per reviewer, if all have the same”: 4 does not divide the 6 reviews",
        ),
        ("promise", {"public": "public.csv", "loads": "x"}, "“Counts, a range or a set” must look like"),
        ("promise", {"public": "unnamed.csv", "load": 2}, "say which it is with the name 'paper'"),
        ("promise", {"file": "letters.csv"}, "(“Letter scores, lowest first”: D<C<B<A)"),
        ("promise", {"file": "lone.csv", "quantity": "miscalibration"}, "single review”: counts as zero)"),
        ("promise", {"public": "all", "load": 2}, "go with a file of public scores"),
        ("promise", {"file": "nowhere.csv"}, "nowhere.csv"),
        ("promise", {"mechanism": "sinh-normal", "rho": 1.0, "omega": 2.0, "epsilon": None}, "floating point"),
        ("promise", {"visible_column": "a=reviewer"}, "“Everyone can see these columns” is not for columns about"),
        ("promise", {"only": "score\r\nreviewer=ann"}, "“Keep only reviews with” must be a column, a sign"),
        ("inspect", {"leave_out": "score>x"}, "“Leave out reviews with” must compare with a number"),
        ("inspect", {"file": "several.csv"}, "say which it is with “Column of scores”"),
        ("release", {"dataset": "x"}, "“Charge the budget of”: x names a budget"),
        ("refine", {"public": "public.csv"}, "with “Number of reviewers”"),
        ("refine", {"public": "several.csv", "load": 2}, "say which it is with “Column of public scores”"),
        (
            "refine",
            {"public": "public.csv", "load": 2, "noise_scale": -1.0},
            "“Scale of the noise” must be a finite number > 0",
        ),
    ],
)
def test_errors_name_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, answers: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a task goes into its folder; the test comes back
    (tmp_path / "reviews.csv").write_text(GOOD)
    (tmp_path / "letters.csv").write_text(GOOD.replace("3", "A"))
    (tmp_path / "lone.csv").write_text(f"{GOOD}s,ann,4\n")
    (tmp_path / "public.csv").write_text("paper,ratings\np,3;5\nq,4;4\nr,8;6\n")
    (tmp_path / "unnamed.csv").write_text("what,ratings\np,3;5\nq,4;4\nr,8;6\n")
    (tmp_path / "several.csv").write_text("paper,ratings,rating\np,3;5,3\nq,4;4,3\nr,8;6,3\n")
    (tmp_path / "noisy.txt").write_text("4\n5\n6\n")
    task = Task(
        kind=kind,
        folder=str(tmp_path),
        options=ANSWERS | {"noisy": "noisy.txt", "law": "known" if "noise_scale" in answers else ""} | answers,
        output=str(tmp_path / "out"),
    )
    state, problem = work._outcome(task, lambda _: None)
    if kind == "promise":
        assert work._outcome(replace(task, kind="release"), lambda _: None) == (state, problem)
    message = problem.words
    assert (state, words in message) == ("failed", True), message
    assert not (tmp_path / "out").exists()
    assert "--" not in message
    assert not re.search(r"(?<!\S)\(?\w+=|\b[a-z]+_[a-z]+\b", message)


def test_problems_are_shown_at_the_field_of_some_form() -> None:
    """A message at a field that no form has would be shown nowhere."""
    shown = "".join(file.read_text(encoding="utf-8") for file in TEMPLATES.glob("*.html"))
    for field in labels.LABELS:
        macros = "field|lines|choose|columns?|drop|group|message"
        assert re.search(rf'(?:{macros})\("{field}"', shown), field
    assert set(STEP_OF) - {"public_file", "authors"} <= set(labels.LABELS)  # "authors" is the field "author"
    steps = {step: (TEMPLATES / f"chair_{step}.html").read_text(encoding="utf-8") for step in set(STEP_OF.values())}
    steps["public"] += (TEMPLATES / "steps.html").read_text(encoding="utf-8")  # loads are asked for there
    steps["choices"] += '"region"'
    for field, step in STEP_OF.items():
        assert f'"{"author" if field == "authors" else field}"' in steps[step], field


@pytest.mark.parametrize(
    ("error", "field"),
    [
        (InputError("no field"), ""),
        (InputError(Argument("scale", of="score"), " must look like '1,10'"), "score_scale"),
        (InputError("needs ", Argument("delta", ...), " along with ", Argument("epsilon")), "delta"),
        (InputError(Argument("accept_float_noise", True), " or ", Argument("public")), "public"),
        (InputError(Argument("public_ratings")), "public_file"),
        (ValueError("ann gave 3"), ""),
    ],
)
def test_a_problem_knows_its_field(error: Exception, field: str) -> None:
    assert labels.Problem.of(error).field == field


def test_a_problem_of_a_file_is_shown_where_the_file_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text(GOOD)
    (tmp_path / "scores.csv").write_text("paper,ratings\np,3;x\n")
    options = ANSWERS | {"public": "scores.csv", "load": 2}
    _, problem = work._outcome(Task(kind="promise", folder=str(tmp_path), options=options), lambda _: None)
    assert problem.field == "public_file"
    assert "scores.csv, line 2" in problem.words


def test_every_page_links_to_the_words_that_it_uses() -> None:
    """All but those without technical words, and the glossary itself."""
    pages = {file.stem: file.read_text(encoding="utf-8") for file in TEMPLATES.glob("*.html")}
    plain = {name for name, text in pages.items() if 'extends "base.html"' in text and "s.help(" not in text}
    assert plain == {"home", "work", "problem", "glossary"}


def test_words_that_the_help_names_are_in_the_glossary() -> None:
    words = set(re.findall(r'<div id="([\w-]+)">', (TEMPLATES / "glossary.html").read_text(encoding="utf-8")))
    named = set()
    for file in TEMPLATES.glob("*.html"):
        for listed in re.findall(r's\.help\(".*", \[(.*)\]\)', file.read_text(encoding="utf-8")):
            named |= {word.lower().replace(" ", "-") for word in re.findall(r'"([^"]+)"', listed)}
    assert len(named) > 10
    assert named <= words


def test_the_page_explains_words_as_the_documents_do() -> None:
    """Without marks, and without links to other documents, which the page does not have."""
    document = (TEMPLATES.parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")
    stated = {
        term: re.sub(r"[`*]| See \[[^]]*\]\([^)]*\)\.", "", " ".join(text.split()))
        for term, text in re.findall(r"^\*\*(.+?)\.\*\* (.+?)(?=\n\n|\Z)", document, re.S | re.M)
    }
    shown = re.findall(r"<dt>(.+?)</dt><dd>(.+?)</dd>", (TEMPLATES / "glossary.html").read_text(encoding="utf-8"))
    assert len(shown) > 20
    for term, text in shown:
        assert re.sub(r"<[^>]+>", "", html.unescape(text)) == stated[term].strip(), term


@pytest.mark.parametrize("name", sorted(shown_words()))
def test_every_technical_word_of_templates_and_words_is_explained(name: str) -> None:
    assert unexplained(terms_in(shown_words()[name])) == []


def test_words_that_are_not_explained_are_found() -> None:
    """The test above can fail: for a word of each glossary's text that is no entry, and for one that is in neither."""
    assert unexplained(terms_in("the kurtosis of the entropy")) == [
        *(("entropy", "glossary.md"), ("kurtosis", "glossary.md")),
        *(("entropy", "glossary.html"), ("kurtosis", "glossary.html")),
    ]
    assert unexplained(terms_in("a credible band and its digest")) == []
    assert sum(map(len, map(terms_in, shown_words().values()))) > 150
