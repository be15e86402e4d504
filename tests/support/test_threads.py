"""Linear algebra keeps to one thread where results are made, and is as before afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import peerveil as pv
from peerveil.inference.estimators import estimate
from peerveil.support.threads import on_one_thread


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info()]


def test_one_thread_within_and_as_many_as_before_after() -> None:
    with threadpool_limits(2):
        assert threads()
        assert set(threads()) == {2}
        with on_one_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {2}


def test_releases_are_made_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def watched(*given: Any, **options: Any) -> Any:
        seen.extend(threads())
        return estimate(*given, **options)

    monkeypatch.setattr("peerveil.releases.refinement.estimate", watched)
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    with threadpool_limits(2):
        pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
        assert set(threads()) == {2}
    assert set(seen) == {1}
