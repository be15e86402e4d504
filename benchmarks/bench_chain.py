"""How long the paper's bounds take: the literal algorithm, and ours. One run, one table.

Seeds and sizes are in the table; times are the best of three for ours, one run for the literal algorithm, which lists
every tuple and every pair of tuples. Memory is the peak of Python's allocations during the computation.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

import peerveil as pv

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from reference.chain import chain_bounds  # noqa: E402
from timing import peak_megabytes, timed  # noqa: E402

DATA = Path(os.environ.get("PEERVEIL_DATA", ROOT.parent / "shared" / "data"))


def row(name: str, weights: pv.PublicWeights, *, literal: bool) -> None:
    load = weights.loads.describe()
    region = pv.region(weights, "chain")
    ours = timed(lambda: pv.region(weights, "chain"))
    memory = peak_megabytes(lambda: pv.region(weights, "chain"))
    slow = ratio = "-"
    if literal:
        rows = weights.rows_low()
        taken = timed(lambda: chain_bounds(rows, weights.reviewers, weights.loads.sizes), times=1)
        lower, upper = chain_bounds(rows, weights.reviewers, weights.loads.sizes)
        assert np.allclose(region.lower, lower, rtol=0, atol=1e-12)
        assert np.allclose(region.upper, upper, rtol=0, atol=1e-12)
        slow, ratio = f"{taken:.3f}", f"{taken / ours:.0f}"
    exact = "yes" if not region.notes else "weaker"
    print(f"{name:34} {load[:34]:34} {slow:>10} {ours:>9.4f} {ratio:>7} {memory:>8.1f}  {exact}")


def main() -> None:
    print(f"{'record':34} {'loads':34} {'literal s':>10} {'ours s':>9} {'ratio':>7} {'peak MB':>8}  exact")
    for n, load, literal in ((10, 2, True), (20, 2, True), (30, 2, True), (50, 2, True), (8, 3, True)):
        rng = np.random.default_rng(n)
        weights = pv.PublicWeights.from_rows(rng.beta(2, 2, size=(n, load)), load=load)
        row(f"Beta(2,2), n={n}, seed {n}", weights, literal=literal)
    for n, load in (
        (1_000, 2),
        (10_000, 2),
        (1_000, 3),
        (10_000, 3),
        (10_000, 4),
        (1_000, 6),
        (1_000, 10),
        (1_000, 20),
    ):
        scores = np.random.default_rng(n).integers(1, 11, size=(n, load))
        row(f"integers 1..10, n={n}, seed {n}", pv.PublicWeights.from_rows(scores, load=load), literal=False)
    scores = np.random.default_rng(7).integers(1, 11, size=(1_000, 3))
    mixed = pv.PublicWeights.from_rows(scores, loads={1: 200, 2: 200, 3: 200, 4: 200, 5: 200})
    row("integers 1..10, mixed, seed 7", mixed, literal=False)
    if (DATA / "iclr2021.csv").exists():
        record = pv.read_public(DATA / "iclr2021.csv", load=4)
        row("ICLR 2021 ratings", pv.weigh(record), literal=False)
    if (DATA / "chain_bounds_authors.json").exists():
        cases = json.loads((DATA / "chain_bounds_authors.json").read_text())["cases"]
        worst = 0.0
        for case in cases:
            region = pv.region(pv.PublicWeights.from_rows(case["rows"], load=case["load"]), "chain")
            worst = max(worst, np.abs(region.lower - case["lower"]).max(), np.abs(region.upper - case["upper"]).max())
        print(f"largest difference from the authors' printed bounds, {len(cases)} records: {worst:.1e}")


if __name__ == "__main__":
    main()
