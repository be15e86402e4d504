"""Sampled tables: valid, a function of release, record and seed alone, and combined by the stated rules."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import peerveil as pv
from clusters import running_cluster
from peerveil.cli import main
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior
from peerveil.inference.model import RecordModel
from peerveil.private.columns import Attributes
from peerveil.record.public_files import write_public
from peerveil.record.public_record import Floats, Ints
from peerveil.releases.refinement import law_of
from peerveil.sampling import drawing
from peerveil.sampling.combining import interval
from peerveil.sampling.files import own_files
from peerveil.sampling.pictures import finding
from peerveil.sampling.tables import SampledTables, Table, source_of
from peerveil.sampling.targets import targets_of
from peerveil.simulation.worlds import world
from peerveil.support import parallel


def conference(
    seed: int, *, name: str = "camps", reviewers: int = 60, loads: Any = 4
) -> tuple[pv.PublicRecord, Floats]:
    """The record of a synthetic conference, and its true means."""
    made = world(name, reviewers=reviewers, loads=loads, seed=seed)
    rows = np.split(made.score, np.flatnonzero(np.diff(made.paper)) + 1)
    load, number = np.unique(np.bincount(made.reviewer), return_counts=True)
    record = pv.PublicRecord.from_rows(rows, loads=dict(zip(load.tolist(), number.tolist(), strict=True)))
    return record, np.bincount(made.reviewer, weights=made.score) / np.bincount(made.reviewer)


def released(record: pv.PublicRecord, means: Floats, *, scale: float = 0.1, seed: int = 1) -> pv.Release:
    noisy = np.sort(means) + np.random.default_rng(seed).laplace(scale=scale, size=means.size)
    return pv.refine(noisy, pv.weigh(record), mechanism=pv.Laplace(scale=scale))


STATISTICS = ("ratings", "spread of ratings")


@cache
def example() -> SampledTables:
    record, means = conference(1, reviewers=60, loads=(3, 4, 5))
    return pv.sample_tables(released(record, means), record, seed=5, workers=1)


def assert_valid(frame: pl.DataFrame, record: pv.PublicRecord) -> None:
    """By the columns of a table alone: papers and scores of the record, loads exact, nobody twice on a paper."""
    rows = frame.rows(named=True)
    by_paper = {name: sorted(row["score"] for row in rows if row["paper"] == name) for name in record.papers}
    assert list(by_paper.values()) == record.rows()
    assert len({(row["paper"], row["reviewer"]) for row in rows}) == len(rows)
    loads = Counter(Counter(row["reviewer"] for row in rows).values())
    if record.loads.counts is None:
        assert set(loads) <= set(record.loads.sizes)
        assert sum(loads.values()) == record.loads.reviewers
    else:
        assert loads == dict(zip(record.loads.sizes, record.loads.counts, strict=True))


@pytest.mark.promise("P-TABLES-1")
def test_every_table_is_valid_and_none_is_like_another() -> None:
    tables = example()
    assert len(tables) == 20
    for table in tables:
        assert_valid(table.to_frame(), tables.record)
    assert len({table.reviewer.tobytes() for table in tables}) == 20
    # Pseudonyms are fresh: a load of 5 is not always that of the first reviewers.
    assert len({tuple(np.flatnonzero(table.loads == 5).tolist()) for table in tables}) == 20


def test_tables_have_the_statistics_of_the_release() -> None:
    """With little noise, the distribution of the means is that of the truth, which random dealing would not give."""
    record, means = conference(3, reviewers=150)
    tables = pv.sample_tables(released(record, means, scale=0.02), record, workers=1)
    deviation = [table.of_reviewers(table.score).std() for table in tables]
    rng = np.random.default_rng(1)
    dealt = [table.of_reviewers(rng.permutation(table.score)).std() for table in tables]
    assert np.mean(dealt) < 0.9 * means.std()
    assert np.mean(deviation) == pytest.approx(means.std(), rel=0.02)
    assert max(tables.diagnostics["misplaced"]) < 0.15
    assert min(tables.diagnostics["renewed"]) > 0.5


def test_the_chart_of_the_draws_tells_how_far_they_are_and_whether_they_have_settled() -> None:
    tables = example()
    counts = np.array([drawn.counts for drawn in tables.draws])
    off = max(abs(float(each)) for each in (counts - tables.wanted).mean(axis=0))
    title = finding(tables).removesuffix("settled")
    stated = re.fullmatch(
        r"On average over tables, each bin is within ([\d.]+) reviewers of what .*; the draws have ", title
    )
    assert stated is not None
    assert off <= float(stated[1]) + 1e-9 < off + 0.1 + 2e-9
    stuck = (replace(tables.draws[0], renewed=0.1), *tables.draws[1:])
    assert finding(replace(tables, draws=stuck)) == f"{title}not settled"
    falling = tuple(replace(each, trace=tuple(range(len(each.trace), 0, -1))) for each in tables.draws)
    assert finding(replace(tables, draws=falling)) == f"{title}not settled"
    words = " ".join(re.findall(r">([^<>]+)<", tables.plot().svg))
    assert "draws have settled" in words
    assert not re.search("sweep|cell|posterior", words)


@pytest.mark.promise("P-TABLES-2")
@pytest.mark.slow
def test_the_same_release_record_and_seed_give_the_same_tables_with_any_number_of_workers() -> None:
    record, means = conference(1, reviewers=60, loads=(3, 4, 5))
    again = pv.sample_tables(released(record, means), record, seed=5, workers=2)
    other = pv.sample_tables(released(record, means), record, seed=6, workers=1)
    assert all(np.array_equal(a.reviewer, b.reviewer) for a, b in zip(example(), again, strict=True))
    assert not any(np.array_equal(a.reviewer, b.reviewer) for a, b in zip(example(), other, strict=True))
    more = pv.sample_tables(released(record, means), record, tables=22, seed=5, workers=1)
    assert np.array_equal(more[19].reviewer, example()[19].reviewer)


def reviews_of(record: pv.PublicRecord, reviewer: Ints) -> pv.Reviews:
    papers = [record.papers[i] for i in record.paper.tolist()]
    return pv.Reviews.from_columns(papers, [f"secret {i}" for i in reviewer.tolist()], record.score)


@cache
def histogram() -> tuple[pv.Release, pv.Reviews, Table]:
    """A histogram, its private reviews, and their true table."""
    truth = example()[7]
    reviews = reviews_of(truth.record, truth.reviewer)
    return pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=2.0, bins=6)), reviews, truth


@pytest.mark.promise("P-TABLES-2")
def test_other_private_reviews_behind_the_same_release_give_the_same_bytes(tmp_path: Path) -> None:
    release, reviews, truth = histogram()
    others = reviews_of(truth.record, example()[3].reviewer)  # the same public record, held by others
    order = np.random.default_rng(1).permutation(truth.reviewer.size)  # and in another order, with other names
    papers, score = np.array(truth.record.papers)[truth.record.paper][order].tolist(), truth.record.score[order]
    shuffled = pv.Reviews.from_columns(papers, [f"{99 - i} secret" for i in truth.reviewer[order].tolist()], score)
    for name, private in (("one", reviews), ("two", others), ("three", shuffled)):
        pv.sample_tables(release, private.public("all"), seed=2, workers=1).save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 43
    assert set(files) <= own_files()
    for name in files:
        contents = (tmp_path / "one" / name).read_bytes()
        for other in ("two", "three"):
            assert contents == (tmp_path / other / name).read_bytes(), name
        assert b"secret" not in contents


@pytest.mark.promise("P-TABLES-3")
def test_draws_of_counts_have_the_posterior_of_the_release() -> None:
    """By another route: the estimates' posterior of the number of reviewers below the end of each bin."""
    release, _, truth = histogram()
    weights = pv.weigh(truth.record)
    assert release.histogram is not None
    law = law_of(release.mechanism)
    assert law is not None
    model = weights.derived(RecordModel)
    posterior = model.posterior(CountLikelihood(release.histogram, law))
    assert isinstance(posterior, CountPosterior)
    steps = model.count_prior(release.histogram.bins).steps
    last = np.searchsorted(steps.bin, np.arange(release.histogram.bins.number - 1), side="right") - 1
    targets, rng = targets_of([source_of(release, truth.record, "refuse")]), np.random.default_rng(1)
    (margin,) = targets.margins
    draws = np.array([targets.draw(rng).counts for _ in range(150)])
    assert (draws.sum(axis=1) == 60).all()
    assert (draws >= 0).all()
    ends = np.searchsorted(margin.cuts, release.histogram.bins.cuts)
    assert np.allclose(margin.cuts[ends], release.histogram.bins.cuts)
    assert margin.cuts.size > release.histogram.bins.number  # cells are finer than bins
    below = np.cumsum(draws, axis=1)[:, ends]
    deviation = np.sqrt(posterior.below.variance[last])
    # Whole numbers from 0 to 60: rounding and sorting move a running sum by less than half a reviewer.
    assert (np.abs(below.mean(axis=0) - posterior.below.mean[last]) < 4 * deviation / 12 + 0.5).all()
    assert (np.abs(below.std(axis=0) - deviation) < 0.3 * deviation + 0.5).all()


