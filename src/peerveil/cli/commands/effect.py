"""`peerveil effect`: the difference between two groups of reviewers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerveil.app.requests import EffectRequest
from peerveil.cli import options as opt
from peerveil.cli.working import charging, working

PlanOnly = Annotated[
    bool,
    typer.Option("--plan", help="Show the smallest effect that would be seen at each budget; nothing is drawn."),
]


@opt.with_options
def effect(
    request: EffectRequest,
    *,
    plan: PlanOnly = False,
    dry_run: opt.DryRun = False,
    as_json: opt.AsJson = False,
    everything: opt.Everything = False,
) -> None:
    """Release the difference between the mean weights of two groups of reviewers, with its interval.

    Groups are given by a column of a table of reviewers (--attributes, --by). The interval covers the noise for privacy
    and the sampling of reviewers. --plan shows beforehand, from public data alone, how large an effect must be;
    --dry-run what the release would state and cost.
    """
    from dataclasses import asdict

    from peerveil.app import effects
    from peerveil.cli.show import out, print_json, report_answer, report_promise, rows_table

    if plan:
        with working("Reading the reviews") as step:
            planned = effects.plan(request, step)
        if as_json:
            print_json(asdict(planned), "effect-plan")
            return
        out.print(rows_table(effects.PLANNED, planned.rows()))
        out.print()
        out.print(planned.assumption)
        return
    if dry_run:
        with working("Reading the reviews") as step:
            promised, remarks = effects.dry_run(request, step)
        for remark in remarks:
            sys.stderr.write(f"peerveil: {remark}\n")
        report_promise(promised, as_json=as_json, everything=everything)
        return
    request = effects.placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    with charging(request.ledger) as spending, working("Reading the reviews") as step:
        released = effects.effect(request, spending, step=step)
    made = released.answer
    numbers = {"estimate": made.estimate, "low": made.low, "high": made.high, "p_value": made.p_value}
    told = {"groups": made.groups, "sentence": made.sentence} | numbers
    report_answer(released, request.output, told, "effect", ledger=request.ledger, as_json=as_json)
