"""`peerveil correlate`: the correlation between people's means in two conferences."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerveil.app.requests import CorrelateRequest
from peerveil.cli import options as opt
from peerveil.cli.working import charging, working

PlanOnly = Annotated[
    bool,
    typer.Option("--plan", help="Show the intervals to expect, and the cost; nothing is drawn or charged."),
]


@opt.with_options
def correlate(
    request: CorrelateRequest,
    *,
    plan: PlanOnly = False,
    dry_run: opt.DryRun = False,
    as_json: opt.AsJson = False,
    everything: opt.Everything = False,
) -> None:
    """Release the correlation between people's means in two conferences: is leniency a trait?

    People are joined by their ids, such as e-mail addresses, or by a table (--links). Who they are, and how many, stays
    private. Intervals cover the noise for privacy and the sampling of people. Both data sets' budgets are charged;
    --dry-run shows beforehand what the release would state and cost.
    """
    from dataclasses import asdict

    from peerveil.app.effects import correlations
    from peerveil.cli.show import out, print_json, report_answer, report_promise, rows_table

    if plan:
        with working("Reading the reviews") as step:
            planned, costs = correlations.plan(request, step)
        if as_json:
            print_json(asdict(planned) | {"costs": costs}, "correlation-plan")
            return
        out.print(rows_table(correlations.PLANNED, planned.rows()))
        out.print()
        out.print(planned.assumption)
        for cost in costs:
            out.print(cost)
        return
    if dry_run:
        with working("Reading the reviews") as step:
            promised, remarks = correlations.dry_run(request, step)
        for remark in remarks:
            sys.stderr.write(f"peerveil: {remark}\n")
        report_promise(promised, as_json=as_json, everything=everything, answer="correlation")
        return
    request = correlations.placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    with charging(request.ledger) as spending, working("Reading the reviews") as step:
        released = correlations.correlate(request, spending, step=step)
    made = released.answer
    told = {"names": made.question.names, "sentence": made.sentence} | asdict(made.estimated)
    report_answer(released, request.output, told, "correlation", ledger=request.ledger, as_json=as_json)
