"""How the reviewers of each bin split into groups: drawn given noisy counts by group and bin.

Prior: the reviewers of a bin are in the groups with the shares that all reviewers have, give or take a discrepancy
(a Dirichlet-multinomial law, whose concentration is itself drawn). Noise is taken to be Laplace noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.privacy.bins import fitted_counts
from peerveil.record.public_record import Floats, Ints

#: Concentrations: how much alike the groups are, and their prior probabilities.
_CONCENTRATIONS = {1000.0: 0.2, 100.0: 0.4, 20.0: 0.25, 5.0: 0.1, 2.0: 0.05}

#: Steps of the chain: at least so many, and so many for each count.
_FEWEST_STEPS, _STEPS_PER_COUNT = 1_000, 60


@dataclass(frozen=True, eq=False)
class Split:
    """Noisy counts by group and bin.

    Attributes:
        noisy: the noisy counts, one row per group.
        scale: the scale of their noise.
        sizes: the sizes of the groups, if these are public.
    """

    noisy: Ints
    scale: float
    sizes: tuple[int, ...] | None = None

    @property
    def shares(self) -> Floats:
        """The estimated share of each group among all reviewers."""
        sums = self.noisy.sum(axis=1).astype(np.float64) if self.sizes is None else np.array(self.sizes, float)
        positive = np.maximum(sums, self.scale)
        return np.asarray(positive / positive.sum())

    def draw(self, totals: Ints, rng: np.random.Generator, sizes: Sequence[int] | None = None) -> Ints:
        """Return numbers of reviewers by group and bin, given those in each bin, and the groups' sizes if known."""
        sizes = self.sizes if sizes is None else sizes
        if sizes is not None and sum(sizes) != int(totals.sum()):
            raise InputError("the public sizes of groups do not add up to the number of reviewers")
        start = self._nearest(totals) if sizes is None else _corner(np.array(sizes), totals)
        chain = _Splits(self, start, rng)
        moves = chain.between_groups if sizes is None else chain.between_groups_and_bins
        for step in range(max(_FEWEST_STEPS, _STEPS_PER_COUNT * start.size)):
            if step % start.size == 0:
                chain.concentrate()
            moves()
        return np.array(chain.counts, dtype=np.int64)

    def _nearest(self, totals: Ints) -> Ints:
        """Whole numbers with these totals, near the noisy counts."""
        columns = []
        for noisy, total in zip(self.noisy.T, totals.tolist(), strict=True):
            running = (
                np.rint(np.cumsum(fitted_counts(noisy.astype(np.float64), total))) if total else np.zeros(len(noisy))
            )
            columns.append(np.diff(running, prepend=0.0))
        return np.array(columns, dtype=np.int64).T


class _Splits:
    """Metropolis chain of counts by group and bin; the totals of bins stay, and sizes of groups if so asked."""

    def __init__(self, split: Split, start: Ints, rng: np.random.Generator) -> None:
        self.counts: list[list[int]] = start.tolist()
        self._noisy: list[list[int]] = split.noisy.tolist()
        self._scale, self._shares = split.scale, split.shares.tolist()
        self._rng = rng
        self._groups, self._bins = start.shape
        self._most = max(int(start.sum(axis=0).max()), 1)
        self._alpha = [100.0 * share for share in self._shares]

    def log_density(self, group: int, place: int, count: int) -> float:
        """The part of the log density that a count has."""
        alpha = self._alpha[group]
        prior = math.lgamma(count + alpha) - math.lgamma(count + 1)
        return prior - abs(self._noisy[group][place] - count) / self._scale

    def concentrate(self) -> None:
        """Draw the concentration, given the counts."""
        logs = []
        for concentration, chance in _CONCENTRATIONS.items():
            alphas = [concentration * share for share in self._shares]
            log = math.log(chance)
            for place in range(self._bins):
                column = [row[place] for row in self.counts]
                log += math.lgamma(concentration) - math.lgamma(sum(column) + concentration)
                log += sum(math.lgamma(n + a) - math.lgamma(a) for n, a in zip(column, alphas, strict=True))
            logs.append(log)
        odds = np.exp(np.array(logs) - max(logs))
        concentration = list(_CONCENTRATIONS)[int(self._rng.choice(odds.size, p=odds / odds.sum()))]
        self._alpha = [concentration * share for share in self._shares]

    def between_groups(self) -> None:
        """Propose that some reviewers of a bin are in another group."""
        place, (one, other), size = int(self._rng.integers(self._bins)), self._pair(self._groups), self._size()
        self._propose({(one, place): -size, (other, place): size})

    def between_groups_and_bins(self) -> None:
        """Propose that as many reviewers of two bins change between two groups."""
        if self._bins == 1:
            return
        (one, other), (here, there), size = self._pair(self._groups), self._pair(self._bins), self._size()
        self._propose({(one, here): -size, (other, here): size, (one, there): size, (other, there): -size})

    def _pair(self, number: int) -> tuple[int, int]:
        one = int(self._rng.integers(number))
        return one, (one + 1 + int(self._rng.integers(max(number - 1, 1)))) % number

    def _size(self) -> int:
        """A number of reviewers, of any order of magnitude."""
        return math.ceil(math.exp(float(self._rng.random()) * math.log(self._most + 1)) - 1) or 1

    def _propose(self, changes: dict[tuple[int, int], int]) -> None:
        new = {at: self.counts[at[0]][at[1]] + change for at, change in changes.items()}
        if min(new.values()) < 0:
            return
        gain = sum(
            self.log_density(group, place, count) - self.log_density(group, place, self.counts[group][place])
            for (group, place), count in new.items()
        )
        if gain >= math.log(1 - float(self._rng.random())):
            for (group, place), count in new.items():
                self.counts[group][place] = count


def _corner(sizes: Ints, totals: Ints) -> Ints:
    """Some counts with given sums of rows and columns, filled from a corner."""
    counts = np.zeros((sizes.size, totals.size), dtype=np.int64)
    rows, columns = sizes.copy(), totals.copy()
    for group in range(sizes.size):
        for place in range(totals.size):
            counts[group, place] = number = min(rows[group], columns[place])
            rows[group] -= number
            columns[place] -= number
    return counts
