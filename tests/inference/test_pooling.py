"""Pooled priors: their probabilities against plain sums, leave-one-out, disagreement, and the promise of `safe`."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import peerveil as pv
from inference.test_estimators import never_further
from peerveil.inference import pooling
from peerveil.inference.estimators import estimate
from peerveil.inference.family import CORRELATIONS, FAMILIES
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import SHAPE, Earlier, PooledPrior, YearPrior, grid, usual, with_prior
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.inference.pooling.shapes import SHAPES
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.record.public_record import Floats
from reference.theta import theta
from strategies import Case, cases

FAMILY = FAMILIES[pooling.MODEL]


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def pooled(*evidence: Floats, quantity: str = "weights", record: int = 0, **told: Any) -> PooledPrior:
    """A prior from the evidence of invented releases."""
    earlier = (
        Earlier(name=f"{2000 + k}", record=digest(record + k), release=digest(record + 1000 + k), evidence=each, **told)
        for k, each in enumerate(evidence)
    )
    return PooledPrior(quantity=quantity, releases=tuple(earlier))


def around(correlation: float, deviation: float = 0.1) -> Floats:
    """Evidence of a release that knows its correlation within a deviation, and nothing about its discrepancy."""
    logs = -0.5 * ((CORRELATIONS - correlation) / deviation) ** 2
    grid = np.repeat((logs - logs.max())[:, None], SHAPE[1], axis=1)
    return np.asarray(np.round(np.maximum(grid, -50.0), 4) + 0.0)


def certain(row: int, column: int) -> Floats:
    """Evidence as one-sided as a file can hold."""
    evidence = np.full(SHAPE, pooling.LEAST)
    evidence[row, column] = 0.0
    return evidence


def phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def slow_chances(prior: PooledPrior) -> Floats:
    """The same probabilities, summed over every combination of the hyperprior, one release after the other."""
    return slow_year(prior, None, None)[0]


def slow_year(prior: PooledPrior, within: Within | None, tails: Tails | None) -> tuple[Floats, float, float]:
    """The same for a year with a public record, and the densities of its tails and of its share given the tails."""
    wider = [c for c in CORRELATIONS.tolist() if c >= 0]
    ends = [0.0, *((a + b) / 2 for a, b in pairwise(wider)), 1.0]
    below = SHAPE[0] - len(wider)
    sizes = list(FAMILY.discrepancies.values())
    middles = pooling._TYPICAL.tolist()
    density = [math.exp(-0.5 * ((m - FAMILY.typical) / FAMILY.spread) ** 2) for m in middles]
    names = list(pooling._SHAPES)
    total, with_tails, result = 0.0, 0.0, np.zeros((len(names), *SHAPE))
    for series, (middle, dense) in product(names, list(zip(middles, density, strict=True))):
        chance = (1 - FAMILY.anything) * dense / sum(density) + FAMILY.anything / len(middles)
        known = slow_tails(prior, series, middle)
        of_tails = np.ones((len(names), SHAPE[0]))
        of_share = np.ones(SHAPE[0])
        for row, rho in enumerate(CORRELATIONS.tolist()):
            of_share[row] = slow_share(prior, within, middle, max(rho, 0.0))
            for place, name in enumerate(names):
                of_tails[place, row] = slow_tails_of(prior, within, tails, (series, middle), (name, max(rho, 0.0)))
        for (apart, likely), narrower in product(pooling._APART.items(), (False, True)):
            mass = [phi((b - middle) / apart) - phi((a - middle) / apart) for a, b in pairwise(ends)]
            less = 0.1 * FAMILY.narrower + 0.9 * narrower
            rows = [less / below] * below + [(1 - less) * m / sum(mass) for m in mass]
            of_series = likely * (FAMILY.narrower if narrower else 1 - FAMILY.narrower)
            for usually, chance_of_size in enumerate(sizes):
                columns = [0.1 * size + 0.9 * (place == usually) for place, size in enumerate(sizes)]
                law = np.outer(rows, columns)
                weight = pooling._SHAPES[series] * chance * of_series * chance_of_size * known
                years = [0.1 * likely_shape + 0.9 * (name == series) for name, likely_shape in pooling._SHAPES.items()]
                for each in prior.releases:
                    grids = [each.evidence] * len(names)
                    if each.shapes is not None:
                        grids = [
                            np.vstack((each.evidence[:5], each.shapes[k - 1])) if k else each.evidence for k in range(5)
                        ]
                    weight *= sum(
                        year * float(np.sum(law * np.exp(own))) for year, own in zip(years, grids, strict=True)
                    )
                total += weight
                own_tails = np.array([weight * year * law for year in years]) * of_tails[:, :, None]
                with_tails += float(own_tails.sum())
                result += own_tails * of_share[:, None]
    return result / result.sum(), with_tails / total, float(result.sum()) / with_tails


def slow_share(prior: PooledPrior, within: Within | None, middle: float, correlation: float) -> float:
    """The density of the share within papers, from the variances of leniency, single scores and papers."""
    earlier = [each.within for each in prior.releases if each.within is not None]
    if within is None or not earlier:
        return 1.0
    weights = [1 / (each.error**2 + 0.03**2) for each in earlier]
    centre = sum(w * each.share for w, each in zip(weights, earlier, strict=True)) / sum(weights)
    papers, scores = 1 - centre, max(centre - middle**2, 0.0)  # beside leniency of middle ** 2
    leniency = correlation**2 * (papers + scores) / (1 - correlation**2)
    expected = 1 - papers / (papers + scores + leniency)
    variance = within.error**2 + 0.03**2 + 1 / sum(weights)
    return math.exp(-0.5 * (within.share - expected) ** 2 / variance) / math.sqrt(2 * math.pi * variance)


def slow_moments(shape: str, correlation: float, within: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """What skewness and kurtosis are for a shape of leniency, each with its deviation from year to year."""
    skewness, kurtosis = {
        "normal": (0.0, 0.0), "camps": (0.0, -2.0), "heavy": (0.0, 3.0), "lenient": (1.5, 3.0), "strict": (-1.5, 3.0)
    }[shape]  # fmt: skip
    part = min(correlation**2 / within, 1.0)
    heavy = max(kurtosis * part**2, 0.0)
    return (skewness * part**1.5, 0.05 + 0.2 * heavy), (kurtosis * part**2, 0.1 + 0.4 * heavy)


def slow_tails(prior: PooledPrior, shape: str, correlation: float) -> float:
    """The likelihood of the tails of opinions, where all releases have the same errors."""
    known = [each.tails for each in prior.releases if each.tails is not None]
    if not known:
        return 1.0
    within = np.mean([each.within.share for each in prior.releases if each.within is not None] or [0.6])
    logs = 0.0
    for name, (expected, varies) in zip(
        ("skewness", "kurtosis"), slow_moments(shape, correlation, float(within)), strict=True
    ):
        found, error = [getattr(each, name) for each in known], getattr(known[0], f"{name}_error")
        variance = (error**2 + varies**2) / len(known) + 0.35**2
        logs -= 0.5 * (min((float(np.mean(found)) - expected) ** 2 / variance, 16.0) + math.log(2 * math.pi * variance))
    return math.exp(logs)


def slow_tails_of(
    prior: PooledPrior, own: Within | None, tails: Tails | None, series: tuple[str, float], year: tuple[str, float]
) -> float:
    """The density of a year's tails given earlier ones: that of both, which share a deviation, over that of these."""
    known = [each.tails for each in prior.releases if each.tails is not None]
    if tails is None or not known:
        return 1.0
    usually = float(np.mean([each.within.share for each in prior.releases if each.within is not None] or [0.6]))
    expected = slow_moments(*series, usually), slow_moments(*year, usually if own is None else own.share)
    logs = 0.0
    for place, name in enumerate(("skewness", "kurtosis")):
        (mean, varies), (new, new_varies) = expected[0][place], expected[1][place]
        found = float(np.mean([getattr(each, name) for each in known])) - mean
        apart = np.array([found, getattr(tails, name) - new])
        error, new_error = getattr(known[0], f"{name}_error"), getattr(tails, f"{name}_error")
        both = np.full((2, 2), 0.35**2) + np.diag([(error**2 + varies**2) / len(known), new_error**2 + new_varies**2])
        square = float(apart @ np.linalg.solve(both, apart)) - found**2 / both[0, 0]
        variance = float(np.linalg.det(both)) / both[0, 0]
        logs -= 0.5 * (min(square, 36.0) + math.log(2 * math.pi * variance))
    return math.exp(logs)


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
@settings(max_examples=2)
def test_probabilities_equal_plain_sums(seed: int, number: int, told: bool) -> None:
    rng = np.random.default_rng(seed)
    drawn = [rng.uniform(-12, 0, SHAPE) for _ in range(number)]
    prior = pooled(*(np.round(each - each.max(), 4) + 0.0 for each in drawn))
    if told:
        held = (
            replace(
                each,
                shapes=rng.uniform(-6, 3, pooling.SHAPES_SHAPE),
                within=Within(rng.uniform(0.3, 0.9), 0.05),
                tails=Tails(rng.normal(0, 0.5), 0.15, rng.normal(0, 2), 0.3),
            )
            for each in prior.releases
        )
        prior = replace(prior, releases=tuple(held))
    assert prior.chances == pytest.approx(slow_chances(prior), rel=1e-9)
    assert prior.chances.sum() == pytest.approx(1)


