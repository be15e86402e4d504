"""Choice of a release's mechanism and estimator by a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from peerveil.errors import Argument, InputError, PeerveilError, RecordError
from peerveil.mechanisms import OWN, Asked, Histogram, Laplace, Mechanism
from peerveil.planning.choices import Choice, Plan
from peerveil.planning.plans import check_budgets, plan, usual_draws
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.support import parallel

#: The maximal number of assignments per leniency: fewer than in a plan to read, for a quick release.
_DRAWS = 4

#: For so few reviewers, starting processes takes longer than the plan.
_FEW = 1_000

#: The words by which the note on a choice is recognised.
CHOSEN = ", chosen from public data: "

#: Added to the note if the plan is shared.
_SHARED = " (from a plan for a venue with a similar number of reviewers, similar loads and a similar spread of scores)"


@dataclass(frozen=True, kw_only=True)
class Auto(Asked):
    """A request for the best mechanism and estimator for a budget, chosen by a plan from public data alone.

    An estimator that is never less accurate than the noise alone is taken where its expected error is less than 5 %
    above that of ``bayes``; otherwise ``bayes``, which is the most accurate one on average, without that promise.

    Attributes:
        epsilon: the budget.
        delta: also consider Gaussian noise, with this delta.
        workers: the number of processes of the plan.
        mechanisms: names of the mechanisms to consider; by default all that the budget allows.
        planned: an earlier plan for this budget.
        shared: whether that is a plan of a similar record (:mod:`peerveil.planning.alike`).

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> Auto(epsilon=1.0).choose(weights, estimator="safe").guaranteed
    True
    """

    name: ClassVar[str] = "auto"
    chooses: ClassVar[bool] = True
    epsilon: float
    delta: float | None = None
    workers: int | None = 1
    mechanisms: tuple[str, ...] | None = None
    planned: Plan | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        check_budgets([self.epsilon])
        if self.delta is not None:
            check_delta(self.delta)

    def plan(
        self, weights: PublicWeights, *, unit: str = "reviewer", progress: parallel.Progress | None = None
    ) -> Plan:
        """Return the plan that the choice is made by."""
        if self.planned is not None:
            return self.planned
        return plan(
            weights,
            epsilons=[self.epsilon],
            unit=unit,
            delta=self.delta,
            mechanisms=self.mechanisms,
            draws=min(_DRAWS, usual_draws(weights.reviewers)),
            workers=1 if weights.reviewers <= _FEW else self.workers,
            progress=progress,
        )

    def choose(
        self,
        weights: PublicWeights,
        *,
        unit: str = "reviewer",
        estimator: str | None = None,
        progress: parallel.Progress | None = None,
    ) -> Choice:
        """Return the plan's choice, among those with ``estimator`` if given."""
        return self.plan(weights, unit=unit, progress=progress).choose(float(self.epsilon), estimator=estimator)

    def chosen(
        self, weights: PublicWeights, *, unit: Unit, sensitivity: Sensitivity, estimator: str | None
    ) -> tuple[Mechanism, str | None, tuple[str, ...]]:
        """Return the mechanism and estimator that a plan chooses, and a note with the numbers of the choice."""
        if not sensitivity:  # no noise is needed, so the vector itself can be published if its length is public
            kind: type[Mechanism] = OWN[(self.mechanisms or (Histogram.name if weights.open else Laplace.name,))[0]]
            return kind.from_parameters({"epsilon": self.epsilon}), estimator, ()
        try:
            planned = self.plan(weights, unit=unit)
        except RecordError:
            note = "Histogram noise, because no valid assignment was found on which to compare mechanisms."
            return Histogram(epsilon=self.epsilon), estimator, (note,)
        choice = planned.choose(float(self.epsilon), estimator=estimator)
        mechanism = choice.make()
        bins = mechanism.binned(weights, sensitivity)
        noise = mechanism.title + (" noise" if bins is None else f" with {bins.number} bins")
        numbers = planned.both(choice.epsilon)[:: 1 if choice.guaranteed else -1]  # that of the choice first
        of = _SHARED if self.shared else ""
        note = f"{noise} and the estimator {choice.estimator}{CHOSEN}{', '.join(numbers)}{of}."
        return mechanism, choice.estimator, (note[0].upper() + note[1:],)


def asked_for(mechanism: Asked | None, epsilon: float | None) -> Asked:
    """Return the mechanism of a release that is given a mechanism, or only a budget."""
    if mechanism is not None and epsilon is not None:
        raise InputError("give ", Argument("mechanism", ...), " or ", Argument("epsilon", ...), ", not both")
    if mechanism is not None:
        return mechanism
    if epsilon is None:
        raise InputError("give a budget with ", Argument("epsilon", ...), " (1 is a common choice), or a mechanism")
    return Auto(epsilon=epsilon)


@dataclass(frozen=True, kw_only=True, eq=False)
class Undecided:
    """A named release whose mechanism a plan may choose; it contains nothing private."""

    name: str
    asked: Asked
    weights: PublicWeights
    unit: str


def decide(task: Undecided, _: object) -> Asked:
    """Return the request with a plan, if it needs one; a task for parallel workers."""
    if not isinstance(task.asked, Auto):
        return task.asked
    alone = replace(task.asked, workers=1)
    try:
        return replace(alone, planned=alone.plan(task.weights, unit=task.unit))
    except PeerveilError:
        return task.asked  # the release raises the same error, or notes that there is no plan
