"""`peerveil inspect`: what is in a file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from peerveil.app.messages import renaming
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
    write_public: Annotated[
        str | None,
        typer.Option(
            help="Write the scores of every paper, without reviewers, to a new CSV file. Publish it only if visitors "
            "see all of these scores anyway."
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Tell what is in a file: papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.cli.working import after_writing
    from peerveil.private.inspection import draft_mapping
    from peerveil.private.inspection import inspect as look
    from peerveil.record.public_files import write_public as write

    with renaming(ratings="score"):
        if write_mapping is not None:
            draft_mapping(file, write_mapping, **reading.said())
            out.print(f"Written: {write_mapping}; fill it in and use it with --mapping", soft_wrap=True)
            return
        facts = look(file, mapping=reading.mapping, **reading.said())
        if write_public is not None:
            write(reading.reviews(file).public("all"), write_public)
    with after_writing(write_public) if write_public is not None else nullcontext():
        if as_json:
            print_json(facts)
            return
        out.print(facts_table(facts))
        if write_public is not None:
            out.print(f"Written: {write_public}", soft_wrap=True)
