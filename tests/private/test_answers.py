"""Releases about groups of reviewers: what may not depend on who wrote which review, and errors before the charge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from peerveil.private.answers import ReadyAnswer
from peerveil.private.columns import Attributes
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.private.effects import prepare_effect
from peerveil.private.fingerprint import fingerprint
from peerveil.private.noise import Prepared
from releases.test_effect import conference

#: Three kept papers and one that is left out, who reviews them, and two neighbours: a and c exchange a review.
PAPERS = ["k1", "k1", "k1", "k2", "k2", "k3", "k3", "gone"]
HELD = ["a", "b", "d", "b", "d", "b", "d", "c"], ["c", "b", "d", "b", "d", "b", "d", "a"]
SCORES = [1, 5, 3, 2, 4, 5, 1, 3]


def conferences(*seniority: str) -> list[pv.Reviews]:
    """Two neighbouring conferences without the last paper: either a or c has a kept review."""
    attributes = Attributes(names=("seniority",), values=(seniority,))
    return [
        pv.Reviews.from_columns(PAPERS, held, SCORES, scale=(1, 5), attributes=attributes).only(["k1", "k2", "k3"])
        for held in HELD
    ]


def effect(reviews: pv.Reviews, **how: Any) -> ReadyAnswer:
    asked: dict[str, Any] = {"compare": ("senior", "junior"), "mechanism": pv.Laplace(epsilon=1.0)}
    return prepare_effect(reviews, by="seniority", public="all", **asked | how)


def table(reviews: pv.Reviews, **how: Any) -> ReadyAnswer:
    asked: dict[str, Any] = {"values": ("senior", "junior"), "mechanism": pv.Histogram(epsilon=1.0, bins=2)}
    return prepare_crosstab(reviews, by="seniority", public="all", **asked | how)


@pytest.mark.parametrize("ready", [effect, table])
def test_a_group_without_a_kept_review_is_released_like_others(ready: Callable[..., ReadyAnswer]) -> None:
    """Otherwise a refusal would tell whether the only senior reviewer has a kept review."""
    with_review, without = (ready(each) for each in conferences("senior", "junior", "junior", "junior"))
    assert with_review.settings() == without.settings()
    assert with_review.protected().truth.tolist() != without.protected().truth.tolist()


@pytest.mark.parametrize("ready", [effect, table])
def test_others_without_a_kept_review_must_be_stated_as_well(ready: Callable[..., ReadyAnswer]) -> None:
    """Otherwise a release would tell that the only retired reviewer has no kept review."""
    for each in conferences("retired", "senior", "junior", "junior"):
        with pytest.raises(pv.RecordError, match="some reviewers are in neither group"):
            ready(each)
        ready(each, others=True)


def test_a_draw_for_other_attributes_is_not_resumed() -> None:
    """Nobody shares the value of the first paper, so other reviews tell who has which."""
    reviews = conferences("senior", "junior", "junior", "junior")[0]
    same = {"k1": "retired", "k2": "senior", "k3": "junior"}
    digests = set()
    for values in product(("senior",), ("senior", "junior"), ("senior", "junior")):
        each = replace(reviews, attributes=Attributes(names=("seniority",), values=(values,)))
        ready = effect(each, compare=None, same=same, quantity="miscalibration")
        mark = fingerprint(each, ready._group)
        assert mark is not None
        digests.add(mark.digest)
    assert len(digests) == 4


def test_equal_weights_within_stated_limits_can_be_estimated() -> None:
    """An interval that cannot be computed would be found out after the charge only."""
    papers, held = [f"p{i // 2}" for i in range(12)], [f"r{(i + i // 6) % 4}" for i in range(12)]
    attributes = Attributes(names=("seniority",), values=(("senior", "junior") * 2,))
    reviews = pv.Reviews.from_columns(papers, held, [3.0] * 12, scale=(0, 5), attributes=attributes)
    asked: dict[str, Any] = {"by": "seniority", "compare": ("senior", "junior"), "public": "all", "epsilon": 1.0}
    made = pv.effect(reviews, limits=(0, 5), **asked)
    assert made.low <= made.estimate <= made.high
    assert pv.plan_effect(pv.weigh(reviews.public("all")), limits=(0, 5)).smallest[0] > 0
    with pytest.raises(pv.InputError, match="all public weights are equal"):
        pv.effect(reviews, **asked)


def permuted(reviews: pv.Reviews, seed: int) -> pv.Reviews:
    """The same public record, held by others, whose attributes are others' as well; all have the same load."""
    rng = np.random.default_rng(seed)
    people = rng.permutation(reviews.reviewers)[reviews.reviewer]
    held = reviews.attributes
    if held is not None:
        order = rng.permutation(reviews.reviewers)
        held = replace(held, values=tuple(tuple(row[j] for j in order) for row in held.values))
    papers = [reviews.papers[p] for p in reviews.paper]
    return pv.Reviews.from_columns(
        papers, [f"r{j:04d}" for j in people.tolist()], reviews.score, scale=(1, 10), attributes=held
    )


def effect_of(reviews: pv.Reviews) -> pv.Effect:
    return pv.effect(reviews, by="arm", compare=("treated", "control"), public="all", epsilon=1.0)


def hidden_effect_of(reviews: pv.Reviews) -> pv.Effect:
    return pv.effect(reviews, by="arm", compare=("treated", "control"), public="none", epsilon=1.0)


def table_of(reviews: pv.Reviews) -> pv.Crosstab:
    return pv.release_by(reviews, by="arm", values=("treated", "control"), public="all", epsilon=1.0)


def correlation_of(reviews: pv.Reviews) -> pv.Correlation:
    return pv.correlate(reviews, conference(seed=3), public="all", epsilon=1.0)


@pytest.mark.promise("P-PUBLIC-4", "P-FORMAT-10", "P-README-1")
@pytest.mark.parametrize("release", [effect_of, hidden_effect_of, table_of, correlation_of])
def test_nothing_but_the_noisy_numbers_depends_on_who_wrote_what_or_is_in_which_group(
    release: Callable[[pv.Reviews], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte that is written, with the report, if the noisy numbers are the same."""
    truths = []

    def drawn(_: Prepared, truth: Any, times: int) -> Any:
        truths.append(truth.tolist())
        return np.full((times, truth.size), 40, dtype=truth.dtype)

    monkeypatch.setattr(Prepared, "draw_often", drawn)
    written = []
    for number, reviews in enumerate((conference(), permuted(conference(), 5))):
        made = replace(release(reviews), created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        folder = made.save(tmp_path / str(number))
        written.append({file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()})
    assert truths[0] != truths[1]
    assert len(written[0]) >= 3
    assert written[0] == written[1]