def test_loads_are_drawn_where_only_their_range_is_public() -> None:
    record, means = conference(5, reviewers=40, loads=(3, 4, 5))
    open_loads = pv.PublicRecord.from_rows(record.rows(), loads=(2, 6), reviewers=40)
    tables = pv.sample_tables(released(open_loads, means), open_loads, workers=1)
    for table in tables:
        assert_valid(table.to_frame(), open_loads)
    assert len({tuple(np.sort(table.loads).tolist()) for table in tables}) > 1


@cache
def in_groups() -> tuple[pv.Reviews, pv.PublicRecord]:
    """Reviews whose reviewers have an attribute, with which their scores go."""
    made = world("flat", reviewers=60, loads=(3, 4, 5), seed=3)
    senior = np.random.default_rng(1).random(60) < 0.4
    score = np.clip(made.score + 2 * senior[made.reviewer], 1, 10)
    people = [f"secret {i:02d}" for i in made.reviewer.tolist()]
    group = Attributes(names=("seniority",), values=(tuple(np.where(senior, "senior", "junior").tolist()),))
    papers = [f"p{i:03d}" for i in made.paper.tolist()]
    reviews = pv.Reviews.from_columns(papers, people, score, scale=(1, 10), attributes=group)
    return reviews, reviews.public("all")


