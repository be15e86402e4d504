"""Published effects: their files, what verify accepts, and forgeries that it refuses."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from bench_effects import SETTINGS, trial
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.columns import Attributes
from peerveil.releases.documents import document_digest
from peerveil.releases.effects.page import effect_html
from peerveil.releases.effects.published import publish
from peerveil.releases.withdrawal import withdraw
from peerveil.reporting.typography import unbroken


def conference(reviewers: int = 90, seed: int = 2) -> pv.Reviews:
    """A synthetic conference whose reviewers have an arm, and a seniority of three values."""
    made = trial(np.random.default_rng(seed), SETTINGS["large"], reviewers=reviewers)
    papers = [f"p{p:04d}" for p in range(made.score.shape[0]) for _ in range(3)]
    people = [f"r{j:04d}" for j in made.reviewer.ravel().tolist()]
    arm = tuple("treated" if one else "control" for one in made.treated.tolist())
    senior = tuple(("junior", "senior", "retired")[j % 3] for j in range(reviewers))
    attributes = Attributes(names=("arm", "seniority"), values=(arm, senior))
    return pv.Reviews.from_columns(papers, people, made.score.ravel(), scale=(1, 10), attributes=attributes)


ASKED: dict[str, dict[str, Any]] = {
    "ratings": {"by": "arm", "compare": ("treated", "control"), "public": "all"},
    "randomised": {"by": "arm", "compare": ("treated", "control"), "public": "all", "randomised": True},
    "miscalibration": {
        "by": "arm",
        "compare": ("treated", "control"),
        "public": "all",
        "quantity": "miscalibration",
        "randomised": True,
    },
    "not random": {
        "by": "arm",
        "compare": ("treated", "control"),
        "public": "all",
        "quantity": "miscalibration",
        "icc": 0.1,
    },
    "others": {"by": "seniority", "compare": ("senior", "junior"), "public": "all", "others": True, "level": 0.8},
    "sizes": {"by": "seniority", "compare": ("senior", "junior"), "public": "all", "others": True, "sizes": (30, 30)},
    "pairs": {
        "by": "seniority",
        "same": {f"p{p:04d}": ("junior", "senior")[p % 2] for p in range(120)},
        "public": "all",
        "quantity": "miscalibration",
    },
    "hidden": {"by": "arm", "compare": ("treated", "control"), "public": "none"},
    "review": {"by": "arm", "compare": ("treated", "control"), "public": "all", "unit": "review", "limits": (2, 9)},
}


def weights_of(reviews: pv.Reviews, asked: dict[str, Any]) -> pv.PublicWeights:
    return pv.weigh(reviews.public(asked["public"]), asked.get("quantity", "ratings"))


@pytest.fixture(scope="module", params=ASKED)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pv.PublicWeights]:
    reviews, asked = conference(), ASKED[request.param]
    folder = tmp_path_factory.mktemp("effects") / "out"
    pv.effect(reviews, epsilon=30.0, **asked).save(folder)  # little noise: every number matters
    return folder, weights_of(reviews, asked)


@pytest.mark.promise("P-EFFECT-3")
def test_a_written_effect_is_read_as_it_was_and_verified(made: tuple[Path, pv.PublicWeights]) -> None:
    folder, weights = made
    effect = pv.Effect.load(folder)
    assert effect.intact
    assert effect.to_json() == (folder / "release.json").read_text(encoding="utf-8")
    assert effect.low <= effect.estimate <= effect.high
    verification = pv.verify(folder, weights)
    assert verification.verified, verification.failed
    assert {check.name: check.result for check in verification.checks}["report.html"] == "holds"
    assert pv.verify(effect, weights).verified
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>", page) == ['<script type="application/ld+json">']
    assert all(each in page for each in map(unbroken, (effect.guarantee.summary, effect.sentence.split("'")[0])))
    without = pv.verify(folder, None)
    assert without.verified
    assert [check.result for check in without.checks if check.name == "values"] == ["not checked"]


#: What a release is free to state.
FREE = {"created", "software", "licence", "citation", "rendered", "charge", "about", "notes"}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 1.01 + 0.01
    return "x" if value is None else f"{value}x"


def write(folder: Path, document: dict[str, Any]) -> None:
    document["digest"] = document_digest(document)
    (folder / "release.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.promise("P-EFFECT-3")
@pytest.mark.slow
def test_every_changed_number_or_word_is_refused(made: tuple[Path, pv.PublicWeights], tmp_path: Path) -> None:
    folder, weights = made
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    # Other noisy numbers may be so far from possible ones that a little more does not change the estimate.
    paths = [path for path in leaves(document) if path[0] not in FREE | {"digest", "noisy"} or path == ("noisy", 0)]
    assert len(paths) > 40
    for path in paths:
        forged = copy.deepcopy(document)
        place = forged
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = changed(place[path[-1]])
        write(tmp_path, forged)
        assert not pv.verify(tmp_path / "release.json", weights).verified, path


def rewritten(folder: Path, copied: Path, effect: pv.Effect) -> Path:
    shutil.copytree(folder, copied)
    (copied / "release.json").write_text(effect.to_json(), encoding="utf-8")
    (copied / "report.html").write_text(effect_html(effect), encoding="utf-8")
    return copied


@pytest.mark.promise("P-EFFECT-3")
def test_consistent_forgeries_are_refused(tmp_path: Path) -> None:
    reviews, asked = conference(), ASKED["randomised"]
    weights, folder = weights_of(reviews, asked), tmp_path / "honest"
    effect = pv.effect(reviews, epsilon=1.0, **asked)
    effect.save(folder)
    claim = replace(effect.guarantee, epsilon=0.5)
    assert pv.verify(rewritten(folder, tmp_path / "a", replace(effect, guarantee=claim)), weights).failed == (
        "guarantee",
    )
    attributes = replace(effect.guarantee, neighbours=replace(effect.guarantee.neighbours, attributes=False))
    assert (
        "guarantee"
        in pv.verify(rewritten(folder, tmp_path / "b", replace(effect, guarantee=attributes)), weights).failed
    )
    # Narrower limits would have needed less noise; everything else is computed anew from them.
    narrow = replace(effect.question, limits=(4.0, 7.0))
    sums = narrow.sums(weights)
    facts: dict[str, Any] = {"mechanism": effect.mechanism, "public": effect.public}
    forged = publish(effect.noisy.copy(), sums, narrow, guarantee=effect.guarantee, **facts)
    assert "guarantee" in pv.verify(rewritten(folder, tmp_path / "c", forged), weights).failed
    # Numbers that no conference has.
    noisy = effect.noisy.copy()
    noisy[0] = 1e6
    absurd = publish(noisy, effect.question.sums(weights), effect.question, guarantee=effect.guarantee, **facts)
    assert pv.verify(rewritten(folder, tmp_path / "d", absurd), weights).failed == ("noise",)
    stated = replace(effect, guarantee=Guarantee(kind="stated", statement="trust us"))
    assert not pv.verify(rewritten(folder, tmp_path / "e", stated), weights).verified
    page = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").write_text(page.replace("minus", "plus"), encoding="utf-8")
    assert pv.verify(folder, weights).failed == ("report.html",)


@pytest.mark.promise("P-EFFECT-10")
def test_an_effect_must_say_that_groups_are_not_protected(tmp_path: Path) -> None:
    reviews, asked = conference(), ASKED["review"]
    effect = pv.effect(reviews, epsilon=1.0, **asked)
    silent = rewritten(effect.save(tmp_path / "honest"), tmp_path / "silent", replace(effect, notes=()))
    assert pv.verify(silent, weights_of(reviews, asked)).failed == ("document",)


def test_another_record_is_refused() -> None:
    reviews, asked = conference(), ASKED["ratings"]
    effect = pv.effect(reviews, epsilon=1.0, **asked)
    other = weights_of(conference(seed=3), asked)
    assert pv.verify(effect, other).failed == ("record",)
    assert pv.verify(effect, pv.weigh(reviews.public("all"), "miscalibration")).failed == ("record",)


def test_an_effect_can_be_withdrawn_and_is_no_release_of_means(tmp_path: Path) -> None:
    reviews, asked = conference(), ASKED["ratings"]
    pv.effect(reviews, epsilon=1.0, **asked).save(tmp_path / "out")
    with pytest.raises(pv.FileError, match="is the release of an effect"):
        pv.Release.load(tmp_path / "out")
    withdraw(tmp_path / "out", reason="Wrong table of reviewers.")
    with pytest.warns(pv.WithdrawalWarning, match="withdrawn"):
        pv.Effect.load(tmp_path / "out")
    checks = {check.name: check for check in pv.verify(tmp_path / "out", weights_of(reviews, asked)).checks}
    assert checks["withdrawal"].result == "fails"
    assert checks["report.html"].found.endswith("it shows the withdrawal")


@pytest.mark.parametrize("document", [[], {"kind": "effect"}, {"kind": "effect", "schema_version": 2}])
def test_files_that_are_no_effect_fail_the_schema(document: object, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(json.dumps(document), encoding="utf-8")
    assert pv.verify(tmp_path, None).failed == ("schema",)
