"""What each choice would cost and give, from public data alone: no private data, no budget.

Plausible assignments of the public record are drawn, more or less lenient, and every mechanism with every estimator is
rehearsed on them. All are compared on the same assignments. The errors are of synthetic truths, so they may be shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.estimators import ESTIMATORS
from peerveil.inference.model import RecordModel
from peerveil.inference.posterior import CORRELATIONS, correlation_chances
from peerveil.mechanisms import OWN, Mechanism
from peerveil.planning.rounds import LENIENCIES, Rounds, plausible
from peerveil.privacy.guarantee import Unit, check_unit
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.quantities.base import words_of
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import Floats, PublicRecord
from peerveil.support import parallel
from peerveil.support.arguments import real
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    import polars as pl

#: The budgets that are planned for unless others are asked for.
EPSILONS = (0.3, 1.0, 3.0)

#: Estimators that are never further from the truth than the noisy vector.
GUARANTEED = ("projection", "safe")

#: Reviewers simulated in all, for each choice, and the fewest and the most assignments at each leniency.
_ENTRIES = 20_000
FEWEST, _MOST = 2, 12

#: Mechanisms whose mean squared error is more times the best one's are not rehearsed any further.
_HOPELESS = 2.0


class Choice(NamedTuple):
    """A mechanism with an estimator, and the error to expect of it.

    Attributes:
        mechanism: the mechanism's name.
        bins: of a histogram, how many bins it was told to have at most; ``None`` for its own choice.
        estimator: the estimator.
        epsilon: the budget.
        delta: the budget's delta; 0 for pure mechanisms.
        rmse: root mean squared error of a reviewer's mean.
        rmse_error: standard error of that.
        decile: the largest error of a decile of the released distribution, on average.
        decile_error: standard error of that.
        rmse_least, rmse_most: the RMSE at the leniency where it is least and where it is most.
        guaranteed: whether it can never be less accurate than the noisy vector.
    """

    mechanism: str
    bins: int | None
    estimator: str
    epsilon: float
    delta: float
    rmse: float
    rmse_error: float
    decile: float
    decile_error: float
    rmse_least: float
    rmse_most: float
    guaranteed: bool

    @property
    def title(self) -> str:
        """The mechanism, as tables and pictures call it."""
        return self.mechanism if self.bins is None else f"{self.mechanism} ({self.bins} bins)"

    def make(self) -> Mechanism:
        """The mechanism, ready for a release.

        >>> row = Choice("histogram", 9, "safe", 1.0, 0.0, 0.1, 0.01, 0.1, 0.01, 0.1, 0.2, True)
        >>> row.make()
        Histogram(epsilon=1.0, scale=None, bins=9)
        """
        kind: type[Mechanism] = OWN[self.mechanism]
        bins = {} if self.bins is None else {"bins": self.bins}
        return kind.from_parameters({parameter: getattr(self, parameter) for parameter in kind.planned} | bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What each choice would give. Make one with :func:`plan`.

    Attributes:
        quantity: what would be released.
        unit: what would be protected.
        reviewers: how many reviewers there are.
        choices: every mechanism and estimator at every budget.
        leniencies: how strongly reviewers were taken to differ, each as likely as the others.
        draws: how many assignments choices were rehearsed on; clearly worse ones on fewer.
        seed: where these come from.
        alone: root mean squared error of what public data alone make likely, without any release.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> [choice.epsilon for choice in plan(weights, epsilons=[1, 3], draws=2, workers=1).recommended]
    [1.0, 3.0]
    """

    quantity: str
    unit: Unit
    reviewers: int
    choices: tuple[Choice, ...]
    leniencies: tuple[float, ...]
    draws: int
    seed: int
    alone: float
    _delta_stated: bool = field(default=False, repr=False)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The budgets, the smallest first."""
        return tuple(sorted({choice.epsilon for choice in self.choices}))

    @property
    def table(self) -> pl.DataFrame:
        """Every choice, a row each."""
        import polars as pl  # noqa: PLC0415 - only frames need it

        return pl.DataFrame([choice._asdict() for choice in self.choices], infer_schema_length=None)

    def best(self, epsilon: float, *, guaranteed: bool = True) -> Choice:
        """The most accurate choice at a budget; of all estimators, or of those that are never less accurate.

        A mechanism with a delta promises less: it is taken only where a delta was stated.
        """
        fit = [
            choice
            for choice in self.choices
            if choice.epsilon == epsilon
            and (choice.guaranteed or not guaranteed)
            and (self._delta_stated or not choice.delta)
        ]
        if not fit:
            raise InputError(
                Argument("epsilon", epsilon), f" was not planned for; the budgets are {list(self.epsilons)}"
            )
        return min(fit, key=lambda choice: choice.rmse)

    @property
    def recommended(self) -> tuple[Choice, ...]:
        """The best guaranteed choice at each budget."""
        return tuple(self.best(epsilon) for epsilon in self.epsilons)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each budget buys, in words."""
        return tuple(self._sentence(choice) for choice in self.recommended)

    def _sentence(self, choice: Choice) -> str:
        words = (
            f"At epsilon {choice.epsilon:g} each rank's mean is known to about ±{choice.rmse:.2g}{self._points} "
            f"({choice.title}, {choice.estimator}; from {choice.rmse_least:.2g} to {choice.rmse_most:.2g}, depending "
            "on how much reviewers differ)."
        )
        other = self.best(choice.epsilon, guaranteed=False)
        if other.guaranteed:
            return words
        return (
            f"{words} Without the promise never to be less accurate than the noise alone, {other.title}, "
            f"{other.estimator}: ±{other.rmse:.2g}."
        )

    @property
    def _points(self) -> str:
        return words_of(self.quantity).unit

    @property
    def assumption(self) -> str:
        """What to compare errors with, and what they assume."""
        listed = ", ".join(f"{leniency:g}" for leniency in self.leniencies)
        return (
            f"Without any release, public data alone let everyone guess to about ±{self.alone:.2g}{self._points}: a "
            "budget that is not clearly better buys little. "
            f"Errors are simulated on up to {self.draws} plausible assignments of the public record, from reviewers "
            f"who do not differ in leniency to reviewers who differ much ({listed}, each as likely). No private data "
            "was used."
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{choice.epsilon:g}",
                choice.title,
                choice.estimator,
                f"{choice.rmse:.3g} ± {choice.rmse_error:.1g}",
                f"{choice.rmse_least:.2g} to {choice.rmse_most:.2g}",
            )
            for choice in self.recommended
        ]
        header = ("epsilon", "mechanism", "estimator", "error of a mean", "if reviewers differ")
        title = f"Plan: {self.quantity} of {self.reviewers} reviewers, unit {self.unit}; the best at each budget"
        return table(title, rows, header=header)