def test_shapes_that_earlier_releases_show_become_probable() -> None:
    flat, base = np.zeros(SHAPE), np.zeros(pooling.SHAPES_SHAPE)
    names = list(pooling._SHAPES)

    def chance(shape: str, **told: Any) -> float:
        return float(pooled(*[flat] * 4, **told).chances[names.index(shape)].sum())

    assert chance("camps") == pytest.approx(0.1)  # as before, if nothing tells them apart
    assert chance("camps", shapes=base) == pytest.approx(0.1)
    for place, name in enumerate(names[1:]):
        shown = base.copy()
        shown[place] = 1.5
        assert chance(name, shapes=shown) > 0.7
    strong: dict[str, Any] = {"within": Within(0.6, 0.05)}
    for name, tails in {
        "camps": Tails(0, 0.1, -1.5, 0.2),
        "heavy": Tails(0, 0.1, 2.5, 0.2),
        "lenient": Tails(1.2, 0.1, 2.5, 0.2),
        "strict": Tails(-1.2, 0.1, 2.5, 0.2),
    }.items():
        found = pooled(*[around(0.7, 0.05)] * 4, tails=tails, **strong).chances.sum(axis=(1, 2))
        assert names[int(np.argmax(found))] == name
        weak = pooled(*[around(0.1, 0.03)] * 4, tails=tails, **strong).chances.sum(axis=(1, 2))
        assert weak[0] == pytest.approx(0.6, abs=0.1)  # where leniency is small, its shape does not show
    assert names[1:] == list(SHAPES)


