"""Prepared releases of private reviews: what is checked before budget is spent, charged, and drawn."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import Argument, InputError, LedgerWarning
from peerveil.inference.estimators import check_estimator
from peerveil.inference.pooling import PooledPrior, with_prior
from peerveil.mechanisms import OWN, Asked, Histogram
from peerveil.privacy.bins import Bins, NoisyCounts
from peerveil.privacy.guarantee import Guarantee, Unit, check_unit
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.privacy.stated_facts import Statement
from peerveil.private.charging import Order, Spending
from peerveil.private.fingerprint import fingerprint
from peerveil.private.ledger.release_facts import release_statement
from peerveil.private.noise import Prepared, prepare
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.private.true_vector import true_vector
from peerveil.quantities.base import Lone, words_of
from peerveil.quantities.columns import column_of, same_column
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import Floats, PublicRecord
from peerveil.regions import Region, check_region
from peerveil.regions import region as make_region
from peerveil.releases.refinement import Perturbed
from peerveil.releases.release import Release
from peerveil.reporting.terms import About, Terms

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger


@contextmanager
def spending_for(ledger: str | None) -> Iterator[Spending]:
    """Yield the charges of a call of the library, which are completed when the caller has the release."""
    with Spending(ledger) as spending:
        yield spending
        for number in spending.resumed:
            remark = f"resumed release {number}: charged before, nothing more was charged"
            warnings.warn(LedgerWarning(remark), stacklevel=4)
        spending.done("the caller")


#: The sensitivity for a unit.
Bound = Callable[[PublicWeights, Unit], Sensitivity]


def claim_settings(claim: Guarantee) -> dict[str, Any]:
    """Return a claim as the settings of a release state it: the same in every version that can resume the release."""
    return asdict(claim) | {"neighbours": claim.neighbours.to_document()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Protected:
    """The checked true vector or counts, with their noise; private.

    Attributes:
        noise: the prepared noise.
        truth: the true vector, or the true counts.
        bins: the bins of counts; ``None`` for a vector.
        open: whether the last count is that of reviewers without a kept review.
    """

    noise: Prepared
    truth: Any
    bins: Bins | None
    open: bool

    @classmethod
    def checked(cls, noise: Prepared, truth: Floats, bins: Bins | None, *, everybody: int | None) -> Protected:
        """Return a checked vector or counts; given the number of all reviewers, those without a kept review count."""
        if bins is None:
            return cls(noise=noise, truth=noise.checked(truth), bins=None, open=False)
        inside = bins.counts(truth)
        cells = inside if everybody is None else np.append(inside, everybody - truth.size)
        return cls(noise=noise, truth=noise.checked_counts(cells), bins=bins, open=everybody is not None)

    def draw(self) -> Floats | NoisyCounts:
        """Return the noisy vector, or the noisy counts with their bins."""
        if self.bins is None:
            return self.noise.draw(self.truth)
        noisy = self.noise.draw_counts(self.truth)
        if not self.open:
            return NoisyCounts(bins=self.bins, counts=noisy)
        return NoisyCounts(bins=self.bins, counts=noisy[:-1], outside=int(noisy[-1]))

    def draw_often(self, times: int) -> Any:
        """Return independent draws, one per row, from the same source as a release, for an audit."""
        return self.noise.draw_often(self.truth, times)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ready:
    """A checked release, before budget is spent and noise is drawn.

    Attributes:
        weights: the public weights.
        noise: the prepared noise, with its claim.
        estimator: how the noisy vector will be refined.
        public: what was stated to be public, in words.
        notes: notes for readers of the release.
        statement: the statement about the data set that the ledger stores.
    """

    weights: PublicWeights
    noise: Prepared
    estimator: str
    public: str
    notes: tuple[str, ...]
    statement: Statement
    _reviews: Reviews = field(repr=False)
    _protected: Protected = field(repr=False)
    _bound: Bound = field(repr=False)

    def claim_for(self, unit: Unit) -> Guarantee:
        """Return the claim for a unit: its own, or computed from its noise."""
        if unit == self.noise.guarantee.unit:
            return self.noise.guarantee
        claim = self.noise.mechanism.guarantee(self._bound(self.weights, unit), unit)
        return claim.about(self.noise.guarantee.neighbours)

    def about(self, neighbours: Neighbours) -> Ready:
        """Return the same release with a claim about these neighbours."""
        return replace(self, noise=self.noise.about(neighbours))

    def charge(self, book: Ledger, dataset: str | None, *, release: str | None = None) -> None:
        """Charge the budgets of a data set, each with the claim for its unit."""
        assert self.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
        charge = book.charge(
            book.dataset(dataset),
            self.claim_for,
            quantity=self.weights.quantity,
            unit=self.noise.guarantee.unit,
            mechanism=self.noise.mechanism,
            fingerprint=fingerprint(self._reviews),
            release=release,
            statement=self.statement,
            committee=self._reviews.report.committee,
        )
        for remark in charge.remarks:
            warnings.warn(LedgerWarning(remark), stacklevel=3)

    def drawn_for(self, spending: Spending, dataset: str | None) -> tuple[Perturbed, str | None]:
        """Return the noisy vector, drawn now or by an earlier run, and the number of its charge in a ledger."""
        if spending.ledger is None:
            return self.draw(), None
        fresh: list[Perturbed] = []

        def draw() -> dict[str, Any]:
            fresh.append(self.draw())
            return fresh[0].to_document()

        number, drawn = spending.drawn(
            Order(
                dataset=dataset,
                what=f"{self.weights.quantity}: {self.noise.guarantee.summary}",
                settings=self.settings(),
                data=fingerprint(self._reviews),
                size=self.size,
                room=files_size(self.weights.reviewers),
                charge=lambda book, name, number: self.charge(book, name, release=number),
                draw=draw,
            )
        )
        return fresh[0] if fresh else Perturbed.from_document(drawn, self.weights), number

    def settings(self) -> dict[str, Any]:
        """Return the settings that identify the release, except for its refinement; nothing in it is private."""
        return {
            "quantity": self.weights.quantity,
            "record": self.weights.digest(),
            "public": self.public,
            "mechanism": self.noise.mechanism.describe(),
            "guarantee": claim_settings(self.noise.guarantee),
            "statement": self.statement.to_document(),
        }

    def digest(self) -> str:
        """Return a digest of the settings and the private data, which reveals nothing without the fingerprint's key."""
        data = fingerprint(self._reviews)
        text = json.dumps([self.settings(), data and [data.key, data.digest]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        """Upper bound on the size of the noisy vector or counts as JSON, in bytes."""
        return 2**14 + self.noise.length * (512 if self.noise.mechanism.on_counts else 32)

    def draw(self) -> Perturbed:
        """Return the noisy vector or counts, without anything private."""
        return Perturbed(
            noisy=self._protected.draw(),
            weights=self.weights,
            mechanism=self.noise.mechanism,
            guarantee=self.noise.guarantee,
            public=self.public,
            notes=self.notes,
        )

    def protected(self) -> Protected:
        """Return the true vector or counts with their noise, for an audit of synthetic reviews."""
        return self._protected


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedRelease:
    """A checked release with the region of its true vector and the terms of its publication."""

    ready: Ready
    bounds: Region
    terms: Terms

    def draw(self, spending: Spending, dataset: str | None) -> Release:
        """Return the release; ``spending`` holds its charge until the caller has written it."""
        check_dataset(dataset, spending.ledger)
        perturbed, number = self.ready.drawn_for(spending, dataset)
        made = perturbed.refined(self.bounds, self.ready.estimator)
        return replace(made, terms=self.terms, charge=number, series=spending.series(number))


def check_dataset(dataset: str | None, ledger: str | None) -> None:
    """Refuse a data set without a ledger."""
    if dataset is not None and ledger is None:
        raise InputError(
            Argument("dataset", dataset), " names a budget, but no ledger is given (", Argument("ledger", ...), ")"
        )


def prepare_whole_release(
    reviews: Reviews,
    *,
    region: str = "tight",
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
    **how: Any,
) -> PreparedRelease:
    """Return the prepared release, so that errors occur before budget is spent; arguments as in a release."""
    check_region(region)
    terms = Terms(licence=licence, citation=citation, about=about or About())
    ready = prepare_release(reviews, **how)
    return PreparedRelease(ready=ready, bounds=make_region(ready.weights, region), terms=terms)


def files_size(reviewers: int) -> int:
    """Return a lower estimate of the size of a release's files, in bytes."""
    return 2**18 + 400 * reviewers


def prepare_release(
    reviews: Reviews,
    *,
    public: str | PublicRecord | None,
    quantity: QuantityLike,
    mechanism: Asked,
    unit: str,
    estimator: str | None = None,
    lone: Lone = "refuse",
    name: str | None = None,
    accept_float_noise: bool = False,
    declare_kept: bool = False,
    prior: PooledPrior | None = None,
    bound: Bound = sensitivity,
) -> Ready:
    """Return a checked release with settled noise, without spending or drawing; ``bound`` is the sensitivity."""
    if public is None:
        raise InputError(*EXPLAIN_PUBLIC, "; nothing was released")
    if not isinstance(mechanism, Asked):
        raise InputError(
            Argument("mechanism"),
            f" must be one whose noise Peerveil draws ({', '.join(OWN)}, or auto), got {type(mechanism).__name__}; a "
            "vector that was made private elsewhere is for refine",
        )
    if not mechanism.float_safe and not accept_float_noise:
        raise InputError(
            f"{mechanism.name} noise is drawn in floating point, so the last digits of what is published may reveal "
            "more than the claim says; use Gaussian noise, or accept that (",
            Argument("accept_float_noise", True),
            ")",
        )
    protected = check_unit(unit)
    if estimator is not None:
        check_estimator(estimator)
    everybody = reviews.reviewers if reviews.whole is None else reviews.whole.loads().reviewers
    record = reviews.public(public, declare_kept=declare_kept)
    check_column(reviews, record, quantity)
    weights = with_prior(weigh(record, quantity, lone=lone, name=name), prior)
    if everybody < 2 or (weights.reviewers < 2 and not weights.open):
        raise InputError("the file has one reviewer only: there is nobody to hide among, so nothing can be released")
    apart = bound(weights, protected)
    chosen, estimator, notes = mechanism.chosen(weights, unit=protected, sensitivity=apart, estimator=estimator)
    if weights.open and not chosen.on_counts:
        numbers = words_of(weights.quantity).numbers
        raise InputError(
            f"papers or reviews were left out, so how many of the {everybody} reviewers have a kept review is not "
            f"public, and {chosen.name} noise on their {numbers} would tell; use a histogram (",
            Argument("mechanism", Histogram),
            "), which counts the others as well, or declare the number to be public (",
            Argument("declare_kept", True),
            ")",
        )
    bins = chosen.binned(weights, apart)
    cells = weights.reviewers if bins is None else bins.number + weights.open  # one more, without a kept review
    noise = prepare(chosen, apart, protected, cells).about(
        Neighbours.of(weights.part, hidden=bool(weights.hidden_span))
    )
    return Ready(
        weights=weights,
        noise=noise,
        estimator=estimator or "safe",
        public=public_words(public, record, weights.quantity),
        notes=(*record.notes, *notes),
        statement=release_statement(public, record, score=reviews.report.score),
        _reviews=reviews,
        _protected=Protected.checked(
            noise,
            true_vector(reviews, quantity, record=record, lone=lone, span=weights.span),
            bins,
            everybody=everybody if weights.open else None,
        ),
        _bound=bound,
    )


def check_column(reviews: Reviews, record: PublicRecord, quantity: QuantityLike) -> None:
    """Refuse a quantity of a column that was not read, or of a hidden criterion, for which the score would be taken.

    Scores that were given directly have no name: they may be of any column that is no criterion.
    """
    column = column_of(quantity) if isinstance(quantity, str) else None
    if column is None or column in record.criteria_names:
        return
    hidden = column in reviews.criteria_names
    if not hidden and (not reviews.report.format or same_column(column, reviews.report.score)):
        return
    problem = "a criterion that is not public" if hidden else "which was not read"
    raise InputError(
        f"the release is of the column {column!r}, {problem}; read it as the score (",
        Argument("score", column),
        ") or, if all is public, as a criterion",
    )


def public_words(public: str | PublicRecord, record: PublicRecord, quantity: str) -> str:
    """Return in words what was stated to be public: of scores, or of the column that was read in their place."""
    column = column_of(quantity)
    values = "scores" if column is None or column in record.criteria_names else f"values of {column}"
    if public == "none":
        return f"no {values}; load counts"
    criteria = "" if record.criteria is None else f" and criteria ({', '.join(record.criteria_names)})"
    if public == "all":
        return f"all {values}{criteria}, and load counts"
    return f"a public record: {values}{criteria} as far as it shows them, loads as declared"
