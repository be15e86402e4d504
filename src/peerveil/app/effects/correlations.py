"""Releases of correlations between two conferences, and plans of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from peerveil.app.effects import EPSILONS, Written, budget, listed, new_folder, terms_of, written
from peerveil.app.options import LoadsOptions, ReadingOptions, ReleaseOptions
from peerveil.app.parsing import parse_lone
from peerveil.app.reading import check_public_stated, public_of, read_reviews
from peerveil.app.release import Step, remarks_on
from peerveil.app.requests import CorrelateRequest
from peerveil.errors import Argument, InputError
from peerveil.planning.linked import CorrelationPlan, plan_correlation
from peerveil.private.charging import Spending
from peerveil.private.grouped.promises import AnswerPromise
from peerveil.private.linked.correlation import ReadyCorrelation, check_datasets, linked_noise, prepare_correlation
from peerveil.private.linked.promises import promised_correlation, quotes_of_both
from peerveil.private.promises import cost_words
from peerveil.private.reviews import Reviews
from peerveil.quantities.weights import weigh
from peerveil.releases.linked.published import Correlation

#: The header of a plan's table.
PLANNED = ("budget", "correlation of means", "of the trait")


def placed(request: CorrelateRequest) -> CorrelateRequest:
    """Return the request with its output folder: by default one named after the first file, which must not exist."""
    if request.output is not None:
        return request
    return replace(request, output=new_folder(request.file, "correlation"))


def plan(request: CorrelateRequest, step: Step) -> tuple[CorrelationPlan, list[str]]:
    """Return the expected intervals, from public data alone, and the costs to the ledger, if one is given."""
    both = _read(request, step)
    step("Planning")
    first, second = (
        weigh(reviews.public(_public(request)), request.quantity, lone=parse_lone(request.lone)) for reviews in both
    )
    planned = plan_correlation(
        first,
        second,
        people=request.expected_people,
        epsilons=sorted({*EPSILONS, *([] if request.epsilon is None else [request.epsilon])}),
        unit=request.unit,
        least=request.least,
        bins=request.bins,
        level=request.level,
    )
    costs = []
    if request.ledger is not None:
        quotes = quotes_of_both(_prepared(request, both), request.ledger, _datasets(request))
        costs = [cost_words(quote) for quote in quotes]
    return planned, costs


def dry_run(request: CorrelateRequest, step: Step) -> tuple[AnswerPromise, tuple[str, ...]]:
    """Return what the correlation would state, cost and show, and remarks on the files, for the chair only.

    Nothing is drawn, charged or written; it is refused if the release would be.
    """
    both = _read(request, step)
    step("Planning")
    ready = _prepared(request, both)
    made = promised_correlation(ready, request.expected_people, request.ledger, _datasets(request))
    return made, tuple(dict.fromkeys(remark for reviews in both for remark in remarks_on(reviews)))


def correlate(request: CorrelateRequest, spending: Spending, *, step: Step) -> Written[Correlation]:
    """Return the correlation, written into a new folder; the caller closes ``spending`` and reports charges."""
    check_public_stated(_what(request))
    budget(request.epsilon)
    check_datasets(_datasets(request), request.ledger)
    terms_of(_what(request))
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed

    def draw(*both: Reviews) -> Correlation:
        return _prepared(request, (both[0], both[1])).draw_linked(spending, _datasets(request))

    return written(request.output, request.overwrite, lambda: _read(request, step), draw, spending, step=step)


def _prepared(request: CorrelateRequest, both: tuple[Reviews, Reviews]) -> ReadyCorrelation:
    return prepare_correlation(
        *both,
        mechanism=linked_noise(budget(request.epsilon), request.bins),
        public=_public(request),
        quantity=request.quantity,
        links=request.links,
        merge_names=request.reading.merge_names,
        names=listed(request.names) if request.names else _datasets(request),
        least=request.least,
        bins=request.bins,
        level=request.level,
        unit=request.unit,
        lone=parse_lone(request.lone),
        terms=terms_of(_what(request)),
    )


def _read(request: CorrelateRequest, step: Step) -> tuple[Reviews, Reviews]:
    _public(request)
    step("Reading the reviews")
    reading = request.reading
    first = read_reviews(request.file, reading)
    if request.second_mapping is not None:
        reading = ReadingOptions(mapping=request.second_mapping, merge_names=reading.merge_names)
    second = read_reviews(request.second_file, reading)
    for reviews in (first, second):
        public_of(reviews, _what(request), LoadsOptions(), request.reading)
    return first, second


def _public(request: CorrelateRequest) -> str:
    """What is public of both conferences, in one word."""
    check_public_stated(_what(request))
    if request.public not in ("all", "none"):
        raise InputError(
            Argument("public"),
            f" must be 'all' or 'none', for both conferences, got {request.public!r}; in Python, peerveil.correlate "
            "takes a public record for each",
        )
    return request.public


def _datasets(request: CorrelateRequest) -> list[str] | None:
    return None if request.datasets is None else listed(request.datasets)


def _what(request: CorrelateRequest) -> ReleaseOptions:
    """The options of a release that a correlation has as well."""
    stated: dict[str, Any] = asdict(request.published)
    return ReleaseOptions(public=request.public, quantity=request.quantity, **stated)