def test_discrepancies_and_differences_below_chance_repeat_as_shapes_do() -> None:
    sizes, below = np.array(list(FAMILY.discrepancies.values())), CORRELATIONS < 0

    def told(evidence: Floats, number: int = 5) -> tuple[Floats, float]:
        chances = pooled(*[np.round(evidence - evidence.max(), 4) + 0.0] * number).chances
        return chances.sum(axis=(0, 1)), float(chances[:, below].sum())

    flat, small, large, less = (np.zeros(SHAPE) for _ in range(4))
    small[:, 3:], large[:, :3], less[~below] = -2, -2, -2
    found, narrower = told(flat)
    assert found == pytest.approx(sizes)  # a year alone has the family's own probabilities
    assert narrower == pytest.approx(FAMILY.narrower)
    assert told(small, 1)[0][3:].sum() < 0.4 * sizes[3:].sum()
    assert 0.1 * sizes[3:].sum() < told(small)[0][3:].sum() < 0.12 * sizes[3:].sum()  # a year may differ
    assert told(large)[0][3:].sum() > 0.8
    assert told(less)[1] > 0.8
    assert 0.1 * FAMILY.narrower < told(around(0.5, 0.1))[1] < 0.12 * FAMILY.narrower


def test_evidence_sums_over_ranges_of_offsets() -> None:
    rng = np.random.default_rng(3)
    bounds = rng.normal(-500, 3, (6, *SHAPE))
    finite = np.ones(bounds.shape, dtype=bool)
    bounds[2, 4, 1], finite[2, 4, 1] = np.nan, False
    logs = np.log(np.sum(np.where(finite, np.exp(bounds + 500), 0.0), axis=0))
    shaped = grid(bounds[:5].ravel(), finite[:5].ravel(), shaped=True)
    expected = np.where(finite[:5], bounds[:5], -np.inf) - bounds[0].max()
    assert shaped == pytest.approx(np.maximum(expected, -50), abs=1e-4)
    normal, others = pooling.divided(shaped)
    assert normal.max() == 0
    assert others is not None
    assert others.tolist() == shaped[1:, 5:].tolist()
    assert grid(bounds.ravel(), finite.ravel()) == pytest.approx(np.maximum(logs - logs.max(), -50), abs=1e-4)


def test_like_years_narrow_the_prior_and_nothing_is_excluded() -> None:
    def deviation(chances: Floats) -> float:
        rows = chances.sum(axis=(0, 2))
        return math.sqrt(float(rows @ CORRELATIONS**2 - (rows @ CORRELATIONS) ** 2))

    priors = [pooled(*[around(0.6, 0.15)] * number) for number in (1, 3, 6)]
    widths = [deviation(prior.chances) for prior in priors]
    assert deviation(usual()) > widths[0] > widths[1] > widths[2]
    assert priors[2].chances.sum(axis=(0, 2)) @ CORRELATIONS == pytest.approx(0.6, abs=0.08)
    unlike = pooled(*[around(0.1, 0.05), around(0.8, 0.05)] * 2)
    assert deviation(unlike.chances) > widths[1]  # years that differ leave the next one open
    hostile = pooled(*[certain(14, 0)] * pooling.MOST)
    assert YearPrior(hostile, None).chances_for(certain(14, 0)).min() >= pooling.UNLIKE * usual()[0].min()


