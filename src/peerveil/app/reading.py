"""Reading files: private reviews and their public part, public scores, groups of papers."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from peerveil.app import parsing
from peerveil.app.messages import refusal, renaming
from peerveil.app.options import LoadsOptions, PublicOptions, ReadingOptions, ReleaseOptions, TrackOptions
from peerveil.errors import Argument, InputError
from peerveil.private import readers
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.quantities.base import words_of
from peerveil.quantities.columns import column_of
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_files import own_criteria, read_public
from peerveil.record.public_record import PublicRecord
from peerveil.record.tracks import part_of, read_groups
from peerveil.releases.effects.answers import Answer
from peerveil.releases.linked.published import Recorded
from peerveil.releases.release import Release


def read_reviews(file: str, reading: ReadingOptions) -> Reviews:
    """Return the private reviews of a file."""
    gaps = parsing.parse_missing(reading.missing_criteria)
    return readers.read(file, mapping=reading.mapping, missing_criteria=gaps, **parsing.reading_arguments(reading))


def check_public_stated(what: ReleaseOptions) -> None:
    """Raise an error unless it is stated what is public."""
    if not what.public:
        raise InputError(Argument("public"), " is missing: ", *EXPLAIN_PUBLIC)


def public_of(
    reviews: Reviews, what: ReleaseOptions, loads: LoadsOptions, reading: ReadingOptions
) -> str | PublicRecord:
    """Return what is public: ``"all"``, ``"none"``, or the record of a file."""
    check_public_stated(what)
    public = str(what.public)
    if public in ("all", "none"):
        named = (what.public_paper, what.public_ratings, what.public_sheet, what.public_encoding)
        if loads.given or any(name is not None for name in named):
            raise refusal(
                "{load}, {loads}, {reviewers}, {public_paper}, {public_ratings}, {public_sheet} and {public_encoding} "
                "go with a file of public scores, not with {public} all or none"
            )
        return public
    if not os.path.exists(public):  # noqa: PTH110 - a name may be no path
        raise InputError(
            Argument("public"), f" must be 'all', 'none', or a file with the public scores, got {public!r}"
        )
    filters = readers.choices_from(reading.mapping, **parsing.parse_filters(reading))
    with renaming(paper="public_paper", ratings="public_ratings", sheet="public_sheet", encoding="public_encoding"):
        return read_public(
            public,
            **parsing.loads_arguments(loads),
            scale=reviews.scale,
            paper=what.public_paper,
            ratings=what.public_ratings or _column_of_scores(what, reading),
            criteria=parsing.parse_criteria(reading.criteria) or reviews.criteria_names,  # a mapping may name them
            missing_criteria=parsing.parse_missing(reading.missing_criteria),
            absent=reviews.absent,
            sheet=what.public_sheet,
            encoding=what.public_encoding,
            only=filters.only,
            leave_out=filters.leave_out,
            left_out=reviews.filtered,
        )


def public_weights(
    file: str,
    scores: PublicOptions,
    loads: LoadsOptions,
    quantity: str,
    *,
    release: Release | Answer | Recorded | None = None,
    only: list[str] | None = None,
) -> PublicWeights:
    """Return the public weights of a file's reviews; with a release, only of those that it covers."""
    record = public_record(file, scores, loads, quantity, release=release, only=only)
    return weigh(record, quantity, lone=parsing.parse_lone(scores.lone))


def public_record(
    file: str,
    scores: PublicOptions,
    loads: LoadsOptions,
    quantity: str,
    *,
    release: Release | Answer | Recorded | None = None,
    only: list[str] | None = None,
) -> PublicRecord:
    """Return the public record of a file's reviews, with the columns that a quantity needs.

    With a release, only of the reviews that it covers, in the papers ``only`` or in all; loads default to its own.
    """
    column = column_of(quantity)
    if column is not None and scores.ratings is None and column not in parsing.parse_criteria(scores.criteria):
        scores = replace(scores, ratings=column)
    if release is None:
        return _record(file, scores, parsing.loads_arguments(loads))
    stated = parsing.loads_arguments(loads) if loads.given else release.loads.stated()
    if scores.criteria is None and words_of(quantity).needs == "criteria":
        scores = replace(scores, criteria=",".join(own_criteria(file)) or None)
    whole = _record(file, scores, {"load": 1})  # any load: only those of the part matter
    stated_part = release.part
    if stated_part is not None and whole.part is not None:  # what filters left out of the file, to be compared
        others = tuple(entry for entry in stated_part.left_out if not entry.filtered)
        stated_part = replace(stated_part, left_out=(*whole.part.left_out, *others))
    return part_of(whole, whole.papers if only is None else only, part=stated_part, **stated)


def _column_of_scores(what: ReleaseOptions, reading: ReadingOptions) -> str | None:
    """The column of public scores, if the release is of another column than the scores."""
    quantity = parsing.weighed(what.quantity, what.statistic, what.share, what.weight)
    column = column_of(quantity)
    return None if column in parsing.parse_criteria(reading.criteria) else column


def _record(file: str, scores: PublicOptions, loads: dict[str, Any]) -> PublicRecord:
    return read_public(
        file,
        **loads,
        scale=parsing.parse_scale(scores.score_scale),
        paper=scores.paper,
        ratings=scores.ratings,
        criteria=parsing.parse_criteria(scores.criteria),
        missing_criteria=parsing.parse_missing(scores.missing_criteria),
        sheet=scores.sheet,
        encoding=scores.encoding,
        only=scores.only or (),
        leave_out=scores.leave_out or (),
        drop_copies=scores.drop_copies,
    )


def groups_by_paper(tracks: TrackOptions, file: str, reading: ReadingOptions | PublicOptions) -> dict[str, str]:
    """Return the group of each paper, from a file of groups or a column of the given file."""
    group = tracks.group_column
    if tracks.groups is not None:
        return read_groups(tracks.groups, group=group)
    return read_groups(file, paper=reading.paper, group=group, sheet=reading.sheet, encoding=reading.encoding)


def papers_of(release: Release | Answer, tracks: TrackOptions, file: str, scores: PublicOptions) -> list[str] | None:
    """Return the papers of a release's group; ``None`` for all papers of the public file."""
    if not tracks.given:
        return None
    if release.group is None:
        raise refusal("the release covers all papers, not a group; leave out {groups} and {group_column}")
    name = release.group.name
    papers = [one for one, group in groups_by_paper(tracks, file, scores).items() if group == name]
    if not papers:
        raise InputError(f"no paper is in the group {name!r}, which the release is of")
    return papers
