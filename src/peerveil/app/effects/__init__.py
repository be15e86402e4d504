"""Releases of effects, and plans of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from peerveil.app.messages import refusal
from peerveil.app.options import ReleaseOptions
from peerveil.app.parsing import parse_about, parse_lone, parse_numbers
from peerveil.app.reading import check_public_stated, public_of, read_reviews
from peerveil.app.release import Step, claim_shown, remarks_on
from peerveil.app.requests import EffectRequest
from peerveil.errors import Argument, InputError, OutputError
from peerveil.mechanisms import Laplace
from peerveil.planning.crosstabs import CrosstabPlan
from peerveil.planning.effects import EffectPlan, plan_effect
from peerveil.private.answers import ReadyAnswer
from peerveil.private.charging import Spending
from peerveil.private.effects import ReadyEffect, prepare_effect
from peerveil.private.promises import cost_words, quotes_of
from peerveil.private.release import check_dataset
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import PublicRecord
from peerveil.record.tracks import read_groups
from peerveil.releases.effects.answers import OWN_FILES, Answer
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
    """An answer about groups of reviewers that was written, and information for the chair only."""

    answer: T_co
    warnings: tuple[Warning, ...] = ()
    remarks: tuple[str, ...] = ()


def placed(request: EffectRequest) -> EffectRequest:
    """Return the request with its output folder: by default one named after the file, which must not exist."""
    if request.output is not None:
        return request
    folder = f"{Path(Path(request.file).name.removesuffix('.gz').removesuffix('.zip')).stem}-effect"
    if os.path.lexists(folder):
        raise OutputError(
            f"{folder} already exists; name another output folder with ", Argument("output", ...), " (-o)"
        )
    return replace(request, output=folder)


def plan(request: EffectRequest, step: Step) -> EffectPlan:
    """Return the smallest effects that would be seen, from the public part of the reviews alone."""
    reviews, public = _read(request, step)
    step("Planning")
    return _planned(request, weigh(reviews.public(public), request.quantity, lone=parse_lone(request.lone)))


def promise(request: EffectRequest, step: Step) -> dict[str, Any]:
    """Return what the effect will state and cost, and how precise it will be, as the page shows it."""
    _check(request)
    check_dataset(request.dataset, request.ledger)
    reviews, public = _read(request, step)
    step("Planning")
    ready = _prepared(request, reviews, public)
    of = f"{' minus '.join(ready.question.groups)}, the difference of the mean"
    shown = answer_shown(ready, of, request.ledger, request.dataset)
    return shown | plan_shown(_planned(request, ready.weights), PLANNED)


def effect(request: EffectRequest, spending: Spending, *, step: Step, write: Write | None = None) -> Written[Effect]:
    """Return the effect, written into a new folder; the caller closes ``spending`` and reports charges."""
    _check(request)
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed

    def draw(reviews: Reviews, public: str | PublicRecord) -> Effect:
        return _prepared(request, reviews, public).draw(spending, request.dataset)

    place = (request.output, request.overwrite)
    return written(*place, lambda: _read(request, step), draw, spending, step=step, write=write)


def written(
    output: str,
    overwrite: bool,
    read: Callable[[], tuple[Reviews, str | PublicRecord]],
    draw: Callable[[Reviews, str | PublicRecord], T_co],
    spending: Spending,
    *,
    step: Step,
    write: Write | None = None,
) -> Written[T_co]:
    """Return an answer that is read, drawn and written into a new folder.

    The page has a ``write`` of its own, and a folder whose parent must exist.
    """
    with staged_folder(output, own=OWN_FILES, overwrite=overwrite, parents=write is None) as stage:
        spending.room, spending.target = Room(stage), output
        reviews, public = read()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step("Drawing noise, estimating")
            made = draw(reviews, public)
        spending.free()
        step("Writing files")
        (write or type(made).write_into)(made, stage)
    spending.done(output)
    resumed = (f"resumed release {number}: charged before, nothing more was charged" for number in spending.resumed)
    return Written(
        answer=made,
        warnings=tuple(warning.message for warning in caught if isinstance(warning.message, Warning)),
        remarks=(*resumed, *remarks_on(reviews)),
    )


def answer_shown(ready: ReadyAnswer, of: str, ledger: str | None, dataset: str | None) -> dict[str, Any]:
    """Return what a release ``of`` something about groups will state and cost, as the page shows it."""
    quotes = quotes_of(ledger, dataset, ready.claim_for, ready.statement)
    return claim_shown(ready.noise.guarantee) | {
        "charged_as": ready.charged_as,
        "costs": [cost_words(quote) for quote in quotes],
        "released": f"{words_of(ready.weights.quantity).label} by {ready.question.by}: {of}",
        "public": ready.public,
    }


def plan_shown(planned: EffectPlan | CrosstabPlan, header: tuple[str, ...]) -> dict[str, Any]:
    """Return a plan as the page shows it: the table and what it assumes."""
    return {"header": header, "rows": planned.rows(), "assumption": planned.assumption}


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


def _prepared(request: EffectRequest, reviews: Reviews, public: str | PublicRecord) -> ReadyEffect:
    return prepare_effect(
        reviews,
        by=request.by,
        compare=None if request.compare is None else listed(request.compare),
        same=None if request.same is None else _papers(request),
        mechanism=Laplace(epsilon=budget(request.epsilon)),
        public=public,
        quantity=request.quantity,
        lone=parse_lone(request.lone),
        terms=terms_of(_what(request)),
        **_shared(request),
    )


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
