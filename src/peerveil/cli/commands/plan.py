"""`peerveil plan`: the expected accuracy of releases."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from peerveil.app.requests import PlanRequest
from peerveil.cli import options as opt


@opt.with_options
def plan(request: PlanRequest, *, as_json: opt.AsJson = False) -> None:
    """Show the expected accuracy of a release at each budget, by mechanism and estimator, and recommend one.

    Only public data is used, so planning costs no privacy.
    """
    from peerveil.app.plan import plan as make_plan
    from peerveil.cli.show import PLAN_COLUMNS, out, plan_rows, print_json, rows_table
    from peerveil.cli.working import after_writing, counting
    from peerveil.releases.plan_files import FILES, plan_document

    with counting("Rehearsing releases") as progress:
        plan = make_plan(request, progress)
    with after_writing(request.output) if request.output is not None else nullcontext():
        if as_json:
            print_json(plan_document(plan))
            return
        for budget, rows in plan_rows(plan).items():
            out.print(budget, style="bold")
            out.print(rows_table(PLAN_COLUMNS, rows))
            out.print()
        out.print("> recommended   * may be less accurate than the noise alone\n")
        for sentence in (*plan.sentences, plan.assumption):
            out.print(sentence)
        if request.output is not None:
            out.print(f"Written: {', '.join(str(Path(request.output) / name) for name in FILES)}", soft_wrap=True)
