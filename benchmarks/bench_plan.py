"""Plans: do their errors come true, and how long do they take?

The first table compares what a plan predicts for its recommended choice, and for `bayes`, with what happens on
assignments that the plan has not seen, whose leniency is drawn as it assumes (0, 0.4, 0.9, 2, each as likely): 40 for
real records, 100 for the paper's settings. Plans have seed 1, what happens has seed 2. A ratio of 1 is a plan that
comes true; its standard error is given. Real records are used where they are at hand (PEERVEIL_DATA).

Below it stands the time of a plan with one budget at the size of ICLR 2021, from the public weights, of which 5 s are
allowed on two quiet cores; by the clock and of this process, which does all of it.

The second table is the time of a plan with four budgets on all cores, for synthetic records of growing size.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import peerveil as pv
from output import Growing, Output
from peerveil.inference.prior import prior
from peerveil.planning.choices import Choice
from peerveil.planning.rehearsal import Rehearsal
from peerveil.planning.rounds import LENIENCIES
from peerveil.record.public_record import Floats
from peerveil.simulation.experiments import EXPERIMENTS
from peerveil.support import parallel
from results import Column, Measured

DATA = Path(os.environ.get("PEERVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
REAL: dict[str, dict[str, Any]] = {
    "iclr2017": {"loads": {3: 495, 4: 1}},
    "iclr2018": {"loads": {3: 976, 2: 1}},
    "iclr2021": {"load": 4},
}


def happened(task: tuple[pv.PublicWeights, Choice], seeds: np.random.SeedSequence) -> float:
    weights, choice = task
    of_truth, of_noise = seeds.spawn(2)
    rng = np.random.default_rng(of_noise)
    truth = prior(weights, draws=1, seed=of_truth).ensemble(float(rng.choice(LENIENCIES))).vectors[0]
    rehearsal = Rehearsal.of(weights, choice.make())
    answer = rehearsal.answers(rehearsal.perturb(truth, rng), [choice.estimator])[choice.estimator]
    return float(np.mean((answer - truth) ** 2))


def compare(table: Growing, name: str, weights: pv.PublicWeights, draws: int) -> None:
    start = time.perf_counter()
    made = pv.plan(weights, epsilons=[1])
    took = time.perf_counter() - start
    for choice in dict.fromkeys((made.best(1.0), made.best(1.0, guaranteed=False))):
        squares = np.array(parallel.run(happened, [(weights, choice)] * draws, seed=2))
        rmse = math.sqrt(squares.mean())
        error = squares.std(ddof=1) / math.sqrt(draws) / (2 * rmse)
        ratio = choice.rmse / rmse
        off = ratio * math.hypot(choice.rmse_error / choice.rmse, error / rmse)
        by_leniency = f"{choice.rmse_least:.3f} to {choice.rmse_most:.3f}"
        chosen = f"{choice.title}, {choice.estimator}"
        came = Measured(rmse, float(error))
        table.add(name, weights.reviewers, chosen, choice.rmse, came, Measured(ratio, off), by_leniency, took)


def synthetic(n: int, load: int = 4) -> pv.PublicWeights:
    rng = np.random.default_rng(n)
    quality = rng.normal(5.5, 1.2, n)
    scores: Floats = np.clip(np.rint(quality[:, None] + rng.normal(0, 1.3, (n, load))), 1, 10)
    return pv.PublicWeights.from_rows(scores, load=load)


COLUMNS = (
    Column("record", "record"),
    Column("n", "reviewers", digits=","),
    Column("choice", "choice at epsilon 1"),
    Column("planned", "planned error", digits=".4f"),
    Column("came", "realised error", digits=".4f", better="lower"),
    Column("ratio", "planned over realised", digits=".2f", target=1.0),
    Column("leniency", "planned, by leniency"),
    Column("seconds", "plan", "s", ".0f"),
)
SIZES = Column("n", "reviewers", digits=","), Column("reviews", "reviews", digits=",")


def main() -> None:
    with Output("plan") as out:
        came_true(out, quick=out.quick)
        times(out, quick=out.quick)


def came_true(out: Output, *, quick: bool) -> None:
    title = "What plans predict, and what happens"
    real, few = (8, 20) if quick else (40, 100)
    draws = f"{real} for real records, {few} for the paper's settings"
    table = out.table("true", title, COLUMNS, keys=3, seeds="1 for plans, 2 for what happens", draws=draws)
    for name, loads in list(REAL.items())[: 1 if quick else None]:
        if (DATA / f"{name}.csv").exists():
            compare(table, name, pv.weigh(pv.read_public(DATA / f"{name}.csv", **loads), "ratings"), real)
    rng = np.random.default_rng(5)
    for name in ("beta-2-2",) if quick else ("beta-5-1", "beta-2-2", "beta-0.5-0.5", "beta-i-j"):
        for n in (10, 50):
            compare(table, name, EXPERIMENTS[name].draw(n, rng)[0], few)


def times(out: Output, *, quick: bool) -> None:
    weights = synthetic(2_863)
    start, used = time.perf_counter(), time.process_time()
    pv.plan(weights, epsilons=[1])
    clock, process = time.perf_counter() - start, time.process_time() - used
    columns = *SIZES, Column("clock", "by the clock", "s", ".1f"), Column("process", "of the process", "s", ".1f")
    out.table("one", "A plan with one budget, load 4", columns, seeds=2_863).add(2_863, 4 * 2_863, clock, process)
    columns = *SIZES, Column("seconds", "time", "s", ".1f"), Column("each", "per review", "ms", ".2f")
    table = out.table("four", "A plan with four budgets, load 4", columns, seeds="the numbers of reviewers")
    for n in (250,) if quick else (250, 500, 1_000, 2_000, 4_000):
        weights = synthetic(n)
        start = time.perf_counter()
        pv.plan(weights, epsilons=[0.3, 1, 3, 10])
        took = time.perf_counter() - start
        table.add(n, 4 * n, took, 1e3 * took / (4 * n))


if __name__ == "__main__":
    main()
