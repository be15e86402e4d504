"""Releases by an attribute of reviewers, and plans of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerveil.app.effects import (
    Write,
    Written,
    answer_shown,
    budget,
    listed,
    listed_sizes,
    plan_shown,
    terms_of,
    written,
)
from peerveil.app.messages import refusal
from peerveil.app.options import changed
from peerveil.app.parsing import parse_lone, reading_of, weighed
from peerveil.app.reading import check_public_stated, public_of, read_reviews
from peerveil.app.release import Step, placed, remarks_on
from peerveil.app.requests import ReleaseRequest
from peerveil.mechanisms import Histogram
from peerveil.planning.crosstabs import CrosstabPlan
from peerveil.private.charging import Spending
from peerveil.private.crosstabs import ReadyCrosstab, prepare_crosstab
from peerveil.private.ledger import Quote
from peerveil.private.promises import cost_words, quotes_of
from peerveil.private.release import check_dataset
from peerveil.private.reviews import Reviews
from peerveil.record.public_record import PublicRecord
from peerveil.releases.effects.crosstabs import Crosstab

#: The header of a plan's table.
PLANNED = ("reviewers in a group", "deviation of a share")

#: Options of other releases, with their defaults, that a table of counts has no use for.
_ELSEWHERE = {"region": "tight", "estimator": None, "prior": None, "accept_float_noise": False}


@dataclass(frozen=True, kw_only=True)
class Planned:
    """How precise a release would be, what it would claim and cost, and remarks on the file, for the chair only."""

    plan: CrosstabPlan
    claim: str
    costs: tuple[Quote, ...]
    remarks: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Claim and costs in words."""
        return (f"Claim: {self.claim}.", *(f"Cost: {cost_words(cost)}." for cost in self.costs))


def plan(request: ReleaseRequest, step: Step) -> Planned:
    """Return how precise the release would be, and its cost; nothing is drawn, charged or written.

    It is refused if the release would be.
    """
    _check(request)
    reviews, public = _read(request, step)
    step("Planning")
    ready = _prepared(request, reviews, public)
    check_dataset(request.what.dataset, request.ledger)
    costs = quotes_of(request.ledger, request.what.dataset, ready.claim_for, ready.statement)
    return Planned(plan=ready.plan(), claim=ready.noise.guarantee.summary, costs=costs, remarks=remarks_on(reviews))


def promise(request: ReleaseRequest, step: Step) -> dict[str, Any]:
    """Return what the release will state and cost, and how precise it will be, as the page shows it."""
    _check(request)
    dataset, ledger = request.what.dataset, request.ledger
    check_dataset(dataset, ledger)
    reviews, public = _read(request, step)
    step("Planning")
    ready = _prepared(request, reviews, public)
    of = f"the numbers of reviewers in each bin, for {', '.join(ready.question.groups)}"
    return answer_shown(ready, of, ledger, dataset) | plan_shown(ready.plan(), PLANNED)


def release(
    request: ReleaseRequest, spending: Spending, *, step: Step, write: Write | None = None
) -> Written[Crosstab]:
    """Return the release, written into a new folder; the caller closes ``spending`` and reports charges."""
    _check(request)
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed

    def draw(reviews: Reviews, public: str | PublicRecord) -> Crosstab:
        return _prepared(request, reviews, public).draw(spending, request.what.dataset)

    place = (request.output, request.overwrite)
    return written(*place, lambda: _read(request, step), draw, spending, step=step, write=write)


def _check(request: ReleaseRequest) -> None:
    """Refuse options that do not go with a table of counts, before any file is read."""
    check_public_stated(request.what)
    budget(request.noise.epsilon)
    if request.by is None:
        raise refusal("{values}, {others} and {sizes} go with {by}")
    if request.values is None:
        raise refusal("state the values of the attribute with {values}, such as senior,junior; they are published")
    if set(changed(request.noise)) - {"epsilon", "bins", "mechanism"} or request.noise.mechanism not in (
        None,
        "histogram",
    ):
        raise refusal("{by} releases counts, with {epsilon} and {bins} only")
    given = [name for name, default in _ELSEWHERE.items() if getattr(request.what, name) != default]
    if given or request.tracks.given or request.no_shared_reviewers or request.no_report:
        raise refusal("{by} does not go with {region}, {estimator}, {prior}, {groups}, {group_column} or {no_report}")
    terms_of(request.what)


def _read(request: ReleaseRequest, step: Step) -> tuple[Reviews, str | PublicRecord]:
    step("Reading the reviews")
    reading = reading_of(request.reading, _quantity(request))
    reviews = read_reviews(request.file, reading)
    return reviews, public_of(reviews, request.what, request.loads, reading)


def _prepared(request: ReleaseRequest, reviews: Reviews, public: str | PublicRecord) -> ReadyCrosstab:
    what, values = request.what, listed(str(request.values))
    return prepare_crosstab(
        reviews,
        by=str(request.by),
        values=values,
        sizes=None if request.sizes is None else listed_sizes(request.sizes, len(values)),
        mechanism=Histogram(epsilon=request.noise.epsilon, bins=request.noise.bins),
        public=public,
        quantity=_quantity(request),
        others=request.others,
        unit=what.unit,
        lone=parse_lone(what.lone),
        declare_kept=what.declare_kept,
        terms=terms_of(what),
    )


def _quantity(request: ReleaseRequest) -> str:
    what = request.what
    return weighed(what.quantity, what.statistic, what.share, what.weight)
