"""`peerveil compare`: two releases side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.releases.comparison import Comparison

# ruff: noqa: PLC0415 - commands import what they need when they run


def compare(
    first: opt.ReleasePlace,
    second: Annotated[str, typer.Argument(help="Another of the same quantity; differences are its minus the first's.")],
    *,
    as_json: opt.AsJson = False,
) -> None:
    """Compare two releases, of two years or two tracks: what differs, and how much of that may be noise."""
    from peerveil.cli.show import print_json
    from peerveil.releases.comparison import compare
    from peerveil.releases.release import Release

    found = compare(Release.load(first), Release.load(second))
    if as_json:
        print_json(found.to_document())
    else:
        _show(found)


def _show(found: Comparison) -> None:
    from peerveil.cli.show import out, rows_table
    from peerveil.releases.comparison import QUANTILE_COLUMNS

    one, other = found.reviewers
    out.print(f"{found.quantity}: {one} reviewers in the first release, {other} in the second", style="bold")
    out.print()
    rows = [
        (s.name, _with(s.first, s.first_error), _with(s.second, s.second_error), _with(s.difference, s.error))
        for s in found.summaries
    ]
    rows.append(("distance", "", "", _with(*found.distance)))
    out.print(rows_table(("of the means", "first", "second", "difference"), rows))
    out.print()
    out.print(rows_table(QUANTILE_COLUMNS, (quantile.cells() for quantile in found.quantiles)))
    out.print()
    for sentence in found.words:
        out.print(sentence)


def _with(value: float, error: float | None) -> str:
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.2g}"
