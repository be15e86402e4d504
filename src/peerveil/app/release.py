"""Releases of private reviews, and what they will promise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerveil.app.messages import refusal
from peerveil.app.parsing import mechanism_or_auto, release_arguments
from peerveil.app.reading import check_public_stated, groups_by_paper, public_of, read_reviews
from peerveil.app.requests import ReleaseRequest
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.charging import Spending
from peerveil.private.release import prepare_whole_release
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import GroupReleases, release_groups_within
from peerveil.record.tracks import folder_names
from peerveil.releases.release import OWN_FILES, Release
from peerveil.support.atomic_files import Room, staged_folder

#: Called with the name of each step of the work.
Step = Callable[[str], None]

#: Writes a release into a folder.
Write = Callable[[Release, Path], None]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a release will state. Nothing was drawn or spent for it.

    Attributes:
        guarantee: the privacy claim.
        reviewers: how many reviewers the release covers.
        deviation: the standard deviation of the noise; ``None`` if no noise is needed.
        counted: whether the noise is added to counts of reviewers, not to their means.
    """

    guarantee: Guarantee
    reviewers: int
    deviation: float | None
    counted: bool


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that was written, and what only its chair should know.

    Attributes:
        release: the release, or those of all groups of papers.
        folders: the folder of each group, by the group's name.
        warnings: what the library warned about.
        remarks: what was resumed, and what was left out of the private file.
    """

    release: Release | GroupReleases
    folders: dict[str, str] = field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()
    remarks: tuple[str, ...] = ()


def promise(request: ReleaseRequest, step: Step) -> Promise:
    """What the release of a request will state: it is prepared as for the release, and not drawn."""
    _check(request)
    reviews, arguments = _read(request, step)
    step("Computing how much noise is needed")
    ready = prepare_whole_release(reviews, **arguments).ready
    noise = ready.noise.settled
    return Promise(
        guarantee=ready.noise.guarantee,
        reviewers=ready.weights.reviewers,
        deviation=None if noise is None else noise.law.deviation,
        counted=ready.noise.mechanism.on_counts,
    )


def release(
    request: ReleaseRequest, spending: Spending, *, step: Step, write: Write | None = None, parents: bool = True
) -> Released:
    """Release a file of reviews into a new folder.

    Args:
        request: the options.
        spending: what is charged; left by the caller, who reports it.
        step: called with the name of each step.
        write: writes the release into the folder; as the request says by default.
        parents: make the folders above the output folder where they are missing.
    """
    _check(request)
    groups = groups_by_paper(request.tracks, request.file, request.reading.paper) if request.tracks.given else {}
    folders = folder_names(set(groups.values()))
    own = [f"{folder}/{file}" for folder in folders.values() for file in OWN_FILES] or OWN_FILES
    write = write or (lambda one, folder: one.write_into(folder, report=not request.no_report))
    with staged_folder(request.output, own=own, overwrite=request.overwrite, parents=parents) as stage:
        spending.room, spending.target = Room(stage), request.output
        reviews, arguments = _read(request, step)
        step("Drawing noise, bounding the truth from public data, estimating")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = _drawn(request, spending, reviews, groups, arguments)
        spending.free()
        if isinstance(result, Release):
            write(result, stage)
        else:
            for name, one in result.releases.items():
                (stage / folders[name]).mkdir()
                write(one, stage / folders[name])
    spending.done(request.output)
    return Released(
        release=result,
        folders=folders,
        warnings=tuple(one.message for one in caught if isinstance(one.message, Warning)),
        remarks=(
            *(f"resumed release {number}: charged before, nothing more was charged" for number in spending.resumed),
            *(f"left out: {reason}" for reason in reviews.report.left_out),
            *reviews.report.problems,
        ),
    )


def _check(request: ReleaseRequest) -> None:
    """Refuse, before a file is read, what the options alone show to be wrong."""
    check_public_stated(request.what)
    mechanism_or_auto(request.noise)
    if request.no_shared_reviewers and not request.tracks.given:
        raise refusal("{no_shared_reviewers} goes with {groups} or {group_column}")


def _read(request: ReleaseRequest, step: Step) -> tuple[Reviews, dict[str, Any]]:
    """The reviews, and all arguments of their release."""
    step("Reading the reviews")
    reviews = read_reviews(request.file, request.reading)
    public = public_of(reviews, request.what, request.loads, request.reading)
    return reviews, {
        "public": public,
        "mechanism": mechanism_or_auto(request.noise),
        **release_arguments(request.what),
    }


def _drawn(
    request: ReleaseRequest, spending: Spending, reviews: Reviews, groups: dict[str, str], arguments: dict[str, Any]
) -> Release | GroupReleases:
    dataset = request.what.dataset
    if not groups:
        return prepare_whole_release(reviews, **arguments).draw(spending, dataset)
    del arguments["declare_kept"]  # of groups, the loads are declared public anyway
    shared = not request.no_shared_reviewers
    return release_groups_within(spending, reviews, groups, shared=shared, dataset=dataset, **arguments)
