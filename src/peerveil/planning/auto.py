"""A release whose mechanism is left to a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from peerveil.errors import PeerveilError
from peerveil.planning.plans import FEWEST, GUARANTEED, Choice, check_budgets, plan
from peerveil.privacy.accounting import check_delta
from peerveil.quantities.weights import PublicWeights
from peerveil.support import parallel


@dataclass(frozen=True, kw_only=True)
class Auto:
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Undecided:
    """A release whose mechanism a plan is to choose. Nothing in it is private.

    Attributes:
        name: which one it is.
        auto: the budget.
        weights: the public weights.
        unit: what is protected.
        estimator: the estimator, if one is asked for.
    """

    name: str
    auto: Auto
    weights: PublicWeights
    unit: str
    estimator: str | None


def decide(task: Undecided, _: object) -> Auto:
    """A task of the engine: the budget with the choice that a plan finds best; without, where it finds none."""
    alone = replace(task.auto, workers=1)
    try:
        return replace(alone, planned=alone.choose(task.weights, unit=task.unit, estimator=task.estimator))
    except PeerveilError:
        return task.auto  # whoever releases it meets the same problem, and says so
