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
from peerveil.inference.prior import prior
from peerveil.planning.plans import Choice
from peerveil.planning.rehearsal import Rehearsal
from peerveil.planning.rounds import LENIENCIES
from peerveil.record.public_record import Floats
from peerveil.simulation.experiments import EXPERIMENTS
from peerveil.support import parallel

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


def compare(name: str, weights: pv.PublicWeights, draws: int) -> None:
    start = time.perf_counter()
    made = pv.plan(weights, epsilons=[1])
    took = time.perf_counter() - start
    for choice in dict.fromkeys((made.best(1.0), made.best(1.0, guaranteed=False))):
        squares = np.array(parallel.run(happened, [(weights, choice)] * draws, seed=2))
        rmse = math.sqrt(squares.mean())
        error = squares.std(ddof=1) / math.sqrt(draws) / (2 * rmse)
        ratio = choice.rmse / rmse
        off = ratio * math.hypot(choice.rmse_error / choice.rmse, error / rmse)
        print(
            f"{name:<14} {weights.reviewers:>6} {choice.title + ', ' + choice.estimator:<28} {choice.rmse:>8.4f} "
            f"{rmse:>8.4f} {ratio:>6.2f} ± {off:.2f}   {choice.rmse_least:.3f} to {choice.rmse_most:.3f} "
            f"{took:>6.0f} s",
            flush=True,
        )


def synthetic(n: int, load: int = 4) -> pv.PublicWeights:
    rng = np.random.default_rng(n)
    quality = rng.normal(5.5, 1.2, n)
    scores: Floats = np.clip(np.rint(quality[:, None] + rng.normal(0, 1.3, (n, load))), 1, 10)
    return pv.PublicWeights.from_rows(scores, load=load)


def main() -> None:
    print(f"{'record':<14} {'n':>6} {'choice at epsilon 1':<28} {'planned':>8} {'came':>8} {'ratio':>13}   by leniency")
    for name, loads in REAL.items():
        if (DATA / f"{name}.csv").exists():
            compare(name, pv.weigh(pv.read_public(DATA / f"{name}.csv", **loads), "ratings"), 40)
    rng = np.random.default_rng(5)
    for name in ("beta-5-1", "beta-2-2", "beta-0.5-0.5", "beta-i-j"):
        for n in (10, 50):
            compare(name, EXPERIMENTS[name].draw(n, rng)[0], 100)
    weights = synthetic(2_863)
    start, used = time.perf_counter(), time.process_time()
    pv.plan(weights, epsilons=[1])
    clock, process = time.perf_counter() - start, time.process_time() - used
    print(f"\none budget, 2,863 reviewers, load 4: {clock:.1f} s by the clock, {process:.1f} s of the process")
    print(f"\n{'n':>7} {'reviews':>8} {'s, four budgets':>16} {'ms a review':>12}")
    for n in (250, 500, 1_000, 2_000, 4_000):
        weights = synthetic(n)
        start = time.perf_counter()
        pv.plan(weights, epsilons=[0.3, 1, 3, 10])
        took = time.perf_counter() - start
        print(f"{n:>7,} {4 * n:>8,} {took:>16.1f} {1e3 * took / (4 * n):>12.2f}", flush=True)


if __name__ == "__main__":
    main()
