"""Files as people make them are read rightly, or refused with a remedy that works when it is followed."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from corpus import CORPUS, LANGUAGES, Made, reviews_in
from peerveil.cli.options import option
from peerveil.private.true_vector import true_vector

#: How often a user tries again.
PATIENCE = 5


def attempt(made: Made, path: Path, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.FileWarning)
        return pv.read_public(path, load=3, **options) if made.public else pv.read(path, **options)


def follow(made: Made, path: Path, message: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options after a user did what a message says: the file is repaired, or an option is given or left out."""
    for words, repair in made.repairs.items():
        if words in message:
            repair(path)
            return options
    suggested = [name.replace("-", "_") for name in re.findall(r"--([a-z-]+)", message)]
    assert suggested, f"no remedy: {message}"
    known = {name: made.answers[name] for name in suggested if name in made.answers and name not in options}
    assert known, f"a remedy that does not help: {message}"
    return options | known


def read_in_the_end(made: Made, path: Path) -> tuple[Any, list[str]]:
    """What is read at last, and the messages on the way."""
    messages: list[str] = []
    options: dict[str, Any] = {}
    for _ in range(PATIENCE):
        try:
            return attempt(made, path, options), messages
        except pv.FileError as error:
            messages.append(error.spelled(option))
        options = follow(made, path, messages[-1], options)
    raise AssertionError(messages)


@pytest.mark.parametrize("name", CORPUS)
def test_every_file_is_read_rightly_or_after_its_remedy(name: str, tmp_path: Path) -> None:
    made = CORPUS[name]
    path = tmp_path / f"reviews.{made.end}"
    made.write(path)
    result, messages = read_in_the_end(made, path)
    assert bool(messages) == made.refused, messages
    right = reviews_in(made.language)
    by_person, by_paper = defaultdict(list), defaultdict(list)
    for paper, person, score in right:
        by_person[person].append(score)
        by_paper[paper].append(score)
    record = result if made.public else result.public("all")
    assert record.rows() == [sorted(by_paper[paper]) for paper in sorted(by_paper)]
    assert record.papers == tuple(sorted(by_paper))
    if not made.public:
        means = sorted(sum(scores) / len(scores) for scores in by_person.values())
        assert true_vector(result, "ratings").tolist() == pytest.approx(means, abs=1e-12)
    for message in messages:
        assert not any(person in message for people in LANGUAGES.values() for person in people)


def test_the_corpus_is_large_and_of_many_makers() -> None:
    assert len(CORPUS) >= 60
    assert {name.partition(":")[0] for name in CORPUS if ":" in name} >= {"openpyxl", "xlsxwriter", "odfpy", "xlwt"}
    assert 10 <= sum(made.refused for made in CORPUS.values()) <= len(CORPUS) // 2


def test_notices_tell_what_was_decided(tmp_path: Path) -> None:
    expected = {
        "excel on western windows": "read as cp1252",
        "title": "line 1 was skipped, above the headings in line 3",
        "average below": "line 14, a row of totals below the reviews, was left out",
        "openpyxl: notes and papers": "its sheet 'Reviews' was read, as the only one",
        "openpyxl: hidden sheet": "hidden sheets are not read unless named: 'Old'",
        "openpyxl: hidden rows": "1 hidden rows were read like the others",
        "openpyxl: merged papers": "8 cells were filled from the merged cell above them",
        "openpyxl: headings in two rows": "the headings in lines 1 and 2 were joined",
    }
    for name, words in expected.items():
        path = tmp_path / f"a.{CORPUS[name].end}"
        CORPUS[name].write(path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pv.read(path)
        assert any(words in str(warning.message) for warning in caught), name
