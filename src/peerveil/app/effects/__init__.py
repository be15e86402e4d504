"""Releases of effects, and plans of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from peerveil.app.messages import refusal
from peerveil.app.options import ReleaseOptions
from peerveil.app.parsing import parse_about, parse_lone, parse_numbers
from peerveil.app.reading import check_public_stated, groups_by_paper, public_of, read_reviews
from peerveil.app.release import Step, claim_shown, remarks_on
from peerveil.app.requests import EffectRequest
from peerveil.errors import Argument, InputError, OutputError
from peerveil.mechanisms import Laplace
from peerveil.planning.crosstabs import CrosstabPlan
from peerveil.planning.effects import EffectPlan, plan_effect
from peerveil.private.answers import ReadyAnswer
from peerveil.private.charging import Spending
from peerveil.private.effects import ReadyEffect, prepare_effect
from peerveil.private.grouped.promises import AnswerPromise, TrackPromises, promised, promised_tracks
from peerveil.private.grouped.tracks import ReadyTracks, TrackAnswers, prepare_tracks
from peerveil.private.promises import cost_words, quotes_of
from peerveil.private.release import check_dataset
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import remark_on_small
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import PublicRecord
from peerveil.record.tracks import folder_names, read_groups
from peerveil.releases.effects.answers import OWN_FILES, Answer, public_in_groups
from peerveil.releases.effects.published import Effect
from peerveil.reporting.terms import Terms
from peerveil.support.atomic_files import Room, staged_folder

#: A published effect, or a table of counts by an attribute.
T_co = TypeVar("T_co", bound=Answer, covariant=True)

#: The budgets of a plan.
EPSILONS = (0.3, 1.0, 3.0)

#: The header of a plan's table.
PLANNED = ("budget", "smallest effect seen", "interval")

#: Writes an answer into a folder.
Write = Callable[[Answer, Path], None]


@dataclass(frozen=True, kw_only=True)
class Written(Generic[T_co]):
    """An answer about groups of reviewers that was written, and information for the chair only.

    With groups of papers, there is an answer for each: ``tracks``, in ``folders``.
    """

    answer: T_co
    tracks: TrackAnswers[T_co] | None = None
    folders: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()
    remarks: tuple[str, ...] = ()


def placed(request: EffectRequest) -> EffectRequest:
    """Return the request with its output folder: by default one named after the file, which must not exist."""
    if request.output is not None:
        return request
    return replace(request, output=new_folder(request.file, "effect"))


def new_folder(file: str, what: str) -> str:
    """Return the name of a folder for a release of a file, named after both; it must not exist."""
    folder = f"{Path(Path(file).name.removesuffix('.gz').removesuffix('.zip')).stem}-{what}"
    if os.path.lexists(folder):
        raise OutputError(
            f"{folder} already exists; name another output folder with ", Argument("output", ...), " (-o)"
        )
    return folder


def plan(request: EffectRequest, step: Step) -> EffectPlan:
    """Return the smallest effects that would be seen, from the public part of the reviews alone."""
    if request.tracks.given:
        raise refusal("a plan is for all papers; {dry_run} shows what would be seen in each group of papers")
    reviews, public = _read(request, step)
    step("Planning")
    return _planned(request, weigh(reviews.public(public), request.quantity, lone=parse_lone(request.lone)))


def promise(request: EffectRequest, step: Step) -> dict[str, Any]:
    """Return what the effect will state and cost, and how precise it will be, as the page shows it."""
    if request.tracks.given:
        joint, plans, _ = _ready_tracks(request, step)
        return tracks_shown(joint, plans, request.ledger, request.dataset)
    ready, planned, _ = _ready(request, step)
    verdict = ready.plan(request.first_share).verdict
    return answer_shown(ready, request.ledger, request.dataset) | plan_shown(planned, PLANNED, verdict=verdict)


def dry_run(request: EffectRequest, step: Step) -> tuple[AnswerPromise | TrackPromises, tuple[str, ...]]:
    """Return what the effect would state, cost and show, and remarks on the file, for the chair only.

    Nothing is drawn, charged or written; it is refused if the release would be.
    """
    if request.tracks.given:
        joint, plans, remarks = _ready_tracks(request, step)
        return promised_tracks(joint, plans, request.ledger, request.dataset), remarks
    ready, _, remarks = _ready(request, step)
    return promised(ready, ready.plan(request.first_share), request.ledger, request.dataset), remarks


def effect(request: EffectRequest, spending: Spending, *, step: Step, write: Write | None = None) -> Written[Effect]:
    """Return the effect, written into a new folder; the caller closes ``spending`` and reports charges."""
    _check(request)
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed

    tracks = _tracks(request)

    def draw(reviews: Reviews, public: str | PublicRecord) -> Effect | TrackAnswers[Effect]:
        if tracks:
            return _prepared_tracks(request, reviews, public, tracks).draw(spending, request.dataset)
        return _prepared(request, reviews, public).draw(spending, request.dataset)

    place = (request.output, request.overwrite)
    return written(*place, lambda: _read(request, step), draw, spending, tracks=tracks, step=step, write=write)


def written(
    output: str,
    overwrite: bool,
    read: Callable[[], tuple[Any, ...]],
    draw: Callable[..., T_co | TrackAnswers[T_co]],
    spending: Spending,
    *,
    tracks: Mapping[str, str] = MappingProxyType({}),
    step: Step,
    write: Write | None = None,
) -> Written[T_co]:
    """Return an answer that is read, drawn from what was read, and written; for ``tracks``, each into its own folder.

    The page has a ``write`` of its own, and a folder whose parent must exist.
    """
    folders = folder_names(set(tracks.values()))
    own = [f"{folder}/{file}" for folder in folders.values() for file in OWN_FILES] or OWN_FILES
    with staged_folder(output, own=own, overwrite=overwrite, parents=write is None) as stage:
        spending.room, spending.target = Room(stage), output
        given = read()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step("Drawing noise, estimating")
            made = draw(*given)
        spending.free()
        step("Writing files")
        answers = {"": made} if isinstance(made, Answer) else made.answers
        for name, answer in answers.items():
            place = stage / folders[name] if name else stage
            place.mkdir(exist_ok=True)
            (write or type(answer).write_into)(answer, place)
    spending.done(output)
    resumed = (f"resumed release {number}: charged before, nothing more was charged" for number in spending.resumed)
    return Written(
        answer=next(iter(answers.values())),
        tracks=None if isinstance(made, Answer) else made,
        folders=folders,
        warnings=tuple(warning.message for warning in caught if isinstance(warning.message, Warning)),
        remarks=(*resumed, *(remark for each in given if isinstance(each, Reviews) for remark in remarks_on(each))),
    )


def answer_shown(ready: ReadyAnswer, ledger: str | None, dataset: str | None) -> dict[str, Any]:
    """Return what a release about groups will state and cost, as the page shows it."""
    quotes = quotes_of(ledger, dataset, ready.claim_for, ready.statement)
    return claim_shown(ready.noise.guarantee) | {
        "charged_as": ready.charged_as,
        "costs": [cost_words(quote) for quote in quotes],
        "released": f"{words_of(ready.weights.quantity).label} by {ready.question.by}: {ready.released}",
        "public": ready.public,
    }


def tracks_shown(
    joint: ReadyTracks[Any], plans: Mapping[str, EffectPlan | CrosstabPlan], ledger: str | None, dataset: str | None
) -> dict[str, Any]:
    """Return what releases about groups in each track will state and cost, as the page shows it."""
    each = {
        name: {"name": name, "reviewers": ready.weights.reviewers, "precision": plans[name].verdict, "verdict": None}
        | {"public": public_in_groups(ready.public, ready.question.declared), **claim_shown(ready.noise.guarantee)}
        for name, ready in joint.ready.items()
    }
    first = joint.first
    assumption = next(iter(plans.values())).assumption.replace("Assumed: ", "it is assumed that ")
    several = f"for each of {len(each)} tracks, {first.released}"
    return claim_shown(joint.claim_for(joint.unit)) | {
        "charged_as": joint.charged_as,
        "costs": [cost_words(quote) for quote in joint.quotes(ledger, dataset)],
        "released": f"{words_of(first.weights.quantity).label} by {first.question.by}: {several}",
        "groups": list(each.values()),
        "assumption": assumption,
        "remark": remark_on_small({name: ready.weights.reviewers for name, ready in joint.ready.items()}),
    }


def plan_shown(planned: EffectPlan | CrosstabPlan, header: tuple[str, ...], *, verdict: str) -> dict[str, Any]:
    """Return a plan as the page shows it: its verdict at the chosen budget, the table, and what it assumes."""
    return {"worth": verdict, "header": header, "rows": planned.rows(), "assumption": planned.assumption}


def budget(epsilon: float | None) -> float:
    """Return the budget, which must be given."""
    if epsilon is None:
        raise refusal("give a budget with {epsilon} (1 is a common choice)")
    return epsilon


def listed(names: str) -> list[str]:
    """Return names that are separated by commas.

    >>> listed("senior, junior")
    ['senior', 'junior']
    """
    return [name.strip() for name in names.split(",")]


def listed_sizes(sizes: str, groups: int) -> tuple[int, ...]:
    """Return sizes of groups that are separated by commas.

    >>> listed_sizes("700, 800", 2)
    (700, 800)
    """
    numbers = parse_numbers(sizes, "sizes")
    if len(numbers) != groups or any(not number.is_integer() for number in numbers):
        raise InputError(Argument("sizes"), f" must be {groups} whole numbers separated by commas, got {sizes!r}")
    return tuple(map(int, numbers))


def terms_of(what: ReleaseOptions) -> Terms:
    """Return licence, citation, and what a release is about."""
    return Terms(licence=what.licence, citation=what.citation, about=parse_about(what))


def _papers(request: EffectRequest) -> dict[str, str]:
    """The attribute of each paper, from a table with a column of the same name."""
    assert request.same is not None  # noqa: S101 - checked by the caller
    reading = request.reading
    return read_groups(request.same, paper=reading.paper, group=request.by, encoding=reading.encoding)


def _check(request: EffectRequest) -> None:
    """Refuse what is missing or invalid before any file is read."""
    check_public_stated(_what(request))
    budget(request.epsilon)
    terms_of(_what(request))


def _ready(request: EffectRequest, step: Step) -> tuple[ReadyEffect, EffectPlan, tuple[str, ...]]:
    """The checked release, its plan at several budgets, and remarks on the file."""
    _check(request)
    check_dataset(request.dataset, request.ledger)
    reviews, public = _read(request, step)
    step("Planning")
    ready = _prepared(request, reviews, public)
    return ready, ready.plan(request.first_share, EPSILONS), remarks_on(reviews)


def _ready_tracks(
    request: EffectRequest, step: Step
) -> tuple[ReadyTracks[ReadyEffect], dict[str, EffectPlan], tuple[str, ...]]:
    """The checked releases of all groups of papers, their plans, and remarks on the file."""
    _check(request)
    tracks = _tracks(request)
    reviews, public = _read(request, step)
    step("Planning")
    joint = _prepared_tracks(request, reviews, public, tracks)
    return joint, {name: ready.plan(request.first_share) for name, ready in joint.ready.items()}, remarks_on(reviews)


def _prepared(request: EffectRequest, reviews: Reviews, public: str | PublicRecord) -> ReadyEffect:
    return prepare_effect(reviews, public=public, **_asked(request))


def _prepared_tracks(
    request: EffectRequest, reviews: Reviews, public: str | PublicRecord, tracks: Mapping[str, str]
) -> ReadyTracks[ReadyEffect]:
    return prepare_tracks(prepare_effect, reviews, tracks, public=public, **_asked(request))


def _tracks(request: EffectRequest) -> dict[str, str]:
    """The group of each paper; none if the papers are not in groups."""
    return groups_by_paper(request.tracks, request.file, request.reading) if request.tracks.given else {}


def _asked(request: EffectRequest) -> dict[str, Any]:
    """The arguments of a release, but for reviews and what is public."""
    return {
        "by": request.by,
        "compare": None if request.compare is None else listed(request.compare),
        "same": None if request.same is None else _papers(request),
        "mechanism": Laplace(epsilon=budget(request.epsilon)),
        "quantity": request.quantity,
        "lone": parse_lone(request.lone),
        "terms": terms_of(_what(request)),
        **_shared(request),
    }


def _planned(request: EffectRequest, weights: PublicWeights) -> EffectPlan:
    return plan_effect(
        weights,
        epsilons=sorted({*EPSILONS, *([] if request.epsilon is None else [request.epsilon])}),
        first_share=request.first_share,
        pairs=request.same is not None,
        **_shared(request),
    )


def _what(request: EffectRequest) -> ReleaseOptions:
    """The options of a release that an effect has as well."""
    return ReleaseOptions(
        public=request.public, quantity=request.quantity, dataset=request.dataset, **asdict(request.published)
    )


def _read(request: EffectRequest, step: Step) -> tuple[Reviews, str | PublicRecord]:
    check_public_stated(_what(request))
    step("Reading the reviews")
    reviews = read_reviews(request.file, request.reading)
    return reviews, public_of(reviews, _what(request), request.loads, request.reading)


def _shared(request: EffectRequest) -> dict[str, Any]:
    """The arguments of a release and a plan."""
    limits = None
    if request.limits is not None:
        ends = parse_numbers(request.limits, "limits")
        if len(ends) != 2:
            raise InputError(Argument("limits"), f" must look like '-4,4', got {request.limits!r}")
        limits = (ends[0], ends[1])
    sizes = None if request.sizes is None else listed_sizes(request.sizes, 2)
    same = {name: getattr(request, name) for name in ("others", "randomised", "icc", "level", "unit")}
    if (request.compare is None) == (request.same is None):
        raise refusal("name the two groups with {compare}, or give a table of papers with {same}")
    return {"limits": limits, "sizes": sizes, **same}
