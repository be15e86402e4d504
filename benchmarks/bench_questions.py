"""Other questions than those about means: tables by an attribute, and InstEval, whose students rate lecturers.

A two-way table: simulated conferences of 3,000 reviewers with four reviews each, as in bench_effects.py, epsilon 1 per
reviewer, all scores public, half or a quarter of the reviewers in the first group. The deviation of a cell is the root
mean squared error of its share of all reviewers over draws of the noise, in percentage points; the mean and the
greatest of all cells are shown with their standard errors, and the greatest of the shares within a group.

InstEval: conferences are made of all students with at least four ratings, of whom four are taken at random; at most
four reviews of a lecturer make a paper. Students of the first two years are compared with those of later years.
Conference k has the seed [SEED, k], and noise follows from the same seed; epsilon 1 per reviewer, all scores public.

- effect: how often the 90 % interval holds the difference between the groups in the conference itself, and that
  between the means of students over all their ratings, of which each conference takes four.
- spread: the share of the reviewers' sorted spreads that are in their 90 % bands, the root mean squared error, that
  error over the expected one, and over that of a guess from public data alone; and in how many conferences the bands
  of the spreads that a tenth, half and nine tenths of the reviewers do not exceed hold the true ones.

`make bench` fetches the ratings. A number as argument runs so many conferences, 100 by default.
"""

from __future__ import annotations

import math
import os

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from bench_effects import Setting, released, trial  # noqa: E402
from bench_raters import ratings  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.effects.crosstabs import estimate_groups  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw  # noqa: E402
from peerveil.private.columns import Attributes  # noqa: E402
from peerveil.private.crosstabs import prepare_crosstab, true_table  # noqa: E402
from peerveil.private.true_vector import true_values, true_vector  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402
from results import Column, Measured, mean_of  # noqa: E402

SEED, LOAD, SIZE = 41, 4, 4

#: The draws of each two-way table, and their seed, fixed before any was drawn.
DRAWS, TABLE_SEED = 2_000, 20_261_120

#: The shares of reviewers whose bands are looked at one by one.
QUANTILES = (0.1, 0.5, 0.9)


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


def table_errors(rng: np.random.Generator, statistic: str, share: float, draws: int) -> tuple[Floats, Floats]:
    """The errors of the cells of a two-way table for each draw, as shares of all reviewers and of their group."""
    made = trial(rng, Setting(share=share))
    arms = tuple("first" if treated else "second" for treated in made.treated.tolist())
    reviews = pv.Reviews(**vars(made.reviews()) | {"attributes": Attributes(names=("arm",), values=(arms,))})
    quantity = "ratings" if statistic == "mean" else f"{statistic} of ratings"
    noise = pv.Histogram(epsilon=1.0)
    ready = prepare_crosstab(
        reviews, by="arm", values=("first", "second"), mechanism=noise, public="all", quantity=quantity
    )
    scale = ready.noise.mechanism.scale_on_counts
    assert scale is not None
    truth = true_table(ready.bins, true_values(reviews, quantity), np.where(made.treated == 1, 1, 2), 2, others=False)
    law, everybody = DiscreteLaplaceLaw(scale=scale), int(truth.sum())
    errors = []
    for _ in range(draws):
        noisy = truth + law.draw(rng, truth.size).reshape(truth.shape).astype(np.int64)
        groups = estimate_groups(noisy, everybody, scale, level=0.9)
        whole = (np.array([one.counts for one in groups]) - truth) / everybody
        errors.append((whole, np.array([one.shares for one in groups]) - truth / truth.sum(axis=1, keepdims=True)))
    of_all, of_group = (np.array(each).reshape(draws, -1) for each in zip(*errors, strict=True))
    return of_all, of_group


