"""Forged releases about groups of reviewers, whose forger computes anew whatever follows from a change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from peerveil.record.loads import declare_loads
from peerveil.record.parts import LeftOut
from peerveil.releases.effects.answers import Answer
from peerveil.reporting.typography import unbroken
from releases.test_effect import conference

ARMS = ("treated", "control")


def effect(reviews: pv.Reviews, **how: Any) -> Answer:
    asked: dict[str, Any] = {"public": "all", "epsilon": 1.0}
    return pv.effect(reviews, by="arm", compare=ARMS, **asked | how)


def table(reviews: pv.Reviews, **how: Any) -> Answer:
    asked: dict[str, Any] = {"public": "all", "epsilon": 1.0, "bins": 4}
    return pv.release_by(reviews, by="arm", values=ARMS, **asked | how)


MAKE = pytest.mark.parametrize("make", [effect, table])
Make = Callable[..., Answer]


@MAKE
def test_what_is_public_must_fit_the_record(make: Make) -> None:
    reviews = conference()
    honest = make(reviews, public="none")
    weights = pv.weigh(reviews.public("none"))
    assert pv.verify(honest, weights).verified
    for words in ("all scores, and load counts", "nothing at all", ""):
        forged = replace(honest, public=honest.public.replace("no scores; load counts", words))
        assert pv.verify(forged, weights).failed == ("document",), words


@MAKE
def test_the_number_of_reviewers_of_a_part_is_the_one_that_follows(make: Make) -> None:
    reviews = conference()
    part = reviews.only(reviews.papers[:60])
    honest, weights = make(part), pv.weigh(part.public("all"))
    whole = replace(weights, part=None, loads=declare_loads(weights.low.size, reviewers=60))  # as from a file of scores
    assert pv.verify(honest, whole).verified
    stated = honest.loads
    other = replace(honest, loads=replace(stated, reviewers=stated.reviewers + 5))
    for given in (weights, whole):
        assert "record" in pv.verify(other, given).failed


@MAKE
def test_what_is_not_public_or_not_protected_is_said(make: Make) -> None:
    reviews = conference()
    part = reviews.only(reviews.papers[:60])
    honest, weights = make(part, unit="review"), pv.weigh(part.public("all"))
    assert [note.split()[0] for note in honest.notes] == ["Which", "How"]
    assert (
        f"of the 90 reviewers have a review in this release is not public: {honest.loads.reviewers}" in honest.notes[1]
    )
    for notes in (honest.notes[:1], honest.notes[1:], (honest.notes[0], honest.notes[1].replace("90", "91"))):
        assert pv.verify(replace(honest, notes=notes), weights).failed == ("document",)


@MAKE
def test_an_impossible_part_is_a_failed_check_and_no_error(make: Make) -> None:
    reviews = conference()
    weights = pv.weigh(reviews.public("all"))
    honest = make(reviews.only(reviews.papers[:60]))
    assert honest.part is not None
    gone = LeftOut(papers=1, reviews=7, why="withdrawn")
    assert pv.verify(replace(honest, part=replace(honest.part, left_out=(gone,))), weights).failed == ("record",)


@MAKE
def test_the_report_is_compared_if_other_versions_wrote_it(make: Make, tmp_path: Path) -> None:
    reviews = conference()
    weights, folder = pv.weigh(reviews.public("all")), make(reviews, unit="review").save(tmp_path / "out")
    answer = (pv.Effect if make is effect else pv.Crosstab).load(folder)
    older = replace(answer, software="peerveil 0.3.7", rendered=answer.rendered | {"peerveil": "0.3.7"})
    (folder / "release.json").write_text(older.to_json(), encoding="utf-8")
    page = older.html()

    def result(text: str) -> str:
        (folder / "report.html").write_text(text, encoding="utf-8")
        checks = {check.name: check.result for check in pv.verify(folder, weights).checks}
        assert checks["document"] == "holds"
        return checks["report.html"]

    assert result(page.replace("<style>", "<style>p{color:red}")) == "holds"
    caveat = older.statements()[-1].rpartition(". ")[2]
    for known, forged in (
        (unbroken(older.guarantee.summary), "epsilon = 0.01 per review"),
        (unbroken(caveat), ""),
        ("Which group each reviewer is in is not protected", "Groups are protected"),
        ("</main>", "<p>Certified with epsilon = 0.007.</p></main>"),
        ("</main>", "<script>1</script></main>"),
        ("</main>", '<a href="https://example.org">more</a></main>'),
        ("</td></tr>", "7</td></tr>"),
    ):
        assert known in page, known
        assert result(page.replace(known, forged, 1)) == "fails", forged


@pytest.mark.parametrize("place", ["size", "low", "bins"])
def test_endless_numbers_are_refused_when_a_table_is_read(place: str) -> None:
    document = json.loads(table(conference()).to_json())
    group = document["groups"][0]
    if place == "size":
        group["size"] = math.inf  # as JSON has it: 1e400
    else:
        (group if place == "low" else document["bins"])["low"][0] = -math.inf
    with pytest.raises(pv.FileError, match="holds a number that is too large"):
        pv.Crosstab.from_document(document)
