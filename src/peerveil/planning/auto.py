"""Choice of a release's mechanism by a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from peerveil.errors import PeerveilError
from peerveil.mechanisms import Asked, Laplace, Mechanism
from peerveil.planning.plans import FEWEST, GUARANTEED, Choice, check_budgets, plan
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.support import parallel


@dataclass(frozen=True, kw_only=True)
class Auto(Asked):
    """A request for the best guaranteed mechanism for a budget, chosen by a plan from public data alone.

    Attributes:
        epsilon: the budget.
        delta: also consider Gaussian noise, with this delta.
        workers: the number of processes of the plan.
        planned: the choice of an earlier plan.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> Auto(epsilon=1.0).choose(weights).guaranteed
    True
    """

    name: ClassVar[str] = "auto"
    chooses: ClassVar[bool] = True
    epsilon: float
    delta: float | None = None
    workers: int | None = 1
    planned: Choice | None = None

    def __post_init__(self) -> None:
        check_budgets([self.epsilon])
        if self.delta is not None:
            check_delta(self.delta)

    def choose(
        self,
        weights: PublicWeights,
        *,
        unit: str = "reviewer",
        estimator: str | None = None,
        progress: parallel.Progress | None = None,
    ) -> Choice:
        """Return the plan's choice, among those with ``estimator`` if given."""
        if self.planned is not None:
            return self.planned
        planned = plan(
            weights,
            epsilons=[self.epsilon],
            unit=unit,
            delta=self.delta,
            estimators=GUARANTEED if estimator is None else (estimator,),
            draws=FEWEST,
            workers=self.workers,
            progress=progress,
        )
        return planned.best(planned.epsilons[0], guaranteed=False)

    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """Return the mechanism and estimator that a plan chooses, and a note."""
        if not sensitivity:
            return Laplace(epsilon=self.epsilon), estimator, ()  # no noise is needed
        choice = self.choose(weights, unit=unit, estimator=estimator)
        return choice.make(), choice.estimator, ("The mechanism was chosen by a plan made from public data alone.",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Undecided:
    """A named release whose mechanism a plan may choose; it contains nothing private."""

    name: str
    asked: Asked
    weights: PublicWeights
    unit: str
    estimator: str | None


def decide(task: Undecided, _: object) -> Asked:
    """Return the request with the choice of a plan, if there is one; a task for parallel workers."""
    if not isinstance(task.asked, Auto):
        return task.asked
    alone = replace(task.asked, workers=1)
    try:
        return replace(alone, planned=alone.choose(task.weights, unit=task.unit, estimator=task.estimator))
    except PeerveilError:
        return task.asked  # the release raises the same error
