"""`peerveil effect`: the difference between two groups of reviewers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from peerveil.app.requests import EffectRequest
from peerveil.cli import options as opt
from peerveil.cli.working import after_writing, charging, working

PlanOnly = Annotated[
    bool,
    typer.Option("--plan", help="Show the smallest effect that would be seen at each budget; nothing is drawn."),
]


@opt.with_options
def effect(request: EffectRequest, *, plan: PlanOnly = False, as_json: opt.AsJson = False) -> None:
    """Release the difference between the mean weights of two groups of reviewers, with its interval.

    Groups are given by a column of a table of reviewers (--attributes, --by). The interval covers the noise for privacy
    and the sampling of reviewers. --plan shows beforehand, from public data alone, how large an effect must be.
    """
    from dataclasses import asdict

    from peerveil.app import effects
    from peerveil.cli.show import facts_table, out, print_json, report_no_ledger, report_warnings, rows_table
    from peerveil.releases.effects.published import FILES

    if plan:
        with working("Reading the reviews") as step:
            planned = effects.plan(request, step)
        if as_json:
            print_json(asdict(planned))
            return
        out.print(rows_table(("budget", "smallest effect seen", "interval"), planned.rows()))
        out.print()
        out.print(planned.assumption)
        return
    request = effects.placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    with charging(request.ledger) as spending, working("Reading the reviews") as step:
        released = effects.effect(request, spending, step=step)
    report_warnings(released.warnings)
    for remark in released.remarks:
        sys.stderr.write(f"peerveil: {remark}\n")
    report_no_ledger(request.ledger)
    made = released.effect
    files = [str(Path(request.output) / name) for name in FILES]
    with after_writing(request.output):
        if as_json:
            numbers = {"estimate": made.estimate, "low": made.low, "high": made.high, "p_value": made.p_value}
            facts = {"folder": request.output, "files": files, "groups": made.groups, "sentence": made.sentence}
            print_json(facts | numbers | {"guarantee": made.guarantee.summary, "charge": made.charge})
            return
        out.print(facts_table(made.facts()))
        out.print(f"Written: {', '.join(files)}", soft_wrap=True)
        if made.charge is not None:
            out.print(f"Charged to the ledger as release {made.charge}.")
