"""Bands where no score is public: how many true numbers they hold, and realised over expected error.

Conferences of 300 reviewers with four reviews each, three per paper, whole scores: from 1 to 10 around 5.5, and from 1
to 5 around 2.6 with less spread. Histogram noise of epsilon 1 and 4 per reviewer. Conference k has the seed [SEED, k],
and noise follows from it. Means over conferences, with standard errors. A second table has ratings of 30,000 and 99,999
reviewers at epsilon 1, where bands are so narrow that steps of whole scores matter.

Arguments: number of conferences (10), and quantities, or `large`.
"""

from __future__ import annotations

import math
import os
from typing import Any

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from bench_effects import dealt  # noqa: E402
from output import Output  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from results import Cell, Column, mean_of  # noqa: E402

SEED, REVIEWERS, LOAD, SIZE = 2, 300, 4, 3

#: Numbers of reviewers of the second table.
LARGE = (30_000, 99_999)

#: Scale, mean, and deviations of papers' quality, reviewers' leniency and the rest.
WORLDS = {"1 to 10": ((1, 10), 5.5, 1.2, 0.6, 1.1), "1 to 5": ((1, 5), 2.6, 0.6, 0.3, 0.6)}
QUANTITIES = ("ratings", "miscalibration", "disagreement", "lowest of ratings", "spread of ratings")


def conference(rng: np.random.Generator, world: str, reviewers: int = REVIEWERS) -> pv.Reviews:
    """A conference whose scores are whole."""
    scale, mean, quality, lenience, rest = WORLDS[world]
    who = dealt(rng, reviewers, LOAD, SIZE)
    score = mean + rng.normal(0, quality, (who.shape[0], 1)) + rng.normal(0, rest, who.shape)
    score = np.clip(np.rint(score + np.asarray(rng.normal(0, lenience, reviewers))[who]), *scale)
    papers = [f"{paper:05d}" for paper in np.repeat(np.arange(who.shape[0]), SIZE)]
    return pv.Reviews.from_columns(papers, [f"{one:05d}" for one in who.ravel()], score.ravel().tolist(), scale=scale)


def bands(rng: np.random.Generator, reviews: pv.Reviews, quantity: str, epsilon: float) -> tuple[float, float]:
    """The share of true numbers in their 90 % bands, and realised over expected error, with nothing public."""
    truth = true_vector(reviews, quantity)
    rehearsal = Rehearsal.of(pv.weigh(reviews.public("none"), quantity), pv.Histogram(epsilon=epsilon))
    estimated = rehearsal.estimates(rehearsal.perturb(truth, rng), ["bayes"])["bayes"]
    outlook = estimated.outlook
    assert outlook is not None
    inside = (truth >= outlook.lower - 1e-9) & (truth <= outlook.upper + 1e-9)
    error = math.sqrt(float(np.mean((estimated.values - truth) ** 2)))
    return float(np.mean(inside)), error / outlook.expected_rmse


HELD = Column("held", "in 90 % bands", "%", ".1f", target=90.0)
RATIO = Column("ratio", "error over the expected one", digits=".2f", target=1.0)
SCALE = Column("scale", "scale")


def row(number: int, world: str, quantity: str, epsilon: float, reviewers: int = REVIEWERS) -> tuple[Cell, Cell]:
    """What bands hold, in per cent, and realised over expected error, over so many conferences."""
    pairs = []
    for k in range(number):
        rng = np.random.default_rng([SEED, k])
        pairs.append(bands(rng, conference(rng, world, reviewers), quantity, epsilon))
    held, ratio = np.array(pairs).T
    return mean_of(held, 100), mean_of(ratio)


def main() -> None:
    with Output("hidden") as out:
        number = int(out.arguments[0]) if out.arguments else 2 if out.quick else 10
        shared: dict[str, Any] = {"seeds": f"[{SEED}, conference]", "draws": number}
        asked = out.arguments[1:] or (*QUANTITIES, "large")
        if quantities := [quantity for quantity in asked if quantity != "large"]:
            columns = [Column("quantity", "quantity"), SCALE, Column("epsilon", "epsilon", digits="g"), HELD, RATIO]
            title = f"Bands with nothing public, {REVIEWERS} reviewers"
            table = out.table("bands", title, columns, keys=3, **shared)
            for quantity in quantities:
                for world in WORLDS:
                    for epsilon in (1.0, 4.0):
                        table.add(quantity, world, epsilon, *row(number, world, quantity, epsilon))
        if "large" in asked:
            columns = [Column("reviewers", "reviewers", digits=","), SCALE, HELD, RATIO]
            title = "Bands of ratings with nothing public, many reviewers, epsilon 1"
            table = out.table("large", title, columns, keys=2, **shared)
            for reviewers in LARGE:
                for world in WORLDS:
                    table.add(reviewers, world, *row(number, world, "ratings", 1.0, reviewers))


if __name__ == "__main__":
    main()