@pytest.mark.promise("P-TABLES-7")
@pytest.mark.slow
def test_several_releases_are_fitted_together() -> None:
    """Means, spreads and means by an attribute, with little noise: the tables have all three, as the truth has."""
    reviews, record = in_groups()
    means = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=30.0, bins=8))
    spreads = pv.release(
        reviews, public="all", quantity="spread of ratings", mechanism=pv.Histogram(epsilon=30.0, bins=6)
    )
    by = pv.release_by(reviews, by="seniority", values=("senior", "junior"), public="all", epsilon=30.0, bins=5)
    tables = pv.sample_tables([means, spreads, by], record, workers=1)
    assert tables.fitted_to == ("ratings", "spread of ratings", "ratings by seniority")
    truth = dict(zip(("mean", "spread"), (means_and_spreads(record, reviews)), strict=True))
    gaps = []
    for table in tables:
        assert_valid(table.to_frame(), record)
        senior = np.array(table.attributes["seniority"]) == "senior"
        gaps.append(means_of(table)[senior].mean() - means_of(table)[~senior].mean())
        assert abs(senior.sum() - by["senior"].size) < 8
        assert set(table.to_frame()["seniority"]) == {"senior", "junior"}
    assert np.mean([means_of(table).std() for table in tables]) == pytest.approx(truth["mean"].std(), rel=0.15)
    assert np.mean([spreads_of(table).mean() for table in tables]) == pytest.approx(truth["spread"].mean(), rel=0.1)
    assert 1.0 < np.mean(gaps) < 3.0
    alone = pv.sample_tables(means, record, workers=1)
    assert abs(np.mean([spreads_of(table).mean() for table in alone]) - truth["spread"].mean()) > abs(
        np.mean([spreads_of(table).mean() for table in tables]) - truth["spread"].mean()
    )
    mixed = pv.sample_tables(
        [
            means,
            pv.release(reviews, public="all", quantity="miscalibration", mechanism=pv.Histogram(epsilon=30.0, bins=4)),
        ],
        record,
        workers=1,
    )
    assert mixed.fitted_to == ("ratings", "miscalibration")


def means_and_spreads(record: pv.PublicRecord, reviews: pv.Reviews) -> tuple[Floats, Floats]:
    order = np.argsort(reviews.reviewer, kind="stable")
    hands = np.split(reviews.score[order], np.flatnonzero(np.diff(reviews.reviewer[order])) + 1)
    return np.array([hand.mean() for hand in hands]), np.array([hand.std() for hand in hands])


