"""`peerveil inspect`: the contents of a file."""

from __future__ import annotations

from contextlib import nullcontext

from peerveil.app.requests import InspectRequest
from peerveil.cli import options as opt


@opt.with_options
def inspect(request: InspectRequest, *, as_json: opt.AsJson = False) -> None:
    """Show the contents of a file: papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.app.inspect import draft_mapping, inspect
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.cli.working import after_writing

    if request.write_mapping is not None:
        draft_mapping(request)
        out.print(f"Written: {request.write_mapping}; complete it and use it with --mapping", soft_wrap=True)
        return
    facts = inspect(request)
    with after_writing(request.write_public) if request.write_public is not None else nullcontext():
        if as_json:
            print_json(facts)
            return
        out.print(facts_table(facts.items()))
        if request.write_public is not None:
            out.print(f"Written: {request.write_public}", soft_wrap=True)
