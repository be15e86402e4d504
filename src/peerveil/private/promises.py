"""Promises: what releases would state, cost and achieve, without drawing noise or charging a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from peerveil.errors import RecordError
from peerveil.inference.pooling import PooledPrior, with_prior
from peerveil.inference.verdict import PROMISES, Grounds, Verdict, short
from peerveil.mechanisms import Asked
from peerveil.planning.auto import Auto, Undecided, asked_for, decide
from peerveil.planning.plans import expected_errors, span_of
from peerveil.privacy.guarantee import Guarantee, Unit, caution, downward, upward
from peerveil.privacy.joint_claims import joint_quantity
from peerveil.privacy.stated_facts import Statement
from peerveil.private.ledger import Ledger, Quote
from peerveil.private.release import Ready, check_dataset, prepare_release
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import prepare_groups, remark_on_small
from peerveil.quantities.base import Lone, words_of
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.quantities.weights import weigh
from peerveil.record.public_record import PublicRecord
from peerveil.regions import region as make_region
from peerveil.support.html_tables import table


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a release would state, cost and achieve, from :func:`promise`. Nothing in it comes from private data.

    Attributes:
        quantity: the quantity to release.
        reviewers: the number of reviewers.
        public: what was stated to be public, in words.
        guarantee: the privacy claim.
        mechanism: name and parameters of the mechanism.
        deviation: standard deviation of the noise on each mean or count; 0 if none is needed.
        estimator: name of the estimator.
        expected_rmse: expected error of a reviewer's mean, simulated from public data; ``None`` if no valid assignment
            was found to simulate.
        public_rmse: the same for a guess from public data alone, without a release.
        quotes: the cost to each budget of the data set; empty without a ledger.
        notes: how the mechanism was chosen, and what was left out.
        estimated: whether the number of reviewers is estimated, as reviews were left out and it is not public.
        span: the range of numbers that public data allow; NaN if it is not known.

    >>> import peerveil as pv
    >>> papers = ["p", "p", "q", "q", "r", "r"]
    >>> reviews = pv.Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    >>> promise = pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    >>> promise.guarantee.summary, promise.deviation > 1, promise.quotes
    ('epsilon = 1 per reviewer (pure differential privacy)', True, ())
    """

    quantity: str
    reviewers: int
    public: str
    guarantee: Guarantee
    mechanism: dict[str, Any]
    deviation: float
    estimator: str
    expected_rmse: float | None
    public_rmse: float | None
    quotes: tuple[Quote, ...] = ()
    notes: tuple[str, ...] = ()
    estimated: bool = False
    span: float = math.nan

    @property
    def people(self) -> str:
        """The number of reviewers in words."""
        return f"{'an estimated ' * self.estimated}{self.reviewers} reviewers"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the release against no release; ``None`` if its errors are not known."""
        if self.expected_rmse is None or self.public_rmse is None:
            return None
        unit = words_of(self.quantity).unit
        grounds = Grounds(people=self.people, public=self.public_rmse, span=self.span, unit=unit)
        return Verdict.of(self.expected_rmse, self.public_rmse, grounds=grounds)

    @property
    def errors(self) -> tuple[str, str]:
        """The expected error, and that of public data alone, as short texts."""
        both = self.expected_rmse, self.public_rmse
        made, alone = ("not known" if error is None else f"±{short(error)}" for error in both)
        return made, alone

    @property
    def accuracy(self) -> str:
        """The expected error in words, and that of public data alone."""
        if self.expected_rmse is None or self.public_rmse is None:
            return "not known"
        made, alone = self.errors
        words = words_of(self.quantity)
        return f"{made}{words.unit} of {words.a_number}; public data alone {alone}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the promise as names and sentences."""
        claim, noise = self.guarantee, "none: public data alone determines what is released"
        if self.deviation:
            noise = f"{self.mechanism['name']}, standard deviation {self.deviation:.3g} of each number"
        facts = [
            ("release", f"{self.quantity} of {self.people}"),
            ("claim", claim.summary),
            ("that is", claim.human),
            ("caution", caution(claim.epsilon)),
            *cost_facts(self.quotes),
            ("expected error", self.accuracy),
            ("verdict", "" if self.verdict is None else self.verdict.sentence),
            ("noise", noise),
            ("estimator", f"{self.estimator}: {PROMISES[self.estimator]}"),
            ("public", self.public),
            *(("note", note) for note in self.notes),
            ("promise", claim.promise),
            ("limits", claim.not_protected),
        ]
        return [(name, words) for name, words in facts if words]

    def to_document(self) -> dict[str, Any]:
        """Return the promise as JSON."""
        names = ("quantity", "reviewers", "public", "mechanism", "deviation", "estimator", "expected_rmse")
        claim = self.guarantee
        return {name: getattr(self, name) for name in (*names, "public_rmse")} | {
            "guarantee": claim.summary,
            "promise": claim.promise,
            "not_protected": claim.not_protected,
            "caution": caution(claim.epsilon),
            "accuracy": PROMISES[self.estimator],
            "verdict": self.verdict and self.verdict.to_document(),
            "costs": [asdict(quote) for quote in self.quotes],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        about = f"{self.quantity} of {self.people}"
        return f"Promise({about}; {self.guarantee.summary}; expected error {self.accuracy})"

    def _repr_html_(self) -> str:
        return table("Promise: nothing was drawn or charged", self.facts())


@dataclass(frozen=True, kw_only=True)
class GroupPromises:
    """What the releases of groups of papers would state, and the joint claim and cost of all."""

    promises: dict[str, Promise]
    guarantee: Guarantee
    quotes: tuple[Quote, ...] = ()

    @property
    def quantity(self) -> str:
        """What a ledger calls the joint release."""
        return joint_quantity(next(iter(self.promises.values())).quantity, len(self.promises))

    @property
    def remark(self) -> str:
        """A remark on groups with few reviewers; empty if there are none."""
        return remark_on_small({name: promise.reviewers for name, promise in self.promises.items()})

    def facts(self) -> list[tuple[str, str]]:
        """Return the joint promise as names and sentences."""
        claim = self.guarantee
        remarks = [("remark", self.remark)] if self.remark else []
        return [("claim of all", claim.summary), *cost_facts(self.quotes), *remarks, ("promise", claim.promise)]

    def to_document(self) -> dict[str, Any]:
        """Return the promises as JSON."""
        return {
            "groups": [{"group": name} | promise.to_document() for name, promise in self.promises.items()],
            "guarantee": self.guarantee.summary,
            "costs": [asdict(quote) for quote in self.quotes],
        }


def promise(
    reviews: Reviews,
    *,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    epsilon: float | None = None,
    mechanism: Asked | None = None,
    unit: str = "reviewer",
    estimator: str | None = None,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    declare_kept: bool = False,
    prior: PooledPrior | None = None,
) -> Promise:
    """Return what a release with these arguments would state, cost and achieve; nothing is drawn or charged.

    The arguments are those of :func:`peerveil.release`, and errors are the same: if a budget does not suffice, or more
    is stated to be public than before, this is refused as the release would be. Expected errors come from public data
    alone, on simulated assignments, with the default region.

    >>> import peerveil as pv
    >>> papers = ["p", "p", "q", "q", "r", "r"]
    >>> reviews = pv.Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    >>> pv.promise(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0)).verdict.word
    'adds nothing'
    """
    return promise_release(
        reviews,
        ledger=ledger,
        dataset=dataset,
        public=public,
        quantity=with_statistic(quantity, statistic),
        mechanism=asked_for(mechanism, epsilon),
        unit=unit,
        estimator=estimator,
        lone=lone,
        name=name,
        accept_float_noise=accept_float_noise,
        declare_kept=declare_kept,
        prior=prior,
    )


def promise_release(
    reviews: Reviews,
    *,
    ledger: str | None,
    dataset: str | None,
    mechanism: Asked,
    estimator: str | None = None,
    region: str | None = None,
    **how: Any,
) -> Promise:
    """Return what a release would state, cost and achieve; arguments as in :func:`promise`.

    With a region, errors are also those of computing it, as the release does before it is charged.
    """
    check_dataset(dataset, ledger)
    asked = _planned(reviews, mechanism, **how)
    ready = prepare_release(reviews, mechanism=asked, estimator=estimator, **how)
    _check_bounded([ready], region)
    made = _promised(ready, _errors(ready, asked, estimator))
    return replace(made, quotes=quotes_of(ledger, dataset, ready.claim_for, ready.statement))


def promise_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    ledger: str | None,
    dataset: str | None,
    shared: bool,
    region: str | None = None,
    **how: Any,
) -> GroupPromises:
    """Return what the releases of groups of papers would state; arguments as in :func:`peerveil.release_groups`."""
    check_dataset(dataset, ledger)
    prepared = prepare_groups(reviews, groups, shared=shared, **how)
    ready = prepared.ready
    _check_bounded(ready.values(), region)
    unit = next(iter(ready.values())).noise.guarantee.unit
    assert unit is not None  # noqa: S101 - our own claims have one
    return GroupPromises(
        promises={name: _promised(part, _simulated(part)) for name, part in ready.items()},
        guarantee=prepared.claim_for(unit),
        quotes=quotes_of(ledger, dataset, prepared.claim_for, prepared.statement),
    )


