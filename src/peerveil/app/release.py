"""Releases of private reviews, and what they would state and cost."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peerveil.app.messages import refusal, renaming
from peerveil.app.parsing import mechanism_or_auto, parse_about, reading_of, release_arguments
from peerveil.app.reading import check_public_stated, groups_by_paper, public_of, read_reviews
from peerveil.app.requests import ReleaseRequest
from peerveil.errors import Argument, OutputError
from peerveil.inference.verdict import PROMISES
from peerveil.mechanisms import kind_of
from peerveil.planning.auto import CHOSEN
from peerveil.privacy.guarantee import Guarantee, caution
from peerveil.private.charging import Spending
from peerveil.private.promises import GroupPromises, Promise, cost_words, promise_groups, promise_release
from peerveil.private.release import prepare_whole_release
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import GroupReleases, release_groups_within
from peerveil.quantities.base import words_of
from peerveil.record.tracks import folder_names
from peerveil.regions import check_region
from peerveil.releases.release import OWN_FILES, Release
from peerveil.reporting.terms import Terms
from peerveil.support.atomic_files import Room, staged_folder

#: Called with the name of each step of the work.
Step = Callable[[str], None]

#: Writes a release into a folder.
Write = Callable[[Release, Path], None]


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that was written, and information for the chair only.

    Attributes:
        release: the release, or the releases of all groups of papers.
        folders: the folder of each group by name.
        warnings: warnings of the library.
        remarks: resumed charges, and rows left out of the private file.
    """

    release: Release | GroupReleases
    folders: dict[str, str] = field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()
    remarks: tuple[str, ...] = ()


def default_write(*, report: bool) -> Write:
    """Return a function that writes all files of a release, with or without its report."""
    return lambda release, folder: release.write_into(folder, report=report)


def placed(request: ReleaseRequest) -> ReleaseRequest:
    """Return the request with its output folder: by default one named after the file, which must not exist."""
    if request.output is not None:
        return request
    name = Path(request.file).name.removesuffix(".gz").removesuffix(".zip")
    folder = f"{Path(name).stem}-release"
    if os.path.lexists(folder):
        raise OutputError(
            f"{folder} already exists; name another output folder with ", Argument("output", ...), " (-o)"
        )
    return replace(request, output=folder)


def promise(request: ReleaseRequest, step: Step) -> dict[str, Any]:
    """Return what the requested release will state, cost and achieve, as the page shows it; see :func:`dry_run`.

    With groups of papers, the claim and the cost are those of all together, and ``groups`` holds what each will state.
    """
    promised, _ = dry_run(request, step)
    together: dict[str, Any] = {
        "charged_as": promised.quantity,
        "costs": [cost_words(quote) for quote in promised.quotes],
        **claim_shown(promised.guarantee),
    }
    if isinstance(promised, Promise):
        return together | _shown(promised)
    groups = [{"name": name} | claim_shown(part.guarantee) | _shown(part) for name, part in promised.promises.items()]
    return together | {"groups": groups, "quantity": groups[0]["quantity"], "remark": promised.remark}


def claim_shown(claim: Guarantee) -> dict[str, Any]:
    """Return a claim as the page shows it."""
    names = ("summary", "human", "promise", "not_protected")
    return {name: getattr(claim, name) for name in names} | {"caution": caution(claim.epsilon)}


def _shown(promised: Promise) -> dict[str, Any]:
    """Return what a single release will state, apart from its claim and cost, as the page shows it."""
    kind = kind_of(promised.mechanism["name"])
    return {
        "quantity": words_of(promised.quantity).label,
        "number": words_of(promised.quantity).number,
        "numbers": words_of(promised.quantity).numbers,
        "public": promised.public,
        "expected": promised.accuracy,
        "errors": promised.errors,
        "verdict": promised.verdict and promised.verdict.to_document(),
        "reviewers": promised.reviewers,
        "people": promised.people,
        "noise": f"{promised.deviation:.3g}" if promised.deviation else None,
        "counted": kind is not None and kind.on_counts,
        "choice": next((note for note in promised.notes if CHOSEN in note), ""),
        "accuracy": PROMISES[promised.estimator],
    }


