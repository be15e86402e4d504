"""Plots: the charts of releases, plans and comparisons for notebooks and scripts."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path, PurePath
from typing import Any

from peerveil.errors import InputError
from peerveil.planning.choices import Choice, Plan, most_accurate
from peerveil.reporting.charts import comparison, error_against_epsilon, over_years, to_svg
from peerveil.reporting.charts.over_years import Point
from peerveil.reporting.published import Published
from peerveil.reporting.report import DRAW
from peerveil.support.atomic_files import replace_file

#: The charts of a release, by the name of their file in its folder.
KINDS = {PurePath(name).stem: name for name in DRAW}

#: Pixels of a PNG per pixel of its SVG.
_SCALE = 2.0


@dataclass(frozen=True, repr=False)
class Plot:
    """A chart as SVG, which notebooks display and :meth:`save` writes.

    >>> plot = Plot('<svg role="img" aria-label="Two lines" class="marks"></svg>')
    >>> plot
    Plot('Two lines')
    >>> plot._repr_html_()[:26]
    '<img alt="Two lines" src="'
    """

    svg: str

    @property
    def description(self) -> str:
        """The chart in words, for readers who do not see it."""
        label = re.search(r'aria-label="([^"]*)"', self.svg)
        return "" if label is None else unescape(label[1])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart as SVG or PNG, by the suffix of the path, and return the path."""
        place = Path(path)
        if place.suffix not in (".svg", ".png"):
            raise InputError(f"path must end in .svg or .png, got {place.name!r}")
        replace_file(
            place, lambda stage: stage.write_bytes(self.svg.encode() if place.suffix == ".svg" else self.png())
        )
        return place

    def png(self) -> bytes:
        """Return the chart as PNG, at twice its size."""
        import vl_convert  # noqa: PLC0415 - slow to load

        return vl_convert.svg_to_png(self.svg, scale=_SCALE)

    def __repr__(self) -> str:
        return f"Plot({self.description!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        embedded = base64.b64encode(self.svg.encode()).decode()  # as a file, to isolate its style
        return f'<img alt="{escape(self.description)}" src="data:image/svg+xml;base64,{embedded}">'


def release_plot(release: Published, kind: str) -> Plot:
    """Return a chart of a release, the same as in its report; ``kind`` is one of :data:`KINDS`."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return Plot(to_svg(DRAW[KINDS[kind]](release)))


def plan_plot(plan: Plan, *, chosen: float | None = None) -> Plot:
    """Return the chart of a plan; the budget ``chosen`` is marked."""
    least = {choice.epsilon: choice.rmse for choice in plan.recommended}
    how: dict[str, Any] = {"chosen": chosen, "alone": plan.alone, "least": least, "quantity": plan.quantity}
    return Plot(to_svg(error_against_epsilon(plan_rows(plan), **how)))


def comparison_plot(releases: Mapping[str, Published]) -> Plot:
    """Return a chart of named releases of the same quantity, at most six."""
    return Plot(to_svg(comparison(releases)))


def series_plot(
    lines: Mapping[str, Sequence[Point]],
    quantity: str,
    *,
    title: str,
    names: Sequence[str],
    level: float,
    percent: bool,
) -> Plot:
    """Return a chart of numbers over several releases, one line per number."""
    return Plot(to_svg(over_years(lines, quantity, title=title, names=names, level=level, percent=percent)))


def plan_rows(plan: Plan) -> list[tuple[str, str, float, float, float]]:
    """Return the rows of a plan's chart: the best choice per mechanism, estimator and budget.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5]], load=2)
    >>> [row[:3] for row in plan_rows(pv.plan(weights, epsilons=[1], draws=2, workers=1))][:2]
    [('laplace', 'projection', 1.0), ('laplace', 'safe', 1.0)]
    """
    listed: dict[tuple[str, str, float], list[Choice]] = {}
    for choice in plan.choices:
        listed.setdefault((choice.mechanism, choice.estimator, choice.epsilon), []).append(choice)
    best = {key: most_accurate(choices) for key, choices in listed.items()}
    return [(*key, choice.rmse, choice.rmse_error) for key, choice in best.items()]