@pytest.mark.promise("P-TABLES-5")
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize("statistic", ["ratings", "spread of ratings"])
def test_hidden_scores_are_drawn_and_marked(share: float, statistic: str) -> None:
    """The tables' statistics are those of the truth if the noise is small, even where no score is public."""
    reviews, record = in_groups()
    hidden = np.random.default_rng(2).random(record.score.size) < share
    public = (
        "none"
        if share == 1
        else pv.PublicRecord.from_reviews(
            record.papers, record.paper, np.where(hidden, np.nan, record.score), record.loads, scale=(1, 10)
        )
    )
    release = pv.release(reviews, public=public, quantity=statistic, mechanism=pv.Histogram(epsilon=30.0, bins=6))
    shown = reviews.public(public)
    tables = pv.sample_tables(release, shown, workers=1)
    truth = means_and_spreads(record, reviews)[statistic != "ratings"]
    of = means_of if statistic == "ratings" else spreads_of
    assert np.mean([of(table).mean() for table in tables]) == pytest.approx(truth.mean(), abs=0.3)
    assert np.mean([of(table).std() for table in tables]) == pytest.approx(truth.std(), rel=0.25)
    for table in tables:
        rows = table.to_frame().rows(named=True)
        assert [row["score_drawn"] for row in rows] == np.isnan(shown.score).tolist()
        assert all(1 <= row["score"] <= 10 and row["score"] == round(row["score"]) for row in rows)
        assert np.array_equal(table.score[~table.drawn], shown.score[~table.drawn])
        assert Counter(table.loads.tolist()) == Counter(record.loads.per_reviewer().tolist())
    assert len({table.score.tobytes() for table in tables}) == len(tables)


def test_papers_are_numbered_if_no_score_is_public() -> None:
    reviews = pv.Reviews.from_columns(["secret", "secret", "tale", "tale"], [*"abab"], [1, 2, 3, 4], scale=(1, 5))
    for public, papers in (("none", ["paper 1", "paper 2"]), ("all", ["secret", "tale"])):
        table = Table(record := reviews.public(public), np.array([0, 1, 0, 1]), score=np.array([1.0, 2, 3, 4]))
        assert sorted(set(table.columns()["paper"])) == papers
        assert len(record.papers) == 2


@pytest.mark.slow
def test_the_same_tables_with_dask() -> None:
    """On a cluster of two processes, for a vector with noise and for two histograms with hidden scores."""
    record, means = conference(1, reviewers=60, loads=(3, 4, 5))
    reviews, _ = in_groups()
    noise = pv.Histogram(epsilon=3.0, bins=4)
    hidden = [pv.release(reviews, public="none", quantity=name, mechanism=noise) for name in STATISTICS]
    cases: list[tuple[Any, pv.PublicRecord]] = [(released(record, means), record), (hidden, reviews.public("none"))]
    with running_cluster() as address, parallel.cluster(address) as executor:
        spread_out = [pv.sample_tables(*case, seed=5, executor=executor) for case in cases]
    for case, drawn in zip(cases, spread_out, strict=True):
        for again in (pv.sample_tables(*case, seed=5, workers=1), pv.sample_tables(*case, seed=5, workers=2)):
            for a, b in zip(again, drawn, strict=True):
                assert a.to_frame().equals(b.to_frame())
            assert again.diagnostics == drawn.diagnostics


@pytest.mark.slow
def test_other_statistics_and_quantities() -> None:
    record, _ = conference(6, reviewers=40)
    truth = pv.sample_tables(released(record, np.full(40, 5.5), scale=3.0), record, workers=1)[0]
    reviews = reviews_of(record, truth.reviewer)
    for quantity in ("spread of ratings", "miscalibration"):
        release = pv.release(reviews, public="all", quantity=quantity, mechanism=pv.Histogram(epsilon=5.0, bins=4))
        tables = pv.sample_tables(release, record, workers=1)
        assert tables.quantity == quantity
        assert_valid(tables[0].to_frame(), record)


def test_columns_of_attributes_hide_no_others() -> None:
    record = pv.PublicRecord.from_rows([[1, 2], [3, 4]], load=2)
    table = Table(record, np.array([0, 1, 0, 1]), attributes={"reviewer": ("a", "b"), "arm": ("x", "y")})
    columns = table.columns()
    assert list(columns) == ["paper", "reviewer", "score", "reviewer (attribute)", "arm"]
    assert columns["reviewer"] == ["reviewer 1", "reviewer 2"] * 2
    assert columns["reviewer (attribute)"] == ["a", "b"] * 2


