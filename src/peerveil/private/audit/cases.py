"""The catalogue of what is audited: each case is a pair of neighbouring conferences and a way to release them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Asked, Mechanism
from peerveil.planning.auto import Auto
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.private.audit import pairs
from peerveil.private.audit.pairs import KEPT, Pair
from peerveil.private.release import Protected, prepare_release
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import prepare_groups
from peerveil.quantities.weights import weigh

#: How many bins are tried, to find the fewest in which everybody who moves is seen to move.
_BINS = (3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)


@dataclass(frozen=True)
class Case:
    """What is audited.

    Attributes:
        name: what it is called.
        words: what is special about it, in one line.
        public: which scores are stated to be public.
        make: makes the pair for a unit, a load, and a number of bins (0 for vectors).
        counts_only: whether only counts can be released in this case.
        tracks: whether tracks are released, whose mechanism no plan can choose.
    """

    name: str
    words: str
    public: str
    make: Callable[[Unit, int, int], Pair]
    counts_only: bool = False
    tracks: bool = False


#: All cases, by name.
CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("one-load", "public scores, everybody has the same load", "all", pairs.one_load),
        Case("mixed-loads", "public scores, loads differ", "all", pairs.mixed_loads),
        Case("hidden-scores", "hidden scores change with the exchange", "none", pairs.hidden_scores),
        Case("hidden-score-alone", "one hidden score changes, nothing is exchanged", "none", pairs.hidden_score_alone),
        Case("hidden-miscalibration", "co-reviewers move as well", "none", pairs.hidden_miscalibration),
        Case("hidden-left-out", "the same, and reviews of left-out papers", "none", pairs.hidden_left_out),
        Case("left-out", "reviews of papers that are left out are exchanged", "all", pairs.left_out),
        Case(
            "left-out-open", "the same, who has a kept one is not public", "all", pairs.left_out_open, counts_only=True
        ),
        Case("absent-scores", "the same, reviews that have no score", "all", pairs.absent_scores),
        Case("track", "one track, reviews of another are exchanged", "all", pairs.one_track, tracks=True),
        Case("tracks", "two tracks released together", "all", pairs.several_tracks, tracks=True),
        Case("three-tracks", "three tracks released together", "all", pairs.three_tracks, tracks=True),
        Case("tracks-apart", "two tracks that share no reviewer", "all", pairs.tracks_apart, tracks=True),
    )
}


def chosen_cases(case: str, public: str | None, mechanism: Asked) -> list[Case]:
    """The cases that are asked for: one, or all that apply; with ``public``, those with that statement alone.

    >>> from peerveil.mechanisms import Laplace
    >>> [case.name for case in chosen_cases("all", "none", Laplace(epsilon=1.0))]
    ['hidden-scores', 'hidden-score-alone', 'hidden-miscalibration', 'hidden-left-out']
    """
    if case != "all" and case not in CASES:
        raise InputError(Argument("case"), f" must be 'all' or one of {', '.join(map(repr, CASES))}, got {case!r}")
    if public is not None:
        pairs.check_public(public)
    found = [one for one in CASES.values() if case in ("all", one.name) and public in (None, one.public)]
    if not found:
        raise InputError(
            Argument("public"), f" must fit the case {case!r}, which states {CASES[case].public!r}; got {public!r}"
        )
    if isinstance(mechanism, Mechanism) and not mechanism.on_counts:
        found = [one for one in found if not one.counts_only]
    if not found:
        raise InputError(f"case {case!r} is for histograms alone: noise on the vector is refused there")
    if isinstance(mechanism, Auto):
        found = [one for one in found if not one.tracks]
    if not found:
        raise InputError(f"case {case!r} needs a mechanism that is named: no plan chooses one for tracks")
    return found


@dataclass(frozen=True)
class Settled:
    """A pair with the mechanism that releases it.

    Attributes:
        case: what it is a case of.
        pair: the two conferences.
        mechanism: what releases them; a histogram with its number of bins, or a budget with what a plan chose.
        unit: what is protected.
    """

    case: Case
    pair: Pair
    mechanism: Asked
    unit: Unit

    def prepared(self, side: int) -> tuple[list[Protected], Guarantee]:
        """What is released of one of the two, by the way of every release up to the noise, and the claim."""
        return _prepared(self.pair, self.pair.records[side], self.mechanism, self.unit)


def settle(case: Case, mechanism: Asked, unit: Unit, load: int) -> Settled:
    """The case for a mechanism and a unit."""
    if isinstance(mechanism, Auto):
        return _planned(case, mechanism, unit, load)
    if isinstance(mechanism, Mechanism) and mechanism.on_counts:
        return _binned(case, mechanism, unit, load)
    return Settled(case, case.make(unit, load, 0), mechanism, unit)


@lru_cache(maxsize=64)
def _binned(case: Case, mechanism: Mechanism, unit: Unit, load: int) -> Settled:
    """The pair for counts, and enough bins to tell all that move apart, unless their number is part of the question."""
    pair = case.make(unit, load, mechanism.bins or 2 * load + 1)
    if mechanism.bins is not None:
        return Settled(case, pair, mechanism, unit)
    numbers = (pair.bins,) if pair.bins else _BINS
    _, fewest = min((-_distance(pair, mechanism.changed(bins=number), unit), number) for number in numbers)
    return Settled(case, pair, mechanism.changed(bins=fewest), unit)


@lru_cache(maxsize=64)
def _planned(case: Case, auto: Auto, unit: Unit, load: int) -> Settled:
    """The pair that is far apart for what a plan chooses; what it chooses for one of the two, it chooses for both."""
    for number in (2 * load + 1,) if case.counts_only else (0, 2 * load + 1):
        pair = case.make(unit, load, number)
        weights = [
            weigh(_shown(pair, record).public(pair.public, declare_kept=pair.declares), pair.quantity)
            for record in pair.records
        ]
        if weights[0].digest() != weights[1].digest():
            raise InputError(f"the public records of the case {case.name!r} differ, so a plan may tell them apart")
        choice = auto.choose(weights[0], unit=unit)
        if not choice.make().on_counts:
            break
    return Settled(case, pair, replace(auto, planned=choice), unit)


def _distance(pair: Pair, mechanism: Mechanism, unit: Unit) -> int:
    """How many counts change between the two."""
    sides = [_prepared(pair, record, mechanism, unit)[0] for record in pair.records]
    return sum(int(np.abs(one.truth - other.truth).sum()) for one, other in zip(*sides, strict=True))


def _shown(pair: Pair, record: Reviews) -> Reviews:
    """What is released of a record without tracks."""
    return record.only(pair.kept) if pair.part in ("only", "open") else record


def _prepared(pair: Pair, record: Reviews, mechanism: Asked, unit: Unit) -> tuple[list[Protected], Guarantee]:
    if pair.part in ("whole", "only", "open", "absent"):
        one = prepare_release(
            _shown(pair, record),
            public=pair.public,
            quantity=pair.quantity,
            mechanism=mechanism,
            unit=unit,
            accept_float_noise=True,
            declare_kept=pair.declares,
        )
        return [one.protected()], one.noise.guarantee
    if isinstance(mechanism, Auto):
        raise InputError("no plan chooses a mechanism for tracks")
    groups = prepare_groups(
        record,
        pair.tracks,
        public=pair.public,
        quantity=pair.quantity,
        mechanism=mechanism,
        unit=unit,
        accept_float_noise=True,
        shared=pair.part != "apart",
    )
    if pair.part == "track":
        return [groups.ready[KEPT].protected()], groups.ready[KEPT].noise.guarantee
    return [one.protected() for one in groups.ready.values()], groups.claim_for(unit)
