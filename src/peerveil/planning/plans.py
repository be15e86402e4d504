"""Expected errors of mechanisms and estimators, simulated from public data alone.

All are compared on the same plausible assignments of the public record, with various differences in leniency. The
errors are those of synthetic truths, so they are not private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.estimators import ESTIMATORS
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import PooledPrior, with_prior
from peerveil.inference.verdict import NOTHING, Grounds, Verdict, short
from peerveil.mechanisms import OWN, Mechanism
from peerveil.planning.rounds import LENIENCIES, Rounds, leniencies_of, plausible
from peerveil.privacy.guarantee import Unit, caution, check_unit
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.quantities.base import words_of
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import Floats, PublicRecord
from peerveil.support import parallel
from peerveil.support.arguments import real
from peerveil.support.frames import Backend, make_frame
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    import polars as pl

    from peerveil.reporting.plots import Plot

#: The default budgets.
EPSILONS = (0.3, 1.0, 3.0)

#: Estimators that are never less accurate than the noisy vector.
GUARANTEED = ("projection", "safe")

#: A guaranteed estimator is recommended where its expected error is less than this multiple of the least one.
_PRICE = 1.05

#: Simulated reviewers per choice, and the least and greatest number of assignments per leniency.
_ENTRIES = 20_000
_FEWEST, _MOST = 2, 12

#: Assignments per leniency for a quick answer.
_FEW_DRAWS = 4

#: Mechanisms are dropped if their mean squared error exceeds that of the best by this factor.
_HOPELESS = 2.0


class Choice(NamedTuple):
    """A mechanism with an estimator, and its expected error.

    Attributes:
        mechanism: name of the mechanism.
        bins: greatest number of bins of a histogram; ``None`` for the default.
        estimator: name of the estimator.
        epsilon: the budget.
        delta: the budget's delta; 0 for pure mechanisms.
        rmse: root mean squared error of a reviewer's mean.
        rmse_error: its standard error; NaN if there was a single draw.
        decile: expected greatest error of a decile of the released distribution.
        decile_error: its standard error.
        rmse_least, rmse_most: least and greatest RMSE over leniencies.
        guaranteed: whether it is never less accurate than the noisy vector.
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
        """The name of the mechanism in tables and charts."""
        return self.mechanism if self.bins is None else f"{self.mechanism} ({self.bins} bins)"

    def make(self) -> Mechanism:
        """Return the mechanism.

        >>> row = Choice("histogram", 9, "safe", 1.0, 0.0, 0.1, 0.01, 0.1, 0.01, 0.1, 0.2, True)
        >>> row.make()
        Histogram(epsilon=1.0, scale=None, bins=9)
        """
        kind: type[Mechanism] = OWN[self.mechanism]
        bins = {} if self.bins is None else {"bins": self.bins}
        return kind.from_parameters({parameter: getattr(self, parameter) for parameter in kind.planned} | bins)