def plan(
    record: PublicWeights | PublicRecord,
    *,
    epsilons: Sequence[float] = EPSILONS,
    unit: str = "reviewer",
    quantity: QuantityLike = "ratings",
    delta: float | None = None,
    mechanisms: Sequence[str] | None = None,
    estimators: Sequence[str] = ESTIMATORS,
    draws: int | None = None,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
) -> Plan:
    """Say how accurate a release would be, with every mechanism and estimator at several budgets.

    Args:
        record: public weights, or a public record of which ``quantity`` is weighed.
        epsilons: the budgets.
        unit: what is protected: all of a ``"reviewer"``'s reviews, or one ``"review"``.
        quantity: as in :func:`peerveil.weigh`; weights have theirs.
        delta: take Gaussian noise into account, too, with this delta.
        mechanisms: which to rehearse, by name; all whose promise the budgets allow by default.
        estimators: which to rehearse.
        draws: assignments for each leniency; by default as many as the size of the record asks for.
        seed: where assignments and noise come from.
        workers: how many processes; all cores by default.
        executor: run on this instead, e.g. a cluster's.
        progress: called as the work goes on.

    No private data is used and no budget is spent, so a mechanism may be chosen by it.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> found = plan(weights, epsilons=[1, 3], draws=2, workers=1)
    >>> found.best(3.0).rmse < found.best(1.0).rmse
    True
    """
    weights = record if isinstance(record, PublicWeights) else weigh(record, quantity)
    protected = check_unit(unit)
    budgets = check_budgets(epsilons)
    _check(draws, estimators)
    bound = sensitivity(weights, protected)
    if not bound:
        raise InputError(
            "the public record alone determines every reviewer's mean: any budget buys them exactly, and there is "
            "nothing to plan"
        )
    candidates = [
        candidate
        for epsilon in budgets
        for candidate in _candidates(weights, epsilon, bound, delta=delta, names=mechanisms)
    ]
    if draws is None:
        draws = min(_MOST, max(FEWEST, math.ceil(_ENTRIES / (len(LENIENCIES) * weights.reviewers))))
    first, later = range(min(FEWEST, draws)), range(FEWEST, draws)
    rounds = Rounds(weights, protected, tuple(estimators), seed, workers, executor)
    tell = progress or (lambda _done, _total: None)
    each, ahead = len(LENIENCIES), len(candidates) * len(LENIENCIES) * len(later)
    errors = rounds.run(candidates, first, lambda done, total: tell(done, total + ahead))
    if later:
        kept, before = _kept(candidates, errors), len(candidates) * each * len(first)
        for candidate, more in rounds.run(kept, later, lambda done, total: tell(before + done, before + total)).items():
            errors[candidate] = np.concatenate([errors[candidate], more], axis=1)
    return Plan(
        quantity=weights.quantity,
        unit=protected,
        reviewers=weights.reviewers,
        choices=tuple(
            _choice(candidate, estimator, errors[candidate][:, :, place])
            for candidate in candidates
            for place, estimator in enumerate(estimators)
        ),
        leniencies=LENIENCIES,
        draws=draws * len(LENIENCIES),
        seed=seed,
        alone=_alone(weights, draws, seed),
        _delta_stated=delta is not None,
    )


