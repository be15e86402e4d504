"""`peerveil compare` and `peerveil pool`: releases side by side, and the prior that they give for the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from peerveil.app.requests import CompareRequest, PoolRequest
from peerveil.cli import options as opt

#: The number of columns of releases, or of numbers, that are readable in a terminal.
_COLUMNS = 3


@opt.with_options
def compare(request: CompareRequest, *, as_json: opt.AsJson = False, everything: opt.Everything = False) -> None:
    """Compare releases, of several years or tracks, and say how much of a difference may be noise.

    Three or more are compared by their findings and deciles over the years: with bands, and whether a change is more
    than noise, or more than noise and sampling.
    """
    from rich.text import Text

    from peerveil.app.compare import compare
    from peerveil.cli.show import out, print_json, print_screenful, rows_table
    from peerveil.cli.working import working
    from peerveil.releases.comparison import QUANTILE_COLUMNS

    if len(request.releases) > 2:
        _compare_many(request, as_json=as_json, everything=everything)
        return
    with working("Comparing"):
        comparison = compare(request)
    if as_json:
        print_json(comparison.to_document(), "compare")
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


def _compare_many(request: CompareRequest, *, as_json: bool, everything: bool) -> None:
    """Compare three or more releases."""
    from rich.text import Text

    from peerveil.app.compare import compare_many
    from peerveil.cli.show import out, print_json, print_screenful
    from peerveil.cli.working import working

    with working("Comparing"):
        series = compare_many(request)
    if as_json:
        print_json(series.to_document(), "compare-many")
        return
    written = request.output is not None
    print_screenful(
        Text(f"{series.quantity} of {len(series.releases)} releases", style="bold"),
        "",
        *series.sentences(),
        "",
        *_tables(series.names, series.cells()),
        *series.words,
        everything=everything,
        after=int(written),
    )
    if written:
        out.print(f"Written: {request.output}", soft_wrap=True)


def _tables(names: Sequence[str], cells: Sequence[tuple[str, ...]]) -> Iterator[Any]:
    """Yield the numbers of many releases as tables that fit a terminal, each with a blank line after it.

    Few releases are columns; more are rows, with as many numbers beside each other as there is room for.
    """
    from peerveil.cli.show import rows_table

    if len(names) <= _COLUMNS:
        yield from (rows_table(("", *names), cells), "")
        return
    for start in range(0, len(cells), _COLUMNS):
        labels, *numbers = zip(*cells[start : start + _COLUMNS], strict=True)
        yield from (rows_table(("", *labels), ((name, *row) for name, row in zip(names, numbers, strict=True))), "")


@opt.with_options
def pool(request: PoolRequest, *, as_json: opt.AsJson = False) -> None:
    """Pool earlier releases of a conference into a prior, which makes the next release of its kind more accurate.

    Give the file with --prior to plan, release, refine, batch and verify. Only what is published is used, so pooling
    costs no privacy. A release never pools with itself, and a year that is unlike the others gets the usual prior.
    """
    from peerveil.app.compare import pool
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.cli.working import working

    with working("Pooling"):
        prior = pool(request)
    if as_json:
        print_json(prior.to_document(), "pool")
        return
    rows = [(each.name or f"record {each.record[7:15]}", each.release[:19]) for each in prior.releases]
    out.print(rows_table(("release", "digest"), rows))
    out.print()
    out.print(prior.sentence)
    if len(prior.releases) < len(request.releases):
        out.print("Releases of one public record count once: the most precise of them.")
    out.print(f"Written: {request.output}", soft_wrap=True)