def two_way(out: Output, draws: int) -> None:
    """Deviations of the cells of two-way tables."""
    columns = (
        Column("statistic", "statistic"),
        Column("first", "first group", "%", "g"),
        Column("cells", "cells", digits="d"),
        *(
            Column(key, title, "percentage points", ".3f", better="lower")
            for key, title in (("mean", "mean deviation"), ("most", "greatest"), ("group", "greatest within a group"))
        ),
    )
    title, seeds = "Two-way tables: 3,000 reviewers, load 4, epsilon 1", f"[{TABLE_SEED}, statistic, share]"
    table = out.table("two-way", title, columns, keys=2, seeds=seeds, draws=draws)
    for number, statistic in enumerate(("mean", "spread", "range", "lowest")):
        for share in (0.5, 0.25):
            rng = np.random.default_rng([TABLE_SEED, number, round(100 * share)])
            of_all, of_group = table_errors(rng, statistic, share, draws)
            cells = [deviation(errors) for errors in (100 * of_all).T]
            inside = max(deviation(errors) for errors in (100 * of_group).T)
            mean = deviation(100 * of_all)
            table.add(statistic, 100 * share, len(cells), Measured(*mean), Measured(*max(cells)), Measured(*inside))


def deviation(errors: Floats) -> tuple[float, float]:
    """The root mean squared error, over draws that are rows, and its standard error."""
    squares = (errors**2).reshape(errors.shape[0], -1).mean(axis=1)
    root = float(np.sqrt(squares.mean()))
    return root, float(squares.std(ddof=1)) / math.sqrt(squares.size) / (2 * root)


def main() -> None:
    with Output("questions") as out:
        two_way(out, 100 if out.quick else DRAWS)
        insteval(out, int(out.arguments[0]) if out.arguments else 5 if out.quick else 100)


def insteval(out: Output, number: int) -> None:
    files = ratings("insteval"), ratings("insteval-students")
    if not all(file.exists() for file in files):
        print("InstEval is not there; `make bench` fetches it")
        return
    whole, years = (pl.read_csv(file) for file in files)
    whole = whole.join(years.rename({"reviewer": "rater"}), on="rater")
    students = whole.filter(pl.len().over("rater") >= LOAD).group_by("rater").agg(pl.col("score", "years").mean())
    everywhere = difference(students["score"].to_numpy(), np.where(students["years"].to_numpy() <= 2, 1, 2))
    effects: dict[str, list[float]] = {name: [] for name in ("own", "all", "width", "true")}
    spreads: dict[str, list[float]] = {
        name: [] for name in ("band", "error", "expected", "guess", *map(str, QUANTILES))
    }
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
        held = (truth >= outlook.lower - slack) & (truth <= outlook.upper + slack)
        spreads["band"].append(float(np.mean(held)))
        for share in QUANTILES:
            spreads[str(share)].append(float(held[math.ceil(share * truth.size) - 1]))
        error = float(np.sqrt(np.mean((estimated.values - truth) ** 2)))
        guess = float(np.sqrt(np.mean((weights.derived(RecordModel).guess - truth) ** 2)))
        spreads["error"].append(error)
        spreads["expected"].append(error / outlook.expected_rmse)
        spreads["guess"].append(error / guess)
    title = f"InstEval: conferences of {reviews.reviewers:,} students, epsilon 1"
    columns = Column("what", "what"), Column("value", "value", digits=".3f")
    table = out.table("insteval", title, columns, seeds=f"[{SEED}, k]", draws=number)
    table.add("effect of early years in all ratings", everywhere)
    table.add("effect in the conferences", mean_of(effects["true"]))
    table.add("width of its interval", mean_of(effects["width"]))
    table.add("error of spreads", mean_of(spreads["error"]))
    table.add("error of spreads over the expected one", mean_of(spreads["expected"]))
    table.add("error of spreads over that of the guess", mean_of(spreads["guess"]))
    columns = Column("what", "interval or band"), Column("held", "holds the truth", "%", ".1f", target=90.0)
    table = out.table("coverage", f"{title}: coverage", columns, seeds=f"[{SEED}, k]", draws=number)
    table.add("effect in the conference", mean_of(effects["own"], 100))
    table.add("effect in all ratings", mean_of(effects["all"], 100))
    table.add("spreads", mean_of(spreads["band"], 100))
    for share in QUANTILES:
        name = f"spread that {100 * share:.0f} % of reviewers do not exceed"
        table.add(name, mean_of(spreads[str(share)], 100))


if __name__ == "__main__":
    main()
