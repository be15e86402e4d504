"""The privacy claim of a release, as data and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from typing import Literal, get_args

from peerveil.errors import Argument, InputError
from peerveil.privacy.accounting import check_delta, delta_at, epsilon_at
from peerveil.privacy.gdp import gaussian_delta, gaussian_epsilon
from peerveil.privacy.neighbours import Neighbours
from peerveil.support.arguments import real

#: The protected unit: all reviews of a reviewer, a single review, or all reviews of a person in several conferences.
Unit = Literal["reviewer", "review", "person"]

#: The units of a release; a person is the unit of a series.
UNITS: tuple[Unit, ...] = ("reviewer", "review")

#: Kinds of claims, from the strongest to the weakest, then the words of another source.
Kind = Literal["pure", "gdp", "zcdp", "tcdp", "approximate", "stated"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The default delta at which a concentrated claim is stated as an epsilon.
DELTA = 1e-6

NOT_PROTECTED = (
    "Not protected: who has which load, the number of reviews of each paper, and the numbers of papers, reviews and "
    "reviewers of the whole conference. These are declared public, as are the scores stated to be public."
)

#: Added if the loads among kept reviews are declared.
NOT_PROTECTED_KEPT = (
    " So are the number of reviewers with a review among those that were kept, and their loads among these."
)

#: Added if it is declared that no reviewer has reviews in two groups of papers.
NOT_PROTECTED_APART = " So is that no reviewer has reviews in two of the groups of papers."

_TOGETHER = "all releases of the series together"

_YOURS = {
    "reviewer": "exchanges of your reviews",
    "review": "an exchange of one of your reviews",
    "person": "exchanges of your reviews in its conferences",
}

#: Added for a series of conferences.
NOT_PROTECTED_SERIES = (
    " All of this holds for each conference of the series, and so does who reviews for which of them."
)

#: Added if a release is of two conferences.
NOT_PROTECTED_LINKED = " All of this holds for both conferences."

_NOT_FLOAT_SAFE = (
    " The noise was drawn in floating-point arithmetic, and this holds for ideal arithmetic: the last digits of the "
    "published numbers may reveal more."
)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The privacy claim of a release.

    Attributes:
        kind: ``"pure"``: epsilon-differential privacy. ``"gdp"``: Gaussian differential privacy, with
            ``rho = mu**2 / 2``. ``"zcdp"``, ``"tcdp"``: zero-concentrated and truncated concentrated differential
            privacy, with rho and omega. ``"approximate"``: (epsilon, delta). ``"stated"``: the words of another source,
            to which Peerveil adds nothing.
        unit: the protected unit; ``None`` for a stated guarantee.
        epsilon: the bound; for a concentrated claim, its epsilon at ``delta``.
        delta: 0 for a pure claim.
        rho: for a Gaussian or concentrated claim. A Gaussian claim is also zero-concentrated with this rho, and has a
            smaller epsilon.
        omega: for a truncated concentrated claim.
        float_safe: whether the claim covers the last digits of floating-point numbers.
        statement: the words of a stated guarantee.
        neighbours: the neighbour relation of the claim, apart from the unit.

    >>> Guarantee(kind="pure", unit="reviewer", epsilon=1.0).summary
    'epsilon = 1 per reviewer (pure differential privacy)'
    >>> Guarantee(kind="zcdp", unit="reviewer", rho=0.05).summary
    'rho = 0.05 per reviewer (zero-concentrated differential privacy): epsilon = 1.472 at delta = 1e-06'
    >>> Guarantee(kind="gdp", unit="reviewer", rho=0.05).summary
    'rho = 0.05 per reviewer (Gaussian differential privacy, mu = 0.3163): epsilon = 1.368 at delta = 1e-06'
    """

    kind: Kind
    unit: Unit | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    omega: float | None = None
    float_safe: bool = True
    statement: str = ""
    neighbours: Neighbours = field(default=Neighbours())

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {self.kind!r}")
        if self.kind == "stated":
            numbers = (self.unit, self.epsilon, self.delta, self.rho, self.omega)
            if not self.statement or any(number is not None for number in numbers):
                raise InputError("a stated guarantee carries words and no numbers of its own")
            return
        check_unit(self.unit, get_args(Unit))
        for name in ("epsilon", "delta", "rho", "omega"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, real(name, value))
        if self.statement:
            raise InputError("only a stated guarantee carries words of its own")
        if self.kind in ("pure", "approximate"):
            self._check_plain()
        else:
            self._check_concentrated()

    def _check_plain(self) -> None:
        _at_least_zero("epsilon", self.epsilon)
        if self.rho is not None or self.omega is not None:
            raise InputError(f"rho and omega belong to concentrated guarantees, not to a {self.kind} one")
        if self.kind == "approximate":
            check_delta(math.nan if self.delta is None else self.delta)
        elif self.delta is None:
            object.__setattr__(self, "delta", 0.0)
        elif self.delta != 0:
            raise InputError(f"a pure guarantee has delta 0, got {self.delta}")

    def _check_concentrated(self) -> None:
        rho = _at_least_zero("rho", self.rho)
        if self.kind in ("gdp", "zcdp") and self.omega is not None:
            raise InputError(f"a {self.kind} guarantee has no omega: it holds for every order")
        if self.kind == "tcdp" and not (self.omega is not None and math.isfinite(self.omega) and self.omega > 1):
            raise InputError(Argument("omega"), f" must be a finite number > 1, got {self.omega}")
        if self.delta is None:
            object.__setattr__(self, "delta", DELTA)
        least = self.epsilon_at(self.delta or 0.0)
        if self.epsilon is None:
            object.__setattr__(self, "epsilon", least)
        elif not self.epsilon >= least * (1 - 1e-9):
            stated = (Argument("epsilon", self.epsilon), " at ", Argument("delta", self.delta))
            raise InputError(*stated, " is less than ", Argument("rho", rho), " comes to")

    @property
    def summary(self) -> str:
        """The claim in one line."""
        if self.kind == "stated":
            return f"as stated by the source: {self.statement}"
        if self.kind == "pure":
            return f"epsilon = {exact(self.epsilon)} per {self.unit} (pure differential privacy)"
        plain = f"epsilon = {_upward(self.epsilon)} at delta = {exact(self.delta)}"
        if self.kind == "approximate":
            return f"{plain} per {self.unit} (approximate differential privacy)"
        order = "" if self.omega is None else f", omega = {exact(self.omega)}"
        name = {"gdp": "Gaussian", "zcdp": "zero-concentrated"}.get(self.kind, "truncated concentrated")
        shift = "" if self.mu is None else f", mu = {_upward(self.mu)}"
        return f"rho = {exact(self.rho)}{order} per {self.unit} ({name} differential privacy{shift}): {plain}"

    @property
    def mu(self) -> float | None:
        """The parameter of Gaussian differential privacy; ``None`` for other claims.

        >>> Guarantee(kind="gdp", unit="review", rho=0.5).mu
        1.0
        """
        return math.sqrt(2 * _number(self.rho)) if self.kind == "gdp" else None

    @property
    def promise(self) -> str:
        """The claim in words for a conference's web site."""
        if self.kind == "stated":
            return (
                f"The noise was added elsewhere. Its source states: {self.statement} Refining used public data and the "
                "noisy vector alone, which takes nothing away from that and adds nothing to it."
            )
        assert self.unit is not None  # noqa: S101 - checked at construction
        assert self.epsilon is not None  # noqa: S101 - checked at construction
        if self._costless:
            return (
                "The public record alone determines what is released: it is the same for every assignment that fits "
                "it, so the release says nothing more about who wrote which review."
            )
        many = self.unit == "person"
        if self.kind == "pure":
            change = f"{_TOGETHER} change" if many else "this release changes"
            gain = (
                f"Whatever someone already knows, {change} their odds between these two assignments by at "
                f"most a factor e^{exact(self.epsilon)} = {factor(self.epsilon)}."
            )
        else:
            shown = _upward(self.epsilon)
            gain = (
                "Between these two, whatever someone already knows, the probability of any conclusion from "
                f"{_TOGETHER if many else 'this release'} rises from p to at most e^{shown} p + {exact(self.delta)}, "
                f"where e^{shown} = {factor(float(shown))}."
            )
        return (
            f"Take any {self.neighbours.words(self.unit)}. {gain} Knowledge that ties many reviewers' assignments "
            "together can gain more." + ("" if self.float_safe else _NOT_FLOAT_SAFE)
        )

    @property
    def human(self) -> str:
        """The claim in one sentence for a reviewer; empty for a stated guarantee.

        >>> Guarantee(kind="pure", unit="reviewer", epsilon=1.0).human
        'Someone who hesitates, 50:50, between two assignments that fit what is public and differ only by exchanges of
        your reviews can become at most 74 % sure of one of them by this release.'
        """
        if self.kind == "stated":
            return ""
        hidden = " and by hidden scores of these, or by one hidden score alone," if self.neighbours.hidden else ""
        yours = _YOURS[self.unit or "reviewer"]
        if self.neighbours.attributes:
            swapped = "an exchange of your attributes with another reviewer's"
            yours += f" and by {swapped if self.neighbours.sizes else 'your attributes'}"
        if self.neighbours.linked and self.unit == "reviewer":
            yours += " in both conferences and by whether you are known to have reviewed for both"
        apart = ", have no reviewer with reviews in two groups of papers," if self.neighbours.apart else ""
        of = " of all conferences of a series" if self.unit == "person" else ""
        both = f"between two assignments{of} that fit what is public{apart} and differ only by"
        between = f"Someone who hesitates, 50:50, {both} {yours}{hidden}"
        epsilon, delta = _number(self.epsilon), _number(self.delta)
        if self._costless:
            return "This release says nothing more about who wrote which review than what is public."
        sure = 1 / (1 + math.exp(-epsilon))
        these = _TOGETHER if self.unit == "person" else "this release"
        if self.kind == "pure":
            return f"{between} can become at most {_percent(sure)} sure of one of them by {these}."
        # The better of two equally likely hypotheses is guessed with half of one plus their total variation distance.
        right = sure + delta / (1 + math.exp(min(epsilon, 700.0)))
        return f"{between} guesses the right one with {these} in at most {_percent(right)} of all cases."

    @property
    def _costless(self) -> bool:
        """Whether nothing is lost. A concentrated claim with epsilon 0 at a large delta may still have a cost."""
        return (self.epsilon if self.kind == "pure" else self.rho) == 0

    @property
    def not_protected(self) -> str:
        """The limits of the claim, in words."""
        kept = NOT_PROTECTED_KEPT if self.neighbours.declared else ""
        several = NOT_PROTECTED_SERIES if self.unit == "person" else ""
        several += NOT_PROTECTED_LINKED if self.neighbours.linked and self.unit != "person" else ""
        return NOT_PROTECTED + kept + (NOT_PROTECTED_APART if self.neighbours.apart else "") + several

    def about(self, neighbours: Neighbours) -> Guarantee:
        """Return this claim for another neighbour relation; a stated guarantee is unchanged."""
        return self if self.kind == "stated" else replace(self, neighbours=neighbours)

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon of this claim at a delta.

        >>> round(Guarantee(kind="zcdp", unit="review", rho=0.05).epsilon_at(1e-3), 3)
        0.905
        """
        check_delta(delta)
        if self.kind == "pure":
            # As a concentrated claim it may be less, if epsilon is small and delta is not.
            return min(_number(self.epsilon), epsilon_at(delta, _number(self.epsilon) ** 2 / 2))
        if self.kind == "gdp":
            return gaussian_epsilon(delta, _number(self.mu))
        if self.kind in ("zcdp", "tcdp"):
            return epsilon_at(delta, _number(self.rho), self.omega or math.inf)
        if self.kind == "approximate" and delta >= _number(self.delta):
            return _number(self.epsilon)
        raise InputError(f"a guarantee of kind {self.kind!r} says nothing at ", Argument("delta", delta))

    def delta_at(self, epsilon: float) -> float:
        """Return the delta of this claim at an epsilon; 1 if it has none.

        >>> Guarantee(kind="pure", unit="review", epsilon=1.0).delta_at(1.5)
        0.0
        """
        if self.kind == "stated":
            raise InputError("a stated guarantee has no numbers of its own")
        if self.kind in ("pure", "approximate"):
            return _number(self.delta) if epsilon >= _number(self.epsilon) else 1.0
        if self.kind == "gdp":
            return gaussian_delta(epsilon, _number(self.mu))
        return delta_at(epsilon, _number(self.rho), self.omega or math.inf)

    def as_concentrated(self) -> Guarantee:
        """Return this claim as a concentrated one, with rho ``epsilon**2 / 2`` or ``mu**2 / 2``.

        >>> Guarantee(kind="pure", unit="review", epsilon=1.0).as_concentrated().rho
        0.5
        """
        if self.kind in ("zcdp", "tcdp"):
            return self
        if self.kind == "gdp":
            return replace(self, kind="zcdp", epsilon=None)
        if self.kind == "pure":
            return replace(self, kind="zcdp", rho=_number(self.epsilon) ** 2 / 2, epsilon=None, delta=None)
        raise InputError(f"a guarantee of kind {self.kind!r} cannot be made a concentrated one")

    def as_approximate(self, delta: float | None = None) -> Guarantee:
        """Return this claim as (epsilon, delta).

        >>> Guarantee(kind="zcdp", unit="review", rho=0.05).as_approximate().summary
        'epsilon = 1.472 at delta = 1e-06 per review (approximate differential privacy)'
        """
        at = delta if delta is not None else self.delta or DELTA
        return replace(self, kind="approximate", epsilon=self.epsilon_at(at), delta=at, rho=None, omega=None)


#: Budgets above this epsilon promise little.
LITTLE = 5.0


def caution(epsilon: float | None) -> str:
    """Return a caution about a budget that promises little; empty for others.

    >>> caution(8.0)
    'Epsilon 8 promises little: a release may change the odds between two assignments by a factor of 2,981.'
    >>> caution(1.0)
    ''
    """
    if epsilon is None or epsilon <= LITTLE:
        return ""
    factor = f"{math.ceil(math.exp(epsilon)):,}" if epsilon < 12 else f"e^{epsilon:g}"
    words = "a release may change the odds between two assignments by a factor of"
    return f"Epsilon {epsilon:g} promises little: {words} {factor}."


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Return the adaptive composition of the claims of several releases of the same data.

    It holds for the assignments that are neighbours in all of them. Epsilons of pure claims add up, and so do rhos of
    Gaussian ones. Claims of different kinds are converted to concentrated ones, and rho adds up. If one is approximate,
    all are converted, and epsilon and delta add up.

    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> compose([pure, pure]).epsilon
    2.0
    >>> compose([pure, Guarantee(kind="zcdp", unit="reviewer", rho=0.1)]).rho
    0.6
    """
    parts = list(guarantees)
    if not parts:
        raise InputError("guarantees must hold at least one; what nothing promises is not known")
    units, kinds = {part.unit for part in parts}, {part.kind for part in parts}
    if "stated" in kinds:
        raise InputError("a stated guarantee has no numbers of its own, so it cannot be added up")
    if len(units) > 1:
        raise InputError(
            "guarantees must be for one unit; one for a review says something else than one for a reviewer: convert "
            "them from the noise first (Mechanism.guarantee)"
        )
    (unit,) = units
    safe, common = all(part.float_safe for part in parts), Neighbours.common(part.neighbours for part in parts)
    claim = partial(Guarantee, unit=unit, float_safe=safe, neighbours=common)
    if kinds == {"pure"}:
        return claim(kind="pure", epsilon=_total(part.epsilon for part in parts))
    if "approximate" in kinds:
        plain = [part if part.kind == "pure" else part.as_approximate() for part in parts]
        delta = _total(part.delta for part in plain)
        if delta >= 1:
            raise InputError(f"delta adds up to {delta:g}, which promises nothing")
        return claim(kind="approximate", epsilon=_total(part.epsilon for part in plain), delta=delta)
    concentrated = [part.as_concentrated() for part in parts]
    rho = _total(part.rho for part in concentrated)
    # A claim without cost is of every kind.
    costly = {part.kind for part, converted in zip(parts, concentrated, strict=True) if converted.rho} or kinds
    orders = [part.omega for part in concentrated if part.omega is not None]
    deltas = {part.delta for part in parts if part.kind != "pure"}
    at = deltas.pop() if len(deltas) == 1 else None  # the common delta, if there is one
    if orders:
        return claim(kind="tcdp", rho=rho, omega=min(orders), delta=at)
    return claim(kind="gdp" if costly <= {"gdp"} else "zcdp", rho=rho, delta=at)