def check_budgets(epsilons: Sequence[float]) -> list[float]:
    """Budgets in ascending order, each once; others than finite ones above 0 are refused."""
    found = sorted({real("epsilons", epsilon) for epsilon in epsilons})
    if not found or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in found):
        raise InputError(Argument("epsilons"), f" must be finite numbers above 0, at least one, got {list(epsilons)}")
    return found


def _check(draws: int | None, estimators: Sequence[str]) -> None:
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, int) or draws < 1):
        raise InputError(Argument("draws"), f" must be a whole number of at least 1, got {draws!r}")
    if not estimators or not set(estimators) <= set(ESTIMATORS):
        raise InputError(Argument("estimators"), f" must be among {', '.join(ESTIMATORS)}, got {list(estimators)}")


def _candidates(
    weights: PublicWeights, epsilon: float, bound: Sensitivity, *, delta: float | None, names: Sequence[str] | None
) -> Iterator[Mechanism]:
    """The mechanisms to compare at a budget."""
    budget = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    planned: dict[str, type[Mechanism]] = {name: kind for name, kind in OWN.items() if kind.planned}
    if names is None:  # where it is open how many reviewers there are, the length of a vector would tell
        fit = [kind for kind in planned.values() if kind.on_counts or not weights.open]
        kinds = [kind for kind in fit if budget.keys() >= set(kind.planned)]
    else:
        kinds = [_planned(name, planned, budget) for name in names]
    for kind in kinds:
        yield from kind.candidates(weights, bound, {parameter: budget[parameter] for parameter in kind.planned})


def _planned(name: str, planned: Mapping[str, type[Mechanism]], budget: Mapping[str, float]) -> type[Mechanism]:
    missing = [parameter for parameter in planned[name].planned if parameter not in budget] if name in planned else []
    if name not in planned or missing:
        hint = (" (give ", Argument(missing[0], ...), " for it)") if missing else ()
        raise InputError(Argument("mechanisms"), f" must be among {', '.join(planned)}, got {name!r}", *hint)
    return planned[name]


def _kept(candidates: Sequence[Mechanism], errors: Mapping[Mechanism, Floats]) -> list[Mechanism]:
    """Those worth more draws: with an estimator whose error is not far from the least at its budget.

    The others stay in the table, with the draws they have.
    """
    mean = {candidate: errors[candidate][..., 0].mean(axis=(0, 1)) for candidate in candidates}  # of each estimator
    budget = {candidate: candidate.describe()["epsilon"] for candidate in candidates}
    least: dict[float, Floats] = {}
    for candidate in candidates:
        least[budget[candidate]] = np.minimum(mean[candidate], least.get(budget[candidate], np.inf))
    return [c for c in candidates if (mean[c] <= _HOPELESS * least[budget[c]]).any()]


def _choice(candidate: Mechanism, estimator: str, errors: Floats) -> Choice:
    """A row of the table, from errors: leniency, draw, and squared error and largest error of a decile."""
    squares, deciles = errors[:, :, 0], errors[:, :, 1]
    mean, error = _stratified(squares)
    rmse = math.sqrt(mean)
    by_leniency = np.sqrt(squares.mean(axis=1))
    asked = candidate.describe()
    return Choice(
        mechanism=candidate.name,
        bins=candidate.bins,
        estimator=estimator,
        epsilon=asked["epsilon"],
        delta=asked.get("delta") or 0.0,
        rmse=rmse,
        rmse_error=error / (2 * rmse) if rmse else 0.0,
        decile=_stratified(deciles)[0],
        decile_error=_stratified(deciles)[1],
        rmse_least=float(by_leniency.min()),
        rmse_most=float(by_leniency.max()),
        guaranteed=estimator in GUARANTEED,
    )


def _stratified(values: Floats) -> tuple[float, float]:
    """The mean over equally likely strata (rows) and its standard error."""
    strata, draws = values.shape
    error = math.sqrt(float(values.var(axis=1, ddof=1).mean()) / draws / strata) if draws > 1 else math.nan
    return float(values.mean()), error


def _alone(weights: PublicWeights, draws: int, seed: int) -> float:
    """The error of the mean of all draws as a guess at the assignments that choices are rehearsed on."""
    drawn = weights.derived(RecordModel).ensembles
    chances = np.tile(correlation_chances(), len(drawn) // CORRELATIONS.size)
    guess = chances @ np.array([one.mean for one in drawn]) / chances.sum()
    truths = [plausible(weights, leniency, draw, seed) for leniency in range(len(LENIENCIES)) for draw in range(draws)]
    return math.sqrt(float(np.mean((np.array(truths) - guess) ** 2)))
