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

from output import Growing, Output  # noqa: E402
from reference.chain import chain_bounds  # noqa: E402
from results import Column  # noqa: E402
from timing import peak_megabytes, timed  # noqa: E402

DATA = Path(os.environ.get("PEERVEIL_DATA", ROOT.parent / "shared" / "data"))


COLUMNS = (
    Column("record", "record"),
    Column("loads", "loads"),
    Column("literal", "literal", "s", ".3f"),
    Column("ours", "ours", "s", ".4f"),
    Column("ratio", "ratio", digits=",.0f", better="higher", tolerance=0.5),
    Column("peak", "peak", "MB", ".1f", better="lower", tolerance=0.1),
    Column("exact", "exact"),
)


def row(table: Growing, name: str, weights: pv.PublicWeights, *, literal: bool) -> None:
    region = pv.region(weights, "chain")
    ours = timed(lambda: pv.region(weights, "chain"))
    memory = peak_megabytes(lambda: pv.region(weights, "chain"))
    slow = ratio = None
    if literal:
        rows = weights.rows_low()
        taken = timed(lambda: chain_bounds(rows, weights.reviewers, weights.loads.sizes), times=1)
        lower, upper = chain_bounds(rows, weights.reviewers, weights.loads.sizes)
        assert np.allclose(region.lower, lower, rtol=0, atol=1e-12)
        assert np.allclose(region.upper, upper, rtol=0, atol=1e-12)
        slow, ratio = taken, taken / ours
    exact = "yes" if not region.notes else "weaker"
    table.add(name, weights.loads.describe(), slow, ours, ratio, memory, exact)


def main() -> None:
    with Output("chain") as out:
        title = "The paper's bounds: the literal algorithm and ours"
        tables(out, out.table("times", title, COLUMNS, keys=2, seeds="the numbers of reviewers; 7 for mixed loads"))


def tables(out: Output, table: Growing) -> None:
    for n, load, literal in ((10, 2, True), (20, 2, True), (30, 2, True), (50, 2, True), (8, 3, True)):
        rng = np.random.default_rng(n)
        weights = pv.PublicWeights.from_rows(rng.beta(2, 2, size=(n, load)), load=load)
        row(table, f"Beta(2,2), n={n}", weights, literal=literal)
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
        row(table, f"integers 1..10, n={n}", pv.PublicWeights.from_rows(scores, load=load), literal=False)
    scores = np.random.default_rng(7).integers(1, 11, size=(1_000, 3))
    mixed = pv.PublicWeights.from_rows(scores, loads={1: 200, 2: 200, 3: 200, 4: 200, 5: 200})
    row(table, "integers 1..10, mixed", mixed, literal=False)
    if (DATA / "iclr2021.csv").exists():
        record = pv.read_public(DATA / "iclr2021.csv", load=4)
        row(table, "ICLR 2021 ratings", pv.weigh(record), literal=False)
    if (DATA / "chain_bounds_authors.json").exists():
        cases = json.loads((DATA / "chain_bounds_authors.json").read_text())["cases"]
        worst = 0.0
        for case in cases:
            region = pv.region(pv.PublicWeights.from_rows(case["rows"], load=case["load"]), "chain")
            worst = max(worst, np.abs(region.lower - case["lower"]).max(), np.abs(region.upper - case["upper"]).max())
        columns = Column("records", "records", digits="d"), Column("apart", "largest difference", digits=".1e")
        out.table("authors", "Our bounds and those that the authors' program printed", columns).add(len(cases), worst)


if __name__ == "__main__":
    main()
