"""Releases by an attribute of reviewers, and plans of them."""

from __future__ import annotations

from collections.abc import Mapping
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
    tracks_shown,
    written,
)
from peerveil.app.messages import refusal
from peerveil.app.options import changed
from peerveil.app.parsing import parse_lone, reading_of, weighed
from peerveil.app.reading import check_public_stated, groups_by_paper, public_of, read_reviews
from peerveil.app.release import Step, placed, remarks_on
from peerveil.app.requests import ReleaseRequest
from peerveil.mechanisms import Histogram
from peerveil.planning.crosstabs import CrosstabPlan
from peerveil.private.charging import Spending
from peerveil.private.crosstabs import ReadyCrosstab, prepare_crosstab
from peerveil.private.grouped.promises import TrackPromises, promised_tracks
from peerveil.private.grouped.tracks import ReadyTracks, TrackAnswers, prepare_tracks
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


def plan_tracks(request: ReleaseRequest, step: Step) -> tuple[TrackPromises, tuple[str, ...]]:
    """Return what the releases of groups of papers would state and cost, and remarks for the chair only."""
    joint, plans, remarks = _ready_tracks(request, step)
    return promised_tracks(joint, plans, request.ledger, request.what.dataset), remarks


def promise(request: ReleaseRequest, step: Step) -> dict[str, Any]:
    """Return what the release will state and cost, and how precise it will be, as the page shows it."""
    dataset, ledger = request.what.dataset, request.ledger
    if request.tracks.given:
        joint, plans, _ = _ready_tracks(request, step)
        return tracks_shown(joint, plans, ledger, dataset)
    _check(request)
    check_dataset(dataset, ledger)
    reviews, public = _read(request, step)
    step("Planning")
    ready = _prepared(request, reviews, public)
    planned = ready.plan()
    return answer_shown(ready, ledger, dataset) | plan_shown(planned, PLANNED, verdict=planned.verdict)


def release(
    request: ReleaseRequest, spending: Spending, *, step: Step, write: Write | None = None
) -> Written[Crosstab]:
    """Return the release, written into a new folder; the caller closes ``spending`` and reports charges."""
    _check(request)
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed

    tracks = _tracks(request)

    def draw(reviews: Reviews, public: str | PublicRecord) -> Crosstab | TrackAnswers[Crosstab]:
        if tracks:
            return _prepared_tracks(request, reviews, public, tracks).draw(spending, request.what.dataset)
        return _prepared(request, reviews, public).draw(spending, request.what.dataset)

    place = (request.output, request.overwrite)
    return written(*place, lambda: _read(request, step), draw, spending, tracks=tracks, step=step, write=write)


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
    if given or request.no_report:
        raise refusal("{by} does not go with {region}, {estimator}, {prior} or {no_report}")
    if request.no_shared_reviewers:
        raise refusal("{by} does not go with {no_shared_reviewers}: an exchange between groups of papers shows in both")
    terms_of(request.what)


def _read(request: ReleaseRequest, step: Step) -> tuple[Reviews, str | PublicRecord]:
    step("Reading the reviews")
    reading = reading_of(request.reading, _quantity(request))
    reviews = read_reviews(request.file, reading)
    return reviews, public_of(reviews, request.what, request.loads, reading)


def _ready_tracks(
    request: ReleaseRequest, step: Step
) -> tuple[ReadyTracks[ReadyCrosstab], dict[str, CrosstabPlan], tuple[str, ...]]:
    """The checked releases of all groups of papers, their plans, and remarks on the file."""
    _check(request)
    reviews, public = _read(request, step)
    step("Planning")
    joint = _prepared_tracks(request, reviews, public, _tracks(request))
    return joint, {name: ready.plan() for name, ready in joint.ready.items()}, remarks_on(reviews)


def _prepared(request: ReleaseRequest, reviews: Reviews, public: str | PublicRecord) -> ReadyCrosstab:
    return prepare_crosstab(reviews, public=public, declare_kept=request.what.declare_kept, **_asked(request))


def _prepared_tracks(
    request: ReleaseRequest, reviews: Reviews, public: str | PublicRecord, tracks: Mapping[str, str]
) -> ReadyTracks[ReadyCrosstab]:
    return prepare_tracks(prepare_crosstab, reviews, tracks, public=public, **_asked(request))


def _tracks(request: ReleaseRequest) -> dict[str, str]:
    """The group of each paper; none if the papers are not in groups."""
    return groups_by_paper(request.tracks, request.file, request.reading) if request.tracks.given else {}


def _asked(request: ReleaseRequest) -> dict[str, Any]:
    """The arguments of a release, but for reviews and what is public."""
    what, values = request.what, listed(str(request.values))
    return {
        "by": str(request.by),
        "values": values,
        "sizes": None if request.sizes is None else listed_sizes(request.sizes, len(values)),
        "mechanism": Histogram(epsilon=request.noise.epsilon, bins=request.noise.bins),
        "quantity": _quantity(request),
        "others": request.others,
        "unit": what.unit,
        "lone": parse_lone(what.lone),
        "terms": terms_of(what),
    }


def _quantity(request: ReleaseRequest) -> str:
    what = request.what
    return weighed(what.quantity, what.statistic, what.share, what.weight)
