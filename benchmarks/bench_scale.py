"""Envelope and projection at any scale, next to what they are made of; and next to a general solver.

One run. Times are the best of several, of more for smaller records. The budget is five times one sort of the weights
and one isotonic regression of the noisy vector; the ratio is of both steps in one go, each time from the weights
alone. Memory is the peak of NumPy's and Python's allocations beyond the input; 40 bytes a review and 80 a reviewer are
allowed. Seeds are the numbers of reviewers.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import isotonic_regression

import peerveil as pv
from peerveil.record.public_record import Floats
from peerveil.regions.quadratic_programme import Programme
from timing import peak_megabytes, timed, timed_in_turn

LOAD = 4


def record(n: int, *, integers: bool) -> tuple[pv.PublicWeights, Floats]:
    rng = np.random.default_rng(n)
    scores = rng.integers(1, 11, (n, LOAD)).astype(float) if integers else rng.beta(2, 2, (n, LOAD))
    low = np.sort(scores, axis=1).ravel()
    loads = pv.Loads(reviewers=n, reviews=n * LOAD, sizes=(LOAD,), counts=(n,))
    weights = pv.PublicWeights(quantity="ratings", paper=np.repeat(np.arange(n), LOAD), low=low, high=low, loads=loads)
    truth = np.sort(rng.permutation(low).reshape(n, LOAD).mean(axis=1))
    return weights, truth + rng.laplace(size=n)


def row(n: int, *, integers: bool) -> None:
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
    print(
        f"{n:>9,} {kind:>14} {1e3 * sort:>8.3f} {1e3 * isotonic:>9.3f} {1e3 * bounding:>9.3f} "
        f"{1e3 * projecting:>9.3f} {1e3 * whole:>9.3f} {ratio:>6.2f} "
        f"{peak:>8.1f} {allowed / 1e6:>10.1f} {found.gap / n:>9.1e}"
    )


def against_clarabel(n: int) -> None:
    weights, noisy = record(n, integers=False)
    region = pv.region(weights, "envelope")
    fast = timed(lambda: pv.project(noisy, region))
    radius = float(np.abs(noisy).max() + region.spread)
    slow = timed(lambda: Programme(noisy, region, radius).solve(), times=1)
    difference = np.abs(Programme(noisy, region, radius).solve()[0] - pv.project(noisy, region).values).max()
    print(f"\nn={n:,}: two passes {fast:.4f} s, Clarabel {slow:.3f} s, ratio {slow / fast:.0f}, apart {difference:.1e}")


def tight_with_large_loads() -> None:
    print("\nregion 'tight', 2,000 reviewers, integers 1..10, seconds (seed 1):")
    for loads in ({4: 2000}, {8: 2000}, {20: 2000}, {8: 1000, 14: 800, 20: 200}):
        reviews = sum(load * count for load, count in loads.items())
        scores = np.random.default_rng(1).integers(1, 11, (reviews // 4, 4))
        weights = pv.PublicWeights.from_rows(scores, loads=loads)
        taken = timed(partial(pv.region, weights, "tight"), times=1)
        print(f"  loads {loads!s:32} {taken:.3f}")


def main() -> None:
    print(
        f"{'reviewers':>9} {'weights':>14} {'sort ms':>8} {'isotonic':>9} {'envelope':>9} {'project':>9} {'both':>9} "
        f"{'ratio':>6} "
        f"{'peak MB':>8} {'allowed MB':>10} {'gap/n':>9}"
    )
    for n in (10_000, 100_000, 1_000_000):
        for integers in (True, False):
            row(n, integers=integers)
    against_clarabel(10_000)
    tight_with_large_loads()


if __name__ == "__main__":
    main()