def test_the_share_that_leniency_explains_is_told_as_far_as_years_tell_it() -> None:
    mean, low, high = pooled(*[around(0.6, 0.15)] * 6).typical()
    assert mean == pytest.approx(0.36, abs=0.05)
    assert 0.1 < low < mean < high < 0.6  # the probability of less than chance would bring it down to 0
    assert pooled(*[around(0.0, 0.1)] * 6).typical()[1] == 0.0


def test_a_year_that_disagrees_gets_the_usual_prior() -> None:
    year = YearPrior(pooled(*[around(0.1, 0.05)] * 5), None)
    like, unlike = around(0.15, 0.1), around(0.88, 0.05)
    assert not year.disagrees(like)
    assert year.disagrees(unlike)
    plain, ours = usual().sum(axis=0), year.pooled.chances.sum(axis=0)
    assert year.chances_for(unlike) == pytest.approx(plain)
    assert year.chances_for(like) == pytest.approx((1 - pooling.UNLIKE) * ours + pooling.UNLIKE * plain)
    told = np.repeat(like[None], 5, axis=0)
    assert year.chances_for(told) == pytest.approx(
        (1 - pooling.UNLIKE) * year.pooled.chances + pooling.UNLIKE * usual()
    )
    assert year.chances_for(np.repeat(unlike[None], 5, axis=0)) == pytest.approx(usual())
    odds = [float(np.sum(np.exp(unlike) * chances)) for chances in (plain, ours)]
    share = pooling.UNLIKE * odds[0] / (pooling.UNLIKE * odds[0] + (1 - pooling.UNLIKE) * odds[1])
    assert year.unlike(unlike) == pytest.approx(share)
    assert "noisy data are unlike" in year.note(unlike)
    assert "5 earlier releases" in year.note(like)


def heavy_years(tails: Tails | None = None) -> PooledPrior:
    """Three years of strong leniency, whose reviewers disagree by much the same."""
    tails = Tails(0.1, 0.15, 0.9, 0.3) if tails is None else tails
    base = pooled(*[around(0.5, 0.2)] * 3, tails=tails)
    shares = (0.52, 0.54, 0.56)
    held = (replace(each, within=Within(share, 0.03)) for each, share in zip(base.releases, shares, strict=True))
    return replace(base, releases=tuple(held))


@pytest.mark.parametrize(
    ("within", "tails"),
    [
        (None, None),
        (Within(0.62, 0.04), None),
        (None, Tails(0.3, 0.2, -0.4, 0.25)),
        (Within(0.4, 0.04), Tails(-0.6, 0.1, 4.0, 0.3)),
    ],
)
def test_a_year_given_its_public_record_equals_plain_sums(within: Within | None, tails: Tails | None) -> None:
    prior = heavy_years()
    found = prior.chances_given(within, tails)
    expected, density, of_share = slow_year(prior, within, tails)
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert found[1:] == pytest.approx((density, of_share), rel=1e-9)
    if within is None and tails is None:
        assert found[0] == pytest.approx(prior.chances, rel=1e-12)
    year = YearPrior(prior, within, tails)
    share = 0.54 if within is None else within.share
    alone, other = 1.0, usual()
    if tails is not None:
        other = np.zeros_like(usual())
        for (place, (name, chance)), (row, rho) in product(
            enumerate(pooling._SHAPES.items()), enumerate(CORRELATIONS.tolist())
        ):
            likely = chance
            for (mean, varies), of in zip(
                slow_moments(name, max(rho, 0.0), share), ("skewness", "kurtosis"), strict=True
            ):
                variance = getattr(tails, f"{of}_error") ** 2 + varies**2 + 0.35**2
                square = min((getattr(tails, of) - mean) ** 2 / variance, 16.0)
                likely *= math.exp(-0.5 * square) / math.sqrt(2 * math.pi * variance)
            other[place, row] = likely * usual()[0, row]
        alone = float(other.sum())
        other = 0.9 * other / alone + 0.1 * usual()
        wide = 0.1
        for of, spread in (("skewness", 1.0), ("kurtosis", 3.0)):
            variance = getattr(tails, f"{of}_error") ** 2 + spread**2
            wide *= math.exp(-0.5 * getattr(tails, of) ** 2 / variance) / math.sqrt(2 * math.pi * variance)
        alone = 0.9 * alone + wide
    assert year.other == pytest.approx(other, rel=1e-9)
    odds = 0.3 / (0.7 * of_share * min(density / alone, 1.0))
    assert year.beforehand == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert year.mixed.sum() == pytest.approx(1)
    assert year.mixed == pytest.approx(year.beforehand * other + (1 - year.beforehand) * expected, rel=1e-9)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.58, 0.85])
