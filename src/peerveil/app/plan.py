"""Plans: the expected accuracy of releases, from public data alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from peerveil.app.parsing import parse_lone, parse_numbers, reading_of, weighed
from peerveil.app.reading import public_of, public_weights, read_reviews
from peerveil.app.release import Step
from peerveil.app.requests import PlanRequest, ReleaseRequest
from peerveil.planning.plans import EPSILONS, Plan
from peerveil.planning.plans import plan as plan_releases
from peerveil.quantities.weights import weigh
from peerveil.releases.plan_files import FILES, write_plan
from peerveil.support import parallel
from peerveil.support.atomic_files import staged_folder


def plan(request: PlanRequest, progress: parallel.Progress) -> Plan:
    """Return the plan for a file of public scores; write it if the request names a folder."""
    budgets = parse_numbers(request.epsilon, "epsilon")
    folder = None
    if request.output is not None:
        folder = staged_folder(request.output, own=FILES, overwrite=request.overwrite)
    with folder or nullcontext(Path()) as stage:
        quantity = weighed(request.quantity, request.statistic, request.share, request.weight)
        weights = public_weights(request.public, request.scores, request.loads, quantity)
        with parallel.cluster(request.cluster) as executor:
            plan = plan_releases(
                weights,
                epsilons=budgets,
                unit=request.unit,
                delta=request.delta,
                draws=request.draws,
                seed=request.seed,
                workers=request.workers,
                executor=executor,
                progress=progress,
            )
        if folder is not None:
            write_plan(plan, stage)
    return plan


def plan_release(request: ReleaseRequest, epsilons: Iterable[float], *, draws: int, step: Step) -> Plan:
    """Return a quick plan for a release, computed in this process from the public part of its reviews."""
    step("Reading the reviews")
    what = request.what
    quantity = weighed(what.quantity, what.statistic, what.share, what.weight)
    reviews = read_reviews(request.file, reading_of(request.reading, quantity))
    public = reviews.public(public_of(reviews, what, request.loads, request.reading), declare_kept=what.declare_kept)
    return plan_releases(
        weigh(public, quantity, lone=parse_lone(what.lone)),
        epsilons=sorted({*EPSILONS, *epsilons}),
        unit=what.unit,
        draws=draws,
        workers=1,
        progress=lambda done, total: step(f"Rehearsing releases on public data: {done} of {total}"),
    )
