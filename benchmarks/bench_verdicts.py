"""Verdicts against no release: do they come true?

300 synthetic conferences of 30 to 3,000 reviewers, with equal loads of 2 to 6 or mixed loads of 1 to 6, reviewers who
differ in leniency from not at all to much, ratings or miscalibration, and budgets from 0.1 to 8. Each is released with
the mechanism and estimator that a plan chooses (among histograms only beyond 300 reviewers, where Laplace noise never
is the choice). The verdict of the plan and the verdict of the release are compared with what happened: the error of the
release over the error of the guess from public data alone.

Must hold for releases: of those called informative at least 90 % have less than 0.75 of the guess's error, of those
that add nothing at least 90 % have more. Conference k has the seed [11, k]; the limits of the verdicts were chosen on
others. A number as argument runs so many.
"""

from __future__ import annotations

import math
import os
from typing import NamedTuple

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.assignments import deal  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.inference.verdict import Verdict  # noqa: E402
from peerveil.mechanisms import Mechanism  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from results import Cell, Column, Measured  # noqa: E402

#: The limit between a release that was worth it and one that was not, and the share of verdicts that must be right.
LIMIT, RIGHT = 0.75, 0.9

SEED = 11


class Outcome(NamedTuple):
    """A conference: its size and budget, what was said of its release, and what happened.

    Attributes:
        reviewers: number of reviewers.
        epsilon: the budget.
        before: the verdict of the plan, if there was one.
        after: the verdict of the release.
        realised: the error of the release over that of the guess from public data alone.
    """

    reviewers: int
    epsilon: float
    before: Verdict | None
    after: Verdict
    realised: float


def conference(rng: np.random.Generator, *, most: int = 3_000) -> tuple[pv.PublicWeights, Floats]:
    """The public weights of a synthetic conference, and its true vector."""
    reviewers = round(math.exp(rng.uniform(math.log(30), math.log(most))))
    load = int(rng.integers(0, 7))
    loads = rng.integers(1, 7, reviewers) if load < 2 else np.full(reviewers, load)  # 0 and 1 stand for mixed loads
    papers = -(-int(loads.sum()) // 4)
    paper = np.arange(loads.sum()) % papers
    holder = deal(paper, loads.astype(np.int64), rng)
    lean = rng.normal(0, rng.uniform(0, 1.5), reviewers)
    raw = rng.normal(5.5, 1.2, papers)[paper] + lean[holder] + rng.normal(0, 1, paper.size)
    score = np.clip(np.rint(raw), 1, 10)
    names = [f"r{number}" for number in holder.tolist()]
    reviews = pv.Reviews.from_columns([f"p{number}" for number in paper.tolist()], names, score, scale=(1.0, 10.0))
    quantity = "ratings" if rng.random() < 0.7 else "miscalibration"
    return pv.weigh(reviews.public("all"), quantity, lone="zero"), true_vector(reviews, quantity, lone="zero")


def outcome(seeds: np.random.SeedSequence, *, most: int = 3_000, planned: bool = True) -> Outcome:
    """The outcome of one conference of at most so many reviewers; unplanned, of a histogram and `bayes`."""
    rng = np.random.default_rng(seeds)
    weights, truth = conference(rng, most=most)
    epsilon = math.exp(rng.uniform(math.log(0.1), math.log(8)))
    mechanism: Mechanism = pv.Histogram(epsilon=epsilon)
    estimator, before = "bayes", None
    if planned:
        names = None if weights.reviewers <= 300 else ("histogram",)
        plan = pv.Auto(epsilon=epsilon, mechanisms=names).plan(weights)
        choice = plan.choose(epsilon)
        mechanism, estimator, before = choice.make(), choice.estimator, plan.verdict(epsilon)
    rehearsal = Rehearsal.of(weights, mechanism)
    estimated = rehearsal.estimates(rehearsal.perturb(truth, rng), [estimator])[estimator]
    assert estimated.outlook is not None
    assert estimated.outlook.verdict is not None
    guess = weights.derived(RecordModel).guess
    realised = math.sqrt(float(np.mean((estimated.values - truth) ** 2) / np.mean((guess - truth) ** 2)))
    return Outcome(weights.reviewers, epsilon, before, estimated.outlook.verdict, realised)


def right(word: str, realised: float) -> bool:
    """Whether a verdict came true; one in between cannot fail."""
    return realised < LIMIT if word == "informative" else realised > LIMIT or word == "adds some"


def table(outcomes: list[Outcome], which: str) -> list[tuple[str, int, float, float]]:
    """How often each verdict of the plan (``before``) or of the release (``after``) occurs, and how many are right."""
    rows = []
    for word in ("informative", "adds some", "adds nothing"):
        held = np.array([right(word, one.realised) for one in outcomes if getattr(one, which).word == word])
        share = float(held.mean()) if held.size else math.nan
        rows.append((word, held.size, share, math.sqrt(share * (1 - share) / held.size) if held.size else math.nan))
    return rows


def main() -> None:
    columns = (
        Column("of", "verdict of"),
        Column("word", "verdict"),
        Column("number", "conferences", digits="d"),
        Column("right", f"right: error below {LIMIT} of the guess's if informative, above if not", digits=".3f"),
    )
    with Output("verdicts") as out:
        number = int(out.arguments[0]) if out.arguments else 20 if out.quick else 300
        outcomes = [outcome(np.random.SeedSequence([SEED, k]), most=300 if out.quick else 3_000) for k in range(number)]
        shown = out.table(
            "words",
            "Verdicts that came true",
            columns,
            keys=2,
            seeds=f"[{SEED}, k]",
            draws=number,
            promises=("P-BUDGET-5",),
        )
        for which, title in (("before", "the plan"), ("after", "the release")):
            for word, count, share, error in table(outcomes, which):
                cell: Cell = None if word == "adds some" or not count else Measured(share, error)
                shown.add(title, word, count, cell)


if __name__ == "__main__":
    main()