def test_a_public_record_unlike_the_others_is_noticed_beforehand(share: float) -> None:
    year = YearPrior(heavy_years(), Within(share, 0.04), None)
    flat, far = np.zeros(SHAPE), share in {0.25, 0.85}
    assert (year.beforehand > 0.5) == far
    assert year.unlike(flat) == pytest.approx(year.beforehand)
    assert ("public record is unlike" in year.note(flat)) == far


def test_tails_unlike_those_of_earlier_years_are_noticed_and_like_ones_are_not() -> None:
    within, usually = Within(0.54, 0.04), heavy_years()
    alone = YearPrior(usually, within, None).beforehand
    assert alone < 0.1
    for like in (Tails(0.1, 0.15, 0.9, 0.3), Tails(0.0, 0.15, 0.6, 0.3), Tails(-0.1, 0.15, 1.4, 0.3)):
        # What years share anyway does not make them alike.
        assert 0.9 * alone < YearPrior(usually, within, like).beforehand < 0.15
    for unlike in (
        Tails(2.0, 0.15, 3.0, 0.3),
        Tails(-2.0, 0.15, 3.0, 0.3),
        Tails(0.1, 0.15, 5.0, 0.3),
        Tails(0.1, 0.15, -1.5, 0.3),
    ):
        year = YearPrior(usually, within, unlike)
        assert year.beforehand > 0.5
        assert "public record is unlike" in year.note(np.zeros(SHAPE))
    camps = heavy_years(Tails(0.0, 0.15, -0.5, 0.3))
    assert YearPrior(camps, within, Tails(0.0, 0.15, 2.0, 0.3)).beforehand > 0.5
    assert YearPrior(camps, within, Tails(0.0, 0.15, -0.3, 0.3)).beforehand < 0.1
    untold = YearPrior(pooled(*[around(0.5)] * 3), None, Tails(0.0, 0.15, 5.0, 0.3))
    assert untold.beforehand == pytest.approx(pooling.UNLIKE)


def test_the_tails_of_a_year_tell_its_shape_and_its_share_within_papers_its_leniency() -> None:
    names, prior = list(pooling._SHAPES), heavy_years(Tails(0.0, 0.15, 0.2, 0.3))

    def shapes(chances: Floats) -> dict[str, float]:
        return dict(zip(names, chances.sum(axis=(1, 2)).tolist(), strict=True))

    light, heavy, skewed = (
        YearPrior(prior, Within(0.54, 0.04), tails)
        for tails in (Tails(0.0, 0.15, -0.5, 0.3), Tails(0.0, 0.15, 1.5, 0.3), Tails(-0.9, 0.15, 0.9, 0.3))
    )
    before = shapes(prior.chances)
    assert shapes(heavy.like)["heavy"] > 1.5 * before["heavy"] > 1.5 * shapes(light.like)["heavy"]
    assert shapes(light.like)["camps"] > before["camps"] > shapes(heavy.like)["camps"]
    assert shapes(skewed.like)["strict"] > before["strict"] > shapes(skewed.like)["lenient"]
    assert shapes(heavy.other)["heavy"] > shapes(light.other)["heavy"]

    def mean(share: float) -> float:
        return float(YearPrior(prior, Within(share, 0.02), None).like.sum(axis=(0, 2)) @ CORRELATIONS)

    usually = float(prior.chances.sum(axis=(0, 2)) @ CORRELATIONS)
    assert mean(0.45) < usually - 0.03 < mean(0.54) < usually + 0.03 < mean(0.63)


@pytest.mark.parametrize(
    ("earlier", "new", "least", "most"), [("heavy", "camps", 0.3, 1.0), ("camps", "camps", 0, 0.05)]
)
def test_years_of_another_shape_are_noticed_by_their_public_scores(
    earlier: str, new: str, least: float, most: float
) -> None:
    """As in benchmarks/bench_pool.py, without noise: earlier releases tell the size of leniency, not its shape."""
    rng = np.random.default_rng(77)

    def record(shape: str) -> tuple[Within, Tails]:
        leniency = 0.5 * rng.standard_t(2, 200) if shape == "heavy" else rng.choice([-1.0, 1.0], 200)
        opinions = rng.permutation(np.repeat(leniency, 4)).reshape(200, 4) + rng.normal(0, 1, (200, 4))
        scores = np.clip(np.rint(5.5 + rng.normal(0, 1.2, (200, 1)) + opinions), 1, 10)
        weights = pv.PublicWeights.from_rows(scores, load=4)
        within, tails = Within.of(weights), Tails.of(weights)
        assert within is not None
        assert tails is not None
        return within, tails

    noticed = []
    for _ in range(40):
        base = pooled(*[around(0.5, 0.15)] * 5).releases
        held = (
            replace(each, within=within, tails=tails)
            for each, (within, tails) in zip(base, [record(earlier) for _ in base], strict=True)
        )
        noticed.append(YearPrior(PooledPrior(quantity="weights", releases=tuple(held)), *record(new)).beforehand > 0.5)
    assert least <= np.mean(noticed) <= most


