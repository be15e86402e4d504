"""Charts of expected and simulated errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import altair as alt

from peerveil.errors import InputError
from peerveil.mechanisms import OWN
from peerveil.reporting.charts import look
from peerveil.reporting.charts.look import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SKY, Picture, tip
from peerveil.simulation.experiments import TITLES, Sweep

#: Colour, dashes and line width of each method in every chart. `bayes` often equals `safe`: its thin line runs inside
#: the wide one of `safe`, so that both are visible.
_METHODS: dict[str, tuple[str, list[int], float]] = {
    "noisy": (GREY, [1, 0], 2.0),
    "baseline": (ORANGE, [6, 3], 2.0),
    "chain": (RED, [2, 2], 2.0),
    "tight": (PURPLE, [8, 3, 2, 3], 2.0),
    "safe": (SKY, [1, 0], 7.0),
    "bayes": (INK, [5, 4], 1.6),
}

_SETTINGS = {
    "reviewers": "number of reviewers",
    "a": "a",
    "leniency": "leniency: how strongly reviewers differ (0: not at all)",
}

#: Colours of mechanisms in order of registration, and dashes of estimators.
_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY)
_ESTIMATORS = {"safe": [1, 0], "projection": [6, 3], "bayes": [2, 2], "none": [1, 3]}

_LOGARITHMIC: dict[str, Any] = {"type": "log", "nice": False}


class ExpectedError(NamedTuple):
    """The expected error of a choice, one row of a plan: that of a reviewer's mean, and its standard error.

    The standard error is NaN if there was a single draw.
    """

    mechanism: str
    estimator: str
    epsilon: float
    rmse: float
    error: float


@look.unvalidated
def error_against_epsilon(
    rows: Iterable[tuple[str, str, float, float, float]],
    *,
    chosen: float | None = None,
    alone: float | None = None,
    width: int = 360,
    height: int = 230,
) -> Picture:
    """Return a log-log chart of expected error against the budget, by mechanism and estimator.

    ``rows`` have the fields of :class:`ExpectedError`; the budget ``chosen`` is marked, and the error
    ``alone`` of public data without a release is a line.

    >>> picture = error_against_epsilon([("laplace", "safe", 1.0, 0.2, 0.01), ("laplace", "safe", 3.0, 0.1, 0.01)])
    >>> picture.to_dict()["title"]
    'Expected error against the budget'
    """
    listed = [ExpectedError(*row) for row in rows]
    drawn = [
        {"mechanism": row.mechanism, "estimator": row.estimator, "epsilon": row.epsilon, "rmse": row.rmse}
        | _error_bar(row.rmse, row.error)
        for row in listed
        if row.rmse > 0
    ]
    if not drawn:
        raise InputError("rows must hold at least one expected error above 0; without any there is nothing to draw")
    mechanisms = list(dict.fromkeys(row.mechanism for row in listed))
    estimators = list(dict.fromkeys(row.estimator for row in listed))
    budgets = sorted({row.epsilon for row in listed})
    order = list(dict.fromkeys([*OWN, *mechanisms]))
    colours = [_COLOURS[order.index(name) % len(_COLOURS)] for name in mechanisms]
    dashes = [_ESTIMATORS.get(name, [4, 2]) for name in estimators]
    base = look.chart(drawn).encode(
        x=alt.X(
            "epsilon:Q",
            title="budget epsilon (smaller is more private)",
            scale=alt.Scale(**_LOGARITHMIC, padding=10),
            axis=alt.Axis(values=budgets, format="~g", labelOverlap=True),
        ),
        color=alt.Color("mechanism:N", sort=mechanisms, scale=alt.Scale(domain=mechanisms, range=colours)),
    )
    scale = alt.Scale(**_LOGARITHMIC, padding=8)
    y = alt.Y("rmse:Q", title=["expected error", "of a mean (points)"], scale=scale, axis=_decades(drawn))
    dash = alt.StrokeDash(
        "estimator:N",
        sort=estimators,
        scale=alt.Scale(domain=estimators, range=dashes),
        legend=alt.Legend(orient="bottom"),  # beside the other, both would be too wide
    )
    tooltip = [alt.Tooltip("mechanism:N"), alt.Tooltip("estimator:N"), tip("epsilon", format="~g")]
    tooltip.append(tip("rmse", "expected error", ".3~g"))
    layers: list[Any] = [
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash, tooltip=tooltip),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q", detail="estimator:N"),
        base.mark_point(filled=True, size=32, opacity=1).encode(y=y, detail="estimator:N", tooltip=tooltip),
    ]
    if chosen is not None:
        mark = look.chart([{"epsilon": chosen}]).mark_rule(color=INK, strokeDash=[3, 3])
        layers.insert(0, mark.encode(x="epsilon:Q"))
    words = f"Expected error of {', '.join(mechanisms)} noise for budgets from {budgets[0]:g} to {budgets[-1]:g}."
    if alone:
        level = look.chart([{"rmse": alone, "epsilon": budgets[-1], "name": "public data alone"}])
        layers.append(level.mark_rule(color=INK, strokeDash=[8, 4]).encode(y=alt.Y("rmse:Q", scale=scale)))
        label = level.mark_text(align="right", baseline="bottom", dy=-3, color=INK)
        layers.append(label.encode(x="epsilon:Q", y=alt.Y("rmse:Q", scale=scale), text="name:N"))
        words += f" Public data alone: {alone:.2g}."
    title = "Expected error against the budget"
    return look.finished(alt.layer(*layers), title=title, description=words, width=width, height=height, fit=False)


@look.unvalidated
def errors_against_setting(sweep: Sweep, *, width: int = 420, height: int = 300) -> Picture:
    """Return a chart of each method's error against the setting that a sweep varies, with standard errors.

    >>> from peerveil.simulation.experiments import simulate
    >>> sweep = simulate("beta-2-2", draws=3, points=[10, 20], methods=("noisy", "baseline"), workers=1)
    >>> errors_against_setting(sweep).to_dict()["title"]
    'Beta(2, 2)'
    """
    rows = [
        {"setting": point.point, "what": TITLES[point.method], "error": point.mean}
        | _error_bar(point.mean, point.error)
        for point in sweep.table()
    ]
    titles = [TITLES[method] for method in sweep.methods]
    looks = [_METHODS[method] for method in sweep.methods]
    colours = alt.Scale(domain=titles, range=[colour for colour, _, _ in looks])
    dashes = alt.Scale(domain=titles, range=[dash for _, dash, _ in looks])
    legend = alt.Legend(symbolType="stroke", symbolSize=200)
    scale = alt.Scale(**_LOGARITHMIC, padding=8)
    base = look.chart(rows).encode(
        x=alt.X("setting:Q", title=_SETTINGS[sweep.axis], scale=alt.Scale(zero=False)),
        color=alt.Color("what:N", sort=titles, title=None, scale=colours, legend=legend),
    )
    error = alt.Y("error:Q", title="summed squared error (points², mean)", scale=scale, axis=_decades(rows))
    dash = alt.StrokeDash("what:N", sort=titles, title=None, scale=dashes, legend=legend)
    layers: list[Any] = []
    for title, (_, _, line_width) in zip(titles, looks, strict=True):
        only = base.transform_filter(alt.FieldEqualPredicate(equal=title, field="what"))
        layers.append(only.mark_line(strokeWidth=line_width).encode(y=error, strokeDash=dash))
    layers += [
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=26, opacity=1).encode(y=error),
    ]
    words = f"Errors of {', '.join(titles)} against {_SETTINGS[sweep.axis]}."
    return look.finished(
        alt.layer(*layers), title=sweep.title, description=words, width=width, height=height, fit=False
    )


def _error_bar(value: float, error: float) -> dict[str, float]:
    """The ends of an error bar on a logarithmic axis; a single draw has no standard error."""
    if math.isnan(error):
        return {"low": value, "high": value}
    return {"low": max(value - error, value / 10), "high": value + error}


def _decades(rows: list[dict[str, Any]]) -> Any:
    """An axis with few lines: powers of ten, with 2 and 5 times these over a short range."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    shown = [float(f"{step}e{power}") for power in powers for step in steps]
    return alt.Axis(format="~g", values=[value for value in shown if low / 1.2 <= value <= high * 1.2])
