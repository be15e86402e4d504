"""Refinement of very long vectors: time and memory, and accuracy next to the computation with whole assignments.

The first table is one run from the public weights and the noisy data to values, expected error and bands: the region
`tight` and the estimate `safe` or `bayes`. The ratio is to one sort of the weights and one isotonic regression of the
noisy vector; at a million reviewers, 30 are allowed. Times are of the process (not of the clock, which other processes
share), the best of three; memory is the peak of NumPy's and Python's allocations beyond the input. Load 4, whole scores
from 1 to 10 that are all public or all hidden, epsilon 1; seeds are the numbers of reviewers.

The second table compares the limit of many reviewers (peerveil/inference/limit.py) with 40 whole assignments at
100,000 reviewers: realised and expected error and the coverage of 90 % bands, over truths at leniencies 0, 0.4, 0.9, 2
and noise with seeds 1 to 4. Ratios are of the means over these.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression

import peerveil as pv
from peerveil.inference.estimators import Estimate
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import prior
from peerveil.mechanisms import Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.record.public_record import Floats
from timing import peak_megabytes

LOAD, DRAWS = 4, 40
MECHANISMS: dict[str, Mechanism] = {"laplace": pv.Laplace(epsilon=1.0), "histogram": pv.Histogram(epsilon=1.0)}


def record(n: int, *, hidden: bool) -> tuple[pv.PublicWeights, pv.PublicWeights]:
    """Weights as far as they are public, and the true ones."""
    rng = np.random.default_rng(n)
    scores = np.clip(np.rint(rng.normal(5.5, 1.2, n)[:, None] + rng.normal(0, 1.3, (n, LOAD))), 1, 10)
    low = np.sort(scores, axis=1).ravel()
    loads = pv.Loads(reviewers=n, reviews=n * LOAD, sizes=(LOAD,), counts=(n,))
    paper = np.repeat(np.arange(n), LOAD)
    true = pv.PublicWeights(quantity="ratings", paper=paper, low=low, high=low, loads=loads)
    if not hidden:
        return true, true
    ends = np.full(low.size, 1.0), np.full(low.size, 10.0)
    public = pv.PublicWeights(quantity="ratings", paper=paper, low=ends[0], high=ends[1], loads=loads, hidden_span=9.0)
    return public, true


def fresh(weights: pv.PublicWeights) -> pv.PublicWeights:
    """The weights without anything derived from them."""
    return pv.PublicWeights(
        quantity=weights.quantity,
        paper=weights.paper,
        low=weights.low,
        high=weights.high,
        loads=weights.loads,
        hidden_span=weights.hidden_span,
    )


def of_process(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def times(n: int, name: str, *, hidden: bool) -> None:
    weights, true = record(n, hidden=hidden)
    rng = np.random.default_rng(n)
    truth = np.sort(rng.permutation(true.low).reshape(n, LOAD).mean(axis=1))
    made = Rehearsal.of(weights, MECHANISMS[name])
    noisy = made.perturb(truth, rng)
    vector = made.noisy_vector(noisy)
    sort, isotonic = of_process(lambda: np.sort(true.low)), of_process(lambda: isotonic_regression(vector))

    def refine(estimator: str) -> None:
        rehearsal = Rehearsal.of(fresh(weights), MECHANISMS[name])
        rehearsal.__dict__["bins"] = made.bins  # they come with the counts
        rehearsal.estimates(noisy, [estimator])

    for estimator in ("safe", "bayes"):
        taken = of_process(lambda estimator=estimator: refine(estimator))  # type: ignore[misc]
        peak = peak_megabytes(lambda estimator=estimator: refine(estimator))  # type: ignore[misc]
        print(
            f"{n:>9,} {'hidden' if hidden else 'public':>7} {name:>10} {estimator:>6} {1e3 * sort:>8.2f} "
            f"{1e3 * isotonic:>9.2f} {1e3 * taken:>10.1f} {taken / (sort + isotonic):>7.1f} {peak:>8.0f}",
            flush=True,
        )


def compare(name: str, *, hidden: bool, seeds: range, n: int = 100_000) -> None:
    weights, true = record(n, hidden=hidden)
    rehearsals = [Rehearsal.of(fresh(weights), MECHANISMS[name]) for _ in range(2)]
    rehearsals[1].weights._derived[RecordModel] = RecordModel(weights, draws=DRAWS)
    rehearsals[1].weights.derived(RecordModel).most_kept = float("inf")
    figures: dict[str, list[Floats]] = {"safe": [], "bayes": []}
    for seed in seeds:
        for leniency in (0.0, 0.4, 0.9, 2.0):
            truth = prior(true, draws=1, seed=np.random.SeedSequence(seed)).ensemble(leniency).vectors[0]
            noisy = rehearsals[0].perturb(truth, np.random.default_rng(seed))
            both = [rehearsal.estimates(noisy, list(figures)) for rehearsal in rehearsals]
            for estimator, rows in figures.items():
                rows.append(np.array([[*quality(each[estimator], truth)] for each in both]))
    for estimator, rows in figures.items():
        (rmse, expected, covered), (rmse_whole, expected_whole, covered_whole) = np.mean(rows, axis=0)
        print(
            f"{'hidden' if hidden else 'public':>7} {name:>10} {estimator:>6} {rmse:>9.5f} {rmse_whole:>9.5f} "
            f"{rmse / rmse_whole:>6.3f} {expected:>9.5f} {expected_whole:>9.5f} {expected / expected_whole:>6.3f} "
            f"{covered:>7.3f} {covered_whole:>7.3f}",
            flush=True,
        )


def quality(made: Estimate, truth: Floats) -> tuple[float, float, float]:
    outlook = made.outlook
    assert outlook is not None
    inside = (outlook.lower <= truth) & (truth <= outlook.upper)
    return float(np.sqrt(np.mean((made.values - truth) ** 2))), outlook.expected_rmse, float(inside.mean())


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    print(
        f"{'reviewers':>9} {'scores':>7} {'mechanism':>10} {'':>6} {'sort ms':>8} {'isotonic':>9} {'refine ms':>10} "
        f"{'ratio':>7} {'peak MB':>8}"
    )
    for n in sizes:
        for hidden in (False, True):
            for name in MECHANISMS:
                times(n, name, hidden=hidden)
    print(
        f"\n{'scores':>7} {'mechanism':>10} {'':>6} {'rmse':>9} {'whole':>9} {'ratio':>6} {'expected':>9} {'whole':>9} "
        f"{'ratio':>6} {'covered':>7} {'whole':>7}"
    )
    compare("histogram", hidden=False, seeds=range(1, 5))
    compare("laplace", hidden=False, seeds=range(1, 5))
    compare("histogram", hidden=True, seeds=range(1, 5))


if __name__ == "__main__":
    main()