def check_unit(unit: str | None, units: Sequence[Unit] = UNITS) -> Unit:
    """Return a valid unit, by default of a release.

    >>> check_unit("paper")
    Traceback (most recent call last):
    peerveil.errors.InputError: unit must be 'reviewer' or 'review', got 'paper'
    """
    for known in units:
        if unit == known:
            return known
    raise InputError(Argument("unit"), f" must be {' or '.join(map(repr, units))}, got {unit!r}")


def _at_least_zero(name: str, value: float | None) -> float:
    if value is None or not (math.isfinite(value) and value >= 0):
        raise InputError(Argument(name), f" must be a finite number of at least 0, got {value}")
    return value


def _percent(share: float) -> str:
    """Return a share as a percentage, rounded up, with enough digits to differ from 100 %."""
    if share >= 1:
        return "100 %"
    for digits in range(12):
        step = 10.0 ** -(digits + 2)
        rounded = math.ceil(share / step * (1 - 1e-15)) * step
        if rounded < 1:
            return f"{rounded * 100:.{digits}f} %"
    return "100 %"


def _number(value: float | None) -> float:
    assert value is not None  # noqa: S101 - every kind is checked to have its numbers
    return value


def _total(values: Iterable[float | None]) -> float:
    try:
        return math.fsum(map(_number, values))
    except OverflowError:
        return math.inf


