"""`peerveil release`: a private release of a file of reviews."""

from __future__ import annotations

import sys

from peerveil.app.requests import ReleaseRequest
from peerveil.cli import options as opt
from peerveil.cli.working import charging, working


@opt.with_options
def release(
    request: ReleaseRequest,
    *,
    dry_run: opt.DryRun = False,
    as_json: opt.AsJson = False,
    everything: opt.Everything = False,
) -> None:
    """Make a private release from a file of reviews: release.json, release.csv and report.html in a folder.

    With --epsilon alone, mechanism and estimator are chosen from public data: an estimator that is never less accurate
    than the noise alone where that costs less than 5 % in expected error, otherwise the most accurate one, bayes.
    --estimator safe keeps that promise; --mechanism laplace --estimator safe repeats the paper.

    With a file of public scores, state what is public about loads: --load, --loads, or --reviewers. With groups of
    papers, each group gets its own release, folder and budget.

    With --by, reviewers are counted for each value of an attribute (--attributes, --values), all at the price of one
    release; --dry-run then shows how precise groups of each size will be.
    """
    if request.by_attribute:
        _release_by(request, dry_run=dry_run, as_json=as_json)
        return
    from peerveil.app import release as releases
    from peerveil.app.ledger import balance
    from peerveil.cli.show import (
        report_groups,
        report_no_ledger,
        report_promise,
        report_release,
        report_unsigned,
        report_warnings,
    )
    from peerveil.releases.release import Release
    from peerveil.releases.signatures import count_signatures

    if dry_run:
        with working("Reading the reviews") as step:
            promised, remarks = releases.dry_run(request, step)
        for remark in remarks:
            sys.stderr.write(f"peerveil: {remark}\n")
        report_promise(promised, as_json=as_json, everything=everything)
        return
    request = releases.placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    signed = count_signatures(request.output)
    with charging(request.ledger) as spending, working("Reading the reviews") as step:
        released = releases.release(request, spending, step=step)
    report_warnings(released.warnings)
    for remark in released.remarks:
        sys.stderr.write(f"peerveil: {remark}\n")
    report_unsigned(signed)
    report_no_ledger(request.ledger)
    report = not request.no_report
    if isinstance(released.release, Release):
        left = () if as_json else balance(request.ledger, released.release.charge)
        report_release(
            released.release, request.output, as_json=as_json, everything=everything, report=report, left=left
        )
    else:
        made = released.release
        charge = next(release.charge for release in made.releases.values())
        left = () if as_json else balance(request.ledger, charge)
        report_groups(made, request.output, released.folders, as_json=as_json, everything=everything, left=left)


def _release_by(request: ReleaseRequest, *, dry_run: bool, as_json: bool) -> None:
    """Release a statistic by an attribute of reviewers, or plan it."""
    from dataclasses import asdict

    from peerveil.app.effects import crosstabs
    from peerveil.app.release import placed
    from peerveil.cli.show import out, print_json, report_answer, report_promise, rows_table

    if dry_run and request.tracks.given:
        with working("Reading the reviews") as step:
            promised, remarks = crosstabs.plan_tracks(request, step)
        for remark in remarks:
            sys.stderr.write(f"peerveil: {remark}\n")
        report_promise(promised, as_json=as_json)
        return
    if dry_run:
        with working("Reading the reviews") as step:
            planned = crosstabs.plan(request, step)
        for remark in planned.remarks:
            sys.stderr.write(f"peerveil: {remark}\n")
        plan, costs = planned.plan, planned.costs
        if as_json:
            told = {"guarantee": planned.claim, "costs": [asdict(cost) for cost in costs]}
            print_json(asdict(plan) | told, "release-by-plan")
            return
        out.print(rows_table(crosstabs.PLANNED, plan.rows()))
        out.print()
        out.print(plan.assumption)
        for words in planned.words:
            out.print(words)
        return
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    with charging(request.ledger) as spending, working("Reading the reviews") as step:
        released = crosstabs.release(request, spending, step=step)
    rows = {"rows": released.answer.rows()}
    report_answer(released, request.output, rows, "release-by", ledger=request.ledger, as_json=as_json)
