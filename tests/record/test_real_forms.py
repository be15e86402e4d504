"""Records in the forms of paperlists and PeerRead, with what is odd about them, against a plain parse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import peerveil as pv
from peerveil.private.inspection import inspect


def paperlists(rng: Random, papers: int = 40) -> list[dict[str, Any]]:
    """Lists of ratings with placeholder zeros and missing ones; some papers have none."""
    document = []
    for number in range(papers):
        ratings = [str(rng.choice([3, 5, 6, 8, 10])) for _ in range(rng.choice([3, 4]))]
        if number % 7 == 0:
            ratings[0] = "0"
        if number % 5 == 1:
            ratings[rng.randrange(len(ratings))] = rng.choice(["", "N/A", " "])
        status = rng.choice(["Poster", "Reject", "Withdraw"])
        soundness = ";".join(rng.choice("1234") for _ in ratings)
        joined = "" if number % 11 == 3 else ";".join(ratings)
        document.append(
            {"id": f"x{number}", "title": f"Paper {number}", "status": status, "rating": joined, "soundness": soundness}
        )
    return document


def peerread(rng: Random, papers: int = 30) -> list[dict[str, Any]]:
    """Every review twice, once annotated; metareviews marked in upper or lower case; reviews without a score."""
    document = []
    for number in range(papers):
        reviews: list[dict[str, Any]] = []
        for place in range(rng.choice([2, 3, 4])):
            review = {"comments": f"Text {place} on {number}", "RECOMMENDATION": rng.choice([4, 5, "6", "7"])}
            reviews += [
                review | {"IS_META_REVIEW": False},
                review | {"CLARITY": rng.choice("12345"), "TITLE": "Review"},
            ]
        mark, value = rng.choice([("IS_META_REVIEW", True), ("IS_META_REVIEW", "true"), ("is_meta_review", True)])
        reviews.append({"comments": "We discussed it.", "RECOMMENDATION": 9, mark: value})
        reviews.append({"comments": "A question", "IS_META_REVIEW": False})
        rng.shuffle(reviews)
        document.append(
            {"id": str(number), "title": f"Paper {number}", "accepted": number % 3 == 0, "reviews": reviews}
        )
    return document


def plain_paperlists(document: list[dict[str, Any]]) -> Iterator[tuple[str, list[float]]]:
    for paper in document:
        numbers = [float(part) for part in paper["rating"].split(";") if part.strip().isdigit()]
        if numbers:
            yield paper["id"], sorted(numbers)


def plain_peerread(document: list[dict[str, Any]], *, once: bool) -> Iterator[tuple[str, list[float]]]:
    for paper in document:
        kept: list[tuple[str, float]] = []
        for review in paper["reviews"]:
            lower = {key.lower(): value for key, value in review.items()}
            if str(lower.get("is_meta_review")).lower() == "true" or "recommendation" not in lower:
                continue
            entry = (lower["comments"], float(lower["recommendation"]))
            if not (once and entry in kept):
                kept.append(entry)
        yield paper["id"], sorted(score for _, score in kept)


def contents(record: pv.PublicRecord) -> dict[str, list[float]]:
    return {name: sorted(row) for name, row in zip(record.papers, record.rows(), strict=True)}


@pytest.mark.parametrize("seed", range(4))
def test_paperlists(seed: int, tmp_path: Path) -> None:
    document = paperlists(Random(seed))
    file = tmp_path / "papers.json"
    file.write_text(json.dumps(document))
    record = pv.read_public(file, load=1)
    assert contents(record) == dict(plain_paperlists(document))
    gaps = sum(
        not part.strip().isdigit() for paper in document if paper["rating"] for part in paper["rating"].split(";")
    )
    assert f"{gaps} reviews without a score were left out" in record.notes
    graded = pv.read_public(file, load=1, criteria=["soundness"])
    assert graded.criteria is not None
    expected = sorted(
        (paper["id"], float(score), float(grade))
        for paper in document
        for score, grade in zip(paper["rating"].split(";"), paper["soundness"].split(";"), strict=False)
        if score.strip().isdigit()
    )
    names = [graded.papers[p] for p in graded.paper]
    assert sorted(zip(names, graded.score.tolist(), graded.criteria[:, 0].tolist(), strict=True)) == expected
    problems = inspect(file)["problems"]
    assert any(problem.startswith("0 stands apart") for problem in problems)
    kept = pv.read_public(file, load=1, leave_out="status=Withdraw")
    still = [paper for paper in document if paper["status"] != "Withdraw"]
    assert contents(kept) == dict(plain_paperlists(still))


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_peerread(seed: int, folder: bool, tmp_path: Path) -> None:
    document = peerread(Random(seed))
    file = tmp_path / "papers.json"
    if folder:
        file = tmp_path / "papers"
        file.mkdir()
        for paper in document:
            (file / f"{paper['id']}.json").write_text(json.dumps(paper))
    else:
        file.write_text(json.dumps(document))
    doubled, single = pv.read_public(file, load=1), pv.read_public(file, load=1, drop_copies=True)
    assert contents(doubled) == dict(plain_peerread(document, once=False))
    assert contents(single) == dict(plain_peerread(document, once=True))
    copies = doubled.score.size - single.score.size
    assert f"{copies} copies of reviews were left out" in single.notes
    assert copies == single.score.size
    assert {"30 metareviews were left out", "30 reviews without a score were left out"} <= set(single.notes)
    assert any(f"{copies} of {2 * copies} reviews repeat another review" in text for text in inspect(file)["problems"])
    graded = pv.read_public(file, load=1, criteria=["clarity"], drop_copies=True)  # of the annotated copy
    assert graded.score.size == copies
    accepted = pv.read_public(file, load=1, only="accepted=true", drop_copies=True)
    assert accepted.papers == tuple(sorted(paper["id"] for paper in document if paper["accepted"]))
