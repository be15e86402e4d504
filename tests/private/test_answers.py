"""Releases about groups of reviewers: what may not depend on who wrote which review, and errors before the charge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import peerveil as pv
from peerveil.private.answers import ReadyAnswer
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.private.effects import prepare_effect
from peerveil.private.reviews import Attributes

#: Three kept papers and one that is left out, who reviews them, and two neighbours: a and c exchange a review.
PAPERS = ["k1", "k1", "k1", "k2", "k2", "k3", "k3", "gone"]
HELD = ["a", "b", "d", "b", "d", "b", "d", "c"], ["c", "b", "d", "b", "d", "b", "d", "a"]
SCORES = [1, 5, 3, 2, 4, 5, 1, 3]


def conferences(seniority: dict[str, str]) -> list[pv.Reviews]:
    """Two neighbouring conferences without the last paper: either a or c has a kept review."""
    attributes = Attributes(names=("seniority",), values=(tuple(seniority[who] for who in "abcd"),))
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
    with_review, without = (ready(each) for each in conferences(dict(a="senior", b="junior", c="junior", d="junior")))
    assert with_review.settings() == without.settings()
    assert with_review.protected().truth.tolist() != without.protected().truth.tolist()


@pytest.mark.parametrize("ready", [effect, table])
def test_others_without_a_kept_review_must_be_stated_as_well(ready: Callable[..., ReadyAnswer]) -> None:
    """Otherwise a release would tell that the only retired reviewer has no kept review."""
    for each in conferences(dict(a="retired", b="senior", c="junior", d="junior")):
        with pytest.raises(pv.RecordError, match="some reviewers are in neither group"):
            ready(each)
        ready(each, others=True)
