"""Many releases side by side: intervals of changes against simulations, and what is told of them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.findings import Finding
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats
from peerveil.releases.comparison.series import series
from peerveil.releases.comparison.trends import Change, Estimate, Trend, quantile_reach, sampling_error
from peerveil.releases.page_text import PageText
from peerveil.reporting.terms import About, Terms
from releases.test_comparison import FIRST, SECOND, made, plain

__all__ = ["run"]  # a fixture


def release_of(values: Floats, half: float | None, share: tuple[float, float] | None = None) -> pv.Release:
    """A release with these means and bands of one width, and a share with its interval."""
    v = np.sort(values)
    outlook = None if half is None else ExpectedError(expected_rmse=half, lower=v - half, upper=v + half)
    findings: tuple[Finding, ...] = ()
    if share is not None:
        value, reach = share
        kinds = {"quantity": "weights", "value": value, "lower": max(value - reach, 0.0), "upper": value + reach}
        findings = (Finding(name="leniency_share", **kinds), Finding(name="reliability", **kinds))  # type: ignore[arg-type]
    loads = Loads(reviewers=v.size, reviews=4 * v.size, sizes=(4,), counts=None)
    low, high = np.full(v.size, -1e6), np.full(v.size, 1e6)
    return replace(plain(10), values=v, noisy=v, outlook=outlook, findings=findings, loads=loads, lower=low, upper=high)


ends = st.floats(0, 3)


@given(st.floats(-3, 3), st.floats(-3, 3), st.tuples(ends, ends), st.tuples(ends, ends))
def test_intervals_of_changes_add_squares_to_each_side(
    a: float, b: float, reach_a: tuple[float, float], reach_b: tuple[float, float]
) -> None:
    (down_a, up_a), (down_b, up_b) = reach_a, reach_b
    estimates = (
        Estimate(value=a, noise=(a - down_a, a + up_a), wider=(a - 2 * down_a, a + 2 * up_a)),
        Estimate(value=b, noise=(b - down_b, b + up_b), wider=(b - 2 * down_b, b + 2 * up_b)),
    )
    (change,) = Trend(name="50 %", names=("one", "two"), estimates=estimates).changes()
    # The least difference is reached with the second low and the first high.
    assert change.noise[0] == pytest.approx(b - a - math.sqrt(down_b**2 + up_a**2))
    assert change.noise[1] == pytest.approx(b - a + math.sqrt(up_b**2 + down_a**2))
    assert change.wider[0] - (b - a) == pytest.approx(2 * (change.noise[0] - (b - a)), abs=1e-9)


@pytest.mark.promise("P-YEARS-8")
@given(st.floats(0, 0.4), st.floats(0, 0.4), st.integers(0, 1), st.sampled_from(["share of score>=6", "ratings"]))
def test_intervals_of_shares_end_at_zero_and_one(share: float, reach: float, above: int, quantity: str) -> None:
    """With and without sampling; what is not bounded keeps its ends."""
    value = 1 - share if above else share
    rng = np.random.default_rng(3)
    values = np.clip(value + rng.normal(0, 0.1, 30), 0, 1)
    years = [replace(release_of(values, reach, (value, reach)), quantity=quantity) for _ in range(2)]
    trends = {trend.name: trend for trend in series(years).trends}
    for name, trend in trends.items():
        bounded = name in ("leniency_share", "reliability") or quantity != "ratings"
        for each in trend.estimates:
            for low, high in (each.noise, each.wider):
                assert low <= each.value <= high
                assert not bounded or (low >= 0 and high <= 1)
            assert each.wider[0] <= each.noise[0]
            assert each.wider[1] >= each.noise[1]
        for change in trend.changes():
            assert not bounded or (change.wider[0] >= -1 - 1e-12 and change.wider[1] <= 1 + 1e-12)
    if quantity == "ratings":
        decile = trends["10 %"].estimates[0]
        assert decile.noise[0] == pytest.approx(decile.value - reach)  # not truncated


@pytest.mark.promise("P-YEARS-7")
def test_several_changes_hold_together() -> None:
    estimates = tuple(Estimate(value=v, noise=(v - 1, v + 1), wider=(v - 1, v + 1)) for v in (0.0, 0.0, 1.7))
    trend = Trend(name="50 %", names=("a", "b", "c"), estimates=estimates)
    assert [change.tells for change in trend.changes()] == [
        "no clear change",
        "more than noise and sampling",
        "more than noise and sampling",
    ]
    # With three pairs, each holds with probability 1 - 0.1/3: 2.128 deviations instead of 1.645.
    wider = trend.changes(together=True)[1]
    assert (wider.difference - wider.noise[0]) / math.sqrt(2) == pytest.approx(2.1280 / 1.6449, rel=1e-3)
    assert trend.sentence.endswith("no change is more than noise.")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_sampling_of_deciles_is_that_of_order_statistics(share: float) -> None:
    rng = np.random.default_rng(5)
    inside, truth = 0, float(np.quantile(rng.gamma(3.0, size=400_000), share))
    for _ in range(600):
        values = np.sort(rng.gamma(3.0, size=200))
        value = values[math.ceil(share * 200) - 1]
        below, above = quantile_reach(values, share)
        inside += bool(value - below <= truth <= value + above)
    assert 0.86 <= inside / 600 <= 0.94


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_sampling_of_the_intraclass_correlation_is_that_of_draws(share: float) -> None:
    rng, n, k, found = np.random.default_rng(6), 150, 4, []
    for _ in range(800):
        scores = rng.normal(0, math.sqrt(share), (n, 1)) + rng.normal(0, math.sqrt(1 - share), (n, k))
        between = k * float(scores.mean(axis=1).var(ddof=1))
        inside = float(scores.var(axis=1, ddof=1).mean())
        found.append((between - inside) / (between + (k - 1) * inside))
    release = release_of(rng.normal(size=n), 0.1, (share, 0.01))
    assert sampling_error(release.findings[0], release) == pytest.approx(float(np.std(found)), rel=0.12)
    # Spearman and Brown: k s / (1 + (k - 1) s), by a difference quotient.
    step = k * (share + 1e-6) / (1 + (k - 1) * (share + 1e-6)) - k * share / (1 + (k - 1) * share)
    slope = sampling_error(release.findings[1], release) / sampling_error(release.findings[0], release)
    assert slope == pytest.approx(step / 1e-6, rel=1e-4)


@pytest.mark.promise("P-YEARS-7")
def test_years_of_the_same_kind_rarely_differ_and_others_do() -> None:
    """Reviewers drawn from one population each year, released with noise: changes are told in at most a tenth."""
    rng, told, trials = np.random.default_rng(7), 0, 150
    for _ in range(trials):
        years = []
        for _ in range(4):
            truth = np.sort(rng.normal(5, 1, 200))
            years.append(release_of(truth + rng.normal(0, 0.05), 1.645 * 0.05))
        (trend,) = (each for each in series(years).trends if each.name == "50 %")
        told += any(change.tells == "more than noise and sampling" for change in trend.changes(together=True))
    assert told <= 0.1 * trials + 2 * math.sqrt(0.09 * trials)
    base = np.sort(rng.normal(5, 1, 200))
    moved = series([release_of(base, 0.05), release_of(base, 0.05), release_of(base + 0.6, 0.05)])
    assert all(trend.sentence.endswith("more than noise and sampling.") for trend in moved.trends)
    little = series([release_of(base, 0.05), release_of(base + 0.12, 0.05), release_of(base, 0.05)])
    assert all(trend.sentence.endswith("more than noise.") for trend in little.trends)
    assert "no clear change" in {change.tells for trend in little.trends for change in trend.changes()}


def test_many_releases_are_told_by_their_ends_and_have_a_row_each(tmp_path: Path) -> None:
    values = np.arange(40.0)
    years = [
        replace(release_of(values, 0.5, (share, 0.4)), terms=Terms(about=About(conference="Conf", year=2020 + place)))
        for place, share in enumerate((0.2, 0.1, 0.15, 0.3, 0.25))
    ]
    found = pv.compare(*years)
    assert found.trends[0].sentence == (
        "Share of the variance that reviewers explain: between 10 % (2021) and 30 % (2023); "
        "no change is more than noise."
    )
    page = found.save(tmp_path / "years.html").read_text(encoding="utf-8")
    assert "<h1>2020 to 2024: " in page
    rows = re.findall(r'<th scope="row">([^<]*)</th>', page)
    assert rows == ["2020", "2021", "2022", "2023", "2024"]


def test_findings_are_followed_and_named() -> None:
    values = np.arange(40.0)
    years = [
        replace(release_of(values, 0.5, (share, 0.02)), terms=Terms(about=About(conference="Conf", year=year)))
        for year, share in ((2023, 0.1), (2024, 0.12), (2025, 0.6))
    ]
    found = pv.compare(years[0], years[1], years[2])
    assert found.names == ("2023", "2024", "2025")
    first = found.trends[0]
    assert first.name == "leniency_share"
    assert first.sentence == (
        "Share of the variance that reviewers explain: 10 % (2023), 12 % (2024), 60 % (2025); from 2023 to 2025 it "
        "changed by +50 percentage points, more than noise and sampling."
    )
    assert [row[0] for row in found.cells()] == [trend.label for trend in found.trends]
    frame = found.to_frame()
    assert frame.height == 3 * len(found.trends)
    assert frame.columns[:3] == ["what", "release", "value"]
    document = json.loads(json.dumps(found.to_document(), allow_nan=False))
    assert document["trends"][0]["changes"][1]["tells"] == "more than noise and sampling"
    assert "2024" in found._repr_html_()
    assert found.cells()[0][1].startswith("10 % (8 to 12 %)")
    others = [
        replace(year, terms=Terms(about=About(conference=name, year=2025)))
        for year, name in zip(years, "ABC", strict=True)
    ]
    assert series(others).names == ("A 2025", "B 2025", "C 2025")
    same = pv.compare(years[0], years[0], years[0])
    assert same.names == ("release 1", "release 2", "release 3")
    assert any("same public record" in words for words in same.words)


def test_what_cannot_be_compared() -> None:
    one = release_of(np.arange(10.0), 0.5)
    with pytest.raises(pv.InputError, match="compare releases of the same quantity"):
        pv.compare(one, one, replace(one, quantity="ratings"))
    with pytest.raises(pv.InputError, match="others must be a release, got str"):
        pv.compare(one, one, "2026")  # type: ignore[call-overload]
    for names in (["a", "b"], ["a", "a", "b"], ["a", "b", ""]):
        with pytest.raises(pv.InputError, match="3 different names"):
            pv.compare(one, one, one, names=names)
    unknown = pv.compare(one, one, release_of(np.arange(10.0), None))
    assert {len(trend.estimates) for trend in unknown.trends} == {2}
    bare = series([release_of(np.arange(10.0), None)] * 4)
    assert bare.trends == ()
    assert "release 1 to release 4" in bare._page()
    with pytest.raises(pv.InputError, match="kind must be one of deciles, got 'shares'"):
        unknown.plot("shares")


def test_series_are_written_by_suffix(tmp_path: Path) -> None:
    base = np.random.default_rng(3).normal(5, 1, 40)
    years = [release_of(base + shift, 0.2, (0.2 + shift / 10, 0.05)) for shift in (0.0, 0.1, 1.0)]
    found = pv.compare(years[0], years[1], years[2], names=["2023", "<2024>", "2025"])
    page = found.save(tmp_path / "years.html").read_text(encoding="utf-8")
    text = PageText(page)
    assert not text.active
    assert page.count("<svg") == 4
    for words in (*found.words, *found.sentences()):
        assert " ".join(words.split()) in text.text
    assert found.save(tmp_path / "years.svg").read_text(encoding="utf-8") == found.plot().svg
    assert json.loads((found.save(tmp_path / "years.json")).read_text(encoding="utf-8"))["quantity"] == "weights"
    table = found.save(tmp_path / "years.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "what,release,value,lower,upper,wider_lower,wider_upper"
    assert len(table) == 1 + 3 * len(found.trends)
    with pytest.raises(pv.InputError, match=r"written as \.html, \.svg, \.json or \.csv, not as '\.pdf'"):
        found.save(tmp_path / "years.pdf")


def test_the_command_compares_many(run: Run, tmp_path: Path) -> None:
    for name, weights, seed in (("one", FIRST, 1), ("two", SECOND, 2), ("three", FIRST, 3)):
        made(weights, seed=seed).save(tmp_path / name, report=False)
    done = run("compare", "one", "two", "three", "--labels", "2024, 2025,2026", "-o", "years.csv", "--all")
    assert done.code == 0, done.err
    assert re.search(r"50 % of the reviewers are at or below: [\d.]+ \(2024\), ", done.out)
    assert done.out.endswith("Written: years.csv\n")
    shown = run("compare", "one", "two", "three", "--json")
    assert json.loads(shown.out)["releases"][1]["reviewers"] == SECOND.reviewers
    assert [each["release"] for each in json.loads(shown.out)["releases"]] == ["one", "two", "three"]
    two = run("compare", "one", "two", "--labels", "2024,2025,2026", "-o", "no.svg")
    assert two.code == 2
    assert "--labels must be two names" in two.err


def test_changes_in_words() -> None:
    kinds = {
        "more than noise and sampling": ((0.1, 0.3), (0.05, 0.4)),
        "more than noise": ((-0.3, -0.1), (-0.5, 0.1)),
        "no clear change": ((-0.1, 0.3), (-0.5, 0.6)),
    }
    for words, (noise, wider) in kinds.items():
        assert Change(first="a", second="b", difference=0.2, noise=noise, wider=wider).tells == words
