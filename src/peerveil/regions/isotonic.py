"""Projection by two isotonic regressions: exact, in the time of sorting.

The set: ascending vectors whose sum of the `i` smallest entries is at least `P_i`, whose sum of the `i` largest is at
most `R_i`, and whose total lies in a range. See docs/mathematics.md, "Projection by isotonic regression".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, isotonic_regression

from peerveil.quantities.long_vectors import running_maximum
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region


@dataclass(frozen=True, eq=False)
class Curves:
    """The superset of a region that two isotonic regressions can project on: its bounds on sums, range and total.

    Attributes:
        region: the region.
        total: least and greatest total, centred.
        centre: subtracted from every entry, so that large offsets do not cancel.
        times: how many equal entries each number of a vector stands for, if vectors are given by runs of these.
    """

    region: Region
    total: tuple[float, float]
    centre: float
    times: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, region: Region, times: npt.NDArray[np.int64] | None = None) -> Curves:
        """The curves of a region, for vectors given by all their entries, or by runs of equal ones."""
        n = region.reviewers
        low = max(region.total[0], float(region.cumulative_lower[-1]))
        high = min(region.total[1], float(region.top_upper[-1]))
        centre = (low + high) / 2 / n
        return cls(region, (low - n * centre, high - n * centre), centre, times)

    def project(self, r: Floats) -> tuple[Floats, float] | None:
        """The projection and its gap; ``None`` if the bounds are not convex, so that two passes are not exact.

        The vector is given by all its entries.
        """
        noisy = r - self.centre
        made = self._two_passes(noisy)
        if made is None:
            return None
        blocks, t, pushed = made
        reached = np.cumsum(t * blocks.size)
        gap = blocks.reach(pushed, reached, self.total) + self._first_gap(noisy, blocks, t, pushed)
        return self._values(blocks, t), max(gap, 0.0)

    def point(self, r: Floats) -> Floats | None:
        """The projection without its gap, which takes as long."""
        made = self._two_passes(r - self.centre)
        return None if made is None else self._values(*made[:2])

    def _values(self, blocks: Blocks, t: Floats) -> Floats:
        """The entries, given the value of each block."""
        values = (t + self.centre).clip(self.region.lower[0], self.region.upper[-1])
        return np.repeat(values, blocks.numbers)

    def _two_passes(self, noisy: Floats) -> tuple[Blocks, Floats, Floats] | None:
        """The blocks, the projection of each, and what the second pass subtracts; ``None`` if it is not exact."""
        region, centre = self.region, self.centre
        blocks = self._blocks(noisy)
        low, high = region.lower[0] - centre, region.upper[-1] - centre
        within = blocks.value.clip(low, high)
        if blocks.allowed(within, self.total, 1e-12 * region.spread):
            return blocks, within, blocks.value - within  # nothing within the range is nearer
        t, pushed = blocks.second_pass(blocks.best_total(self.total))
        round_off = 1e-12 * max(map(abs, (*region.total, blocks.value[0], blocks.value[-1])))
        if (t[:-1] - t[1:]).max(initial=0.0) > 1e-9 * region.spread + round_off:
            return None
        return blocks, running_maximum(t.clip(low, high)), pushed

    def reach(self, direction: Floats, t: Floats) -> float:
        """The maximum of ``direction · (theta - t)`` over the set."""
        blocks = self._blocks(direction)
        centred = t - self.centre
        if self.times is not None:
            centred *= self.times
        reached = np.cumsum(np.add.reduceat(centred, np.cumsum(blocks.numbers) - blocks.numbers))
        rest = (np.repeat(blocks.value, blocks.numbers) - direction) @ centred
        return blocks.reach(blocks.value, reached, self.total) + float(rest)

    # Theorem P3.
    def _first_gap(self, noisy: Floats, blocks: Blocks, t: Floats, pushed: Floats) -> float:
        """A bound on the product of the first pass's residual with `theta - t`, over the set.

        The running sums of the residual are not negative and end at 0, so its product with an ascending vector is not
        positive; and it sums to 0 on blocks, where `t` is constant. So this is round-off, unless the pass failed.
        """
        left = noisy - np.repeat(t + pushed, blocks.size)
        running = np.cumsum(left, out=left)
        last, inner = running[-1], running[blocks.ends[1:-1] - 1]
        return float(
            self.region.spread * (abs(last) - min(0.0, running.min())) - last * t[-1] + inner @ (t[1:] - t[:-1])
        )

    def _blocks(self, noisy: Floats) -> Blocks:
        """The first pass. Bounds on the least and the greatest entry are added as linear bounds on sums."""
        fit = isotonic_regression(noisy, weights=self.times)
        places = np.asarray(fit.blocks, dtype=np.int64)
        ends = places if self.times is None else np.append(0, np.cumsum(self.times))[places]
        region, centre = self.region, self.centre
        above = region.reviewers - ends
        return Blocks(
            value=np.asarray(fit.x[places[:-1]], dtype=np.float64),
            numbers=places[1:] - places[:-1],
            ends=ends,
            least=np.maximum(region.cumulative_lower[ends] - ends * centre, ends * (region.lower[0] - centre)),
            top_most=np.minimum(region.top_upper[above] - above * centre, above * (region.upper[-1] - centre)),
        )


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of equal entries after the first pass. They stay equal, so only sums at their ends matter.

    Attributes:
        value: the value of each block, ascending.
        numbers: how many numbers of the vector each block holds: all its entries, or runs of equal ones.
        ends: the number of entries before the first block and up to the end of each block.
        least: `P` at these ends.
        top_most: `R` of the entries after these ends.
    """

    value: Floats
    numbers: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    least: Floats
    top_most: Floats

    @cached_property
    def size(self) -> npt.NDArray[np.int64]:
        """The number of entries of each block."""
        return self.ends[1:] - self.ends[:-1]

    def curve(self, total: float) -> Floats:
        """The lower bounds on running sums at a total."""
        curve = np.maximum(self.least, total - self.top_most)
        curve[0], curve[-1] = 0.0, total
        return curve

    def allowed(self, t: Floats, between: tuple[float, float], slack: float) -> bool:
        """Whether the total and the running sums of a vector are within bounds, with a slack for each entry."""
        reached = np.cumsum(t * self.size)
        total = float(reached[-1])
        inside = between[0] <= total <= between[1]
        return inside and bool((reached >= self.curve(total)[1:] - slack * self.ends[1:]).all())

    # Theorem P1.
    def second_pass(self, total: float) -> tuple[Floats, Floats]:
        """The projection of the blocks at a total, and what was subtracted from them; shifted to reduce round-off."""
        shift = (float(self.value @ self.size) - total) / float(self.ends[-1])
        shifted = self.value - shift
        curve = self.curve(total)
        excess = shifted - (curve[1:] - curve[:-1]) / self.size
        pushed = np.asarray(isotonic_regression(excess, weights=self.size).x, dtype=np.float64)
        return shifted - pushed, pushed + shift

    # Theorem P2.
    def best_total(self, between: tuple[float, float]) -> float:
        """The total with the least distance, which is convex in the total: where its slope changes sign."""

        def slope(total: float) -> float:
            pushed = self.second_pass(total)[1]
            follows = total - self.top_most[1:-1] >= self.least[1:-1]
            return float(np.diff(pushed) @ follows - pushed[-1])

        low, high = between
        if low >= high or slope(low) >= 0:
            return low
        if slope(high) <= 0:
            return high
        return float(brentq(slope, low, high, xtol=1e-15 * max(abs(low), abs(high)), rtol=8.9e-16, maxiter=200))

    def reach(self, direction: Floats, reached: Floats, between: tuple[float, float]) -> float:
        """The maximum of `D·(theta - t)` over the set, with `D` ascending, one value per block.

        At a total `S` it is `D_n S - sum (D_{i+1} - D_i) max(P_i, S - R_{n-i})`: concave and piecewise linear in `S`.
        It is computed relative to the running sums `reached` of `t`, so that nothing cancels.
        """
        jumps = direction[1:] - direction[:-1]
        inner, mirrored = self.least[1:-1], self.top_most[1:-1]
        low, high = between
        best = low
        if low < high:
            turns = np.clip(inner + mirrored, low, high)
            order = np.argsort(turns)
            slope = direction[-1] - np.cumsum(jumps[order])
            place = int(np.argmax(slope <= 0)) if (slope <= 0).any() else -1
            best = low if direction[-1] <= 0 else high if place < 0 else float(turns[order][place])
        above = reached[:-1] - np.maximum(inner, best - mirrored)
        return float(direction[-1] * (best - reached[-1]) + jumps @ above)
