"""`peerveil inspect`: the contents of a file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from peerveil.app.requests import InspectRequest
from peerveil.cli import options as opt


@opt.with_options
def inspect(request: InspectRequest, *, as_json: opt.AsJson = False) -> None:
    """Show the contents of a file: papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.app.inspect import draft_mapping, inspect
    from peerveil.cli.show import out, print_json
    from peerveil.cli.working import after_writing, working

    if request.write_mapping is not None:
        draft_mapping(request)
        out.print(f"Written: {request.write_mapping}; complete it and use it with --mapping", soft_wrap=True)
        return
    with working("Reading the file"):
        facts = inspect(request)
    with after_writing(request.write_public) if request.write_public is not None else nullcontext():
        if as_json:
            print_json(facts)
            return
        _show(facts)
        if request.write_public is not None:
            out.print(f"Written: {request.write_public}", soft_wrap=True)


#: Facts that are shown in another way than as a row.
_APART = ("columns", "taken", "problems")


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
