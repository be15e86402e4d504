"""Refinement of very long vectors: time and memory, and accuracy next to the computation with whole assignments.

The first table is one run from the public weights and the noisy data to values, expected error and bands: the region
`tight` and the estimate `safe` or `bayes`. The ratio is to one sort of the weights and one isotonic regression of the
noisy vector; at a million reviewers, 30 are allowed. Whole scores are sorted fast, as there are few of them, and the
vector of a histogram ascends already; so a second ratio is to a sort and a regression of as many real numbers: weights
in random order, and a vector with Laplace noise. Times are of the process (not of the clock, which other processes
share), the best of three; memory is the peak of NumPy's and Python's allocations beyond the input. Load 4, whole scores
from 1 to 10 that are all public or all hidden, epsilon 1; seeds are the numbers of reviewers.

The second table compares the limit of many reviewers (peerveil/inference/limit.py) with 40 whole assignments at
100,000 reviewers: realised and expected error and the coverage of 90 % bands, over truths at leniencies 0, 0.4, 0.9, 2
and noise with seeds 1 to 4. Ratios are of the means over these.

Arguments: names of tables (times, accuracy), all by default; with ``--quick`` only a small one of times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # as sort and isotonic regression have one; waiting threads count as well

import numpy as np  # noqa: E402
from scipy.optimize import isotonic_regression  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Growing, Output  # noqa: E402
from peerveil.inference.estimators import Estimate  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.inference.prior import prior  # noqa: E402
from peerveil.mechanisms import Mechanism  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from results import Column  # noqa: E402
from timing import peak_megabytes  # noqa: E402

LOAD, DRAWS = 4, 40
MECHANISMS: dict[str, Mechanism] = {"laplace": pv.Laplace(epsilon=1.0), "histogram": pv.Histogram(epsilon=1.0)}

TIMES = (
    Column("n", "reviewers", digits=","),
    Column("scores", "scores"),
    Column("mechanism", "mechanism"),
    Column("estimator", "estimator"),
    Column("sort", "sort", "ms", ".2f"),
    Column("isotonic", "isotonic", "ms", ".2f"),
    Column("refine", "refine", "ms", ".1f"),
    Column("ratio", "refine over sort and isotonic", digits=".1f", better="lower", tolerance=0.3),
    Column("ratio-real", "over those of real numbers", digits=".1f", better="lower", tolerance=0.3),
    Column("peak", "peak", "MB", ".0f", better="lower", tolerance=0.1),
)
ACCURACY = (
    Column("scores", "scores"),
    Column("mechanism", "mechanism"),
    Column("estimator", "estimator"),
    Column("rmse", "error", digits=".5f", better="lower", tolerance=0.05),
    Column("rmse-whole", "with whole assignments", digits=".5f"),
    Column("rmse-ratio", "ratio", digits=".3f", better="lower", tolerance=0.05),
    Column("expected", "expected error", digits=".5f"),
    Column("expected-whole", "with whole assignments", digits=".5f"),
    Column("expected-ratio", "ratio", digits=".3f", target=1.0, tolerance=0.05),
    Column("covered", "in bands", digits=".3f"),
    Column("covered-whole", "with whole assignments", digits=".3f"),
)


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


def of_process(work: Callable[[], object], best_of: int = 3) -> float:
    """The best of some times, each of as many runs as a clock with few ticks needs."""
    best = float("inf")
    for _ in range(best_of):
        start, runs = time.process_time(), 0
        while (taken := time.process_time() - start) < 0.02 or not runs:
            work()
            runs += 1
        best = min(best, taken / runs)
    return best


def times(table: Growing, n: int, name: str, *, hidden: bool, best_of: int = 3) -> None:
    weights, true = record(n, hidden=hidden)
    rng = np.random.default_rng(n)
    truth = np.sort(rng.permutation(true.low).reshape(n, LOAD).mean(axis=1))
    made = Rehearsal.of(weights, MECHANISMS[name])
    noisy = made.perturb(truth, rng)
    unsorted, rough = rng.random(true.low.size), truth + rng.laplace(0.0, 10.0, n)
    vector = made.noisy_vector(noisy)
    sort, isotonic = of_process(lambda: np.sort(true.low)), of_process(lambda: isotonic_regression(vector))
    real = of_process(lambda: np.sort(unsorted)) + of_process(lambda: isotonic_regression(rough))

    def refine(estimator: str) -> None:
        rehearsal = Rehearsal.of(fresh(weights), MECHANISMS[name])
        rehearsal.__dict__["bins"] = made.bins  # they come with the counts
        rehearsal.estimates(noisy, [estimator])

    for estimator in ("safe", "bayes"):
        taken = of_process(lambda estimator=estimator: refine(estimator), best_of)  # type: ignore[misc]
        peak = peak_megabytes(lambda estimator=estimator: refine(estimator))  # type: ignore[misc]
        scores = "hidden" if hidden else "public"
        spent = 1e3 * sort, 1e3 * isotonic, 1e3 * taken
        table.add(n, scores, name, estimator, *spent, taken / (sort + isotonic), taken / real, peak)


def compare(table: Growing, name: str, *, hidden: bool, seeds: range, n: int = 100_000) -> None:
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
        errors = rmse, rmse_whole, rmse / rmse_whole, expected, expected_whole, expected / expected_whole
        table.add("hidden" if hidden else "public", name, estimator, *errors, covered, covered_whole)


def quality(made: Estimate, truth: Floats) -> tuple[float, float, float]:
    outlook = made.outlook
    assert outlook is not None
    inside = (outlook.lower <= truth) & (truth <= outlook.upper)
    return float(np.sqrt(np.mean((made.values - truth) ** 2))), outlook.expected_rmse, float(inside.mean())


def all_times(out: Output) -> None:
    title, seeds = "Refinement of long vectors", "the numbers of reviewers"
    table = out.table("times", title, TIMES, keys=4, seeds=seeds, promises=("P-README-4",))
    for n in [25_000] if out.quick else [10_000, 100_000, 1_000_000]:
        for hidden in (False, True):
            for name in MECHANISMS:
                times(table, n, name, hidden=hidden, best_of=1 if out.quick else 3)


def all_accuracies(out: Output) -> None:
    title, seeds = "The limit of many reviewers next to whole assignments, 100,000 reviewers", range(1, 5)
    how = "4 leniencies with each seed"
    table = out.table("accuracy", title, ACCURACY, keys=3, seeds=f"1 to {seeds[-1]}", draws=how)
    compare(table, "histogram", hidden=False, seeds=seeds)
    compare(table, "laplace", hidden=False, seeds=seeds)
    compare(table, "histogram", hidden=True, seeds=seeds)


def main() -> None:
    with Output("million") as out:
        tables = {"times": all_times, "accuracy": all_accuracies}
        for name in out.arguments or (("times",) if out.quick else tables):
            tables[name](out)


if __name__ == "__main__":
    main()
