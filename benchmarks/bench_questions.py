"""Other questions than those about means, asked of real raters: InstEval, whose students rate lecturers.

Conferences are made of all students with at least four ratings, of whom four are taken at random; at most four reviews
of a lecturer make a paper. Students of the first two years are compared with those of later years. Conference k has
the seed [SEED, k], and noise follows from the same seed; epsilon 1 per reviewer, all scores public.

- effect: how often the 90 % interval holds the difference between the groups in the conference itself, and that
  between the means of students over all their ratings, of which each conference takes four.
- spread: the share of the reviewers' sorted spreads that are in their 90 % bands, the root mean squared error, that
  error over the expected one, and over that of a guess from public data alone.

`make bench` fetches the ratings. A number as argument runs so many conferences, 100 by default.
"""

from __future__ import annotations

import math
import os
import sys

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from bench_effects import released  # noqa: E402
from bench_raters import ratings  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402

SEED, LOAD, SIZE = 41, 4, 4


def conference(rng: np.random.Generator, table: pl.DataFrame) -> tuple[pv.Reviews, Ints]:
    """The reviews of a conference, and the group of each reviewer: 1 in the first two years, else 2."""
    drawn = table.with_columns(order=pl.Series(rng.permutation(table.height))).sort("rater", "order")
    taken = drawn.filter(pl.len().over("rater") >= LOAD).group_by("rater", maintain_order=True).head(LOAD)
    part = pl.int_range(pl.len()).over("item") // SIZE
    taken = taken.sort("item", "order").with_columns(paper=pl.format("{}-{}", "item", part))
    papers, raters, scores = (taken[name].to_list() for name in ("paper", "rater", "score"))
    names = [f"{rater:06d}" for rater in raters]
    reviews = pv.Reviews.from_columns(papers, names, [float(score) for score in scores], scale=(1.0, 5.0))
    years = (
        taken.unique("rater").sort("rater")["years"].to_numpy()
    )  # reviewers are numbered in the order of their names
    return reviews, np.where(years <= 2, 1, 2)


def difference(score: Floats, early: Ints) -> float:
    """The mean score of the first group minus that of the second."""
    return float(score[early == 1].mean() - score[early != 1].mean())


def shown(values: list[float] | list[bool], percent: bool = False) -> str:
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{100 * mean:.1f} ± {100 * error:.1f} %" if percent else f"{mean:.3f} ± {error:.3f}"


def main(number: int = 100) -> None:
    files = ratings("insteval"), ratings("insteval-students")
    if not all(file.exists() for file in files):
        print("InstEval is not there; `make bench` fetches it")
        return
    whole, years = (pl.read_csv(file) for file in files)
    whole = whole.join(years.rename({"reviewer": "rater"}), on="rater")
    students = whole.filter(pl.len().over("rater") >= LOAD).group_by("rater").agg(pl.col("score", "years").mean())
    everywhere = difference(students["score"].to_numpy(), np.where(students["years"].to_numpy() <= 2, 1, 2))
    effects: dict[str, list[float]] = {name: [] for name in ("own", "all", "width", "true")}
    spreads: dict[str, list[float]] = {name: [] for name in ("band", "error", "expected", "guess")}
    for k in range(number):
        rng = np.random.default_rng([SEED, k])
        reviews, group = conference(rng, whole)
        made = released(rng, reviews, group, "ratings")
        own = difference(reviews.score, group[reviews.reviewer])
        effects["own"].append(made.low <= own <= made.high)
        effects["all"].append(made.low <= everywhere <= made.high)
        effects["width"].append(made.high - made.low)
        effects["true"].append(own)
        weights, truth = pv.weigh(reviews.public("all"), "spread of ratings"), true_vector(reviews, "spread of ratings")
        rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
        estimated = rehearsal.estimates(rehearsal.perturb(truth, rng), ["bayes"])["bayes"]
        outlook = estimated.outlook
        assert outlook is not None
        slack = 1e-9
        spreads["band"].append(float(np.mean((truth >= outlook.lower - slack) & (truth <= outlook.upper + slack))))
        error = float(np.sqrt(np.mean((estimated.values - truth) ** 2)))
        guess = float(np.sqrt(np.mean((weights.derived(RecordModel).guess - truth) ** 2)))
        spreads["error"].append(error)
        spreads["expected"].append(error / outlook.expected_rmse)
        spreads["guess"].append(error / guess)
    print(
        f"{number} conferences of {reviews.reviewers} students; effect of early years in all ratings {everywhere:.3f}"
    )
    print(
        f"effect: {shown(effects['true'])} in the conferences; intervals hold it in {shown(effects['own'], True)}, "
        f"that of all ratings in {shown(effects['all'], True)}; width {shown(effects['width'])}"
    )
    print(
        f"spread: {shown(spreads['band'], True)} in their bands; error {shown(spreads['error'])}, of the expected "
        f"{shown(spreads['expected'])}, of the guess's {shown(spreads['guess'])}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
