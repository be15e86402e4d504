"""Pairs of neighbouring conferences, released as a whole, that attain the sensitivity, or nearly.

Scores are between 0 and 1. Unless noted otherwise, each paper has a single review.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import Unit
from peerveil.private.audit.conference import OTHER, Conference, Pair
from peerveil.private.reviews import Reviews
from peerveil.quantities.weights import weigh


def check_load(load: int) -> None:
    """Raise unless a load is at least 2."""
    if isinstance(load, bool) or not isinstance(load, int) or load < 2:
        raise InputError(
            Argument("load"), f" must be a whole number of at least 2, got {load!r}; with a load of 1 nothing is secret"
        )


def check_public(public: str) -> None:
    """Raise unless ``public`` is ``"all"`` or ``"none"``."""
    if public not in ("all", "none"):
        raise InputError(Argument("public"), f" must be 'all' or 'none', got {public!r}")


def worst_neighbours(unit: Unit, load: int, public: str) -> tuple[Reviews, Reviews]:
    """Two neighbouring records with equal loads, whose vectors attain the sensitivity.

    For the unit reviewer with public scores, a reviewer of zeros exchanges all but one of them with reviewers of ones.
    For the unit review, two reviewers exchange a zero for a one and move apart. Exchanged reviews with hidden scores
    may change as well: two reviewers of zeros exchange one, or all, and these become ones.

    >>> from peerveil.private.true_vector import true_vector
    >>> [true_vector(reviews, "ratings").tolist() for reviews in worst_neighbours("reviewer", 2, "all")]
    [[0.0, 1.0], [0.5, 0.5]]
    """
    check_load(load)
    check_public(public)
    conference = Conference()
    if public == "none":
        mine, theirs = conference.give("z", [0.0] * load), conference.give("r1", [0.0] * load)
        for i in range(1 if unit == "review" else load):
            conference.exchange(mine[i], theirs[i]).change(mine[i], 1.0).change(theirs[i], 1.0)
    elif unit == "review":
        mine = conference.give("z", [0.0] + [1.0] * (load - 1))
        conference.exchange(mine[0], conference.give("r1", [1.0] + [0.0] * (load - 1))[0])
    else:
        mine = conference.give("z", [0.0] * load)
        for i in range(load - 1):
            conference.exchange(mine[i], conference.give(f"r{i + 1}", [1.0] * load)[0])
    return conference.records()


def worst_neighbours_counted(unit: Unit, load: int, public: str, number: int) -> tuple[Reviews, Reviews, Bins]:
    """Two neighbouring records with equal loads, whose counts attain the sensitivity, and their bins.

    Each reviewer in an exchange moves to a bin that no other reviewer leaves. A reviewer of zeros gets a one from each
    of the others, whose remaining scores are 1/2. Hidden scores of exchanged reviews become ones, and the others are
    close enough to the end of a bin to leave it.

    >>> from peerveil.private.true_vector import true_vector
    >>> one, other, bins = worst_neighbours_counted("reviewer", 2, "all", 5)
    >>> [bins.counts(true_vector(reviews, "ratings")).tolist() for reviews in (one, other)]
    [[1, 0, 0, 2, 0], [0, 2, 0, 0, 1]]
    """
    check_load(load)
    check_public(public)
    others = 1 if unit == "review" else load
    hidden = public == "none"
    if hidden:
        blank = _exchanged([[0.0] * load] * (others + 1), 0)[0]
        bins = bins_of(weigh(blank.public("none")), number)
        cut = float(bins.cuts[np.argmin(np.abs(bins.cuts - 0.5))])
        near = [min(1.0, max(0.0, (cut * load - 0.5) / (load - 1)))] * (load - 1)
        # Exchanged reviews are zeros before and ones after.
        first = [0.0, *near] if unit == "review" else [0.0] * load
        holdings = [first, *([0.0, *near] for _ in range(others))]
    elif unit == "review":
        holdings = [[0.0] + [0.5] * (load - 1), [1.0] * load]
    else:
        holdings = [[0.0] * load, *([1.0] + [0.5] * (load - 1) for _ in range(load))]
    pair = _exchanged(holdings, others, change=hidden)
    return *pair, bins_of(weigh(pair[0].public(public)), number)


def _exchanged(holdings: Sequence[Sequence[float]], exchanges: int, *, change: bool = False) -> tuple[Reviews, Reviews]:
    """Two records: in the second, the first reviewer has exchanged one review with each of the next ``exchanges``.

    With ``change``, the scores of exchanged reviews become ones.
    """
    conference = Conference()
    mine, *others = (conference.give("z" if j == 0 else f"r{j}", scores) for j, scores in enumerate(holdings))
    for review, (theirs, *_) in list(zip(mine, others, strict=False))[:exchanges]:
        conference.exchange(review, theirs)
        if change:
            conference.change(review, 1.0).change(theirs, 1.0)
    return conference.records()


def one_load(unit: Unit, load: int, number: int, *, public: str = "all") -> Pair:
    """Equal loads; hidden scores change with the exchange. ``number`` bins, or a vector if 0."""
    if number:
        return Pair(records=worst_neighbours_counted(unit, load, public, number)[:2], public=public, bins=number)
    return Pair(records=worst_neighbours(unit, load, public), public=public)


def mixed_loads(unit: Unit, load: int, number: int, *, apart: bool = False) -> Pair:
    """Public scores, and loads that differ; with ``apart``, in one of two tracks that share no reviewer.

    For the unit reviewer, a reviewer with many zeros exchanges them all with reviewers of the least load; the distance
    is ``R (1 + (b - 2)/a)`` for loads from ``a`` to ``b``. For the unit review, two reviewers of the least load
    exchange a review.
    """
    conference = Conference()
    if unit == "review":
        mine, *_ = conference.give("z", [0.0] + [1.0] * (load - 1))
        theirs, *_ = conference.give("r", [1.0] + [0.0] * (load - 1))
        conference.exchange(mine, theirs).give("s", [0.5] * 2 * load)
    else:
        # A second score ensures that no mean enters a bin that another leaves.
        largest, others = (2 * load, [1.0, 0.5]) if number else (2 * load + 1, [1.0])
        for j, review in enumerate(conference.give("z", [0.0] * largest)):
            conference.exchange(review, conference.give(f"r{j}", others)[0])
    for holder in ("t", "u") if apart else ():
        conference.give(holder, [0.0, 1.0], track=OTHER)
    return conference.pair("apart" if apart else "whole")


def ranges(unit: Unit, load: int, number: int) -> Pair:
    """Public scores, of which the range of each reviewer is released.

    A reviewer of zeros exchanges one with each of several reviewers of ones; the ranges of all of them go from 0 to 1.
    For counts and the unit reviewer, all ``load`` reviews are exchanged and ``1 + load`` ranges change, each to one
    that nobody leaves: one of the reviewer's scores is 1/2, and is exchanged for a 3/8 among others.
    """
    conference = Conference()
    if unit == "reviewer" and number:
        mine = conference.give("z", [0.5] + [0.0] * (load - 1))
        conference.exchange(mine[0], conference.give("r0", [0.375] * load)[0])
    else:
        mine = conference.give("z", [0.0] * load)
    for i in range(1, 2 if unit == "review" else load):
        conference.exchange(mine[i], conference.give(f"r{i}", [1.0] * load)[0])
    return conference.pair(quantity="range of ratings", bins=6 if number else 0)


def hidden_score_alone(unit: Unit, load: int, number: int) -> Pair:
    """Two conferences that differ in one hidden score, for either unit."""
    conference = Conference()
    review, *_ = conference.give("z", [0.0] * load)
    conference.change(review, 1.0).give("r", [0.0] * load)
    return conference.pair(public="none", bins=8 * load if number else 0)


def hidden_miscalibration(unit: Unit, load: int, number: int, *, quantity: str = "miscalibration") -> Pair:
    """Miscalibration with hidden scores: the means of co-reviewers of exchanged reviews change as well.

    A reviewer exchanges all reviews, or one, with others of load 1. All scores are 0, and those of exchanged reviews
    become 1, which is 1 above the only review of the co-reviewer.
    """
    conference = Conference()
    for i in range(load if unit == "reviewer" else 1):
        mine, theirs = *conference.give("z", [0.0]), *conference.give(f"y{i}", [0.0])
        conference.review(f"u{i}", conference.paper(mine), 0.0)
        conference.review(f"v{i}", conference.paper(theirs), 0.0)
        conference.exchange(mine, theirs).change(mine, 1.0).change(theirs, 1.0)
    return conference.pair(public="none", quantity=quantity, bins=7 if number else 0)


hidden_scores = partial(one_load, public="none")
tracks_apart = partial(mixed_loads, apart=True)
