"""`peerveil compare`: two releases side by side."""

from __future__ import annotations

from peerveil.app.requests import CompareRequest
from peerveil.cli import options as opt


@opt.with_options
def compare(request: CompareRequest, *, as_json: opt.AsJson = False, everything: opt.Everything = False) -> None:
    """Compare two releases, of two years or two tracks, and say how much of a difference may be noise."""
    from rich.text import Text

    from peerveil.app.compare import compare
    from peerveil.cli.show import out, print_json, print_screenful, rows_table
    from peerveil.cli.working import working
    from peerveil.releases.comparison import QUANTILE_COLUMNS

    with working("Comparing"):
        comparison = compare(request)
    if as_json:
        print_json(comparison.to_document())
        return
    reviewers = comparison.reviewers
    title = f"{comparison.quantity}: {reviewers[0]} reviewers in the first release, {reviewers[1]} in the second"
    sentences = comparison.sentences()
    quantiles = comparison.quantiles if everything else comparison.quantiles[::2]
    print_screenful(
        Text(title, style="bold"),
        "",
        *sentences,
        *([""] if sentences else []),
        rows_table(comparison.summary_columns, comparison.summary_cells()),
        "",
        rows_table(QUANTILE_COLUMNS, (quantile.cells() for quantile in quantiles)),
        "",
        *comparison.words,
        everything=everything,
        after=1 + (request.output is not None),
    )
    if request.output is not None:
        out.print(f"Written: {request.output}", soft_wrap=True)
    if not everything:
        out.print("Every decile: --all", style="dim")
