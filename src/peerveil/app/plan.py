"""Plans: the expected accuracy of releases, from public data alone."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from peerveil.app.parsing import parse_numbers, parse_prior, weighed
from peerveil.app.reading import public_weights
from peerveil.app.release import Step, read_release
from peerveil.app.requests import PlanRequest, ReleaseRequest
from peerveil.inference.pooling import with_prior
from peerveil.planning.auto import Auto
from peerveil.planning.choices import Plan
from peerveil.planning.plans import EPSILONS
from peerveil.planning.plans import plan as plan_releases
from peerveil.privacy.guarantee import caution
from peerveil.private.promises import Promise, promise_release
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
                prior=parse_prior(request.prior),
            )
        if folder is not None:
            write_plan(plan, stage)
    return plan


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """A plan for a release at several budgets, and what the release itself would promise, from the same simulations.

    Attributes:
        plan: the plan; each budget is planned as a release with it would do.
        promise: what the release would state and achieve.
        epsilon: the budget of the release.
        named: whether the release names its noise, so that it is not the recommended one.
    """

    plan: Plan
    promise: Promise
    epsilon: float
    named: bool

    @property
    def answer(self) -> tuple[str, ...]:
        """The accuracy of the release and the verdict on it, as the promise states them."""
        (recommended,), alone = self._at(chosen=True).sentences, self.plan.answer[-2]
        own = (f"Expected error with the noise that you name: {self.promise.accuracy}.",) if self.named else ()
        verdict = self.promise.verdict
        words = "" if verdict is None else verdict.sentence
        return (*own, recommended, alone, " ".join(filter(None, (words, caution(self.epsilon)))))

    @property
    def others(self) -> tuple[str, ...]:
        """The accuracy at other budgets, and the verdicts on them."""
        others = self._at(chosen=False)
        return (*others.sentences, others.advice)

    def _at(self, *, chosen: bool) -> Plan:
        choices = tuple(row for row in self.plan.choices if (row.epsilon == self.epsilon) is chosen)
        return replace(self.plan, choices=choices)


def plan_release(request: ReleaseRequest, epsilon: float, *, step: Step) -> ReleasePlan:
    """Return a plan for a release of all papers together with a budget, computed in this process."""
    reviews, arguments = read_release(request, step)
    for name in ("licence", "citation", "about", "region"):
        del arguments[name]
    asked, estimator = arguments.pop("mechanism"), arguments.pop("estimator")
    auto = asked if isinstance(asked, Auto) else Auto(epsilon=epsilon, delta=request.noise.delta)
    public = reviews.public(arguments["public"], declare_kept=arguments["declare_kept"])
    weights = with_prior(weigh(public, arguments["quantity"], lone=arguments["lone"]), arguments["prior"])

    def planned(epsilon: float) -> Plan:
        def report(done: int, total: int) -> None:
            step(f"Rehearsing releases of epsilon {epsilon:g} on public data: {done} of {total}")

        return replace(auto, epsilon=epsilon, workers=1).plan(weights, unit=arguments["unit"], progress=report)

    plans = [planned(epsilon) for epsilon in sorted({*EPSILONS, epsilon})]
    plan = replace(plans[0], choices=tuple(chain.from_iterable(each.choices for each in plans)))
    if asked is auto:
        arguments["mechanism"] = replace(auto, planned=plan)
    else:
        step("Rehearsing the release on public data")
        arguments["mechanism"] = asked
    promise = promise_release(reviews, ledger=None, dataset=None, estimator=estimator, **arguments)
    if estimator is not None:
        plan = replace(plan, choices=tuple(row for row in plan.choices if row.estimator == estimator))
    return ReleasePlan(plan=plan, promise=promise, epsilon=epsilon, named=asked is not auto)
