"""Releases of a statistic by an attribute of reviewers, from one table of counts with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL
from peerveil.mechanisms import Histogram
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.planning.crosstabs import CrosstabPlan, plan_by, settled_bins
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import Unit, check_unit
from peerveil.privacy.joint_claims import GroupClaim, counts_claim
from peerveil.privacy.sensitivity import Sensitivity, crosstab_sensitivity
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.private.answers import ReadyAnswer, group_of_each, neighbours_of, statement_of
from peerveil.private.charging import Spending
from peerveil.private.noise import prepare
from peerveil.private.release import check_column, public_words, spending_for
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.private.true_vector import true_values
from peerveil.quantities.base import Lone
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.quantities.weights import weigh
from peerveil.record.public_record import Floats, Ints, PublicRecord
from peerveil.releases.effects.answers import caveats
from peerveil.releases.effects.crosstabs import Crosstab, CrosstabQuestion, charged_as, people, publish
from peerveil.reporting.terms import About, Terms


def release_by(
    reviews: Reviews,
    *,
    by: str,
    values: Sequence[str],
    epsilon: float,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    others: bool = False,
    bins: int | None = None,
    level: float = LEVEL,
    sizes: Sequence[int] | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    declare_kept: bool = False,
    ledger: str | None = None,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Crosstab:
    r"""Release how a statistic of reviewers is distributed for each value of an attribute.

    All groups together are one table of counts, which costs one epsilon.

    Args:
        reviews: the private reviews, read with a table of attributes (:func:`peerveil.read`, ``attributes=``).
        by: the attribute of reviewers.
        values: its values, each of which is a group. They are published, and never taken from the data.
        epsilon: the budget.
        public: which scores are public: ``"all"``, ``"none"``, or the public record. There is no default.
        quantity: the weight of a review, as in :func:`peerveil.release`.
        statistic: the number for each reviewer, as in :func:`peerveil.release`.
        others: whether reviewers with other values exist, who are one more group; otherwise it is declared that there
            are none, which is checked.
        bins: the greatest number of bins; by default it suits the number of reviewers per group and the noise.
        level: the level of the intervals, which cover the noise only.
        sizes: the number of reviewers of each group, if these are public; checked. Neighbours then share them: an
            attribute changes only by an exchange with another reviewer.
        unit: the protected unit: all reviews and attributes of a ``"reviewer"``, or one ``"review"``.
        lone: the miscalibration of a paper's single review: ``"refuse"`` it, or count it as ``"zero"``.
        declare_kept: if papers or reviews were left out, declare the loads among the kept reviews to be public.
        ledger: the ledger to charge before noise is drawn.
        dataset: the name of the data set in the ledger; optional if there is only one.
        licence: the licence of the release.
        citation: how to cite it, instead of the usual citation.
        about: title, conference, authors, contact and address of the release.

    >>> import io
    >>> import peerveil as pv
    >>> rows = [f"p{i},r{(i + j) % 8},{(i * j) % 5 + 1}" for i in range(8) for j in range(3)]
    >>> people = [f"r{j},{'senior' if j % 2 else 'junior'}" for j in range(8)]
    >>> table = io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode())
    >>> reviewers = io.BytesIO("\n".join(["reviewer,seniority", *people]).encode())
    >>> reviews = pv.read(table, attributes=reviewers, scale=(1, 5))
    >>> made = pv.release_by(reviews, by="seniority", values=("senior", "junior"), public="all", epsilon=1.0)
    >>> made.groups, made.guarantee.summary
    (('senior', 'junior'), 'epsilon = 1 per reviewer (pure differential privacy)')
    """
    with spending_for(ledger) as spending:
        prepared = prepare_crosstab(
            reviews,
            by=by,
            values=values,
            mechanism=Histogram(epsilon=epsilon, bins=bins),
            public=public,
            quantity=with_statistic(quantity, statistic),
            others=others,
            level=level,
            sizes=sizes,
            unit=unit,
            lone=lone,
            declare_kept=declare_kept,
            terms=Terms(licence=licence, citation=citation, about=about or About()),
        )
        return prepared.draw(spending, dataset)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyCrosstab(ReadyAnswer):
    """A checked release by an attribute, before budget is spent and noise is drawn.

    Attributes:
        question: by which attribute reviewers are counted.
        bins: the bins, from public data.
    """

    question: CrosstabQuestion
    bins: Bins

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release."""
        return charged_as(self.question, self.weights.quantity)

    @property
    def released(self) -> str:
        """What is released of the groups, in words."""
        return f"the numbers of reviewers in each bin, for {', '.join(self.question.groups)}"

    def bound(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity for a unit."""
        return crosstab_sensitivity(self.weights, unit, sizes=self.question.sizes is not None)

    def group_claim(self, unit: Unit) -> GroupClaim:
        """Return the claim for a unit with what determines the joint claim of several groups of papers."""
        counts, scale = self.bound(unit).counts, self.noise.mechanism.scale_on_counts
        return counts_claim(self.claim_for(unit), self.weights, counts=counts, scale=scale)

    def published(self, noisy: list[Any], charge: str | None, series: Sequence[SeriesClaim] = ()) -> Crosstab:
        """Return the release that follows from noisy counts, with its charge and the series that count it."""
        cells = len(self.question.groups) * self.bins.number
        table = np.array(noisy[:cells], dtype=np.int64).reshape(-1, self.bins.number)
        outside = int(noisy[cells]) if self.weights.open else None
        made = publish(table, outside, self.weights, self.question, charge=charge, **self.facts())
        return made.of_series(series)

    def plan(self) -> CrosstabPlan:
        """Return how precise shares of groups will be, from public data alone."""
        assert self.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
        how: dict[str, Any] = {"mechanism": self.noise.mechanism, "unit": self.noise.guarantee.unit}
        return plan_by(
            self.weights, groups=len(self.question.groups), public_sizes=self.question.sizes is not None, **how
        )

    def draw(self, spending: Spending, dataset: str | None) -> Crosstab:
        """Return the release; ``spending`` holds its charge until the caller has written it."""
        noisy, number = self.drawn_for(spending, dataset)
        return self.published(noisy, number, spending.series(number))


def prepare_crosstab(
    reviews: Reviews,
    *,
    by: str,
    values: Sequence[str],
    mechanism: Histogram,
    public: str | PublicRecord | None,
    quantity: QuantityLike = "ratings",
    others: bool = False,
    level: float = LEVEL,
    sizes: Sequence[int] | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    declare_kept: bool = False,
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
) -> ReadyCrosstab:
    """Return a checked release with settled noise, so that errors occur before budget is spent."""
    protected = check_unit(unit)
    if public is None:
        raise InputError(*EXPLAIN_PUBLIC, "; nothing was released")
    if isinstance(values, str):
        raise InputError(Argument("values"), " must be the values of the attribute, such as 'senior' and 'junior'")
    question = CrosstabQuestion(
        by=by,
        values=tuple(str(value).strip() for value in values),
        others=others,
        level=level,
        sizes=None if sizes is None else tuple(sizes),
    )
    record = reviews.public(public, declare_kept=declare_kept)
    check_column(reviews, record, quantity)
    weights = weigh(record, quantity, lone=lone)
    if people(weights) < 2:
        raise InputError("the file has one reviewer only: there is nobody to hide among, so nothing can be released")
    question.all_sizes(weights)  # refuse impossible ones
    bound = crosstab_sensitivity(weights, protected, sizes=sizes is not None)
    settled = settled_bins(mechanism, weights, bound, len(question.groups))
    bins = bins_of(weights, settled.bins or 2)
    group = group_of_each(reviews, by, question.values, stated="values", others=others, sizes=question.sizes)
    noise = prepare(settled, bound, protected, len(question.groups) * bins.number + weights.open)
    value = true_values(reviews, quantity, record=record, lone=lone, span=weights.span)
    table = true_table(bins, value, group, len(question.values), others=others)
    cells = np.append(table.ravel(), [people(weights) - value.size] if weights.open else []).astype(np.int64)
    return ReadyCrosstab(
        weights=weights,
        question=question,
        bins=bins,
        noise=noise.about(neighbours_of(weights, protected, question)),
        public=f"{public_words(public, record, weights.quantity)}; {question.declared}",
        notes=(*record.notes, *caveats(weights, protected)),
        statement=statement_of(question, public, record, score=reviews.report.score),
        terms=terms,
        _reviews=reviews,
        _group=group[reviews.reviewer],
        _truth=noise.checked_counts(cells),
    )


def true_table(bins: Bins, value: Floats, group: Ints, values: int, *, others: bool) -> Ints:
    """Return the number of reviewers in each group and bin, others in the last row, if these are counted.

    ``group`` is the place of each reviewer's value, from 1, or 0 for another value.
    """
    rows = [*range(1, values + 1), *([0] if others else [])]
    return np.array([bins.counts(value[group == row]) for row in rows], dtype=np.int64)