def test_tables_need_the_number_of_reviewers_and_say_how_to_declare_it() -> None:
    rows = [(f"p{i}", f"r{(i + k) % 20}@x.org", 1 + (i + k) % 5, "yn"[i % 2]) for i in range(20) for k in (0, 1)]
    frame = pl.DataFrame(rows, schema=["paper", "reviewer", "score", "kept"], orient="row")
    reviews = pv.read(frame, scale=(1, 5), only="kept=y", visible_column="kept=paper")
    noise = pv.Histogram(epsilon=1.0)
    release = pv.release(reviews, public="all", mechanism=noise)
    with pytest.raises(pv.InputError, match=r"A release that declares them \(declare_kept=True\) has them"):
        pv.sample_tables(release, reviews.public("all"))


@pytest.mark.promise("P-TABLES-6")
def test_what_cannot_be_drawn_is_refused() -> None:
    record, means = conference(1, reviewers=60)
    release = released(record, means)
    for tables in (1, 19, 1001, True, 20.0):
        with pytest.raises(pv.InputError, match="tables must be"):
            pv.sample_tables(release, record, tables=tables)  # type: ignore[arg-type]
    other, _ = conference(2, reviewers=60)
    with pytest.raises(pv.InputError, match="not the one that the release of ratings was made from"):
        pv.sample_tables(release, other)
    hidden = pv.PublicRecord.from_rows([[None, 3], [2, 4]], load=2, scale=(1, 5))
    weights = pv.weigh(hidden, "miscalibration")
    with pytest.raises(pv.InputError, match="1 scores are hidden, and miscalibration of a review depends"):
        pv.sample_tables(pv.refine([3, 4], weights, mechanism=pv.Laplace(scale=1.0)), hidden)
    with pytest.raises(pv.InputError, match="noise on its vector, so it cannot be fitted together"):
        pv.sample_tables([release, release], record)
    with pytest.raises(pv.InputError, match="at least one release"):
        pv.sample_tables([], record)
    unknown = pv.refine(np.sort(means), pv.weigh(record), mechanism=pv.External(words="by hand"))
    with pytest.raises(pv.InputError, match="does not state the distribution"):
        pv.sample_tables(unknown, record)
    with pytest.raises(pv.RecordError, match="two reviews of one paper"):
        Table(pv.PublicRecord.from_rows([[1, 2], [3, 4]], load=2), np.array([0, 0, 1, 1]))
    with pytest.raises(pv.RecordError, match="scores of a table"):
        Table(pv.PublicRecord.from_rows([[1, 2], [3, 4]], load=2), np.array([0, 1, 0, 1]), np.array([1.0, 2, 3, 5]))
    with pytest.raises(pv.RecordError, match="one value per reviewer"):
        Table(pv.PublicRecord.from_rows([[1, 2]], load=1), np.array([0, 1]), attributes={"arm": ("a",)})
    with pytest.raises(pv.RecordError, match="loads"):
        Table(pv.PublicRecord.from_rows([[1, 2], [3, 4]], load=2), np.array([0, 2, 1, 0]))


def test_intervals_are_those_of_the_rules() -> None:
    values = np.random.default_rng(1).normal(size=25)
    t = stats.t(df=24, loc=values.mean(), scale=np.sqrt(values.var(ddof=1) * 26 / 25))
    assert interval(values, 0.8) == pytest.approx((values.mean(), *t.interval(0.8)))
    combined = pv.combine(example(), lambda table: table.of_reviewers(table.score).max(), level=0.5, check=False)
    each = [table.of_reviewers(table.score).max() for table in example()]
    assert (combined.estimate, combined.lower, combined.upper) == interval(np.array(each), 0.5)
    assert combined.shifts == {}
    with pytest.raises(pv.InputError, match="finite number"):
        pv.combine(example(), lambda _: np.nan)
    with pytest.raises(pv.InputError, match="level"):
        pv.combine(example(), lambda _: 0.0, level=1.0)


def test_intervals_hold_the_next_draw_as_often_as_stated() -> None:
    """If truth and tables have one law, as with a right posterior, the interval holds the truth at its level."""
    rng = np.random.default_rng(8)
    draws = rng.normal(size=(4_000, 21))
    held = [low <= row[20] <= high for row in draws for _, low, high in [interval(row[:20], 0.9)]]
    assert np.mean(held) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 4_000))


