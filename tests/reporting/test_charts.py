from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import peerveil as pv
from made_up import release
from peerveil.inference.expected_error import ExpectedError
from peerveil.privacy.bins import Bins, NoisyCounts
from peerveil.regions import Region
from peerveil.reporting import charts
from peerveil.reporting.charts import look, titles
from peerveil.reporting.charts.line_ends import spread
from peerveil.reporting.charts.shapes import (
    BINS,
    DOTS,
    bins_for,
    chance_counts,
    counted,
    round_step,
    thinned,
)
from peerveil.reporting.published import CHANCE_RANKS, POINTS
from peerveil.simulation.experiments import METHODS, Sweep

GOLDEN = Path(__file__).parents[1] / "golden"


def sweep(axis: str = "reviewers") -> Sweep:
    errors = {
        float(point): np.array([[point * 2.0, 1.0, 0.5, 0.3, 0.1, 0.1], [point * 2.2, 1.2, 0.6, 0.4, 0.1, 0.1]])
        for point in (10, 20, 30)
    }
    return Sweep("made-up", "Made up", axis, METHODS, errors, 1)


def region(n: int = 30) -> Region:
    flat = np.full(n, 2.0)
    return Region(name="baseline", lower=flat, upper=flat + 4.0, total=(4.0 * n, 4.0 * n))


PLAN = [
    (mechanism, estimator, epsilon, factor / epsilon, 0.01)
    for mechanism, factor in (("laplace", 0.3), ("histogram", 0.1), ("another", 0.2))
    for estimator in ("safe", "projection")
    for epsilon in (0.3, 1.0, 3.0)
]


def dealt(made: pv.Release) -> pv.Release:
    """The release, with means under random dealing that differ less than its own."""
    places = thinned(made.values.size, CHANCE_RANKS)
    return replace(made, chance=made.values.mean() + 0.6 * (made.values - made.values.mean())[places])


def with_counts(made: pv.Release) -> pv.Release:
    """The release, as if noise had been added to counts in five bins."""
    edges = np.linspace(1.0, 10.0, 6)
    bins = Bins.even(edges[:-1], edges[1:])
    counts = bins.counts(made.values) + np.array([2, -3, 1, 0, -1])
    histogram = NoisyCounts(bins=bins, counts=counts)
    mechanism = {"name": "histogram", "epsilon": None, "scale": 2.0, "bins": 5}
    return replace(made, histogram=histogram, noisy=histogram.vector(made.values.size), mechanism=mechanism)


PICTURES: dict[str, Callable[[], look.Picture]] = {
    "histogram": lambda: charts.histogram(release()),
    "histogram-without-bands": lambda: charts.histogram(release(known=False)),
    "cumulative": lambda: charts.cumulative(release()),
    "cumulative-proven": lambda: charts.cumulative(release(known=False)),
    "histogram-chance": lambda: charts.histogram(dealt(release(300))),
    "cumulative-chance": lambda: charts.cumulative(dealt(release(300))),
    "refinement": lambda: charts.refinement(release()),
    "refinement-counts": lambda: charts.refinement(with_counts(release())),
    "refinement-many": lambda: charts.refinement(release(DOTS + 1)),
    "proven": lambda: charts.proven(release()),
    "miscalibration": lambda: charts.miscalibration(release(quantity="miscalibration")),
    "comparison": lambda: charts.comparison({"safe": release(), "projection": release(known=False)}),
    "envelope": lambda: charts.envelope({"baseline": region()}, truth=np.linspace(2.5, 5.5, 30)),
    "error-against-epsilon": lambda: charts.error_against_epsilon(PLAN, chosen=1.0),
    "errors-against-setting": lambda: charts.errors_against_setting(sweep()),
}


