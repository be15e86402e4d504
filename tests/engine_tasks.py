"""Tasks for the tests of the engine, in a module that workers load quickly."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.errors import PeerveilError
from peerveil.support.parallel import run


def draw(size: int, seeds: np.random.SeedSequence) -> list[float]:
    return [float(x) for x in np.random.default_rng(seeds).normal(size=size)]


def place(_: int, __: np.random.SeedSequence) -> int:
    return os.getpid()


def places(answers: Any) -> None:
    """Tell where tasks run by default."""
    answers.put(run(place, [0, 1, 2]))


def fail(task: int, _: np.random.SeedSequence) -> int:
    if task == 1:
        raise PeerveilError("task 1 failed")
    return task


def count(task: int, seeds: np.random.SeedSequence) -> list[float]:
    """Leaves a mark each time it runs, in the folder that the task's environment names."""
    folder = Path(os.environ["PEERVEIL_TEST_MARKS"])
    (folder / f"{task}-{os.urandom(4).hex()}").touch()
    if task == 3 and (folder / "fail").exists():
        raise PeerveilError("task 3 failed")
    return draw(2, seeds)


def die_once(task: int, seeds: np.random.SeedSequence) -> list[float]:
    mark = Path(os.environ["PEERVEIL_TEST_MARKS"]) / f"died{task}"
    if task == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(2, seeds)


def always_die(_: int, __: np.random.SeedSequence) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def last(task: int, _: np.random.SeedSequence) -> None:
    """Leaves a mark when it starts, and runs until its process is ended."""
    (Path(os.environ["PEERVEIL_TEST_MARKS"]) / f"{task}-started").touch()
    while True:
        time.sleep(1)
