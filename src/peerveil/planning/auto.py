"""A release whose mechanism is left to a plan."""

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
    """Leaves the mechanism of a release to a plan: the best guaranteed choice for a budget, from public data alone.

    Attributes:
        epsilon: the budget.
        delta: admit Gaussian noise, too, with this delta.
        workers: how many processes the plan may use.
        planned: what a plan found already.

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
        """The plan's choice; among those with an estimator, if one is asked for."""
        if self.planned is not None:
            return self.planned
        made = plan(
            weights,
            epsilons=[self.epsilon],
            unit=unit,
            delta=self.delta,
            estimators=GUARANTEED if estimator is None else (estimator,),
            draws=FEWEST,
            workers=self.workers,
            progress=progress,
        )
        return made.best(made.epsilons[0], guaranteed=False)

    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """The mechanism and the estimator that a plan finds best, and a note on that."""
        if not sensitivity:
            return Laplace(epsilon=self.epsilon), estimator, ()  # nothing needs noise
        choice = self.choose(weights, unit=unit, estimator=estimator)
        return choice.make(), choice.estimator, ("The mechanism was chosen by a plan made from public data alone.",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Undecided:
    """A release whose mechanism a plan is to choose. Nothing in it is private.

    Attributes:
        name: which one it is.
        asked: what is asked for: a budget.
        weights: the public weights.
        unit: what is protected.
        estimator: the estimator, if one is asked for.
    """

    name: str
    asked: Asked
    weights: PublicWeights
    unit: str
    estimator: str | None


def decide(task: Undecided, _: object) -> Asked:
    """A task of the engine: the budget with the choice that a plan finds best; without, where it finds none."""
    if not isinstance(task.asked, Auto):
        return task.asked
    alone = replace(task.asked, workers=1)
    try:
        return replace(alone, planned=alone.choose(task.weights, unit=task.unit, estimator=task.estimator))
    except PeerveilError:
        return task.asked  # whoever releases it meets the same problem, and says so