def most_accurate(choices: Iterable[Choice]) -> Choice:
    """Return the choice with the least expected error.

    Another number of bins than the default is taken where it is better by more than a standard error.
    """
    listed = list(choices)
    best = min(listed, key=lambda choice: choice.rmse)
    for usual in listed:
        if usual[:3] == (best.mechanism, None, best.estimator) and not usual.rmse > best.rmse + best.rmse_error:
            return usual
    return best


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Expected errors of all choices, from :func:`plan`.

    Attributes:
        quantity: the quantity to release.
        unit: the protected unit.
        reviewers: the number of reviewers.
        choices: every mechanism and estimator at every budget.
        leniencies: the simulated differences between reviewers, equally likely.
        draws: the number of simulated assignments; fewer for clearly worse choices.
        seed: of the random numbers.
        alone: root mean squared error of the prior mean, without any release.
        span: the range of numbers that public data allow; NaN if it is not known.

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
    span: float = math.nan
    _delta_stated: bool = field(default=False, repr=False)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The budgets in ascending order."""
        return tuple(sorted({choice.epsilon for choice in self.choices}))

    @property
    def table(self) -> pl.DataFrame:
        """All choices, one row each."""
        frame: pl.DataFrame = self.to_frame()
        return frame

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return all choices as a frame of polars, pandas or pyarrow, with one row each as in plan.csv."""
        columns = zip(Choice._fields, zip(*self.choices, strict=True), strict=True)
        return make_frame({name: list(cells) for name, cells in columns}, backend)

    def plot(self) -> Plot:
        """Return the chart of expected error against the budget, as in plan.svg; notebooks display it."""
        from peerveil.reporting.plots import plan_plot  # noqa: PLC0415 - slow to load

        return plan_plot(self)

    def best(self, epsilon: float, *, guaranteed: bool = True) -> Choice:
        """Return the most accurate choice at a budget, by default among the guaranteed ones.

        A mechanism with a delta, whose guarantee is weaker, is considered only if a delta was given.
        """
        choices = [choice for choice in self.choices if choice.epsilon == epsilon and choice.guaranteed >= guaranteed]
        choices = [choice for choice in choices if self._delta_stated or not choice.delta]
        if not choices:
            raise InputError(
                Argument("epsilon", epsilon), f" is not in the plan; its budgets are {list(self.epsilons)}"
            )
        return most_accurate(choices)

    def choose(self, epsilon: float, *, estimator: str | None = None) -> Choice:
        """Return the recommended choice at a budget, or the most accurate one with an estimator.

        A guaranteed choice is recommended where its expected error is less than 5 % above the least one, otherwise the
        most accurate choice.
        """
        if estimator is not None:
            rows = tuple(choice for choice in self.choices if choice.estimator == estimator)
            return replace(self, choices=rows).best(epsilon, guaranteed=False)
        accurate = self.best(epsilon, guaranteed=False)
        if not any(choice.guaranteed for choice in self.choices):
            return accurate
        guaranteed = self.best(epsilon)
        return guaranteed if guaranteed.rmse < _PRICE * accurate.rmse else accurate

    def both(self, epsilon: float) -> tuple[str, ...]:
        """Return the least errors at a budget in words: of guaranteed choices, and of all."""
        kinds = {True: "guaranteed", False: "most accurate"}
        compared = {choice.guaranteed for choice in self.choices}
        return tuple(
            f"{word} ±{short(self.best(epsilon, guaranteed=kind).rmse)}"
            for kind, word in kinds.items()
            if not kind or True in compared
        )

    @property
    def recommended(self) -> tuple[Choice, ...]:
        """The recommended choice at each budget, as releases take it by default."""
        return tuple(self.choose(epsilon) for epsilon in self.epsilons)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The accuracy at each budget, in words."""
        return tuple(self._sentence(choice) for choice in self.recommended)

    def _sentence(self, choice: Choice) -> str:
        number, errors = words_of(self.quantity).a_number, ", ".join(self.both(choice.epsilon))
        return (
            f"At epsilon {choice.epsilon:g}, expected error of {number}: {errors}"
            f"{self._points} (recommended: {choice.title}, {choice.estimator})."
        )

    def verdict(self, epsilon: float) -> Verdict:
        """Return the verdict on the recommended release at a budget against no release."""
        return Verdict.of(self.choose(epsilon).rmse, self.alone, grounds=self._grounds)

    @property
    def _grounds(self) -> Grounds:
        return Grounds(people=f"{self.reviewers} reviewers", public=self.alone, span=self.span, unit=self._points)

    @property
    def answer(self) -> tuple[str, ...]:
        """The plan in few lines: the accuracy at each budget, that of public data alone, and advice."""
        alone = f"Public data alone, without any release: ±{short(self.alone)}{self._points}."
        return (*self.sentences, alone, self.advice)

    @property
    def advice(self) -> str:
        """The verdict on each budget against no release, and cautions about budgets that promise little."""
        verdicts = {epsilon: self.verdict(epsilon) for epsilon in self.epsilons}
        if len(verdicts) == 1:
            words = [verdict.sentence for verdict in verdicts.values()]
        else:
            said = dict.fromkeys(verdict.advice for verdict in verdicts.values())
            of = {advice: [f"{e:g}" for e, verdict in verdicts.items() if verdict.advice == advice] for advice in said}
            words = [f"Epsilon {', '.join(budgets)}: {advice}." for advice, budgets in of.items()]
            useless = [epsilon for epsilon, verdict in verdicts.items() if verdict.ratio > NOTHING]
            if useless:
                words.append(self._grounds.why(f"epsilon {max(useless):g}"))
        return " ".join([*words, *filter(None, map(caution, self.epsilons))])

    @property
    def _points(self) -> str:
        return words_of(self.quantity).unit

    @property
    def assumption(self) -> str:
        """The assumptions of the simulation."""
        listed = ", ".join(f"{leniency:.3g}" for leniency in self.leniencies)
        differ = "from none to large" if self.leniencies == LENIENCIES else "as earlier releases imply"
        return (
            f"Errors are simulated on up to {self.draws} plausible assignments of the public record, with differences "
            f"in leniency {differ} ({listed}, equally likely). No private data was used."
        )

    def __repr__(self) -> str:
        errors = ", ".join(f"±{short(choice.rmse)} at epsilon {choice.epsilon:g}" for choice in self.recommended)
        return f"Plan({self.quantity} of {self.reviewers} reviewers: {errors}; public data alone ±{short(self.alone)})"

    def _repr_html_(self) -> str:
        rows = [
            (f"{c.epsilon:g}", ", ".join(self.both(c.epsilon)), c.title, c.estimator, self.verdict(c.epsilon).word)
            for c in self.recommended
        ]
        header = ("epsilon", f"error of {words_of(self.quantity).a_number}", "recommended", "estimator", "verdict")
        title = f"Plan: {self.quantity} of {self.reviewers} reviewers, unit {self.unit}"
        return table(f"{title}; public data alone ±{short(self.alone)}", rows, header=header)


def plan(
    record: PublicWeights | PublicRecord,
    *,
    epsilons: Sequence[float] = EPSILONS,
    unit: str = "reviewer",
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    delta: float | None = None,
    mechanisms: Sequence[str] | None = None,
    estimators: Sequence[str] = ESTIMATORS,
    draws: int | None = None,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
    prior: PooledPrior | None = None,
) -> Plan:
    """Return the expected errors of all mechanisms and estimators at several budgets.

    No private data is used and no budget is spent, so the mechanism may be chosen by a plan.

    Args:
        record: public weights, or a public record to be weighed by ``quantity``.
        epsilons: the budgets.
        unit: the protected unit: all reviews of a ``"reviewer"``, or one ``"review"``.
        quantity: as in :func:`peerveil.weigh`.
        statistic: the number for each reviewer, as in :func:`peerveil.release`; that of public weights is their own.
        delta: also consider Gaussian noise, with this delta.
        mechanisms: names of the mechanisms; by default all that the budgets allow.
        estimators: names of the estimators.
        draws: assignments per leniency; by default chosen by the size of the record.
        seed: of assignments and noise.
        workers: number of processes; all cores by default.
        executor: run the work on this executor instead, e.g. that of a cluster.
        progress: called with the numbers of finished and of all tasks.
        prior: what earlier releases say about reviewers, from :func:`peerveil.pool`; the usual prior by default.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> errors = plan(weights, epsilons=[1, 3], draws=2, workers=1)
    >>> errors.best(3.0).rmse < errors.best(1.0).rmse
    True
    """
    weights = record if isinstance(record, PublicWeights) else weigh(record, with_statistic(quantity, statistic))
    weights = weights if prior is None else with_prior(weights, prior)
    protected = check_unit(unit)
    budgets = check_budgets(epsilons)
    _check(draws, estimators)
    bound = sensitivity(weights, protected)
    if not bound:
        number = words_of(weights.quantity).number
        raise InputError(
            f"the public record alone determines every reviewer's {number}, so any release is exact and there is "
            "nothing to plan"
        )
    compared = (_candidates(weights, epsilon, bound, delta=delta, names=mechanisms) for epsilon in budgets)
    candidates = list(chain.from_iterable(compared))
    draws = usual_draws(weights.reviewers) if draws is None else draws
    first, later = range(min(_FEWEST, draws)), range(_FEWEST, draws)
    rounds = Rounds(weights, protected, tuple(estimators), seed, workers, executor)
    report = progress or (lambda _done, _total: None)
    each, ahead = len(LENIENCIES), len(candidates) * len(LENIENCIES) * len(later)
    errors = rounds.run(candidates, first, lambda done, total: report(done, total + ahead))
    if later:
        kept, before = _kept(candidates, errors), len(candidates) * each * len(first)
        for candidate, more in rounds.run(
            kept, later, lambda done, total: report(before + done, before + total)
        ).items():
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
        leniencies=leniencies_of(weights),
        draws=draws * len(LENIENCIES),
        seed=seed,
        alone=_alone(weights, draws, seed),
        span=span_of(weights),
        _delta_stated=delta is not None,
    )


def span_of(weights: PublicWeights) -> float:
    """Return the range of the numbers of reviewers that public weights allow.

    >>> span_of(PublicWeights.from_rows([[1, 5], [2, 2]], load=2))
    4.0
    """
    return float(weights.high.max() - weights.low.min())


def expected_errors(
    weights: PublicWeights, mechanism: Mechanism, estimator: str, *, unit: Unit, draws: int | None = None, seed: int = 1
) -> tuple[float, float]:
    """Return the expected error of a mechanism with an estimator, and that of public data alone.

    ``draws`` is the number of assignments per leniency, by default at most four.

    >>> from peerveil.mechanisms import Laplace
    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> little, alone = expected_errors(weights, Laplace(epsilon=100.0), "safe", unit="reviewer", draws=2)
    >>> little < alone
    True
    """
    draws = min(_FEW_DRAWS, usual_draws(weights.reviewers)) if draws is None else draws
    rounds = Rounds(weights, unit, (estimator,), seed, 1, None)
    errors = rounds.run([mechanism], range(draws), lambda _done, _total: None)[mechanism]
    return math.sqrt(float(errors[..., 0].mean())), _alone(weights, draws, seed)


def usual_draws(reviewers: int) -> int:
    """Return the default number of assignments per leniency.

    >>> usual_draws(100), usual_draws(1_000), usual_draws(10_000)
    (12, 5, 2)
    """
    return min(_MOST, max(_FEWEST, math.ceil(_ENTRIES / (len(LENIENCIES) * reviewers))))


def check_budgets(epsilons: Sequence[float]) -> list[float]:
    """Return the distinct budgets in ascending order, which must be finite and above 0."""
    budgets = sorted({real("epsilons", epsilon) for epsilon in epsilons})
    if not budgets or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in budgets):
        raise InputError(
            Argument("epsilons"),
            f" must be finite and above 0, got {', '.join(f'{float(each):g}' for each in epsilons) or 'none'}",
        )
    return budgets


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
    if names is None:  # the length of a vector would reveal a number of reviewers that is not public
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
    """The mechanisms worth more draws: those with an estimator whose error is near the least at its budget."""
    mean = {candidate: errors[candidate][..., 0].mean(axis=(0, 1)) for candidate in candidates}  # per estimator
    budget = {candidate: candidate.describe()["epsilon"] for candidate in candidates}
    least: dict[float, Floats] = {}
    for candidate in candidates:
        least[budget[candidate]] = np.minimum(mean[candidate], least.get(budget[candidate], np.inf))
    return [c for c in candidates if (mean[c] <= _HOPELESS * least[budget[c]]).any()]


def _choice(candidate: Mechanism, estimator: str, errors: Floats) -> Choice:
    """A choice, from errors by leniency and draw: squared error, and greatest error of a decile."""
    squares, deciles = errors[:, :, 0], errors[:, :, 1]
    (mean, error), (decile, decile_error) = _stratified(squares), _stratified(deciles)
    rmse = math.sqrt(mean)
    by_leniency = np.sqrt(squares.mean(axis=1))
    parameters = candidate.describe()
    return Choice(
        mechanism=candidate.name,
        bins=candidate.bins,
        estimator=estimator,
        epsilon=parameters["epsilon"],
        delta=parameters.get("delta") or 0.0,
        rmse=rmse,
        rmse_error=error / (2 * rmse) if rmse else 0.0,
        decile=decile,
        decile_error=decile_error,
        rmse_least=float(by_leniency.min()),
        rmse_most=float(by_leniency.max()),
        guaranteed=estimator in GUARANTEED,
    )


def _stratified(values: Floats) -> tuple[float, float]:
    """The mean over equally likely strata (rows), and its standard error."""
    strata, draws = values.shape
    error = math.sqrt(float(values.var(axis=1, ddof=1).mean()) / draws / strata) if draws > 1 else math.nan
    return float(values.mean()), error


def _alone(weights: PublicWeights, draws: int, seed: int) -> float:
    """The error of the mean of all draws as a guess at the assignments that choices are rehearsed on."""
    guess = weights.derived(RecordModel).guess
    truths = [plausible(weights, leniency, draw, seed) for leniency in range(len(LENIENCIES)) for draw in range(draws)]
    return math.sqrt(float(np.mean((np.array(truths) - guess) ** 2)))