def exact(number: float | None) -> str:
    """Return all digits, because a claim must not look smaller than it is."""
    return f"{number!r}".removesuffix(".0")


def upward(number: float, digits: int = 6) -> str:
    """Return a number rounded up to some digits, because a cost must not look smaller than it is.

    >>> upward(1.00000049, 4), upward(0.7)
    ('1.001', '0.7')
    """
    return _rounded(number, digits, ROUND_CEILING)


def downward(number: float, digits: int = 6) -> str:
    """Return a number rounded down to some digits, because a remainder must not look larger than it is.

    >>> downward(0.33333366), downward(30.0), downward(0.0)
    ('0.333333', '30', '0')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, rounding: str) -> str:
    rounded = Decimal(repr(number)).normalize(Context(prec=digits, rounding=rounding))
    return f"{float(rounded):.{digits}g}"  # a decimal itself would write 30 as 3e+1


def _upward(number: float | None) -> str:
    """Return a computed number rounded up to four digits."""
    return upward(_number(number), 4)


def factor(epsilon: float) -> str:
    """Return e^epsilon rounded up to three digits."""
    if epsilon == 0:
        return "1"
    if epsilon > 700:
        return "practically without limit"
    digits = Context(prec=3, rounding=ROUND_CEILING)
    return f"{Decimal(math.nextafter(math.exp(epsilon), math.inf)).normalize(digits):g}"
