"""Tasks give the same results wherever they run, in order, with seeds of their own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import peerveil as pv
from peerveil.engine import run


def draw(size: int, seeds: np.random.SeedSequence) -> list[float]:
    return [float(x) for x in np.random.default_rng(seeds).normal(size=size)]


def place(_: int, __: np.random.SeedSequence) -> int:
    return os.getpid()


def fail(task: int, _: np.random.SeedSequence) -> int:
    if task == 1:
        raise pv.PeerveilError("task 1 failed")
    return task


def test_results_do_not_depend_on_who_runs_what() -> None:
    tasks = [3, 1, 4, 1, 5]
    alone = run(draw, tasks, seed=7, workers=1)
    assert [len(result) for result in alone] == tasks
    assert run(draw, tasks, seed=7, workers=2) == alone
    with ThreadPoolExecutor(3) as pool:
        assert run(draw, tasks, seed=7, executor=pool) == alone
    assert run(draw, tasks, seed=8, workers=1) != alone
    assert run(draw, tasks[:2], seed=7, workers=1) == alone[:2]  # however many follow
    assert alone[1] != alone[3]


def test_processes_of_their_own_are_used() -> None:
    assert os.getpid() not in run(place, [0, 1, 2], workers=2)
    assert run(place, [0, 1], workers=1) == [os.getpid()] * 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_ends_the_run(workers: int) -> None:
    with pytest.raises(pv.PeerveilError, match="task 1 failed"):
        run(fail, [0, 1, 2, 3], workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told(workers: int) -> None:
    seen: list[tuple[int, int]] = []
    run(draw, [1, 1, 1], workers=workers, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_nothing_to_do_is_done() -> None:
    assert run(draw, []) == []


@pytest.mark.parametrize("workers", [0, -1, True, 1.5])
def test_workers_are_checked(workers: int) -> None:
    with pytest.raises(pv.InputError, match="workers must be a whole number of at least 1"):
        run(draw, [1], workers=workers)