# Theorem I1.
@given(
    st.floats(0, 2),
    st.floats(1e-9, 1),
    st.lists(st.tuples(st.floats(0, 2), st.floats(1e-9, 1)), min_size=1, max_size=3),
    st.none() | st.tuples(st.floats(-100, 100), st.floats(1e-6, 100), st.floats(-100, 100), st.floats(1e-6, 100)),
)
@example(2.0, 1e-9, [(0.0, 1e-9)], None)
@example(0.0, 1e-9, [(2.0, 1e-9)], (100.0, 1e-6, -100.0, 1e-6))
@settings(max_examples=60)
def test_the_usual_prior_always_has_a_part(
    share: float, error: float, earlier: list[tuple[float, float]], tails: tuple[float, float, float, float] | None
) -> None:
    told = None if tails is None else Tails(0.0, 1e-6, 100.0, 1e-6)
    base = pooled(*[around(0.3, 0.2)] * len(earlier), tails=told)
    held = (replace(each, within=Within(*within)) for each, within in zip(base.releases, earlier, strict=True))
    own = None if tails is None else Tails(*tails)
    year = YearPrior(replace(base, releases=tuple(held)), Within(share, error), own)
    least = 0.3 / (0.3 + 0.7 / (0.03 * math.sqrt(2 * math.pi)))
    assert year.beforehand >= least * (1 - 1e-12)
    assert year.mixed.sum() == pytest.approx(1)
    assert (year.mixed[0] >= least * (1.0 if tails is None else 0.1) * usual()[0] * (1 - 1e-12)).all()


def test_hostile_priors_and_records_give_probabilities() -> None:
    for row, shares in product((5, 14), ((0.0, 2.0), (2.0, 0.0), (1.0, 0.0), (0.9, 0.0), (0.0, 1.0))):
        hostile = pooled(*[certain(row, 0)] * pooling.MOST, within=Within(shares[0], 1e-6))
        year = YearPrior(hostile, Within(shares[1], 1e-6), None)
        assert year.mixed.min() >= 0
        assert year.mixed.sum() == pytest.approx(1)
        assert 0 < year.beforehand <= 1


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_share_within_papers_is_that_of_draws(share: float) -> None:
    rng, found = np.random.default_rng(8), []
    for _ in range(300):
        rows = rng.normal(0, math.sqrt(1 - share), (60, 1)) + rng.normal(0, math.sqrt(share), (60, 4))
        found.append(Within.of(pv.PublicWeights.from_rows(rows, load=4, quantity="ratings")))
    shares = np.array([each.share for each in found if each is not None])
    assert shares.size == 300
    assert shares.mean() == pytest.approx(share, abs=4 * shares.std() / math.sqrt(300) + 0.01)
    assert np.mean([each.error for each in found if each is not None]) == pytest.approx(shares.std(), rel=0.12)
    rows = rng.integers(1, 9, (20, 3)).astype(float)
    record = pv.PublicRecord.from_rows(rows, load=3)
    assert Within.of(pv.weigh(record)) is not None
    assert Within.of(pv.weigh(record, "miscalibration")) is None  # whose papers all have the mean 0
    hidden = pv.PublicRecord.from_rows([[None, 3.0]] * 20, load=2, scale=(1, 10))
    assert Within.of(pv.weigh(hidden)) is None
    assert Within.of(pv.PublicWeights.from_rows([[1.0, 1.0]] * 20, load=2)) is None
    with pytest.raises(pv.InputError, match="within must be a share"):
        Within(-0.1, 0.1)


