"""`peerveil inspect`: what is in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import ReadingOptions, grouped

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def inspect(
    file: Annotated[str, typer.Argument(help="Private reviews (a row a review), or public scores per paper.")],
    *,
    reading: ReadingOptions,
    write_mapping: Annotated[
        str | None,
        typer.Option(help="Draft a TOML file for --mapping, to fill in.", rich_help_panel="Reading"),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Tell what is in a file: papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.private.inspection import draft_mapping
    from peerveil.private.inspection import inspect as look

    with opt.spelling(ratings="--score"):
        if write_mapping is not None:
            draft_mapping(file, write_mapping, **reading.said())
            out.print(f"Written: {write_mapping}; fill it in and use it with --mapping", soft_wrap=True)
            return
        facts = look(file, mapping=reading.mapping, **reading.said())
    if as_json:
        print_json(facts)
    else:
        out.print(facts_table(facts))