def means_of(table: Table) -> Floats:
    return table.of_reviewers(table.score)


def spreads_of(table: Table) -> Floats:
    return np.sqrt(np.maximum(table.of_reviewers(table.score**2) - means_of(table) ** 2, 0.0))


def hands(table: Table) -> list[Floats]:
    order = np.argsort(table.reviewer, kind="stable")
    return np.split(table.score[order], np.cumsum(table.loads)[:-1])


def paper_means(table: Table) -> Floats:
    return (np.bincount(table.paper, weights=table.score) / np.bincount(table.paper))[table.paper]


def repeated_pairs(table: Table) -> int:
    papers = np.split(table.reviewer, np.flatnonzero(np.diff(table.paper)) + 1)
    pairs = Counter((a, b) for paper in papers for a in paper.tolist() for b in paper.tolist() if a < b)
    return sum(number > 1 for number in pairs.values())


TOLD = {
    "variance of means": lambda table: means_of(table).var(ddof=1),
    "strictest tenth": lambda table: np.quantile(means_of(table), 0.1),
    "most lenient tenth": lambda table: np.quantile(means_of(table), 0.9),
    "share of lenient reviewers": lambda table: np.mean(means_of(table) >= 6.5),
    "mean score": lambda table: table.score.mean(),
}
NOT_TOLD = {
    "flat scorers": lambda table: np.mean(spreads_of(table) < 1),
    "mean spread": lambda table: spreads_of(table).mean(),
    "variance of spreads": lambda table: spreads_of(table).var(),
    "mean of minima": lambda table: np.mean([hand.min() for hand in hands(table)]),
    "mean of maxima": lambda table: np.mean([hand.max() for hand in hands(table)]),
    "mean range": lambda table: np.mean([np.ptp(hand) for hand in hands(table)]),
    "miscalibration": lambda table: table.of_reviewers(table.score - paper_means(table)).var(),
    "leniency and papers": lambda table: np.corrcoef(means_of(table), table.of_reviewers(paper_means(table)))[0, 1],
    "repeated pairs": repeated_pairs,
    "first papers": lambda table: table.of_reviewers(table.paper < table.paper[-1] / 2).var(),
}


@cache
def checked() -> SampledTables:
    record, means = conference(9, name="family", reviewers=120)
    return pv.sample_tables(released(record, means, scale=0.3), record, workers=1)


def test_what_chance_would_give_is_stated() -> None:
    """Two camps differ more than by chance: the estimate is far from it, as the release tells."""
    combined = pv.combine(checked(), TOLD["variance of means"])
    dealt = [means_of(table).var(ddof=1) for table in checked().dealt]
    assert combined.by_chance == pytest.approx(np.mean(dealt))
    assert combined.by_chance is not None
    assert combined.by_chance < combined.lower
    for table in checked().dealt:
        assert_valid(table.to_frame(), table.record)


