"""`peerveil inspect`: the contents of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Annotated, Any

import typer

from peerveil.app.requests import InspectRequest
from peerveil.cli import options as opt
from peerveil.errors import FileError, PeerveilError

Ask = Annotated[
    bool,
    typer.Option("--ask", help="Ask which column is which, and write the answers to a TOML file for --mapping."),
]


@opt.with_options
def inspect(request: InspectRequest, *, ask: Ask = False, as_json: opt.AsJson = False) -> None:
    """Show the contents of a file: columns, papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.app.inspect import draft_mapping, inspect
    from peerveil.cli.asking import ask as ask_columns
    from peerveil.cli.asking import offer_mapping
    from peerveil.cli.show import out, print_json
    from peerveil.cli.working import after_writing, working

    if request.write_mapping is not None and not ask:
        draft_mapping(request)
        out.print(f"Written: {request.write_mapping}; complete it and use it with --mapping", soft_wrap=True)
        return
    if ask:
        reading, facts = ask_columns(request)
        out.print()
    else:
        with showing_columns(request), working("Reading the file"):
            facts = inspect(request)
    with after_writing(request.write_public) if request.write_public is not None else nullcontext():
        if as_json:
            print_json(facts, "inspect")
            return
        _show(facts)
        if request.write_public is not None:
            out.print(f"Written: {request.write_public}", soft_wrap=True)
    if ask:
        out.print()
        offer_mapping(request, reading)


# Arguments about the rows of a table: an error that names one is not about which column is which.
_ABOUT_ROWS = ("only", "leave_out", "visible_column", "scale")


@contextmanager
def showing_columns(request: InspectRequest) -> Iterator[None]:
    """Print the headings of a table that cannot be read, which only its owner sees."""
    from peerveil.app.inspect import columns_of
    from peerveil.cli.show import err, heading, typed

    try:
        yield
    except FileError as error:
        if any(argument.name in _ABOUT_ROWS for argument in error.arguments):  # other columns would not help
            raise
        with suppress(PeerveilError):
            names = columns_of(request.file, request.reading).headings
            listed = ", ".join(map(heading, names[:_COLUMNS]))
            err.print(f"The columns are: {listed}{', …' if len(names) > _COLUMNS else ''}")
            err.print(f"To be asked which is which: {typed('inspect', request.file, '--ask')}", soft_wrap=True)
        raise


#: Facts that are shown in another way than as a row.
_APART = ("columns", "taken", "idle filters", "problems")


def _show(facts: dict[str, Any]) -> None:
    """Print the facts, what each column was taken for, and what to check."""
    from peerveil.cli.show import facts_table, heading, out, rows_table

    out.print(facts_table((name, value) for name, value in facts.items() if name not in _APART))
    taken = facts.get("taken", [])
    used = [(row["taken as"], heading(row["column"]), row["why"]) for row in taken if row["taken as"]]
    unused = [heading(row["column"]) for row in taken if not row["taken as"]]
    if used:
        out.print()
        out.print(rows_table(("taken as", "column", "why"), used))
    if unused:
        out.print(f"not used: {', '.join(unused[:_COLUMNS])}{', …' if len(unused) > _COLUMNS else ''}")
    out.print()
    for problem in facts["problems"]:
        out.print(f"please check: {problem}")
    if not facts["problems"]:
        out.print("problems: none")


#: The most columns listed that are not used.
_COLUMNS = 20
