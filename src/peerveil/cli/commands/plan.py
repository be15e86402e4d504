"""`peerveil plan`: the expected accuracy of releases."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from peerveil.app.requests import PlanRequest
from peerveil.cli import options as opt


@opt.with_options
def plan(request: PlanRequest, *, everything: opt.Everything = False, as_json: opt.AsJson = False) -> None:
    """Show the expected accuracy of a release at each budget, that of public data alone, and a verdict.

    Guaranteed: never less accurate than the noise alone (estimators projection and safe). Most accurate: lowest
    expected error (often bayes). Only public data is used, so planning costs no privacy. --all shows every mechanism
    and estimator.
    """
    from peerveil.app.plan import plan as make_plan
    from peerveil.cli.show import out, plan_columns, plan_rows, print_json, print_screenful, rows_table
    from peerveil.cli.working import after_writing, counting
    from peerveil.releases.plan_files import FILES, plan_document

    with counting("Rehearsing releases") as progress:
        plan = make_plan(request, progress)
    with after_writing(request.output) if request.output is not None else nullcontext():
        if as_json:
            print_json(plan_document(plan), "plan")
            return
        print_screenful(*plan.answer, everything=everything, after=2)
        if everything:
            for budget, rows in plan_rows(plan).items():
                out.print(f"\n{budget}", style="bold")
                out.print(rows_table(plan_columns(plan), rows))
            out.print(f"\n> recommended   * may be less accurate than the noise alone\n\n{plan.assumption}")
        else:
            out.print("All mechanisms and estimators, and what is assumed: --all", style="dim")
        if request.output is not None:
            out.print(f"Written: {', '.join(str(Path(request.output) / name) for name in FILES)}", soft_wrap=True)