def shape(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification without what another version of the library may change."""
    return {key: value for key, value in spec.items() if key != "$schema"}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_as_they_were(name: str) -> None:
    """Golden specifications; PEERVEIL_GOLDEN=write accepts what has changed, to be looked at in the difference."""
    spec = json.loads(json.dumps(shape(charts.specification(PICTURES[name]()))))
    file = GOLDEN / f"{name}.json"
    if os.environ.get("PEERVEIL_GOLDEN") == "write":
        file.write_text(json.dumps(spec, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    assert spec == json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_follow_the_schema_and_have_titles_axes_and_words(name: str) -> None:
    picture = PICTURES[name]()
    picture.to_dict(validate=True)
    spec = charts.specification(picture)
    alt.Config(**{**spec["config"], "title": alt.TitleConfig(**spec["config"]["title"])}).to_dict(validate=True)
    assert spec["title"]
    assert len(spec["description"]) > 20
    axes = {
        channel: {
            " ".join(np.atleast_1d(layer["encoding"][channel].get("title") or ""))
            for layer in spec["layer"]
            if channel in layer["encoding"]
        }
        for channel in ("x", "y")
    }
    for channel, named in axes.items():
        assert any(named), f"{name}: no title on {channel}"
    said = " ".join(title for named in axes.values() for title in named)
    assert re.search(r"points|%|number", said), f"{name}: no units in {said!r}"


@pytest.mark.parametrize("name", PICTURES)
def test_every_colour_has_a_brother_for_the_dark(name: str) -> None:
    spec = charts.specification(PICTURES[name]())

    def colours(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            for value in part.values():
                yield from colours(value)
        elif isinstance(part, list):
            for value in part:
                yield from colours(value)
        elif isinstance(part, str) and re.fullmatch(r"#[0-9a-fA-F]{3,8}", part):
            yield part

    used = set(colours(spec))
    assert used <= set(look.DARK)
    assert not used & set(colours(look.darkened(spec)))


def parsed(svg: str) -> Element:
    return fromstring(svg)  # noqa: S314 - it is our own


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_colours_stand_out_from_the_background(dark: bool) -> None:
    background = "#15181c" if dark else "#ffffff"
    for light, night in look.DARK.items():
        if light == look.PAPER:  # the outlines of words have the background's colour
            assert (night if dark else light) == background
            continue
        needed = {look.GRID: 1.15, look.INK: 7.0, look.MUTED: 4.5, look.ORANGE: 2.0, look.SKY: 2.0}.get(light, 3.0)
        assert contrast(night if dark else light, background) >= needed, (light, dark)


@pytest.mark.parametrize("n", [1, 2, 20, 300, 20_000])
@pytest.mark.parametrize("draw", [charts.histogram, charts.cumulative, charts.refinement, charts.proven])
def test_twenty_and_twenty_thousand_reviewers_make_pictures_of_one_size(draw: Any, n: int) -> None:
    spec = charts.specification(draw(release(n)))
    places = [spec, *spec["layer"]]
    rows = sum("label" not in row for place in places if "data" in place for row in place["data"]["values"])
    assert rows
    assert rows <= 3 * POINTS
    assert len(json.dumps(spec)) < 120_000


DRAWN = (charts.histogram, charts.cumulative, charts.refinement, charts.proven)


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration", "extremity"])
def test_the_charts_of_a_release_have_one_size(quantity: str) -> None:
    for made in (release(3, quantity), dealt(release(300, quantity)), with_counts(release(50, quantity, known=False))):
        for draw in DRAWN:
            svg = parsed(charts.to_svg(draw(made)))
            assert (svg.get("width"), svg.get("height")) == (f"{look.WIDTH}", f"{look.HEIGHT}")


def test_titles_say_what_the_released_means_say() -> None:
    made = release(300)
    low, high = np.quantile(made.values, [0.25, 0.75], method="inverted_cdf")
    assert titles.half(made) == f"Half of the reviewers average between {low:.1f} and {high:.1f}"
    inside = np.count_nonzero((made.values >= low) & (made.values <= high))
    assert 150 <= inside <= 152
    assert (
        titles.tenths(made) == f"A tenth average {made.values[29]:.1f} or less, a tenth {made.values[270]:.1f} or more"
    )
    assert (
        titles.half(release(40, "miscalibration"))
        == "Half of the reviewers differ by \N{MINUS SIGN}1.2 to +1.1 on average"
    )
    assert titles.half(release(40, spread=0.0)) == "Half of the reviewers or more have a mean of 5.5"
    assert titles.reduction(made) == "From noise of ±4.2 points per mean to an error of 0.20 points"
    assert titles.reduction(with_counts(release())).startswith(
        "From noise of ±2.8 reviewers per bin to an error of 0.20 points per mean"
    )
    assert titles.reduction(release(known=False)) == "Before and after refinement"
    assert titles.widths(made) == "Likely ranges are 0.70 points wide on average, proven ones 3.0"


def test_lines_of_plans_comparisons_and_sweeps_are_named_at_their_ends() -> None:
    named = {
        "error-against-epsilon": {"laplace", "histogram", "another"},
        "comparison": {"safe", "projection"},
        "errors-against-setting": {
            "noisy vector",
            "baseline",
            "chain (the paper)",
            "tight projection",
            "safe",
            "bayes",
        },
    }
    for name, labels in named.items():
        spec = charts.specification(PICTURES[name]())
        words = [row for layer in spec["layer"] for row in layer.get("data", {}).get("values", []) if "label" in row]
        assert labels <= {" ".join(np.atleast_1d(row["label"])) for row in words}
        assert "legend" not in json.dumps(spec["layer"]).replace('"legend": null', "")
        assert parsed(charts.to_svg(PICTURES[name]())).get("height") == f"{look.HEIGHT}"
        for row in words:
            colour = row.get("colour", look.MUTED)
            assert contrast(colour, "#ffffff") >= 4.5
            assert contrast(look.DARK[colour], "#15181c") >= 4.5


@given(st.lists(st.tuples(st.floats(-20, 120), st.sampled_from([17.0, 34.0])), min_size=1, max_size=5))
def test_labels_are_moved_as_little_as_needed(labels: list[tuple[float, float]]) -> None:
    """Against a quadratic programme."""
    labels = sorted(labels)
    wanted, sizes = (np.array(column) for column in zip(*labels, strict=True))
    room = 180.0
    middles = spread(wanted, sizes, room)
    starts, stops = middles - sizes / 2, middles + sizes / 2
    assert starts[0] >= -1e-9
    assert stops[-1] <= room + 1e-9
    assert (starts[1:] - stops[:-1] >= -1e-9).all()
    gaps = [
        {"type": "ineq", "fun": lambda m, i=i: m[i + 1] - m[i] - (sizes[i] + sizes[i + 1]) / 2}
        for i in range(sizes.size - 1)
    ]
    stacked = np.cumsum(sizes) - sizes / 2
    solve: Any = minimize
    solved = solve(
        lambda m: np.sum((m - wanted) ** 2),
        stacked,
        jac=lambda m: 2 * (m - wanted),
        constraints=gaps,
        bounds=[(size / 2, room - size / 2) for size in sizes],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert np.sum((middles - wanted) ** 2) <= solved.fun * (1 + 1e-6) + 1e-6


def test_titles_of_plans_and_comparisons_say_what_they_show() -> None:
    assert titles.errors({0.3: 0.5, 1.0: 0.2}) == "Expected error: 0.50 at epsilon 0.3, 0.20 at epsilon 1"
    assert titles.errors({0.3: 0.5, 1.0: 0.2}, chosen=0.3) == "Expected error at epsilon 0.3: 0.50"
    useful = titles.errors({0.3: 0.5, 1.0: 0.2}, chosen=1.0, alone=0.4)
    assert useful == "At epsilon 1: expected error 0.20, without a release 0.40"
    useless = titles.errors({0.3: 0.5, 1.0: 0.2}, chosen=0.3, alone=0.4)
    assert useless == "No budget up to epsilon 0.3 gives less error than no release"
    low, high = release(100), release(100, spread=2.0)
    widths = [made.values[90] - made.values[9] for made in (low, high)]
    words = titles.spans({"2025": low, "2026": high}).replace("\N{NO-BREAK SPACE}", " ")
    assert words == f"The middle 80 % span {widths[0]:#.2g} points in 2025, {widths[1]:#.2g} points in 2026"
    many = titles.spans({"a": low, "b": high, "c": low})
    assert many.endswith(f"span {widths[0]:#.2g} to {widths[1]:#.2g} points")
    share = release(100, "share of ratings >= 8")
    assert "points" not in titles.spans({"2025": share, "2026": share}), "shares have no unit"
    assert titles.spans({"a": release(5), "b": low}) == "Released means side by side"


def test_noise_far_beyond_the_means_does_not_flatten_them() -> None:
    """Laplace noise of a hundred points: the axis stays with the means, and says what it leaves out."""
    made = release(300)
    wild = replace(made, noisy=made.values + np.where(np.arange(300) % 4 == 0, 400.0, 0.0))
    spec = charts.specification(charts.refinement(wild))
    low, high = spec["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert low <= made.lower.min()
    assert made.upper.max() <= high
    assert high - low <= 2 * (made.upper.max() - made.lower.min())
    assert any("25\N{NO-BREAK SPACE}%" in line for line in spec["title"]["subtitle"])
    drawn = [row["value"] for row in spec["layer"][0]["data"]["values"]]
    assert min(drawn) >= low
    assert max(drawn) <= high
    few = replace(release(8), noisy=release(8).values + np.array([0.0, 90.0] * 4))
    layer = charts.specification(charts.refinement(few))["layer"][0]
    assert [row["rank"] for row in layer["data"]["values"]] == [1, 3, 5, 7]


@pytest.mark.parametrize("n", [20, DOTS, 3000])
def test_noisy_means_are_dots_and_released_ones_a_line(n: int) -> None:
    made = release(n)
    jagged = replace(made, noisy=made.values + np.where(np.arange(n) % 2 == 0, 0.5, -0.5))
    dots, line, *_ = charts.specification(charts.refinement(jagged))["layer"]
    assert (dots["mark"]["type"], line["mark"]["type"]) == ("point", "line")
    rows = dots["data"]["values"]
    assert len(rows) == min(n, DOTS)
    noisy = dict(enumerate(jagged.noisy.tolist(), 1))
    assert all(row["value"] == pytest.approx(noisy[row["rank"]], rel=1e-5) for row in rows), "not sorted again"
    subtitle = " ".join(charts.specification(charts.refinement(jagged))["title"].get("subtitle", []))
    assert (f"{DOTS} of the {n:,} noisy" in subtitle) == (n > DOTS)


@pytest.mark.parametrize("draw", [charts.cumulative, charts.refinement, charts.proven])
def test_names_of_curves_are_on_an_outline_below_the_words(draw: Any) -> None:
    """Otherwise dots, bands and grid lines run through the letters."""
    svg = charts.to_svg(draw(dealt(release(300))))
    names = [text for text in re.findall(r"<text [^>]*>", svg) if f'stroke="{look.PAPER}"' in text]
    assert names
    assert all('paint-order="stroke"' in text for text in names)
    assert svg.count("paint-order") == len(names)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_names_of_bounds_are_beside_their_curves(spread: float) -> None:
    made = release(300, spread=spread)
    assert made.outlook is not None
    ends = {"released": made.outlook.upper, "90\N{NO-BREAK SPACE}% credible band": made.outlook.lower}
    for layer in charts.specification(charts.proven(made))["layer"]:
        row = layer["data"]["values"][0] if "data" in layer else {}
        if row.get("label") in ends and "x" in row:
            curve = ends.pop(row["label"])
            assert row["y"] == pytest.approx(curve[int(row["x"]) - 1], rel=1e-5)
    assert not ends


@pytest.mark.parametrize(("share", "cornered"), [(0.6, "90\N{NO-BREAK SPACE}% credible band"), (0.2, "released")])
def test_a_name_of_bounds_that_has_no_room_at_its_curve_is_in_a_corner(share: float, cornered: str) -> None:
    """Means that jump late leave room below their curve only where a name would leave the chart; early ones above."""
    made = release(300)
    assert made.outlook is not None
    values = np.where(np.arange(300) < 300 * share, 1.0, 9.0)
    outlook = replace(made.outlook, lower=values - 0.4, upper=values + 0.3)
    spec = charts.specification(charts.proven(replace(made, values=values, outlook=outlook)))
    layers = [(layer["data"]["values"][0].get("label"), layer["encoding"]["x"]) for layer in spec["layer"]]
    placed = {name: "field" in x for name, x in layers if name is not None}
    assert len(placed) == 3
    assert {name for name, beside in placed.items() if not beside} == {cornered, "proven by public data"}


def test_before_and_after_shows_both_counts() -> None:
    made = with_counts(release())
    spec = charts.specification(charts.refinement(made))
    rows = spec["layer"][0]["data"]["values"] if "data" in spec["layer"][0] else spec["data"]["values"]
    assert made.histogram is not None
    assert [row["before"] for row in rows] == made.histogram.counts.tolist()
    assert [row["after"] for row in rows] == made.histogram.bins.counts(made.values).tolist()
    fields = {
        layer["encoding"]["y"].get("field") for layer in spec["layer"] if "field" in layer["encoding"].get("y", {})
    }
    assert {"before", "after"} <= fields


@given(st.integers(2, 400), st.integers(2, 12))
def test_counts_by_chance_are_those_of_its_means(n: int, bins: int) -> None:
    made = dealt(release(n))
    edges = np.linspace(0.0, 11.0, bins + 1)
    expected_counts = chance_counts(made, edges)
    every = made.values.mean() + 0.6 * (made.values - made.values.mean())
    plain = np.histogram(every, edges)[0]
    assert expected_counts.sum() == pytest.approx(n)
    assert np.abs(np.cumsum(expected_counts) - np.cumsum(plain)).max() <= 0.5 + n / 100


def test_svg_is_one_file_for_light_and_dark_and_the_same_every_time() -> None:
    for name in ("histogram", "errors-against-setting"):
        first, second = (charts.to_svg(PICTURES[name]()) for _ in range(2))
        assert first == second
        root = parsed(first)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "prefers-color-scheme:dark" in first
        used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', first))
        assert used <= set(look.DARK)
        addresses = set(re.findall(r"https?://[^\"' ]+", first))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
        assert "<script" not in first
        assert " id=" not in first, "ids of several pictures on one page would collide"


def test_words_of_others_are_escaped() -> None:
    hostile = release(quantity='<script>alert("x")</script>')
    root = parsed(charts.to_svg(charts.histogram(hostile)))
    assert not [element for element in root.iter() if element.tag.endswith("script")]


def test_files_are_written(tmp_path: Path) -> None:
    picture = PICTURES["cumulative"]()
    charts.write_svg(picture, tmp_path / "a.svg")
    assert parsed((tmp_path / "a.svg").read_text()).tag.endswith("svg")
    for dark in (False, True):
        charts.write_png(picture, tmp_path / "a.png", dark=dark)
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_both_bayes_and_safe_are_seen_where_they_are_equal() -> None:
    spec = charts.specification(charts.errors_against_setting(sweep()))
    widths = {
        layer["transform"][0]["filter"]["equal"]: layer["mark"]["strokeWidth"]
        for layer in spec["layer"]
        if "transform" in layer
    }
    order = list(widths)
    assert order.index("safe") < order.index("bayes")
    assert widths["safe"] > 3 * widths["bayes"]


def test_one_draw_has_no_standard_error() -> None:
    single = Sweep("made-up", "Made up", "a", ("noisy",), {1.0: np.array([[2.0]])}, 1)
    charts.to_svg(charts.errors_against_setting(single))
    charts.to_svg(charts.error_against_epsilon([("laplace", "safe", 1.0, 0.2, math.nan)], alone=0.2))


def test_an_empty_plan_is_refused() -> None:
    with pytest.raises(pv.InputError, match="nothing to draw"):
        charts.error_against_epsilon([])


numbers = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1.0, 5.5])


@given(st.lists(numbers, min_size=1, max_size=60), st.floats(0, 10), st.booleans())
def test_bins_hold_every_reviewer_once(values: list[float], error: float, known: bool) -> None:
    v = np.sort(np.array(values))
    made = release(v.size, known=known)
    object.__setattr__(made, "values", v)
    if known:
        object.__setattr__(made, "outlook", ExpectedError(expected_rmse=error, lower=v - error, upper=v + error))
    edges = bins_for(made)
    assert (np.diff(edges) > 0).all()
    assert edges.size - 1 <= 2 * BINS
    counted_means = counted(made, edges)
    assert counted_means.counts.sum() == v.size
    for place, (low, high) in enumerate(pairwise(edges)):
        inside = (v >= low if place else np.ones(v.size, bool)) & (v < high if place < edges.size - 2 else True)
        assert counted_means.counts[place] == np.count_nonzero(inside)
    if known:
        assert counted_means.least is not None
        assert counted_means.most is not None
        assert (counted_means.least <= counted_means.counts).all()
        assert (counted_means.counts <= counted_means.most).all()


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 3)), min_size=1, max_size=30))
def test_counts_may_be_what_bands_allow(bands: list[tuple[float, float]]) -> None:
    """Against the plain reading: an entry may be in every bin that its band meets."""
    v = np.sort([low for low, _ in bands])
    width = np.array([w for _, w in bands])
    made = release(v.size)
    object.__setattr__(made, "values", v)
    object.__setattr__(made, "outlook", ExpectedError(expected_rmse=0.1, lower=v - width, upper=v + width))
    edges = bins_for(made)
    counted_means = counted(made, edges)
    ends = [-np.inf, *edges[1:-1].tolist(), np.inf]
    for place in range(edges.size - 1):
        low, high = ends[place], ends[place + 1]
        may = sum(a < high and b >= low for a, b in zip(v - width, v + width, strict=True))
        must = sum(a >= low and b < high for a, b in zip(v - width, v + width, strict=True))
        assert counted_means.most is not None
        assert counted_means.least is not None
        assert counted_means.most[place] == may
        assert counted_means.least[place] == must


@given(st.integers(1, 5000), st.integers(2, 300))
def test_thinned_curves_keep_their_ends(length: int, most: int) -> None:
    places = thinned(length, most)
    assert places[0] == 0
    assert places[-1] == length - 1
    assert places.size <= max(most, 1)
    assert (np.diff(places) > 0).all()


@given(st.floats(1e-9, 1e9))
def test_steps_are_round_and_not_smaller(step: float) -> None:
    nice = round_step(step)
    assert step * (1 - 1e-6) <= nice <= 2.5 * step
    assert any(abs(nice / 10.0**k - m) < 1e-6 for k in range(-11, 11) for m in (1, 2, 2.5, 5))


@pytest.mark.parametrize(("high", "ticks"), [(1.0, [0, 25, 50, 75, 100]), (0.4, None)])
def test_no_group_is_shown_to_have_more_than_all(high: float, ticks: list[int] | None) -> None:
    rows = [
        {"group": group, "from": low, "to": low + 1, "share": 0.3, "share_lower": 0.1, "share_upper": high}
        for group in ("senior", "junior")
        for low in (1, 3, 5)
    ]
    drawn = charts.shares_by_group(rows, "ratings", title="Shares", level=0.9).to_dict()
    axes = [
        layer["encoding"]["x"]["axis"].get("values") for layer in drawn["layer"] if "axis" in layer["encoding"]["x"]
    ]
    assert axes
    assert all(values == ticks for values in axes)
