"""Releases of effects: the difference of a mean weight between two groups of reviewers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL, check_level
from peerveil.mechanisms import Laplace
from peerveil.planning.effects import EffectPlan, plan_effect
from peerveil.privacy.group_sums import GroupSums, default_limits
from peerveil.privacy.guarantee import Unit, check_unit
from peerveil.privacy.joint_claims import GroupClaim
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.private.answers import ReadyAnswer, attribute_of, group_of_each, neighbours_of, statement_of
from peerveil.private.charging import Spending
from peerveil.private.noise import prepare
from peerveil.private.release import check_column, public_words, spending_for
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.weights import review_weights, weigh
from peerveil.record.public_record import Floats, Ints, PublicRecord
from peerveil.releases.effects.answers import caveats
from peerveil.releases.effects.published import PAIRS, Effect, Question, charged_as, noise_law, publish, sums_claim
from peerveil.releases.release import Release
from peerveil.reporting.terms import About, Terms


def effect(
    reviews: Reviews,
    *,
    by: str,
    compare: Sequence[str] | None = None,
    same: Mapping[str, str] | None = None,
    epsilon: float,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    others: bool = False,
    randomised: bool = False,
    limits: tuple[float, float] | None = None,
    icc: float | Release | None = None,
    level: float = LEVEL,
    sizes: Sequence[int] | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    ledger: str | None = None,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Effect:
    r"""Release the difference between the mean weights of two groups of reviewers with differential privacy.

    Args:
        reviews: the private reviews, read with a table of attributes (:func:`peerveil.read`, ``attributes=``).
        by: the attribute that defines the groups.
        compare: its values for the two groups; the effect is the first group's mean minus the second's. They are
            published.
        same: instead of ``compare``, the public value of the attribute for each paper (:func:`peerveil.read_groups`).
            Reviews by reviewers with the same value as the paper are compared with the other reviews of that paper.
        epsilon: the budget.
        public: which scores are public: ``"all"``, ``"none"``, or the public record. There is no default.
        quantity: the weight of a review, as in :func:`peerveil.release`.
        others: whether reviewers may be in neither group; otherwise it is declared that none is, which is checked.
        randomised: state that the groups were assigned at random, independently of papers. Then a randomisation test is
            made, and miscalibrations need less noise.
        limits: public limits at which weights are clipped. By default the range of hidden ratings; else the outermost
            public weights that at least 5 % of them reach.
        icc: the intraclass correlation of a reviewer's weights, if it is public: a number, or a release of means of the
            same quantity, of which the upper end is taken. Both groups are then taken to be equally spread. By default
            it is learnt, with the spread of each group, from a fifth of the budget.
        level: the level of the interval.
        sizes: the number of reviewers of each group, if these are public; checked. Neighbours then share them: an
            attribute changes only by an exchange with another reviewer.
        unit: the protected unit: all reviews and attributes of a ``"reviewer"``, or one ``"review"``.
        lone: the miscalibration of a paper's single review: ``"refuse"`` it, or count it as ``"zero"``.
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
    >>> made = pv.effect(reviews, by="seniority", compare=("senior", "junior"), public="all", epsilon=1.0)
    >>> made.groups, made.low < made.estimate < made.high
    (('senior', 'junior'), True)
    """
    with spending_for(ledger) as spending:
        prepared = prepare_effect(
            reviews,
            by=by,
            compare=compare,
            same=same,
            mechanism=Laplace(epsilon=epsilon),
            public=public,
            quantity=quantity,
            others=others,
            randomised=randomised,
            limits=limits,
            icc=icc,
            level=level,
            sizes=sizes,
            unit=unit,
            lone=lone,
            terms=Terms(licence=licence, citation=citation, about=about or About()),
        )
        return prepared.draw(spending, dataset)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyEffect(ReadyAnswer):
    """A checked release of an effect, before budget is spent and noise is drawn.

    Attributes:
        sums: the numbers that are made private, and their sensitivity.
        question: what is compared.
    """

    question: Question
    sums: GroupSums

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release."""
        return charged_as(self.question, self.weights.quantity)

    @property
    def released(self) -> str:
        """What is released of the groups, in words."""
        return f"{' minus '.join(self.question.groups)}, the difference of the mean"

    def bound(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity for a unit."""
        return self.sums.sensitivity(unit)

    def group_claim(self, unit: Unit) -> GroupClaim:
        """Return the claim for a unit with what determines the joint claim of several groups of papers."""
        return sums_claim(self.claim_for(unit), self.sums, noise_law(self.noise.mechanism.describe()).scale)

    def published(self, noisy: list[Any], charge: str | None, series: Sequence[SeriesClaim] = ()) -> Effect:
        """Return the effect that follows from noisy numbers, with its charge and the series that count it."""
        numbers = np.array(noisy, dtype=np.float64)
        made = publish(numbers, self.sums, self.question, charge=charge, **self.facts())
        return made.of_series(series)

    def plan(self, first_share: float = 0.5, epsilons: Sequence[float] = ()) -> EffectPlan:
        """Return the smallest effect that would be seen, from public data alone, at this and other budgets.

        ``first_share`` is the assumed share of reviews of the first group, unless sizes of groups are public.
        """
        claim, asked = self.noise.guarantee, self.question
        assert claim.unit is not None  # noqa: S101 - our own claims have one
        assert claim.epsilon is not None  # noqa: S101 - it is pure
        how: dict[str, Any] = {name: getattr(asked, name) for name in ("others", "randomised", "pairs", "icc", "sizes")}
        budgets = sorted({claim.epsilon, *epsilons})
        return plan_effect(
            self.weights,
            epsilons=budgets,
            unit=claim.unit,
            first_share=first_share,
            limits=asked.limits,
            level=asked.level,
            **how,
        )

    def draw(self, spending: Spending, dataset: str | None) -> Effect:
        """Return the effect; ``spending`` holds its charge until the caller has written it."""
        noisy, number = self.drawn_for(spending, dataset)
        return self.published(noisy, number, spending.series(number))


def prepare_effect(
    reviews: Reviews,
    *,
    by: str,
    compare: Sequence[str] | None = None,
    same: Mapping[str, str] | None = None,
    mechanism: Laplace,
    public: str | PublicRecord | None,
    quantity: QuantityLike = "ratings",
    others: bool = False,
    randomised: bool = False,
    limits: tuple[float, float] | None = None,
    icc: float | Release | None = None,
    level: float = LEVEL,
    sizes: Sequence[int] | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    declare_kept: bool = False,
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
) -> ReadyEffect:
    """Return a checked release with settled noise, so that errors occur before budget is spent."""
    protected = check_unit(unit)
    if public is None:
        raise InputError(*EXPLAIN_PUBLIC, "; nothing was released")
    record = reviews.public(public, declare_kept=declare_kept)
    check_column(reviews, record, quantity)
    weights = weigh(record, quantity, lone=lone)
    if weights.reviewers < 2:
        raise InputError("the file has one reviewer only: there is nobody to hide among, so nothing can be released")
    question = Question(
        by=by,
        groups=_two(compare, pairs=same is not None),
        pairs=same is not None,
        others=others,
        randomised=randomised,
        limits=default_limits(weights) if limits is None else (float(limits[0]), float(limits[1])),
        icc=_correlation(icc, weights.quantity),
        level=check_level(level),
        sizes=None if sizes is None else _pair(sizes),
    )
    sums = question.sums(weights)
    if same is None:
        group = group_of_each(reviews, by, question.groups, stated="compare", others=others, sizes=question.sizes)
        mine = group[reviews.reviewer]
    else:
        mine = shared_with_paper(reviews, by, same)
    noise = prepare(mechanism, sums.sensitivity(protected), protected, len(sums.units))
    weight = review_weights(reviews, quantity, record=record, lone=lone)
    return ReadyEffect(
        weights=weights,
        sums=sums,
        question=question,
        noise=noise.about(neighbours_of(weights, protected, question)),
        public=f"{public_words(public, record, weights.quantity)}; {question.declared}",
        notes=(*record.notes, *caveats(weights, protected)),
        statement=statement_of(question, public, record, score=reviews.report.score),
        terms=terms,
        _reviews=reviews,
        _group=mine,
        _truth=noise.checked(true_numbers(sums, reviews, weight, mine)),
    )


def true_numbers(sums: GroupSums, reviews: Reviews, weight: Floats, mine: Ints) -> Floats:
    """Return the true numbers in their units, which are only ever passed to the noise.

    ``mine`` is the group of each review: 1, 2, or 0 for others.
    """
    clipped = sums.clipped(weight)
    numbers: dict[str, float] = {}
    for g in (1, 2):
        numbers[f"sum_{g}"] = math.fsum(clipped[mine == g].tolist())
        numbers[f"reviews_{g}"] = float(np.count_nonzero(mine == g))
    size = np.bincount(reviews.paper)
    first = np.bincount(reviews.paper, weights=mine == 1)
    numbers["mixed"] = math.fsum((first * (size - first) / np.maximum(size - 1, 1)).tolist())
    own = np.bincount(reviews.reviewer, weights=clipped - sums.mean)
    squares, group = np.minimum(own**2, sums.cap), np.zeros(own.size, dtype=np.int64)
    group[reviews.reviewer] = mine  # of pairs no group of reviewers is asked for
    numbers["squares"] = math.fsum(squares.tolist())
    numbers |= {f"squares_{g}": math.fsum(squares[group == g].tolist()) for g in (1, 2)}
    return np.array([numbers[name] * unit for name, unit in sums.units.items()])


def shared_with_paper(reviews: Reviews, by: str, same: Mapping[str, str]) -> Ints:
    """Return for each review 1 if reviewer and paper have the same value of an attribute, else 2."""
    missing = sum(paper not in same for paper in reviews.papers)
    if missing:
        raise InputError(Argument("same"), f" must have a value for every paper; it has none for {missing} papers")
    places = {value: place for place, value in enumerate(sorted(set(same.values())))}
    theirs = np.array([places[same[paper]] for paper in reviews.papers])
    mine = np.array([places.get(value, -1) for value in attribute_of(reviews, by)[0]])
    return np.where(mine[reviews.reviewer] == theirs[reviews.paper], 1, 2)


def _two(compare: Sequence[str] | None, *, pairs: bool) -> tuple[str, str]:
    if pairs:
        if compare is not None:
            raise InputError(Argument("compare"), " names groups of reviewers; leave it out with ", Argument("same"))
        return PAIRS
    if compare is None or isinstance(compare, str) or len(compare) != 2:
        raise InputError(
            Argument("compare"), " must name two groups, such as 'senior' and 'junior': the values of the attribute"
        )
    first, second = (str(name).strip() for name in compare)
    return first, second


def _pair(sizes: Sequence[int]) -> tuple[int, int]:
    if isinstance(sizes, str) or len(sizes) != 2:
        raise InputError(Argument("sizes"), " must be two whole numbers, one for each group")
    return sizes[0], sizes[1]


def _correlation(icc: float | Release | None, quantity: str) -> float | None:
    """The stated intraclass correlation: a number, or the upper end of that in a release of means."""
    if not isinstance(icc, Release):
        return icc
    shares = [finding.upper for finding in icc.findings if finding.name == "leniency_share"]
    if icc.quantity != quantity or not shares:
        raise InputError(Argument("icc"), f" must be a number, or a release of {quantity} whose findings state it")
    return min(max(shares[0], 0.0), 1.0)
