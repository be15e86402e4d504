"""Altair charts of releases, plans, regions and simulations, drawn offline to SVG and PNG."""

from __future__ import annotations

from peerveil.reporting.charts.before_after import refinement
from peerveil.reporting.charts.bounds import envelope, proven
from peerveil.reporting.charts.distribution import comparison, cumulative, histogram, miscalibration
from peerveil.reporting.charts.errors import ExpectedError, error_against_epsilon, errors_against_setting
from peerveil.reporting.charts.groups import shares_by_group
from peerveil.reporting.charts.look import dark_css, darkened, specification, to_png, to_svg, write_png, write_svg
from peerveil.reporting.charts.over_years import over_years

__all__ = [
    "ExpectedError",
    "comparison",
    "cumulative",
    "dark_css",
    "darkened",
    "envelope",
    "error_against_epsilon",
    "errors_against_setting",
    "histogram",
    "miscalibration",
    "over_years",
    "proven",
    "refinement",
    "shares_by_group",
    "specification",
    "to_png",
    "to_svg",
    "write_png",
    "write_svg",
]
