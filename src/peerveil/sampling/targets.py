"""Targets of tables: numbers of reviewers by what was released, drawn from the joint posterior of one or more releases.

Public data and the releases' noisy data only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.model import RecordModel
from peerveil.privacy.bins import Bins
from peerveil.quantities.statistics import split
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.refinement import law_of
from peerveil.releases.release import Release
from peerveil.sampling.cells import Margin
from peerveil.sampling.counts import CountLaws, CountPosterior, Observed, whole_counts
from peerveil.sampling.splits import Split
from peerveil.sampling.vectors import EntryTargets

#: What tables can be fitted to.
Fitted = Release | Crosstab

#: The least noise scale: whole numbers are treated as real ones.
_LEAST_NOISE = 0.05


@dataclass(frozen=True, eq=False)
class Source:
    """A release with its public weights, and the weight of each review in the order of the record."""

    release: Fitted
    weights: PublicWeights
    weight: Floats | None

    @property
    def weighed(self) -> str:
        """The quantity of a review."""
        return split(self.release.quantity)[1]


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of reviewers by which a statistic was released.

    Attributes:
        name: its name.
        values: its values, others included.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What one table is led to: the number of reviewers in each cell, and the values of attributes to be shuffled."""

    counts: Ints
    labels: Ints


@dataclass(frozen=True, eq=False)
class _Table:
    """A release by an attribute: its statistic, its attribute, and the bin of each cell of the statistic."""

    release: Crosstab
    statistic: int
    attribute: int
    place: Ints


@dataclass(frozen=True, eq=False)
class Targets:
    """Joint posterior of the numbers of reviewers in cells of everything that was released.

    Attributes:
        margins: what is counted: first each statistic, then each release by an attribute.
        attributes: the attributes of reviewers.
        blocks: posteriors of statistics, independent of each other, in the order of the margins.
        entries: the number of reviewers.
        tables: the releases by an attribute.
    """

    margins: tuple[Margin, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[CountPosterior | EntryTargets, ...]
    entries: int
    tables: tuple[_Table, ...]

    def draw(self, rng: np.random.Generator) -> Wanted:
        """Return drawn numbers of reviewers."""
        counts: list[Ints] = []
        for block in self.blocks:
            if isinstance(block, EntryTargets):
                counts.append(block.draw(rng))
            else:
                counts += [whole_counts(np.cumsum(drawn), self.entries) for drawn in block.draw(rng)]
        sizes: dict[int, list[int]] = {}
        for table in self.tables:
            number = table.release.bins.number
            totals = np.bincount(table.place, weights=counts[table.statistic], minlength=number).astype(np.int64)
            by_group = _split_of(table.release, self.entries).draw(totals, rng, sizes.get(table.attribute))
            sizes.setdefault(table.attribute, by_group.sum(axis=1).tolist())
            counts.append(by_group.ravel())
        labels = [np.repeat(np.arange(len(of)), of) for _, of in sorted(sizes.items())]
        return Wanted(np.concatenate(counts), np.array(labels, dtype=np.int64).reshape(-1, self.entries))


def _split_of(release: Crosstab, entries: int) -> Split:
    sizes = release.question.sizes
    if sizes is not None and release.question.others:
        sizes = (*sizes, entries - sum(sizes))
    return Split(release.noisy, release.noise_scale, sizes)


def targets_of(sources: Sequence[Source]) -> Targets:
    """Return the joint posterior of releases, given their public weights."""
    by_statistic: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.weighed):  # those of one quantity are adjacent
        by_statistic.setdefault(source.release.quantity, []).append(source)
    together: dict[str, list[CountLaws] | EntryTargets] = {}
    margins, fine = [], dict[str, Bins]()
    for quantity, own in by_statistic.items():
        if any(_on_vector(source) for source in own):
            _check_alone(own[0], sources)
            together[quantity] = vector = _of_vector(own[0])
            cuts = vector.cuts
        else:
            laws = CountLaws.of(own[0].weights, [_observed(source) for source in own])
            # Where scores are hidden, laws also differ in the level of these, so that each statistic is on its own.
            block = together.setdefault(own[0].weighed if own[0].weights.exact else quantity, [])
            assert isinstance(block, list)  # noqa: S101 - a vector is alone
            block.append(laws)
            fine[quantity], cuts = laws.bins, laws.bins.cuts
        margins.append(Margin(own[0].weights.statistic, cuts, own[0].weight))
    blocks = [block if isinstance(block, EntryTargets) else CountPosterior.of(block) for block in together.values()]
    attributes, tables = _by_attribute(list(by_statistic), fine, sources)
    margins += [
        Margin(
            margins[table.statistic].statistic,
            table.release.bins.cuts,
            margins[table.statistic].weight,
            attribute=table.attribute,
            values=len(table.release.groups),
        )
        for table in tables
    ]
    return Targets(tuple(margins), attributes, tuple(blocks), sources[0].weights.reviewers, tables)


def _by_attribute(
    statistics: Sequence[str], fine: dict[str, Bins], sources: Sequence[Source]
) -> tuple[tuple[Attribute, ...], tuple[_Table, ...]]:
    """The attributes, and the releases by them."""
    attributes: dict[str, Attribute] = {}
    tables = []
    for release in (source.release for source in sources):
        if isinstance(release, Crosstab):
            attribute = attributes.setdefault(release.question.by, Attribute(release.question.by, release.groups))
            if attribute.values != release.groups:
                raise InputError(f"releases by {attribute.name} must have the same groups, in the same order")
            place = list(attributes).index(attribute.name)
            cells = fine[release.quantity]
            bins = release.bins.place((cells.low + cells.high) / 2)
            tables.append(_Table(release, statistics.index(release.quantity), place, bins))
    return tuple(attributes.values()), tuple(tables)


def _on_vector(source: Source) -> bool:
    return isinstance(source.release, Release) and source.release.histogram is None


def _observed(source: Source) -> Observed:
    """The noisy counts of a release; of one by an attribute, those of all groups together."""
    release = source.release
    if isinstance(release, Crosstab):
        scale = math.sqrt(len(release.groups)) * release.noise_scale
        return Observed(release.bins, release.noisy.sum(axis=0).astype(np.float64), scale)
    law = law_of(release.mechanism)
    if law is None or release.histogram is None:
        raise InputError(_NO_LAW)
    scale = max(law.deviation / math.sqrt(2), _LEAST_NOISE)
    return Observed(release.histogram.bins, release.histogram.counts.astype(np.float64), scale)


def _of_vector(source: Source) -> EntryTargets:
    assert isinstance(source.release, Release)  # noqa: S101 - callers check
    law, model = law_of(source.release.mechanism), source.weights.derived(RecordModel)
    if law is None:
        raise InputError(_NO_LAW)
    if model.long:
        raise InputError(
            "tables of more than 20,000 reviewers are drawn from histograms only; this release has noise on its vector"
        )
    return EntryTargets.of(model.entry_prior(), source.release, source.weights, law)


def _check_alone(source: Source, sources: Sequence[Source]) -> None:
    """Refuse noise on a vector together with other releases of the same quantity."""
    if sum(other.weighed == source.weighed for other in sources) > 1:
        raise InputError(
            f"the release of {source.release.quantity} has noise on its vector, so it cannot be fitted together with "
            f"other releases of {source.weighed}: give it alone, or give releases with histogram noise"
        )


_NO_LAW = "the release does not state the distribution of its noise, so there is no posterior to draw tables from"