@pytest.mark.promise("P-YEARS-1")
def test_a_release_never_pools_with_itself() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    own = Earlier(name="", record=weights.digest(), release=digest(7), evidence=certain(14, 4))
    other = pooled(around(0.3))
    both = replace(other, releases=(*other.releases, own))
    likelihood = EntryLikelihood(np.array([1.0, 2.0, 3.5, 4.0]), LaplaceLaw(scale=0.5))
    means = [
        with_prior(weights, prior).derived(RecordModel).posterior(likelihood).mean  # type: ignore[union-attr]
        for prior in (other, both)
    ]
    assert means[0].tolist() == means[1].tolist()
    with pytest.raises(pv.InputError, match="no other conference"):
        with_prior(weights, replace(other, releases=(own,)))


@pytest.mark.parametrize("mechanism", [pv.Laplace(scale=0.7), pv.Histogram(scale=1.0)])
def test_evidence_does_not_depend_on_the_prior_and_estimates_do(mechanism: Any) -> None:
    from peerveil.planning.rehearsal import Rehearsal

    rng = np.random.default_rng(2)
    weights = pv.PublicWeights.from_rows(rng.integers(1, 11, (30, 4)).astype(float), load=4)
    rehearsal = Rehearsal.of(weights, mechanism)
    noisy = rehearsal.perturb(np.sort(rng.normal(5.5, 1.0, 30)), rng)
    usually = rehearsal.estimates(noisy, ["bayes"])["bayes"]
    other = replace(rehearsal, weights=with_prior(weights, pooled(*[around(0.1, 0.05)] * 5)))
    pooled_ = other.estimates(noisy, ["bayes"])["bayes"]
    assert usually.evidence is not None
    assert pooled_.evidence is not None
    # Fits end when they gain less than 0.01, all laws at once, and there are more of them with a pooled prior.
    assert pooled_.evidence.shape == (5, *SHAPE)
    probable = usually.evidence > -10
    assert pooled_.evidence[0][probable] == pytest.approx(usually.evidence[probable], abs=0.02)
    # Small correlations have no shape; the last one of these is near one that has.
    assert pooled_.evidence[1:, :4].tolist() == [pooled_.evidence[0, :4].tolist()] * 4
    assert np.abs(usually.values - pooled_.values).max() > 1e-3
    assert not usually.notes
    assert len(pooled_.notes) == 1


# Theorem I1.
@pytest.mark.promise("P-YEARS-3", by="exhaustion")
@given(
    cases(most_reviews=7),
    st.integers(0, 2**32),
    st.sampled_from([1e-2, 0.1, 1.0, 10.0]),
    st.integers(0, SHAPE[0] - 1),
    st.integers(0, SHAPE[1] - 1),
)
@settings(max_examples=40)
def test_safe_is_never_further_from_any_possible_truth_whatever_the_prior(
    case: Case, seed: int, size: float, row: int, column: int
) -> None:
    """A hundred releases that all swear to one cell of the grid: the most that a hostile file can hold."""
    shapes = np.full(pooling.SHAPES_SHAPE, pooling.LEAST)
    shapes[seed % len(shapes)] = -pooling.LEAST
    hostile = pooled(*[certain(row, column)] * pooling.MOST, shapes=shapes, tails=Tails(-100, 1e-6, 100, 1e-6))
    weights = with_prior(case.weights(), hostile)
    low, high = weights.span
    law = LaplaceLaw(scale=size * ((high - low) or 1.0))
    r = np.array(case.truth()) + law.draw(np.random.default_rng(seed), case.reviewers)
    found = estimate(r, weights, pv.region(weights), EntryLikelihood(r, law))
    for vector in theta(case.rows, case.loads):
        assert never_further(found.values, r, np.array([float(x) for x in vector]))


def test_evidence_and_priors_that_cannot_be() -> None:
    good = around(0.3)
    for bad in (good[:-1], good + 1, good - 1, np.where(good == 0, np.nan, good), "x", [[1e999] * 5] * 15):
        with pytest.raises(pv.InputError, match="15 rows of 5 numbers from -50 to 0"):
            pooling.check_evidence(bad)
    for wrong in (
        np.zeros((4, 10, 4)),
        np.full(pooling.SHAPES_SHAPE, 51.0),
        np.full(pooling.SHAPES_SHAPE, np.nan),
        "x",
    ):
        with pytest.raises(pv.InputError, match="4 grids of 10 rows of 5 numbers from -50 to 50"):
            pooling.check_shapes(wrong)
    for numbers in ((0, 0, 0, 1), (101, 1, 0, 1), (0, 1, math.nan, 1), (0, 1, 0, math.inf)):
        with pytest.raises(pv.InputError, match="tails must be a skewness"):
            Tails(*numbers)
    with pytest.raises(pv.InputError, match="from 1 to 100 releases, got 0"):
        PooledPrior(quantity="ratings", releases=())
    with pytest.raises(pv.InputError, match="got 101"):
        pooled(*[good] * 101)
    with pytest.raises(pv.InputError, match="two releases of one public record"):
        PooledPrior(quantity="ratings", releases=pooled(good).releases * 2)
    with pytest.raises(pv.InputError, match="digests of its record"):
        Earlier(name="", record="7", release=digest(1), evidence=good)
    with pytest.raises(pv.InputError, match="printable"):
        Earlier(name="\x1b[2J", record=digest(1), release=digest(1), evidence=good)
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    with pytest.raises(pv.InputError, match="it is pooled from releases of ratings, but this one is of weights"):
        with_prior(weights, pooled(good, quantity="ratings"))
    with pytest.raises(pv.InputError, match="prior must be a pooled prior, got str"):
        with_prior(weights, "prior.json")  # type: ignore[arg-type]


