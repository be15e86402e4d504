"""Cases of an audit: pairs of neighbouring conferences, and how each is released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Asked, Histogram, Laplace, Mechanism
from peerveil.planning.auto import Undecided, decide
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private.answers import ReadyAnswer
from peerveil.private.audit import pairs
from peerveil.private.audit import pairs_of_groups as of_groups
from peerveil.private.audit import pairs_of_parts as of_parts
from peerveil.private.audit.conference import KEPT, Pair
from peerveil.private.audit.pairs_of_groups import ARM, ARMS
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.private.effects import prepare_effect
from peerveil.private.grouped.tracks import prepare_tracks
from peerveil.private.linked.correlation import prepare_correlation
from peerveil.private.release import Protected, prepare_release
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import prepare_groups
from peerveil.quantities.weights import weigh

#: Numbers of bins to try, to find the fewest in which every mean that changes also changes bins.
_BINS = (3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)


@dataclass(frozen=True)
class Case:
    """A case of an audit.

    Attributes:
        name: its name.
        words: its description, in one line.
        public: which scores are public.
        make: returns the pair for a unit, a load, and a number of bins (0 for vectors).
        counts_only: whether only counts can be released.
        tracks: whether tracks are released, whose mechanism no plan can choose.
        effect: whether an effect or a correlation is released, which has Laplace noise.
        by: whether counts by an attribute, or by means in two conferences, are released, which have the noise of a
            histogram.
    """

    name: str
    words: str
    public: str
    make: Callable[[Unit, int, int], Pair]
    counts_only: bool = False
    tracks: bool = False
    effect: bool = False
    by: bool = False


#: All cases, by name.
CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("one-load", "public scores, everybody has the same load", "all", pairs.one_load),
        Case("mixed-loads", "public scores, loads differ", "all", pairs.mixed_loads),
        Case("ranges", "another statistic than the mean, public scores", "all", pairs.ranges),
        Case("hidden-scores", "hidden scores change with the exchange", "none", pairs.hidden_scores),
        Case("hidden-score-alone", "one hidden score changes, nothing is exchanged", "none", pairs.hidden_score_alone),
        Case("hidden-miscalibration", "co-reviewers move as well", "none", pairs.hidden_miscalibration),
        Case(
            "hidden-disagreement",
            "the same, distances from co-reviewers",
            "none",
            partial(pairs.hidden_miscalibration, quantity="disagreement"),
        ),
        Case("hidden-left-out", "the same, and reviews of left-out papers", "none", of_parts.hidden_left_out),
        Case("left-out", "reviews of papers that are left out are exchanged", "all", of_parts.left_out),
        Case(
            "left-out-open",
            "the same, who has a kept one is not public",
            "all",
            of_parts.left_out_open,
            counts_only=True,
        ),
        Case("absent-scores", "the same, reviews that have no score", "all", of_parts.absent_scores),
        Case("public-labels", "the same, reviews left out by a public label", "all", of_parts.public_labels),
        Case("track", "one track, reviews of another are exchanged", "all", of_parts.one_track, tracks=True),
        Case("tracks", "two tracks released together", "all", of_parts.several_tracks, tracks=True),
        Case("three-tracks", "three tracks released together", "all", of_parts.three_tracks, tracks=True),
        Case("tracks-apart", "two tracks that share no reviewer", "all", pairs.tracks_apart, tracks=True),
        Case(
            "by-attribute",
            "counts by an attribute, the reviewer's changes as well",
            "all",
            of_groups.two_values,
            by=True,
        ),
        Case("by-sizes", "the same, sizes of groups are public", "all", of_groups.values_of_public_sizes, by=True),
        Case("effect", "an effect, the reviewer's group changes as well", "all", of_groups.two_groups, effect=True),
        Case("effect-pairs", "a property that reviewer and paper share", "all", of_groups.shared_property, effect=True),
        Case(
            "effect-sizes", "the same, sizes of groups are public", "all", of_groups.groups_of_public_sizes, effect=True
        ),
        Case("linked", "a correlation, reviews in two conferences", "none", of_groups.linked_conferences, effect=True),
        Case("linked-table", "counts by means in two conferences", "none", of_groups.linked_table, by=True),
        Case(
            "by-hidden",
            "counts by an attribute, hidden scores change as well",
            "none",
            partial(of_groups.two_values, hidden=True),
            by=True,
        ),
        Case(
            "effect-hidden",
            "an effect, hidden scores change as well",
            "none",
            partial(of_groups.two_groups, hidden=True),
            effect=True,
        ),
        Case(
            "by-left-out",
            "counts by an attribute, reviews of left-out papers",
            "all",
            partial(of_groups.left_out_of_groups, part="by"),
            by=True,
        ),
        Case(
            "effect-left-out", "an effect, reviews of left-out papers", "all", of_groups.left_out_of_groups, effect=True
        ),
        Case("by-tracks", "counts by an attribute in two tracks", "all", of_groups.tracks_by_value, by=True),
        Case("effect-tracks", "an effect in two tracks", "all", of_groups.tracks_of_groups, effect=True),
    )
}


def chosen_cases(case: str, public: str | None, mechanism: Asked) -> list[Case]:
    """The cases to audit: the named one, or all that apply to a mechanism, with these public scores if stated.

    >>> from peerveil.mechanisms import Laplace
    >>> [case.name for case in chosen_cases("all", "none", Laplace(epsilon=1.0))]
    ['hidden-scores', 'hidden-score-alone', 'hidden-miscalibration', 'hidden-disagreement', 'hidden-left-out',
     'linked', 'effect-hidden']
    """
    if case != "all" and case not in CASES:
        raise InputError(Argument("case"), f" must be 'all' or one of {', '.join(map(repr, CASES))}, got {case!r}")
    if public is not None:
        pairs.check_public(public)
    cases = [each for each in CASES.values() if case in ("all", each.name) and public in (None, each.public)]
    if not cases:
        raise InputError(
            Argument("public"), f" must fit the case {case!r}, which states {CASES[case].public!r}; got {public!r}"
        )
    if mechanism.name != Laplace.name and any(each.effect for each in cases):
        cases = [each for each in cases if not each.effect]
        problem = "is for Laplace noise alone, which effects and correlations have"
    if mechanism.name != Histogram.name and any(each.by for each in cases):
        cases = [each for each in cases if not each.by]
        problem = "is for histograms alone: counts by an attribute or in two conferences have their noise"
    if mechanism.named is None and cases:
        cases = [each for each in cases if not each.tracks]
        problem = "needs a mechanism that is named: no plan chooses one for tracks"
    elif mechanism.named is not None and not mechanism.named.on_counts and cases:
        cases = [each for each in cases if not each.counts_only]
        problem = "is for histograms alone: noise on the vector is refused there"
    if not cases:
        raise InputError(f"case {case!r} {problem}")
    return cases


@dataclass(frozen=True)
class Settled:
    """A case for one mechanism and unit.

    Attributes:
        case: the case.
        pair: the two conferences.
        mechanism: the mechanism, a histogram with its number of bins; or a budget with the choice of a plan.
        unit: the unit of protection.
    """

    case: Case
    pair: Pair
    mechanism: Asked
    unit: Unit

    def prepared(self, side: int) -> tuple[list[Protected], Guarantee]:
        """The release of one of the two records, ready for its noise, and the claim."""
        pair, record = self.pair, self.pair.records[side]
        if pair.part == "tracks of groups":
            return self._tracks(record)
        answer = self._answer(side)
        if answer is not None:
            return [answer.protected()], answer.noise.guarantee
        how: dict[str, Any] = {"public": pair.public, "quantity": pair.quantity, "mechanism": self.mechanism}
        how |= {"unit": self.unit, "accept_float_noise": True}
        if pair.part in ("whole", "only", "open", "absent", "filtered"):
            ready = prepare_release(pair.shown(record), declare_kept=pair.declares, **how)
            return [ready.protected()], ready.noise.guarantee
        groups = prepare_groups(record, pair.tracks, shared=pair.part != "apart", **how)
        if pair.part == "track":
            return [groups.ready[KEPT].protected()], groups.ready[KEPT].noise.guarantee
        return [ready.protected() for ready in groups.ready.values()], groups.claim_for(self.unit)

    def _answer(self, side: int) -> ReadyAnswer | None:
        """The release about groups of reviewers, or of two conferences, if the case is of one."""
        pair, mechanism = self.pair, self.mechanism
        record = pair.shown(pair.records[side])
        by: dict[str, Any] = {"public": pair.public, "unit": self.unit, "by": ARM, "sizes": pair.sizes}
        if pair.seconds is not None:
            return self._linked(record, pair.seconds[side])
        if pair.part == "by" and isinstance(mechanism, Histogram):
            return prepare_crosstab(record, values=ARMS, mechanism=mechanism, **by)
        if pair.part == "effect" and isinstance(mechanism, Laplace):
            return prepare_effect(record, compare=ARMS, mechanism=mechanism, **by)
        if pair.part == "pairs" and isinstance(mechanism, Laplace):
            return prepare_effect(record, same=pair.tracks, quantity=pair.quantity, mechanism=mechanism, **by)
        return None

    def _linked(self, first: Reviews, second: Reviews) -> ReadyAnswer:
        """The release of two conferences: sums, or counts in the bins of the pair."""
        pair, mechanism = self.pair, self.mechanism
        asked: dict[str, Any] = {"public": pair.public, "unit": self.unit, "quantity": pair.quantity, "least": 1}
        if isinstance(mechanism, Histogram):
            mechanism, asked["bins"] = mechanism.changed(bins=pair.bins), pair.bins
        return prepare_correlation(first, second, mechanism=cast("Laplace | Histogram", mechanism), **asked)

    def _tracks(self, record: Reviews) -> tuple[list[Protected], Guarantee]:
        """The releases about groups of reviewers in all tracks, and their joint claim."""
        pair = self.pair
        how: dict[str, Any] = {"by": ARM, "public": pair.public, "unit": self.unit, "mechanism": self.mechanism}
        how |= {"compare": ARMS} if self.case.effect else {"values": ARMS}
        prepare: Callable[..., ReadyAnswer] = prepare_effect if self.case.effect else prepare_crosstab
        joint = prepare_tracks(prepare, record, pair.tracks, **how)
        return [one.protected() for one in joint.ready.values()], joint.claim_for(self.unit)

    def distance(self) -> int:
        """The L1 distance between the counts of the two records."""
        sides = self.prepared(0)[0], self.prepared(1)[0]
        return sum(int(np.abs(one.truth - other.truth).sum()) for one, other in zip(*sides, strict=True))


def settle(case: Case, mechanism: Asked, unit: Unit, load: int) -> Settled:
    """The case for a mechanism and a unit."""
    if mechanism.named is None:
        return _planned(case, mechanism, unit, load)
    if mechanism.named.on_counts:
        return _binned(case, mechanism.named, unit, load)
    return Settled(case, case.make(unit, load, 0), mechanism, unit)


@lru_cache(maxsize=64)
def _binned(case: Case, mechanism: Mechanism, unit: Unit, load: int) -> Settled:
    """The case for counts, with the fewest bins that separate all means that change, unless a number is asked for."""
    pair = case.make(unit, load, mechanism.bins or 2 * load + 1)
    if mechanism.bins is not None:
        return Settled(case, pair, mechanism, unit)
    settled = [
        Settled(case, pair, mechanism.changed(bins=number), unit) for number in ((pair.bins,) if pair.bins else _BINS)
    ]
    return max(settled, key=Settled.distance)  # the first of several


@lru_cache(maxsize=64)
def _planned(case: Case, asked: Asked, unit: Unit, load: int) -> Settled:
    """The case for the mechanism that a plan chooses, which depends on nothing that differs between the two records."""
    for number in (2 * load + 1,) if case.counts_only else (0, 2 * load + 1):
        pair = case.make(unit, load, number)
        weights, other = (
            weigh(pair.shown(record).public(pair.public, declare_kept=pair.declares), pair.quantity)
            for record in pair.records
        )
        if weights.digest() != other.digest():
            raise InputError(f"the public records of the case {case.name!r} differ, so a plan may tell them apart")
        decided = decide(Undecided(name=case.name, asked=asked, weights=weights, unit=unit), None)
        mechanism, _, _ = decided.chosen(weights, unit=unit, sensitivity=sensitivity(weights, unit), estimator=None)
        if not mechanism.on_counts:
            break
    return Settled(case, pair, decided, unit)
