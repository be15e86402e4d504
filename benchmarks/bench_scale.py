"""Envelope and projection at any scale, next to what they are made of; and next to a general solver.

One run. Times are the best of several, of more for smaller records. The budget is five times one sort of the weights
and one isotonic regression of the noisy vector; the ratio is of both steps in one go, each time from the weights
alone. Memory is the peak of NumPy's and Python's allocations beyond the input; 40 bytes a review and 80 a reviewer are
allowed. Seeds are the numbers of reviewers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

import peerveil as pv
from output import Growing, Output
from peerveil.record.public_record import Floats
from peerveil.regions.quadratic_programme import Programme
from results import Column
from timing import peak_megabytes, timed, timed_in_turn

LOAD = 4

COLUMNS = (
    Column("n", "reviewers", digits=","),
    Column("weights", "weights"),
    Column("sort", "sort", "ms", ".3f"),
    Column("isotonic", "isotonic", "ms", ".3f"),
    Column("envelope", "envelope", "ms", ".3f"),
    Column("project", "project", "ms", ".3f"),
    Column("both", "both", "ms", ".3f"),
    Column("ratio", "both over sort and isotonic", digits=".2f", better="lower", tolerance=0.3),
    Column("peak", "peak", "MB", ".1f", better="lower", tolerance=0.1),
    Column("allowed", "allowed", "MB", ".1f"),
    Column("gap", "gap over n", digits=".1e"),
)


def record(n: int, *, integers: bool) -> tuple[pv.PublicWeights, Floats]:
    rng = np.random.default_rng(n)
    scores = rng.integers(1, 11, (n, LOAD)).astype(float) if integers else rng.beta(2, 2, (n, LOAD))
    low = np.sort(scores, axis=1).ravel()
    loads = pv.Loads(reviewers=n, reviews=n * LOAD, sizes=(LOAD,), counts=(n,))
    weights = pv.PublicWeights(quantity="ratings", paper=np.repeat(np.arange(n), LOAD), low=low, high=low, loads=loads)
    truth = np.sort(rng.permutation(low).reshape(n, LOAD).mean(axis=1))
    return weights, truth + rng.laplace(size=n)


def row(table: Growing, n: int, *, integers: bool) -> None:
    weights, noisy = record(n, integers=integers)
    region = pv.region(weights, "envelope")
    sort, isotonic, bounding, projecting, whole = timed_in_turn(
        lambda: np.sort(weights.low),
        lambda: isotonic_regression(noisy),
        lambda: pv.region(weights, "envelope"),
        lambda: pv.project(noisy, region),
        lambda: pv.project(noisy, pv.region(weights, "envelope")),
        times=5 + 3_000_000 // n,
    )
    found = pv.project(noisy, region)
    peak = peak_megabytes(lambda: pv.project(noisy, pv.region(weights, "envelope")))
    allowed = 40 * weights.low.size + 80 * n
    ratio = whole / (sort + isotonic)
    kind = "integers 1..10" if integers else "Beta(2,2)"
    times = (1e3 * one for one in (sort, isotonic, bounding, projecting, whole))
    table.add(n, kind, *times, ratio, peak, allowed / 1e6, found.gap / n)


def against_clarabel(out: Output, n: int) -> None:
    weights, noisy = record(n, integers=False)
    region = pv.region(weights, "envelope")
    fast = timed(lambda: pv.project(noisy, region))
    radius = float(np.abs(noisy).max() + region.spread)
    slow = timed(lambda: Programme(noisy, region, radius).solve(), times=1)
    difference = np.abs(Programme(noisy, region, radius).solve()[0] - pv.project(noisy, region).values).max()
    columns: tuple[Any, ...] = (
        Column("n", "reviewers", digits=","),
        Column("fast", "two passes", "s", ".4f"),
        Column("slow", "Clarabel", "s", ".3f"),
        Column("ratio", "ratio", digits=".0f", better="higher", tolerance=0.5),
        Column("apart", "largest difference", digits=".1e"),
    )
    out.table("solver", "Projection by isotonic passes and by a general solver", columns, seeds=n).add(
        n, fast, slow, slow / fast, difference
    )


def tight_with_large_loads(out: Output) -> None:
    columns = Column("loads", "reviewers by load"), Column("seconds", "time", "s", ".3f")
    table = out.table("tight", "Region tight of 2,000 reviewers, whole scores from 1 to 10", columns, seeds=1)
    for loads in ({4: 2000}, {8: 2000}, {20: 2000}, {8: 1000, 14: 800, 20: 200}):
        reviews = sum(load * count for load, count in loads.items())
        scores = np.random.default_rng(1).integers(1, 11, (reviews // 4, 4))
        weights = pv.PublicWeights.from_rows(scores, loads=loads)
        taken = timed(partial(pv.region, weights, "tight"), times=1)
        table.add(", ".join(f"{count} with {load}" for load, count in loads.items()), taken)


def main() -> None:
    with Output("scale") as out:
        table = out.table("times", "Envelope and projection", COLUMNS, keys=2, seeds="the numbers of reviewers")
        for n in (10_000, 100_000) if out.quick else (10_000, 100_000, 1_000_000):
            for integers in (True, False):
                row(table, n, integers=integers)
        against_clarabel(out, 10_000)
        tight_with_large_loads(out)


if __name__ == "__main__":
    main()
