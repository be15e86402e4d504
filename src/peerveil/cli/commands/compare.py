"""`peerveil compare`: two releases side by side."""

from __future__ import annotations

from itertools import starmap

from peerveil.app.requests import CompareRequest
from peerveil.cli import options as opt


@opt.with_options
def compare(request: CompareRequest, *, as_json: opt.AsJson = False, everything: opt.Everything = False) -> None:
    """Compare two releases, of two years or two tracks, and say how much of a difference may be noise."""
    from rich.text import Text

    from peerveil.app.compare import compare
    from peerveil.cli.show import out, print_json, print_screenful, rows_table
    from peerveil.releases.comparison import QUANTILE_COLUMNS

    comparison = compare(request)
    if as_json:
        print_json(comparison.to_document())
        return
    reviewers = comparison.reviewers
    title = f"{comparison.quantity}: {reviewers[0]} reviewers in the first release, {reviewers[1]} in the second"
    rows = []
    for s in comparison.summaries:
        numbers = ((s.first, s.first_error), (s.second, s.second_error), (s.difference, s.error))
        rows.append((s.name, *starmap(_with_error, numbers)))
    rows.append(("distance", "", "", _with_error(*comparison.distance)))
    sentences = comparison.sentences()
    quantiles = comparison.quantiles if everything else comparison.quantiles[::2]
    print_screenful(
        Text(title, style="bold"),
        "",
        *sentences,
        *([""] if sentences else []),
        rows_table(("of the means", "first", "second", "difference"), rows),
        "",
        rows_table(QUANTILE_COLUMNS, (quantile.cells() for quantile in quantiles)),
        "",
        *comparison.words,
        everything=everything,
        after=1,
    )
    if not everything:
        out.print("Every decile: --all", style="dim")


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.2g}"