@pytest.mark.parametrize("skewed", [False, True])
def test_the_tails_of_opinions_are_those_of_draws(skewed: bool) -> None:
    rng, found = np.random.default_rng(9), []
    for _ in range(200):
        opinions = rng.exponential(1.0, (60, 4)) if skewed else rng.choice([-1.0, 1.0], (60, 4))
        rows = rng.normal(0, 1, (60, 1)) + opinions
        found.append(Tails.of(pv.PublicWeights.from_rows(rows, load=4, quantity="ratings")))
    tails = [each for each in found if each is not None]
    assert len(tails) == 200
    means = np.mean([(each.skewness, each.kurtosis) for each in tails], axis=0)
    assert means == pytest.approx((2.0, 6.0) if skewed else (0.0, -2.0), abs=1.5 if skewed else 0.15)
    normal = [Tails.of(pv.PublicWeights.from_rows(rng.normal(0, 1, (60, 4)), load=4)) for _ in range(200)]
    for name in ("skewness", "kurtosis"):
        spread = np.std([getattr(each, name) for each in normal])
        stated = np.mean([getattr(each, f"{name}_error") for each in normal])
        assert 0.75 * stated < spread < 1.45 * stated
    assert (
        Tails.of(pv.PublicWeights.from_rows(rng.normal(0, 1, (60, 2)), load=2)) is None
    )  # symmetric, whatever they are


def test_the_best_pool_learns_a_typical_correlation_and_nothing_else() -> None:
    """It is what pooled priors are measured against: benchmarks/bench_pool.py."""
    import bench_pool

    some = np.array([0.0, 0.35, 0.37, 0.95])
    laws = bench_pool.on_grid(some)
    assert laws.sum(axis=1) == pytest.approx(1)
    assert laws @ CORRELATIONS == pytest.approx(some)
    assert (np.count_nonzero(laws, axis=1) <= 2).all()
    beforehand, doubt = bench_pool.best_pool(pooled(np.zeros(SHAPE)).releases, 0.04)
    assert 0.2 < doubt < 0.3  # as the family has it
    assert beforehand @ CORRELATIONS == pytest.approx(0.4, abs=0.05)
    told, less = bench_pool.best_pool(pooled(*[around(0.6, 0.1)] * 5).releases, 0.04)
    assert told @ CORRELATIONS == pytest.approx(0.6, abs=0.03)
    assert less == pytest.approx(0.1 / math.sqrt(5), rel=0.4)
    prior = pooled(np.zeros(SHAPE))
    known = bench_pool.Known(prior, None, correlations=told)
    chances = known.chances_for(np.zeros((5, *SHAPE)))
    assert chances[0, :, 0] == pytest.approx(told)
    assert chances.sum() == pytest.approx(1)
    assert not known.disagrees(certain(0, 4))


@pytest.mark.promise("P-YEARS-9")
@pytest.mark.slow
def test_like_years_gain_and_a_year_unlike_the_others_loses_little() -> None:
    """A small part of benchmarks/bench_pool.py, with another seed."""
    import bench_pool

    def errors(new: bench_pool.Bank, earlier: bench_pool.Bank) -> Floats:
        rows = []
        for place, (year,) in enumerate(new):
            others = [releases[0].earlier for releases in earlier if releases[0] is not year]
            chosen = tuple(others[(place + step) % len(others)] for step in range(5))
            rows.append(year.judged(PooledPrior(quantity="ratings", releases=chosen)))
        return np.array(rows)

    none, strong = (
        [bench_pool.synthetic(world, 500 + k) for k in range(24)] for world in ("none", "very strong (1.4)")
    )
    like, unlike = errors(none, none), errors(none, strong)
    assert like[:, 1].mean() < 0.85 * like[:, 0].mean()
    assert unlike[:, 1].mean() < 1.1 * unlike[:, 0].mean()
    assert like[:, 4].mean() < 0.1
    assert unlike[:, 4].mean() > 0.8
    assert like[:, 3].mean() > 0.85