def _check_bounded(parts: Iterable[Ready], region: str | None) -> None:
    """Raise the error of computing a region, if it has one."""
    if region is not None:
        for part in parts:
            make_region(part.weights, region)


def cost_facts(quotes: tuple[Quote, ...]) -> list[tuple[str, str]]:
    """Return the cost to each budget as names and sentences."""
    if not quotes:
        return [("cost", "no budget is charged: no ledger is named")]
    return [("cost", cost_words(quote)) for quote in quotes]


def cost_words(quote: Quote) -> str:
    """Return in words which budget is charged, and by how much.

    >>> print(cost_words(Quote(dataset="x", unit="reviewer", currency="epsilon", cost=1.0, left=5.0, after=4.0)))
    epsilon 1 is charged to the budget of 'x' (per reviewer): 5 left now, 4 afterwards
    """
    cost, left, after = upward(quote.cost), downward(quote.left), downward(quote.after)
    whose = f"the {'series' if quote.unit == 'person' else 'budget of'} {quote.dataset!r} (per {quote.unit})"
    return f"{quote.currency} {cost} is charged to {whose}: {left} left now, {after} afterwards"


#: Expected errors of a reviewer's mean, with the release and without; ``None`` if they are not known.
Errors = tuple[float | None, float | None]


def _promised(ready: Ready, errors: Errors) -> Promise:
    noise = ready.noise
    return Promise(
        quantity=ready.weights.quantity,
        reviewers=ready.weights.reviewers,
        public=ready.public,
        guarantee=noise.guarantee,
        mechanism=noise.mechanism.describe(),
        deviation=0.0 if noise.settled is None else float(noise.settled.law.deviation),
        estimator=ready.estimator,
        expected_rmse=errors[0],
        public_rmse=errors[1],
        notes=ready.notes,
        estimated=ready.weights.open,
        span=span_of(ready.weights),
    )


