"""Choices of mechanism and estimator with their expected errors, and a plan: all of them, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from peerveil.errors import Argument, InputError
from peerveil.inference.verdict import NOTHING, Grounds, Verdict, short
from peerveil.mechanisms import OWN, Mechanism
from peerveil.planning.rounds import LENIENCIES
from peerveil.privacy.guarantee import Unit, caution
from peerveil.quantities.base import words_of
from peerveil.support.frames import Backend, make_frame
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    import polars as pl

    from peerveil.reporting.plots import Plot

#: A guaranteed estimator is recommended where its expected error is less than this multiple of the least one.
_PRICE = 1.05


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
    """Expected errors of all choices, from :func:`peerveil.plan`.

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

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> [choice.epsilon for choice in pv.plan(weights, epsilons=[1, 3], draws=2, workers=1).recommended]
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
