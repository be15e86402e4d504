"""`peerveil plan`: how accurate a release would be, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, PublicOptions, grouped

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def plan(
    public: Annotated[str, typer.Argument(help="Public scores: a row a paper ('6;8;5') or a row a review.")],
    *,
    epsilon: Annotated[str, typer.Option(help="The budgets to compare, between commas.")] = "0.3,1,3",
    delta: Annotated[float | None, typer.Option(help="Consider Gaussian noise, too, with this delta.")] = None,
    unit: opt.Unit = "reviewer",
    quantity: opt.Quantity = "ratings",
    loads: LoadsOptions,
    scores: PublicOptions,
    draws: Annotated[
        int | None, typer.Option(help="Assignments for each leniency; by default as the size of the record asks.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Where the draws come from.", min=0)] = 1,
    workers: opt.Workers = None,
    cluster: opt.Cluster = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Folder for plan.json, plan.csv and a picture.")
    ] = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
) -> None:
    """Say how accurate a release would be at each budget, with every mechanism and estimator, and recommend one.

    Only public data is used: planning costs no privacy, and can be done before there are any reviews to release.
    """
    from contextlib import nullcontext

    from peerveil.cli.show import PLAN_COLUMNS, out, plan_rows, print_json, rows_table
    from peerveil.cli.working import after_writing, counting
    from peerveil.planning.plans import plan as make
    from peerveil.releases.plan_files import FILES, plan_document, write_plan
    from peerveil.support import parallel
    from peerveil.support.atomic_files import staged_folder

    budgets = opt.parse_numbers(epsilon, "--epsilon")
    folder = staged_folder(output, own=FILES, overwrite=overwrite) if output is not None else nullcontext()
    with folder as stage:
        weights = scores.weights(public, loads, quantity)
        with parallel.cluster(cluster) as executor, counting("Rehearsing releases") as progress:
            made = make(
                weights,
                epsilons=budgets,
                unit=unit,
                delta=delta,
                draws=draws,
                seed=seed,
                workers=workers,
                executor=executor,
                progress=progress,
            )
        if stage is not None:
            write_plan(made, stage)
    with after_writing(output) if output is not None else nullcontext():
        if as_json:
            print_json(plan_document(made))
            return
        for budget, rows in plan_rows(made).items():
            out.print(budget, style="bold")
            out.print(rows_table(PLAN_COLUMNS, rows))
            out.print()
        out.print("> recommended   * may be less accurate than the noise alone\n")
        for sentence in (*made.sentences, made.assumption):
            out.print(sentence)
        if output is not None:
            out.print(f"Written: {', '.join(str(Path(output) / name) for name in FILES)}", soft_wrap=True)
