"""Releases of correlations: whether people who reviewed for two conferences are as lenient in one as in the other."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import Argument, InputError, LedgerWarning
from peerveil.inference.effects import LEVEL, check_level
from peerveil.mechanisms import Histogram, Laplace
from peerveil.planning.linked import CorrelationPlan, plan_correlation
from peerveil.privacy.guarantee import Unit, check_unit
from peerveil.privacy.linked.counts import MOST, LinkedCounts
from peerveil.privacy.linked.sums import LEAST, LinkedSums, Side
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.stated_facts import Statement
from peerveil.private.answers import ReadyAnswer, stating
from peerveil.private.charging import Spending
from peerveil.private.fingerprint import Fingerprint, fingerprint
from peerveil.private.ledger.release_facts import release_statement
from peerveil.private.linked.joining import same_reviewers
from peerveil.private.noise import prepare
from peerveil.private.release import check_column, check_dataset, public_words, spending_for
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.private.true_vector import by_reviewer
from peerveil.quantities.base import Lone
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import review_weights, weigh
from peerveil.record.public_record import Floats, Ints, PublicRecord
from peerveil.releases.linked.published import (
    Correlation,
    LinkQuestion,
    Recorded,
    charged_as,
    linked_caveats,
    linked_neighbours,
    publish,
)
from peerveil.reporting.terms import About, Terms
from peerveil.tables.opening import Readable

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

# ruff: noqa: PLC0415 - databases only where they are needed

#: The names of conferences that have no other.
UNNAMED = ("the first conference", "the second conference")

#: What is public about each of two conferences: the same words for both, or one statement each.
PublicPair = str | Sequence[str | PublicRecord] | None


def correlate(
    first: Reviews,
    second: Reviews,
    *,
    epsilon: float,
    public: PublicPair = None,
    quantity: QuantityLike = "miscalibration",
    links: Readable | None = None,
    merge_names: bool = False,
    names: Sequence[str] | None = None,
    least: int = LEAST,
    bins: int | None = None,
    level: float = LEVEL,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    ledger: str | None = None,
    datasets: Sequence[str] | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Correlation:
    r"""Release the correlation between people's means in two conferences with differential privacy.

    It is that of the means as observed, and, where scores are public, that of the trait behind them: means over very
    many reviews. People are those with reviews in both conferences; who they are, and their number, stays private.

    Args:
        first: the private reviews of a conference.
        second: those of another one.
        epsilon: the budget, for all reviews of a person in both conferences.
        public: which scores are public: ``"all"``, ``"none"``, or a pair of these or of public records, one for each
            conference. There is no default.
        quantity: the weight of a review, as in :func:`peerveil.release`; miscalibration is leniency.
        links: a table of two columns, a person's id in the first conference and in the second. By default people have
            the same id in both.
        merge_names: whether ids in that table count as equal that differ only in case, blanks or accents, as in
            :func:`peerveil.read`.
        names: the names of the conferences, which are published; by default those of the data sets.
        least: only people with at least so many reviews in each conference count. More of them need less noise.
        bins: 2 to 4: release the numbers of people by their means in both conferences, as a table with so many bins
            in each, and the correlation that follows from it. That of the trait does not; and by default, without the
            table, the correlation needs less noise.
        level: the level of intervals.
        unit: the protected unit: all reviews of a person (``"reviewer"``), or one ``"review"``.
        lone: the miscalibration of a paper's single review: ``"refuse"`` it, or count it as ``"zero"``.
        ledger: the ledger to charge before noise is drawn.
        datasets: the names of both data sets in the ledger; both are charged, or none.
        licence: the licence of the release.
        citation: how to cite it, instead of the usual citation.
        about: title, conference, authors, contact and address of the release.

    >>> import io
    >>> import peerveil as pv
    >>> def conference(step):
    ...     rows = [f"p{i},r{(i + j * step) % 40},{(i * j) % 5 + 1}" for i in range(40) for j in range(3)]
    ...     return pv.read(io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode()), scale=(1, 5))
    >>> made = pv.correlate(conference(1), conference(3), public="all", epsilon=1.0)
    >>> -1 <= made.low <= made.high <= 1
    True
    """
    check_datasets(datasets, ledger)
    with spending_for(ledger) as spending:
        prepared = prepare_correlation(
            first,
            second,
            mechanism=linked_noise(epsilon, bins),
            public=public,
            quantity=quantity,
            links=links,
            merge_names=merge_names,
            names=datasets if names is None else names,
            least=least,
            bins=bins,
            level=level,
            unit=unit,
            lone=lone,
            terms=Terms(licence=licence, citation=citation, about=about or About()),
        )
        return prepared.draw_linked(spending, datasets)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Second:
    """What a release of two conferences needs of the second one."""

    reviews: Reviews
    statement: Statement
    positions: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyCorrelation(ReadyAnswer):
    """A checked release of a correlation, before budget is spent and noise is drawn.

    Attributes:
        sums: the numbers that are made private, and their sensitivity.
        question: what is asked.
        second: what is public about the second conference.
    """

    question: LinkQuestion
    sums: LinkedSums | LinkedCounts
    second: Recorded
    _second: _Second = field(repr=False)

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release."""
        return charged_as(self.question, self.weights.quantity)

    @property
    def released(self) -> str:
        """What is released, in words."""
        table = "" if self.question.bins is None else "the table of means and "
        return f"{table}the correlation between {' and '.join(self.question.names)}"

    def bound(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity for a unit."""
        return self.sums.sensitivity(unit)

    def neighbours(self, unit: Unit) -> Neighbours:
        """Return the neighbour relation for a unit."""
        del unit  # its words differ, not the relation
        return linked_neighbours([side.weights for side in self.sums.sides])

    def settings(self) -> dict[str, Any]:
        """Return the settings that identify the release; nothing in it is private."""
        return super().settings() | {
            "second": self.second.to_document(),
            "second_statement": self._second.statement.to_document(),
        }

    def plan(self, people: int | None = None) -> CorrelationPlan:
        """Return the intervals to expect with this noise, if so many people are in both; from public data alone."""
        first, second = (side.weights for side in self.sums.sides)
        claim = self.noise.guarantee
        assert claim.unit is not None  # noqa: S101 - our own claims have one
        assert claim.epsilon is not None  # noqa: S101 - they are pure
        return plan_correlation(
            first,
            second,
            people=people,
            epsilons=(claim.epsilon,),
            unit=claim.unit,
            least=self.question.least,
            level=self.question.level,
            bins=self.question.bins,
        )

    def draw_linked(self, spending: Spending, datasets: Sequence[str] | None) -> Correlation:
        """Return the correlation; ``spending`` holds its charge until the caller has written it."""
        noisy, number = self._drawn_for(spending, datasets)
        made = publish(
            np.array(noisy, dtype=np.float64),
            self.sums,
            self.question,
            second_public=self.second.public,
            charge=number,
            **self.facts(),
        )
        return made.of_series(spending.series(number))

    def _drawn_for(self, spending: Spending, datasets: Sequence[str] | None) -> tuple[list[Any], str | None]:
        check_datasets(datasets, spending.ledger)
        if spending.ledger is None:
            return self.drawn(), None
        from peerveil.private.ledger import Ledger

        book = Ledger(spending.ledger)
        one, other = (book.dataset(name) for name in datasets or ())
        order = self._order(
            one, self._data(), lambda book, _, number: self._charge_both(book, one, other, number), also=(other,)
        )
        number, drawn = spending.drawn(order)
        return drawn["noisy"], number

    def _data(self) -> Fingerprint | None:
        """The fingerprint of both conferences and of who is who."""
        both = [fingerprint(self._reviews, self._group), fingerprint(self._second.reviews, self._second.positions)]
        if both[0] is None or both[1] is None:
            return None
        digest = hashlib.sha256(f"{both[0].digest} {both[1].digest}".encode()).hexdigest()
        return Fingerprint(key=both[0].key, digest=digest)

    def _charge_both(self, book: Ledger, first: str, second: str, number: str) -> None:
        from peerveil.private.ledger import Charged

        assert self.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
        charges = book.charge_all(
            [
                Charged(
                    dataset=first,
                    fingerprint=fingerprint(self._reviews),
                    statement=self.statement,
                    committee=self._reviews.report.committee,
                ),
                Charged(
                    dataset=second,
                    fingerprint=fingerprint(self._second.reviews),
                    statement=self._second.statement,
                    committee=self._second.reviews.report.committee,
                ),
            ],
            self.claim_for,
            quantity=self.charged_as,
            unit=self.noise.guarantee.unit,
            mechanism=self.noise.mechanism,
            release=number,
        )
        for remark in dict.fromkeys(remark for charge in charges for remark in charge.remarks):
            warnings.warn(LedgerWarning(remark), stacklevel=3)

    def statements(self) -> tuple[Statement, Statement]:
        """Return what is stated about each data set."""
        return self.statement, self._second.statement


def check_datasets(datasets: Sequence[str] | None, ledger: str | None) -> None:
    """Refuse data sets without a ledger, and a ledger without the names of two."""
    if ledger is None:
        check_dataset(None if datasets is None else ",".join(datasets), None)
    elif datasets is None or isinstance(datasets, str) or len(datasets) != 2 or datasets[0] == datasets[1]:
        raise InputError(
            Argument("datasets"), " must name the data sets of both conferences in the ledger, which are both charged"
        )


def prepare_correlation(
    first: Reviews,
    second: Reviews,
    *,
    mechanism: Laplace | Histogram,
    public: PublicPair,
    quantity: QuantityLike = "miscalibration",
    links: Readable | None = None,
    merge_names: bool = False,
    names: Sequence[str] | None = None,
    least: int = LEAST,
    bins: int | None = None,
    level: float = LEVEL,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
) -> ReadyCorrelation:
    """Return a checked release with settled noise, so that errors occur before budget is spent."""
    protected = check_unit(unit)
    stated = _pair(public)
    question = LinkQuestion(names=_names(names), least=least, level=check_level(level), bins=bins)
    both = (first, second)
    records = [reviews.public(each) for reviews, each in zip(both, stated, strict=True)]
    weights = []
    for reviews, record in zip(both, records, strict=True):
        check_column(reviews, record, quantity)
        weights.append(weigh(record, quantity, lone=lone))
        if weights[-1].reviewers < 2:
            raise InputError("a file has one reviewer only: there is nobody to hide among, so nothing can be released")
    sums = question.numbers(weights)
    people = same_reviewers(first, second, links, merge_names=merge_names)
    each = [
        review_weights(reviews, quantity, record=record, lone=lone)
        for reviews, record in zip(both, records, strict=True)
    ]
    number = len(sums.units) if isinstance(sums, LinkedSums) else sums.number**2
    noise = prepare(mechanism, sums.sensitivity(protected), protected, number)
    if isinstance(sums, LinkedSums):
        numbers, positions = true_numbers(sums, both, each, people)
        truth: Any = noise.checked(numbers)
    else:
        counts, positions = true_counts(sums, both, each, people)
        truth = noise.checked_counts(counts)
    statements = [
        stating(release_statement(one, record, score=reviews.report.score), question.stated_of(place))
        for place, (one, record, reviews) in enumerate(zip(stated, records, both, strict=True))
    ]
    words = [public_words(one, record, weights[0].quantity) for one, record in zip(stated, records, strict=True)]
    notes = dict.fromkeys((*records[0].notes, *records[1].notes, *linked_caveats(weights, protected)))
    return ReadyCorrelation(
        weights=weights[0],
        sums=sums,
        question=question,
        second=Recorded.of(weights[1], words[1]),
        noise=noise.about(linked_neighbours(weights)),
        public=f"{words[0]}; {question.declared}",
        notes=tuple(notes),
        statement=statements[0],
        terms=terms,
        _reviews=first,
        _group=positions[0],
        _truth=truth,
        _second=_Second(reviews=second, statement=statements[1], positions=positions[1]),
    )


def true_numbers(
    sums: LinkedSums, both: tuple[Reviews, Reviews], weights: Sequence[Floats], people: tuple[Ints, Ints]
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return the true numbers in their units, which are only ever passed to the noise.

    Also returns for each review of a conference the position of its reviewer in the other one, 2 if there is none, for
    fingerprints.
    """
    places, loads = [], []
    for side, reviews, weight in zip(sums.sides, both, weights, strict=True):
        total = np.bincount(reviews.reviewer, weights=side.clipped(weight) - side.centre)
        places.append(side.positions(np.asarray(total, dtype=np.float64)))
        loads.append(np.bincount(reviews.reviewer))
    one, other = _counted(sums.sides, loads, people)
    x, y = places[0][one], places[1][other]
    a, b = (
        np.minimum(load[each] / side.largest, 1.0)
        for load, each, side in zip(loads, (one, other), sums.sides, strict=True)
    )
    each_person = {
        "people": np.ones(x.size),
        "loads_1": a**2,
        "loads_2": b**2,
        "loads": a * b,
        "sum_1": x,
        "sum_2": y,
        "alike": ((x + y) / 2) ** 2,
        "apart": ((x - y) / 2) ** 2,
        "difference": (x**2 - y**2) / 2,
    }
    truth = np.array([math.fsum(each_person[name].tolist()) * unit for name, unit in sums.units.items()])
    return truth, _elsewhere(both, (one, other), (x, y))


def true_counts(
    table: LinkedCounts, both: tuple[Reviews, Reviews], weights: Sequence[Floats], people: tuple[Ints, Ints]
) -> tuple[Ints, tuple[Floats, Floats]]:
    """Return the true counts, which are only ever passed to the noise, and the same as :func:`true_numbers`.

    Means do not depend on the order of reviews, to the last bit: nobody changes cells who exchanged nothing.
    """
    loads = [np.bincount(reviews.reviewer) for reviews in both]
    means = [
        np.array([MEAN.of(own) for own in by_reviewer(reviews, weight)])
        for reviews, weight in zip(both, weights, strict=True)
    ]
    one, other = _counted(table.sides, loads, people)
    cells = table.cells((means[0][one], means[1][other]))
    first, second = (np.asarray(place, dtype=np.float64) for place in np.divmod(cells, table.number))
    counts = np.bincount(cells, minlength=table.number**2).astype(np.int64)
    return counts, _elsewhere(both, (one, other), (first - MOST, second - MOST))


def _counted(sides: tuple[Side, Side], loads: Sequence[Ints], people: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """The places in both conferences of the people who have enough reviews in each."""
    enough = np.logical_and(*(load[each] >= side.least for load, each, side in zip(loads, people, sides, strict=True)))
    return people[0][enough], people[1][enough]


def _elsewhere(
    both: tuple[Reviews, Reviews], people: tuple[Ints, Ints], places: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """For each review of a conference where its reviewer is placed in the other one, 2 if that is nowhere."""
    first, second = (np.full(int(reviews.reviewer.max()) + 1, 2.0) for reviews in both)
    first[people[0]], second[people[1]] = places[1], places[0]
    return first[both[0].reviewer], second[both[1].reviewer]


def linked_noise(epsilon: float, bins: int | None) -> Laplace | Histogram:
    """Return the noise for sums, or for counts by bins."""
    return Laplace(epsilon=epsilon) if bins is None else Histogram(epsilon=epsilon, bins=bins)


def _pair(public: PublicPair) -> tuple[str | PublicRecord, str | PublicRecord]:
    if public is None:
        raise InputError(*EXPLAIN_PUBLIC, "; nothing was released")
    if isinstance(public, str | PublicRecord):
        if isinstance(public, PublicRecord):
            raise InputError(Argument("public"), " must be a pair of public records, one for each conference")
        return public, public
    if len(public) != 2:
        raise InputError(Argument("public"), f" must be a pair, one for each conference, got {len(public)}")
    return public[0], public[1]


def _names(names: Sequence[str] | None) -> tuple[str, str]:
    if names is None:
        return UNNAMED
    if isinstance(names, str) or len(names) != 2:
        raise InputError(Argument("names"), " must be two names, one for each conference")
    return str(names[0]).strip(), str(names[1]).strip()
