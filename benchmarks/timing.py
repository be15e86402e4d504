"""What the benchmarks share."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable


def timed(work: Callable[[], object], times: int = 3) -> float:
    """The best of a few runs, in seconds."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def timed_in_turn(*works: Callable[[], object], times: int) -> list[float]:
    """The best of a few runs of each, in seconds; in turn, so that whatever else the machine does meets all alike."""
    best = [float("inf")] * len(works)
    for _ in range(times):
        best = [min(before, timed(work, times=1)) for before, work in zip(best, works, strict=True)]
    return best


def peak_megabytes(work: Callable[[], object]) -> float:
    """The peak of Python's and NumPy's allocations during one run."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
