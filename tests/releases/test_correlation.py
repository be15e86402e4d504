"""Published correlations: files, verification, forgeries."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from peerveil.errors import FileError, InputError
from peerveil.inference.linked import correlations
from peerveil.privacy.linked.sums import LinkedSums
from peerveil.private.reviews import Reviews
from peerveil.releases.documents import document_digest
from peerveil.releases.effects.answers import FILES
from peerveil.releases.linked.published import publish
from peerveil.reporting.charts import specification
from peerveil.reporting.typography import unbroken

Pair = tuple[pv.PublicWeights, pv.PublicWeights]


def conference(seed: int, trait: np.ndarray) -> Reviews:
    rng = np.random.default_rng(seed)
    people = trait.size
    steps = rng.choice(np.arange(1, people), 3, replace=False)
    who = (np.arange(people)[:, None] + [0, *steps]) % people
    scores = np.clip(np.rint(5.5 + rng.normal(0, 1.2, (people, 1)) + trait[who] + rng.normal(0, 1.1, who.shape)), 1, 10)
    papers = [f"p{p}" for p in np.repeat(np.arange(people), 4).tolist()]
    return Reviews.from_columns(papers, [f"r{j}" for j in who.ravel().tolist()], scores.ravel(), scale=(1, 10))


@pytest.fixture(scope="module")
def made() -> tuple[pv.Correlation, Pair]:
    trait = np.random.default_rng(5).normal(0, 0.8, 800)
    both = conference(1, trait), conference(2, trait)
    first, second = (pv.weigh(reviews.public("all"), "miscalibration") for reviews in both)
    return pv.correlate(*both, public="all", epsilon=20.0, names=("2025", "2026")), (first, second)


@pytest.mark.promise("P-LINKED-6")
def test_it_is_written_read_and_verified(made: tuple[pv.Correlation, Pair], tmp_path: Path) -> None:
    release, weights = made
    folder = release.save(tmp_path / "made")
    assert {file.name for file in folder.iterdir()} == set(FILES)
    again = pv.Correlation.load(folder)
    assert again.to_json() == release.to_json()
    assert pv.verify(folder, weights).verified
    page = (folder / "report.html").read_text()
    assert unbroken(release.sentence).replace("'", "&#39;") in page
    assert "Correlation(miscalibration of 2025 and 2026" in repr(release)
    assert release.low < release.high
    assert release.trait is not None
    assert release.estimate is not None


def test_the_same_trait_in_both_is_found_with_little_noise() -> None:
    trait = np.random.default_rng(5).normal(0, 0.8, 800)
    release = pv.correlate(conference(1, trait), conference(2, trait), public="all", epsilon=1000.0)
    assert release.trait is not None
    assert release.trait.high == 1.0


def test_nothing_is_shown_of_what_cannot_be_told(made: tuple[pv.Correlation, Pair]) -> None:
    release, weights = made
    facts = {name: getattr(release, name) for name in ("mechanism", "guarantee", "public")}
    noisy = release.noisy.copy()
    sums = release.question.numbers(weights)
    assert isinstance(sums, LinkedSums)
    noisy[list(sums.units).index("alike")] /= 4  # less than reviews alone would vary
    few = publish(noisy, sums, release.question, second_public="all scores", **facts)
    assert few.trait is not None
    assert few.trait.value is None
    (points,) = [part for part in specification(few._chart())["layer"] if part["mark"]["type"] == "point"]
    assert [point["name"] for point in points["data"]["values"]] == ["observed means"]
    assert "cannot be told" in few.html()


def test_there_are_not_more_people_than_reviewers(made: tuple[pv.Correlation, Pair]) -> None:
    release, weights = made
    sums = release.question.numbers(weights)
    assert isinstance(sums, LinkedSums)
    assert correlations(sums, release.noisy * 1.2, release.noise_scale).people == 800


def test_the_records_must_be_those_of_both_conferences(made: tuple[pv.Correlation, Pair]) -> None:
    release, (first, second) = made
    assert pv.verify(release, (second, first)).failed == ("record",)
    assert pv.verify(release, (first, first)).failed == ("record",)
    assert pv.verify(release, first).failed == ("record",)
    assert pv.verify(release, None).failed == ()


def test_a_release_of_means_is_told_from_it(made: tuple[pv.Correlation, Pair], tmp_path: Path) -> None:
    folder = made[0].save(tmp_path / "made")
    with pytest.raises(FileError, match="is the release of a correlation, not of means"):
        pv.Release.load(folder)


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    *places, last = path.split("/")
    for place in places:
        document = document[int(place)] if isinstance(document, list) else document[place]
    document[int(last) if isinstance(document, list) else last] = value


FORGERIES: list[tuple[str, Any]] = [
    ("correlation/observed/value", 0.9),
    ("correlation/observed/low", 0.0),
    ("correlation/observed/high", 0.99),
    ("correlation/trait/value", 0.1),
    ("correlation/trait/low", -0.9),
    ("correlation/trait", None),
    ("correlation/people", 10.0),
    ("correlation/reliability", 0.99),
    ("correlation/reliability", None),
    ("correlation/sentence", "Leniency is a trait."),
    ("noisy/0", 1e9),
    ("noisy/3", -1e6),
    ("noisy/3", 700.0),
    ("question/least", 5),
    ("question/level", 0.5),
    ("question/names", ["2024", "2026"]),
    ("guarantee/epsilon", 0.5),
    ("guarantee/unit", "review"),
    ("guarantee/neighbours", {"hidden": False, "part": False, "declared": False}),
    ("guarantee/neighbours/hidden", True),
    ("mechanism/scale", 1000.0),
    ("record/public", "all scores, and load counts"),
    ("record/papers", 801),
    ("record/digest", "sha256:" + "0" * 64),
    ("second/record/digest", "sha256:" + "0" * 64),
    ("second/record/public", "no scores; load counts"),
    ("second/record/papers", 5),
    ("second/record/loads", {"counts": {"2": 1600}}),
    ("claim/unit", "one review"),
    ("claim/invariants", []),
    ("notes", [""]),
    ("kind", "effect"),
    ("more", 1),
]


@pytest.mark.promise("P-LINKED-6")
@pytest.mark.slow
@pytest.mark.parametrize(("path", "value"), FORGERIES)
def test_forgeries_are_refused(made: tuple[pv.Correlation, Pair], tmp_path: Path, path: str, value: Any) -> None:
    release, weights = made
    document = json.loads(release.to_json())
    forged = copy.deepcopy(document)
    _set(forged, path, value)
    assert forged != document
    forged["digest"] = document_digest(forged)  # as whoever forges it would
    (tmp_path / "release.json").write_text(json.dumps(forged))
    assert not pv.verify(tmp_path, weights)


def test_a_changed_estimate_is_refused(made: tuple[pv.Correlation, Pair], tmp_path: Path) -> None:
    test_forgeries_are_refused(made, tmp_path, "correlation/observed/value", 0.9)


def test_a_changed_report_is_refused(made: tuple[pv.Correlation, Pair], tmp_path: Path) -> None:
    release, weights = made
    folder = release.save(tmp_path / "made")
    page = (folder / "report.html").read_text()
    (folder / "report.html").write_text(page.replace("People in both", "People in all"))
    assert pv.verify(folder, weights).failed == ("report.html",)


@pytest.fixture(scope="module")
def counted() -> tuple[pv.Correlation, Pair]:
    trait = np.random.default_rng(5).normal(0, 0.8, 800)
    both = conference(1, trait), conference(2, trait)
    first, second = (pv.weigh(reviews.public("all"), "miscalibration") for reviews in both)
    return pv.correlate(*both, public="all", epsilon=20.0, names=("2025", "2026"), bins=3), (first, second)


def test_a_table_is_written_read_and_verified(counted: tuple[pv.Correlation, Pair], tmp_path: Path) -> None:
    release, weights = counted
    folder = release.save(tmp_path / "made")
    again = pv.Correlation.load(folder)
    assert again.to_json() == release.to_json()
    assert again.cells == release.cells
    assert pv.verify(folder, weights).verified
    assert release.trait is None
    frame = release.to_frame()
    assert frame.shape == (9, 9)
    assert frame["people"].sum() == pytest.approx(release.estimated.people, rel=1e-6)
    assert ((frame["share_lower"] <= frame["share"]) & (frame["share"] <= frame["share_upper"])).all()
    page = (folder / "report.html").read_text()
    assert "Means in both" in page
    sums = pv.correlate(*_again(), public="all", epsilon=500.0).estimate
    assert release.low < (sums or 0) < release.high


@pytest.mark.parametrize("count", [0.0, -1.0])
def test_a_table_in_which_noise_leaves_nobody_is_published(
    counted: tuple[pv.Correlation, Pair], count: float, tmp_path: Path
) -> None:
    release, weights = counted
    facts = {name: getattr(release, name) for name in ("mechanism", "guarantee", "public", "notes")}
    sums, noisy = release.question.numbers(weights), np.full(9, count)
    noisy[4] += 12.0
    noisy[0] -= 12.0
    nobody = publish(noisy, sums, release.question, second_public=release.second.public, **facts)
    assert (nobody.estimated.people, nobody.estimate) == (0.0, None)
    assert sum(cell.people for cell in nobody.cells) == 0
    folder = nobody.save(tmp_path / "made")
    assert "cannot be told" in (folder / "report.html").read_text()
    found = pv.verify(folder, weights)
    assert found.verified, found.checks


def _again() -> tuple[Reviews, Reviews]:
    trait = np.random.default_rng(5).normal(0, 0.8, 800)
    return conference(1, trait), conference(2, trait)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cells/0/share", 0.5),
        ("cells/2/noisy", 17.0),
        ("cells/1/second_to", 3.0),
        ("noisy/0", 1.5),
        ("noisy/1", 1e6),
        ("question/bins", 2),
        ("mechanism/bins", 4),
        ("mechanism/scale", 100.0),
        ("guarantee/epsilon", 1.0),
        ("correlation/observed/value", 0.9),
    ],
)
def test_forged_tables_are_refused(counted: tuple[pv.Correlation, Pair], tmp_path: Path, path: str, value: Any) -> None:
    test_forgeries_are_refused(counted, tmp_path, path, value)


def test_what_there_is_no_table_of_is_refused(made: tuple[pv.Correlation, Pair]) -> None:
    with pytest.raises(InputError, match="not counted by bins"):
        made[0].to_frame()
    with pytest.raises(InputError, match="bins must be 2 to 4"):
        pv.correlate(*_again(), public="all", epsilon=1.0, bins=5)
