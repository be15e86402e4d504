"""Two releases side by side: quantiles, errors and bands against slow references, and honest words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.findings import Finding
from peerveil.privacy.guarantee import Guarantee
from peerveil.releases.page_text import PageText

__all__ = ["run"]  # a fixture

FIRST = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
SECOND = pv.PublicWeights.from_rows([[6, 9], [7, 7], [8, 8], [6, 9], [6, 8]], load=2)


def made(weights: pv.PublicWeights, scale: float = 0.2, seed: int = 0) -> pv.Release:
    rng = np.random.default_rng(seed)
    mean = float(weights.low.mean())
    return pv.refine(mean + rng.laplace(0, scale, weights.reviewers), weights, mechanism=pv.Laplace(scale=scale))


@cache
def plain(reviewers: int) -> pv.Release:
    weights = pv.PublicWeights.from_rows([[float(x)] for x in range(reviewers)], load=1)
    return pv.refine(np.zeros(reviewers), weights, region="baseline")


def with_values(values: list[float], half: float | None, *, quantity: str = "weights") -> pv.Release:
    """A release with these values, in bands of the same width each."""
    v = np.sort(np.array(values, dtype=np.float64))
    outlook = None if half is None else ExpectedError(expected_rmse=half / 2, lower=v - half, upper=v + half)
    return replace(
        plain(v.size),
        values=v,
        outlook=outlook,
        quantity=quantity,
        lower=np.full(v.size, -1e6),
        upper=np.full(v.size, 1e6),
    )


numbers = st.lists(st.integers(-50, 50).map(lambda x: x / 4), min_size=1, max_size=12)


@given(numbers, numbers)
def test_quantiles_and_distance_agree_with_slow_references(one: list[float], other: list[float]) -> None:
    found = pv.compare(with_values(one, 0.5), with_values(other, 0.25))
    for quantile in found.quantiles:
        for value, values in ((quantile.first, one), (quantile.second, other)):
            # The least value with at least that share of the reviewers at or below it, in whole numbers.
            tenths = round(quantile.share * 10)
            assert value == min(v for v in values if 10 * sum(w <= v for w in values) >= tenths * len(values))
        assert quantile.difference == quantile.second - quantile.first
        assert quantile.band == pytest.approx((quantile.difference - 0.75, quantile.difference + 0.75))
    fine = math.lcm(len(one), len(other))
    spread_out = [np.repeat(np.sort(v), fine // len(v)) for v in (one, other)]
    assert found.distance[0] == pytest.approx(float(np.abs(spread_out[0] - spread_out[1]).mean()), abs=1e-9)
    assert found.distance[1] == pytest.approx(0.375)


@given(numbers, st.data())
def test_errors_of_summaries_bound_what_moving_the_values_can_do(truth: list[float], data: st.DataObject) -> None:
    moves = data.draw(st.lists(st.floats(-3, 3), min_size=len(truth), max_size=len(truth)))
    t = np.sort(np.array(truth))
    v = np.sort(t + np.array(moves))
    rmse = float(np.sqrt(np.mean((v - t) ** 2)))
    base = with_values([0.0, 1.0], 0.0)
    for s, q in zip(
        pv.compare(base, with_values(list(t), 1.0)).summaries,
        pv.compare(base, with_values(list(v), 1.0)).summaries,
        strict=True,
    ):
        assert abs(s.second - q.second) <= rmse + 1e-9
    near, far = (pv.compare(base, with_values(list(x), 1.0)).distance[0] for x in (t, v))
    assert abs(near - far) <= rmse + 1e-9


def test_what_is_told_apart() -> None:
    found = pv.compare(made(FIRST), made(SECOND))
    assert {quantile.tells for quantile in found.quantiles[3:7]} == {"higher, proven"}
    assert pv.compare(made(SECOND), made(FIRST)).quantiles[4].tells == "lower, proven"
    assert {q.tells for q in pv.compare(with_values([1, 2], 0.6), with_values([2, 3], 0.6)).quantiles} == {
        "no clear difference"
    }
    likely = pv.compare(with_values([1, 2], 0.4), with_values([2, 3], 0.4))
    assert {q.tells for q in likely.quantiles} == {"higher, likely"}
    assert likely.level == pytest.approx(0.8)
    assert "at least 80%" in likely.words[0]


def test_words_for_what_is_not_known_or_not_comparable() -> None:
    unknown = pv.compare(with_values([1, 2], None), with_values([2, 3], 0.4))
    assert unknown.level is None
    assert unknown.distance[1] is None
    assert {q.band for q in unknown.quantiles} == {None}
    assert "not known for both" in unknown.words[0]
    same = pv.compare(made(FIRST, seed=1), made(FIRST, seed=2))
    assert any("the same public record" in sentence for sentence in same.words)
    assert not any("Loads differ" in sentence for sentence in same.words)
    looser = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], loads=(1, 3), reviewers=4)
    assert any("Loads differ" in sentence for sentence in pv.compare(made(FIRST), made(looser)).words)
    uncertain = replace(
        made(FIRST), outlook=ExpectedError(expected_rmse=1, lower=np.zeros(4), upper=np.ones(4), level=0.5)
    )
    assert "too low" in pv.compare(uncertain, uncertain).words[0]


def test_claims_of_both_are_added_up() -> None:
    one, other = (
        replace(made(FIRST), guarantee=Guarantee(kind="pure", unit="reviewer", epsilon=e)) for e in (1.0, 0.5)
    )
    assert any(
        "joint guarantee for reviewers in both is: epsilon = 1.5 per reviewer" in sentence
        for sentence in pv.compare(one, other).words
    )
    assert not any("joint guarantee" in sentence for sentence in pv.compare(one, made(FIRST)).words)


def test_other_quantities_are_refused() -> None:
    with pytest.raises(pv.InputError, match=r"first release is of ratings, the second of weights"):
        pv.compare(with_values([1.0], 1.0, quantity="ratings"), with_values([1.0], 1.0))


def test_the_document_is_json() -> None:
    found = pv.compare(made(FIRST), made(SECOND))
    document = json.loads(json.dumps(found.to_document(), allow_nan=False))
    assert document["quantiles"][4]["tells"] == found.quantiles[4].tells
    assert document["summaries"][1]["name"] == "standard deviation"


def test_what_notebooks_show_and_what_is_no_release() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    release = pv.refine([1.2, 2.1, 3.0, 4.8], weights, mechanism=pv.Laplace(scale=0.1))
    shown = pv.compare(release, release)._repr_html_()
    assert shown.count("<tr>") == 10
    assert "Ranks do not identify people" in shown
    assert "Verified." in pv.verify(release, weights)._repr_html_()
    with pytest.raises(pv.InputError, match="second must be a release, got str"):
        pv.compare(release, "out")  # type: ignore[call-overload]
    with pytest.raises(pv.InputError, match="weights must be public weights, got PublicRecord"):
        pv.refine([1.0], pv.PublicRecord.from_rows([[1]], load=1))  # type: ignore[arg-type]


def test_findings_are_told_apart_if_their_intervals_are() -> None:
    def with_share(value: float) -> pv.Release:
        share = Finding(name="leniency_share", quantity="weights", value=value, lower=value - 0.02, upper=value + 0.02)
        tenth = Finding(name="strictest_tenth", quantity="weights", value=value, lower=value, upper=value)
        return replace(with_values([1.0, 2.0], 0.5), findings=(share, tenth) if value > 0.3 else (share,))

    low, near, high = (with_share(value) for value in (0.1, 0.12, 0.4))
    for second, told in ((near, "no clear difference"), (high, "higher, likely")):
        (sentence,) = pv.compare(low, second).sentences()
        assert sentence.endswith(f"{told}.")
        assert f"In the second release: {round(100 * second.findings[0].value)} % (" in sentence
    assert pv.compare(high, low).sentences()[0].endswith("lower, likely.")
    assert len(pv.compare(high, high).findings) == 1  # the tenths are among the quantiles
    assert json.loads(json.dumps(pv.compare(low, high).to_document()))["findings"][0][1]["value"] == 0.4
    assert "In the second release" in pv.compare(low, high)._repr_html_()


def test_comparisons_are_written_by_suffix(tmp_path: Path) -> None:
    found = pv.compare(made(FIRST), made(SECOND))
    page = found.save(tmp_path / "years.html", first="2025", second="<2026>").read_text(encoding="utf-8")
    assert "<title>2025 and &lt;2026&gt;: weights of 4 and 5 reviewers</title>" in page
    text = PageText(page)
    assert not text.active
    for words in (*found.words, *found.sentences(), *(cell for q in found.quantiles for cell in q.cells() if cell)):
        assert " ".join(words.split()) in text.text
    assert found.save(tmp_path / "years.svg").read_text(encoding="utf-8") == found.plot().svg
    document = json.loads(found.save(tmp_path / "years.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(found.to_document()))
    with pytest.raises(pv.InputError, match=r"written as \.html, \.svg or \.json, not as '\.pdf'"):
        found.save(tmp_path / "years.pdf")
    with pytest.raises(pv.OutputError, match="already exists"):
        found.save(tmp_path / "years.svg")
    assert len(list(tmp_path.iterdir())) == 3


def test_the_command_writes_the_same_file(run: Run, tmp_path: Path) -> None:
    for name, weights in (("one", FIRST), ("two", SECOND)):
        made(weights).save(tmp_path / name, report=False)
    done = run("compare", "one", "two", "-o", "years.svg", "--names", "2025", "2026", "--all")
    assert done.code == 0, done.err
    assert done.out.endswith("Written: years.svg\n")
    found = pv.compare(pv.Release.load(tmp_path / "one"), pv.Release.load(tmp_path / "two"))
    assert (tmp_path / "years.svg").read_text(encoding="utf-8") == found.plot("2025", "2026").svg