def dry_run(request: ReleaseRequest, step: Step) -> tuple[Promise | GroupPromises, tuple[str, ...]]:
    """Return what the requested release would state, cost and achieve, and remarks on the file, for the chair only.

    Nothing is drawn, charged or written.
    """
    _check(request)
    groups = _groups(request)
    folder_names(set(groups.values()))
    reviews, arguments = read_release(request, step)
    check_region(arguments["region"])
    Terms(**{name: arguments.pop(name) for name in ("licence", "citation", "about")})
    step("Computing how much noise is needed, and simulating releases on public data")
    place: dict[str, Any] = {"ledger": request.ledger, "dataset": request.what.dataset}
    if not groups:
        return promise_release(reviews, **place, **arguments), remarks_on(reviews)
    del arguments["declare_kept"]  # the loads of groups are always declared public
    shared = not request.no_shared_reviewers
    return promise_groups(reviews, groups, shared=shared, **place, **arguments), remarks_on(reviews)


def release(
    request: ReleaseRequest, spending: Spending, *, step: Step, write: Write | None = None, parents: bool = True
) -> Released:
    """Return the release of a file of reviews, written into a new folder.

    ``spending`` records the charges; the caller closes it and reports them. ``parents`` creates missing parent folders.
    """
    _check(request)
    request = placed(request)
    assert request.output is not None  # noqa: S101 - it is placed
    groups = _groups(request)
    folders = folder_names(set(groups.values()))
    own = [f"{folder}/{file}" for folder in folders.values() for file in OWN_FILES] or OWN_FILES
    write = write or default_write(report=not request.no_report)
    with staged_folder(request.output, own=own, overwrite=request.overwrite, parents=parents) as stage:
        spending.room, spending.target = Room(stage), request.output
        reviews, arguments = read_release(request, step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = _drawn(request, spending, reviews, groups, step=step, **arguments)
        spending.free()
        step("Drawing charts and writing files")
        if isinstance(result, Release):
            write(result, stage)
        else:
            for name, group_release in result.releases.items():
                (stage / folders[name]).mkdir()
                write(group_release, stage / folders[name])
    spending.done(request.output)
    return Released(
        release=result,
        folders=folders,
        warnings=tuple(warning.message for warning in caught if isinstance(warning.message, Warning)),
        remarks=(
            *(f"resumed release {number}: charged before, nothing more was charged" for number in spending.resumed),
            *remarks_on(reviews),
        ),
    )


def _check(request: ReleaseRequest) -> None:
    """Raise an error for invalid options before any file is read."""
    check_public_stated(request.what)
    mechanism_or_auto(request.noise)
    parse_about(request.what)
    if request.by_attribute:
        raise refusal("{by}, {values}, {others} and {sizes} are for a single release on the command line")
    if request.no_shared_reviewers and not request.tracks.given:
        raise refusal("{no_shared_reviewers} goes with {groups} or {group_column}")


def _groups(request: ReleaseRequest) -> dict[str, str]:
    """Return the group of each paper; none if the papers are not in groups."""
    return groups_by_paper(request.tracks, request.file, request.reading) if request.tracks.given else {}


def remarks_on(reviews: Reviews) -> tuple[str, ...]:
    """Return what was left out of the private file, and its problems."""
    return (*(f"left out: {reason}" for reason in reviews.report.left_out), *reviews.report.problems)


def read_release(request: ReleaseRequest, step: Step) -> tuple[Reviews, dict[str, Any]]:
    """Return the reviews, and all arguments of their release."""
    step("Reading the reviews")
    arguments = release_arguments(request.what)
    reading = reading_of(request.reading, arguments["quantity"])
    named = "score" if reading is request.reading else "weight" if request.what.share is None else "share"
    with renaming(score=named):  # the option that names the column
        reviews = read_reviews(request.file, reading)
    public = public_of(reviews, request.what, request.loads, reading)
    return reviews, {"public": public, "mechanism": mechanism_or_auto(request.noise), **arguments}


def _drawn(
    request: ReleaseRequest,
    spending: Spending,
    reviews: Reviews,
    groups: dict[str, str],
    *,
    step: Step,
    **arguments: Any,
) -> Release | GroupReleases:
    dataset = request.what.dataset
    step("Choosing the noise and bounding the truth from public data")
    if not groups:
        prepared = prepare_whole_release(reviews, **arguments)
        step("Drawing noise, estimating")
        return prepared.draw(spending, dataset)
    step("Choosing the noise, drawing it, estimating")
    del arguments["declare_kept"]  # the loads of groups are always declared public
    shared = not request.no_shared_reviewers
    return release_groups_within(spending, reviews, groups, shared=shared, dataset=dataset, **arguments)