def _planned(
    reviews: Reviews,
    mechanism: Asked,
    *,
    public: str | PublicRecord | None,
    quantity: QuantityLike,
    unit: str,
    lone: Lone = "refuse",
    name: str | None = None,
    declare_kept: bool = False,
    prior: PooledPrior | None = None,
    **_: Any,
) -> Asked:
    """The request with its plan, whose numbers the promise states."""
    if not isinstance(mechanism, Auto) or public is None:
        return mechanism
    weights = weigh(reviews.public(public, declare_kept=declare_kept), quantity, lone=lone, name=name)
    return decide(Undecided(name="", asked=mechanism, weights=with_prior(weights, prior), unit=unit), None)


def _errors(ready: Ready, asked: Asked, estimator: str | None) -> Errors:
    """The errors in the plan that the mechanism was chosen by, or simulated ones."""
    if ready.noise.settled is None or not isinstance(asked, Auto) or asked.planned is None:
        return _simulated(ready)
    return asked.planned.choose(float(asked.epsilon), estimator=estimator).rmse, asked.planned.alone


def _simulated(ready: Ready) -> Errors:
    unit = ready.noise.guarantee.unit
    assert unit is not None  # noqa: S101 - our own claims have one
    if ready.noise.settled is None:  # what is released follows from public data
        return 0.0, 0.0
    try:
        return expected_errors(ready.weights, ready.noise.mechanism, ready.estimator, unit=unit)
    except RecordError:  # no valid assignment was found
        return None, None


def quotes_of(
    ledger: str | None, dataset: str | None, claim_for: Callable[[Unit], Guarantee], statement: Statement
) -> tuple[Quote, ...]:
    """Return the cost of a release to every budget of a data set; refused as the release would be."""
    if ledger is None:
        return ()
    book = Ledger(ledger)
    return book.quote(book.dataset(dataset), claim_for, statement=statement)