@pytest.mark.promise("P-TABLES-4")
@pytest.mark.parametrize("name", TOLD)
def test_functions_that_the_release_tells_are_not_flagged(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pv.combine(checked(), TOLD[name]).not_told == ()


@pytest.mark.promise("P-TABLES-4")
@pytest.mark.parametrize("name", NOT_TOLD)
def test_functions_that_no_release_told_are_flagged(name: str) -> None:
    with pytest.warns(pv.TablesWarning, match="does not tell"):
        assert pv.combine(checked(), NOT_TOLD[name]).not_told != ()


@cache
def with_fractions() -> SampledTables:
    """Scores that are not whole: no two reviewers have the same mean, so hardly any swap keeps all means."""
    made = world("family", reviewers=40, loads=(3, 5), seed=31)
    score = made.score + np.random.default_rng(31).random(made.score.size)
    rows = np.split(score, np.flatnonzero(np.diff(made.paper)) + 1)
    record = pv.PublicRecord.from_rows(rows, loads={3: 20, 5: 20})
    means = np.bincount(made.reviewer, weights=score) / np.bincount(made.reviewer)
    return pv.sample_tables(released(record, means, scale=0.3), record, workers=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::peerveil.errors.TablesWarning")
def test_functions_are_flagged_where_scores_are_not_whole() -> None:
    assert [name for name, of in TOLD.items() if pv.combine(with_fractions(), of).not_told] == []
    assert [name for name, of in NOT_TOLD.items() if not pv.combine(with_fractions(), of).not_told] == []


def test_stressed_tables_are_valid_and_have_the_released_statistic() -> None:
    tables = checked()
    for aspect, changed in tables.stressed.items():
        for index, table in changed:
            assert_valid(table.to_frame(), tables.record)
            assert np.allclose(np.sort(means_of(table)), np.sort(means_of(tables[index]))), aspect
            assert np.mean(table.reviewer != tables[index].reviewer) > 0.5, aspect


def test_files_and_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    release, _, truth = histogram()
    monkeypatch.chdir(tmp_path)
    release.save("out", report=False)
    rows = (
        f"{name},{';'.join(f'{x:g}' for x in row)}"
        for name, row in zip(truth.record.papers, truth.record.rows(), strict=True)
    )
    Path("public.csv").write_text("\n".join(("paper,ratings", *rows)) + "\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["peerveil", "tables", "out", "--public", "public.csv", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    code, out, err = call("-o", "tables", "--seed", "4", "--workers", "1")
    assert code == 0, err
    assert "20 tables" in out
    drawn = pv.sample_tables(release, truth.record, seed=4, workers=1)
    for index, table in enumerate(drawn, start=1):
        stored = pl.read_parquet(f"tables/table-{index:04d}.parquet")
        assert stored.equals(table.to_frame())
        assert pl.read_csv(f"tables/table-{index:04d}.csv").equals(stored)
    readme = Path("tables/README.md").read_text()
    for words in ("none is the true one", "reviewers' means of ratings", "t = 1.729", "random dealing", "seed 4"):
        assert words in readme
    document = json.loads(Path("tables/tables.json").read_text())
    assert document["fitted_to"] == ["ratings"]
    assert len(document["diagnostics"]["misplaced"]) == 20
    assert document["settling"] == asdict(drawn.settling)
    assert document["settling"]["settled"]
    assert "not settled" not in out
    with monkeypatch.context() as stopped:
        stopped.setattr(drawing, "_FEWEST_SWEEPS", 2)
        stopped.setattr(drawing, "_SWEEPS_PER_REVIEW", 0)
        code, out, err = call("-o", "stopped", "--workers", "1")
    assert code == 0, err
    assert "The draws have not settled" in out
    assert not json.loads(Path("stopped/tables.json").read_text())["settling"]["settled"]
    code, _, err = call("-o", "tables")
    assert (code, "already" in err or "contains" in err) == (2, True), err
    code, _, err = call("-o", "few", "--tables", "1")
    assert code == 2
    assert "--tables must be from 20" in err
    assert not Path("few").exists()


@pytest.mark.slow
def test_command_with_several_releases_and_without_public_scores(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    made = world("camps", reviewers=40, loads=4, seed=8)
    papers = [f"paper {i + 1:02d}" for i in made.paper.tolist()]
    reviews = pv.Reviews.from_columns(papers, [f"r{i}" for i in made.reviewer.tolist()], made.score, scale=(1, 10))
    noise = pv.Histogram(epsilon=3.0, bins=4)
    for name, public in (("shown", "all"), ("hidden", "none")):
        pv.release(reviews, public=public, mechanism=noise).save(f"{name}-means", report=False)
        quantity = "spread of ratings"
        pv.release(reviews, public=public, quantity=quantity, mechanism=noise).save(f"{name}-spreads", report=False)
    write_public(reviews.public("all"), Path("public.csv"))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["peerveil", "tables", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, " ".join(err.split())

    code, out, err = call("shown-means", "shown-spreads", "--public", "public.csv", "-o", "both")
    assert code == 0, err
    assert "reviewers' means of ratings and reviewers' spreads of ratings" in " ".join(out.split())
    assert json.loads(Path("both/tables.json").read_text())["fitted_to"] == ["ratings", "spread of ratings"]
    none = ("--public", "none", "--score-scale", "1,10")
    code, out, err = call("hidden-means", "hidden-spreads", *none, "-o", "drawn")
    assert code == 0, err
    assert pl.read_csv("drawn/table-0001.csv")["score_drawn"].all()
    assert "160 scores are hidden. They are **drawn**" in Path("drawn/README.md").read_text()
    code, _, err = call("hidden-means", "--public", "none", "-o", "x")
    assert (code, "--score-scale" in err) == (2, True), err
    code, _, err = call("hidden-means", "--public", "none", "--score-scale", "1,9", "-o", "x")
    assert (code, "--public none is not enough" in err) == (2, True), err
