"""Charts of expected and simulated errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import altair as alt

from peerveil.errors import InputError
from peerveil.mechanisms import OWN
from peerveil.reporting.charts import look, titles
from peerveil.reporting.charts.line_ends import End, Span, end_labels, with_room
from peerveil.reporting.charts.look import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    INK,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    Picture,
    tip,
)
from peerveil.reporting.words import quantity_words, say, say_of
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

#: Colours of mechanisms in order of registration, and dashes of estimators with the keys of their names.
_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY)
_ESTIMATORS = {"safe": ("solid", [1, 0]), "projection": ("dashed", [6, 3]), "bayes": ("dotted", [2, 2])}
_OTHER = ("mixed", [8, 3, 2, 3])

#: The most points of a single budget that are all labelled.
_LABELS = 7


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
    least: Mapping[float, float] | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
    quantity: str = "ratings",
) -> Picture:
    """Return a log-log chart of expected error against the budget, by mechanism and estimator.

    ``rows`` have the fields of :class:`ExpectedError`; the budget ``chosen`` is marked, and the error
    ``alone`` of public data without a release is a line. The errors are those of ``quantity``. The title states
    ``least``, the expected error at each budget; by default the least of the rows.

    >>> picture = error_against_epsilon([("laplace", "safe", 1.0, 0.2, 0.01), ("laplace", "safe", 3.0, 0.1, 0.01)])
    >>> " ".join(picture.to_dict()["title"]["text"]).replace("\N{NO-BREAK SPACE}", " ")
    'Expected error: 0.20 points at epsilon 1, 0.10 at epsilon 3'
    """
    listed = [row for row in starmap(ExpectedError, rows) if row.rmse > 0]
    if not listed:
        raise InputError("rows must hold at least one expected error above 0; without any there is nothing to draw")
    mechanisms = list(dict.fromkeys(row.mechanism for row in listed))
    estimators = list(dict.fromkeys(row.estimator for row in listed))
    budgets = sorted({row.epsilon for row in listed})
    order = list(dict.fromkeys([*OWN, *mechanisms]))
    colours = {name: _COLOURS[order.index(name) % len(_COLOURS)] for name in mechanisms}
    drawn: list[dict[str, Any]] = [
        {"mechanism": row.mechanism, "estimator": row.estimator, "epsilon": row.epsilon, "rmse": row.rmse}
        | _error_bar(row.rmse, row.error)
        | {"colour": colours[row.mechanism]}
        for row in listed
    ]
    ends = _ends(listed, colours, budgets)
    if alone:
        ends.append(End(say("chart.no_release"), INK, alone))
    levels = [*(row[key] for row in drawn for key in ("low", "high")), *([alone] if alone else [])]
    x = with_room(Span(budgets[0] / 1.1, budgets[-1] * 1.05, log=True), ends, width)
    y = Span(min(levels) / 1.25, max(levels) * 1.08, log=True)
    title = titles.errors(least or _least(listed), chosen=chosen, alone=alone, unit=titles.unit_of(quantity))
    explained = [say("chart.bars")] if len(budgets) == 1 else _explained(estimators)
    at = alt.X("epsilon:Q", title=look.below(say("chart.axis_budget")), scale=x.scale(), axis=_at(budgets))
    error = alt.Y("rmse:Q", title=look.beside(_error_title(quantity)), scale=y.scale(), axis=_decades(y))
    dashes = alt.Scale(domain=estimators, range=[_ESTIMATORS.get(name, _OTHER)[1] for name in estimators])
    dash = alt.StrokeDash("estimator:N", sort=estimators, scale=dashes, legend=None)
    tooltip = [tip(name, say(f"chart.{name}"), kind="N") for name in ("mechanism", "estimator")]
    tooltip.append(tip("epsilon", format="~g"))
    tooltip.append(tip("rmse", say("chart.error"), ".3~g"))
    base = look.chart(drawn).encode(
        x=at, color=alt.Color("colour:N", scale=None), detail=["estimator:N", "mechanism:N"]
    )
    layers: list[Any] = [
        base.mark_line(strokeWidth=2).encode(y=error, strokeDash=dash, tooltip=tooltip),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=y.scale()), y2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(y=error, tooltip=tooltip),
    ]
    if chosen is not None:
        layers = [*_chosen(chosen, x, y), *layers]
    if alone:
        level = look.chart([{"rmse": alone, "epsilon": budget} for budget in budgets])
        layers.append(level.mark_line(color=INK, strokeDash=[8, 4], strokeWidth=1.5).encode(x=at, y=error))
    lines = look.text_rows(title, explained, say("chart.axis_budget"))
    layers += end_labels(ends, x=x, until=budgets[-1], y=y, height=height, rows=lines)
    return look.finished(
        alt.layer(*layers),
        title=title,
        explained=explained,
        description=titles.errors_described(mechanisms, budgets, alone=alone),
        width=width,
        height=height,
    )


def _ends(rows: Sequence[ExpectedError], colours: Mapping[str, str], budgets: Sequence[float]) -> list[End]:
    """The labels of the lines: mechanisms where they have the least error; of single points, estimators as well."""
    if len(budgets) == 1:  # points have no dashes, which tell estimators apart
        ranked = sorted(rows, key=lambda row: row.rmse)
        best = {row.mechanism: row for row in reversed(ranked)}
        shown = ranked if len(rows) <= _LABELS else list(best.values())
        return [End(f"{row.mechanism}, {row.estimator}", colours[row.mechanism], row.rmse) for row in shown]
    return [
        End(name, colour, [*_least([row for row in rows if row.mechanism == name]).values()][-1])
        for name, colour in colours.items()
    ]


def _least(rows: Sequence[ExpectedError]) -> dict[float, float]:
    """The least expected error at each budget, in ascending order of budgets."""
    budgets = sorted({row.epsilon for row in rows})
    return {budget: min(row.rmse for row in rows if row.epsilon == budget) for budget in budgets}


def _error_title(quantity: str) -> str:
    """The title of the axis of errors; shares have no unit."""
    key = "axis_error_share" if quantity_words(quantity).number == "share" else "axis_error"
    return say_of(quantity)(f"chart.{key}")


def _explained(estimators: Sequence[str]) -> list[str]:
    """The estimators by their dashes, and the error bars."""
    looks = [(_ESTIMATORS.get(name, _OTHER)[0], name) for name in estimators]
    dashes = ", ".join(say("chart.drawn", look=say(f"chart.{key}"), name=name) for key, name in looks)
    return [say("chart.estimators", dashes=dashes[:1].upper() + dashes[1:])]


def _chosen(budget: float, x: Span, y: Span) -> list[Any]:
    """The mark of a chosen budget: a dotted line, and a word at its foot."""
    mark = look.chart([{"epsilon": budget, "rmse": y.low, "label": say("chart.chosen")}])
    at = alt.X("epsilon:Q", scale=x.scale())
    side: dict[str, Any] = {"align": "left", "dx": 4} if x.place(budget) < 0.3 else {"align": "right", "dx": -4}
    word = mark.mark_text(**side, baseline="bottom", dy=-2, color=look.MUTED)
    foot = alt.Y("rmse:Q", scale=y.scale())
    return [mark.mark_rule(color=INK, strokeDash=[3, 3]).encode(x=at), word.encode(x=at, y=foot, text="label:N")]


@look.unvalidated
def errors_against_setting(sweep: Sweep, *, width: int = 460, height: int = HEIGHT) -> Picture:
    """Return a chart of each method's error against the setting that a sweep varies, with standard errors.

    >>> from peerveil.simulation.experiments import simulate
    >>> sweep = simulate("beta-2-2", draws=3, points=[10, 20], methods=("noisy", "baseline"), workers=1)
    >>> errors_against_setting(sweep).to_dict()["title"]["text"]
    ['Beta(2, 2)']
    """
    points = sweep.table()
    looks = {TITLES[method]: _METHODS[method] for method in sweep.methods}
    rows: list[dict[str, Any]] = [
        {"setting": point.point, "what": TITLES[point.method], "error": point.mean}
        | _error_bar(point.mean, point.error)
        | {"colour": _METHODS[point.method][0]}
        for point in points
    ]
    last = {TITLES[point.method]: point.mean for point in points}
    ends = [End(name, colour, last[name]) for name, (colour, _, _) in looks.items()]
    settings = sorted({point.point for point in points})
    reach = (settings[-1] - settings[0]) or 1.0
    x = with_room(Span(settings[0] - 0.03 * reach, settings[-1] + 0.02 * reach), ends, width)
    y = Span(min(row["low"] for row in rows) / 1.2, max(row["high"] for row in rows) * 1.2, log=True)
    axis = say(f"chart.axis_{sweep.axis}")
    at = alt.X("setting:Q", title=look.below(axis), scale=x.scale(), axis=_at(settings))
    error = alt.Y("error:Q", title=look.beside(say("chart.axis_squared")), scale=y.scale(), axis=_decades(y))
    base = look.chart(rows).encode(x=at, color=alt.Color("colour:N", scale=None))
    layers: list[Any] = []
    for title, (_, dashes, line_width) in looks.items():
        only = base.transform_filter(alt.FieldEqualPredicate(equal=title, field="what"))
        layers.append(only.mark_line(strokeWidth=line_width, strokeDash=dashes).encode(y=error))
    layers += [
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=y.scale()), y2="high:Q"),
        base.mark_point(filled=True, size=26, opacity=1).encode(y=error),
    ]
    explained = [say("chart.bars")]
    lines = look.text_rows(sweep.title, explained, axis)
    layers += end_labels(ends, x=x, until=settings[-1], y=y, height=height, rows=lines)
    return look.finished(
        alt.layer(*layers),
        title=sweep.title,
        explained=explained,
        description=say("description.sweep", methods=", ".join(looks), setting=axis),
        width=width,
        height=height,
    )


def _error_bar(value: float, error: float) -> dict[str, float]:
    """The ends of an error bar on a logarithmic axis; a single draw has no standard error."""
    if math.isnan(error):
        return {"low": value, "high": value}
    return {"low": max(value - error, value / 10), "high": value + error}


def _at(values: Sequence[float]) -> alt.Axis:
    """An axis with ticks at these values, which ends where the lines do."""
    return alt.Axis(values=list(values), format="~g", labelOverlap=True, domain=False)


def _decades(span: Span) -> alt.Axis:
    """An axis with few lines: powers of ten, with 2 and 5 times these over a short range."""
    powers = range(math.floor(math.log10(span.low)), math.ceil(math.log10(span.high)) + 1)
    steps = (1, 2, 5) if math.log10(span.high / span.low) < 2.5 else (1,)
    shown = [float(f"{step}e{power}") for power in powers for step in steps]
    return alt.Axis(format="~g", values=[value for value in shown if span.low <= value <= span.high])
