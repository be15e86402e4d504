"""Least totals of the reviews that a number of reviewers can hold, where all have one load `l`.

`i` reviewers hold `i l` reviews: at most `i` of a paper, and at least `k - (n - i)` of a paper with `k`, because the
others hold at most one each. These limits of papers bind only for the first and last `max k` values of `i`; in between,
running sums of the sorted weights suffice. See docs/mathematics.md, "The envelope".
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.quantities.distinct import SEEN_FIRST, Distinct
from peerveil.record.public_record import Floats, Ints

#: Beyond this many reviewers, `pinned_totals` ignores limits of papers if one has more than half as many reviews.
DENSE = 500


class Rows:
    """Weights by paper, ascending in each paper, held by `n` reviewers with load `l`.

    Sums are relative to ``centre``, so that large offsets do not cancel.
    """

    def __init__(
        self,
        weight: Floats,
        size: Ints,
        reviewers: int,
        load: int,
        centre: float = 0.0,
        *,
        distinct: Distinct | None = None,
    ) -> None:
        self.weight, self.size, self.reviewers, self.load, self.centre = weight, size, reviewers, load, centre
        self.distinct = Distinct(weight) if distinct is None else distinct
        self.reviews = int(weight.size)
        self.most = int(size.max())  # the largest number of reviews of a paper
        self.limited = (self.most - 1) * load  # the maximal number of held reviews where limits of papers bind
        self.sparse = 2 * self.most <= reviewers  # both limits of a paper never bind for the same `i`

    @cached_property
    def counted(self) -> tuple[Floats, Ints] | None:
        """The distinct weights, ascending, and how often each occurs; ``None`` if there are too many."""
        if self.distinct.counted is None:
            return None
        return self.distinct.counted[0] - self.centre, self.distinct.counted[1]

    @cached_property
    def end(self) -> Ints:
        """For each paper, the number of reviews up to its last one."""
        return np.cumsum(self.size)

    @cached_property
    def start(self) -> Ints:
        """For each paper, the number of reviews before its first one."""
        return self.end - self.size

    @cached_property
    def rank(self) -> Ints:
        """The rank of each review in its paper, from 0."""
        return np.arange(self.weight.size) - np.repeat(self.start, self.size)

    @cached_property
    def ascending(self) -> Floats:
        """The weights of all papers, ascending."""
        return np.sort(self.weight) - self.centre if self.counted is None else np.repeat(*self.counted)

    def at(self, ranks: Ints) -> Floats:
        """The weights at some ranks from 0, in ascending order."""
        if self.counted is None:
            return self.ascending[ranks]
        values, counts = self.counted
        return np.asarray(values[np.searchsorted(np.cumsum(counts), ranks, side="right")])

    @cached_property
    def running(self) -> Floats:
        """Running sums of these, from none to all."""
        running = np.zeros(self.reviews + 1)
        np.cumsum(self.ascending, out=running[1:])
        return running

    @cached_property
    def totals(self) -> Floats:
        """Every `l`-th of these sums: the least totals without limits of papers."""
        totals = np.empty(self.reviewers + 1)
        totals[0] = 0.0
        np.cumsum(self._of_each(), out=totals[1:])
        return totals

    def _of_each(self) -> Floats:
        """The sums of each `l` weights, ascending. Where these are all equal, so are those of the next ones."""
        n, load = self.reviewers, self.load
        if self.counted is None:
            return np.asarray(np.einsum("ij->i", self.ascending.reshape(n, load)))
        ends = np.cumsum(self.counted[1])  # of equal weights
        others = np.unique(np.concatenate(([0], ends // load, -(-ends // load))))
        others = others[others < n]
        held = self.at((others[:, None] * load + np.arange(load)).ravel()).reshape(-1, load)
        return np.repeat(np.einsum("ij->i", held), np.diff(np.append(others, n)))

    @property
    def mean(self) -> float:
        """The mean of all weights."""
        return float(self.totals[-1]) / self.reviews

    @cached_property
    def smallest(self) -> Floats:
        """The smallest review of each paper."""
        return self.weight[self.start] - self.centre

    @cached_property
    def largest(self) -> Floats:
        """The largest review of each paper."""
        return self.weight[self.end - 1] - self.centre

    @cached_property
    def unlimited(self) -> tuple[bool, bool]:
        """Whether the ``limited`` smallest, and largest, reviews can be of different papers, which breaks no limit."""
        few = np.arange(min(self.limited, self.reviews))
        smallest, largest = self.at(few), self.at(self.reviews - 1 - few)
        some, ends = self.start[:SEEN_FIRST], self.end[:SEEN_FIRST] - 1
        return (
            _all_equal(smallest, self.weight[some] - self.centre) or _of_different_papers(smallest, self.smallest),
            _all_equal(largest, self.weight[ends] - self.centre) or _of_different_papers(-largest, -self.largest),
        )

    def negated(self) -> Rows:
        """The same papers in reverse order with all signs changed."""
        return _Negated(self)

    @cached_property
    def extremes(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The papers that matter where limits of papers bind: those with the smallest and the largest reviews.

        `max k` reviewers hold `max k · l` reviews: as many papers suffice, and `max k` more, as some may be full.
        """
        count = self.most * (self.load + 1)
        if count >= self.size.size:
            return np.arange(self.size.size), np.arange(self.size.size)
        cheap = np.argpartition(self.smallest, count - 1)[:count]
        dear = np.argpartition(self.largest, -count)[-count:]
        return cheap, dear

    def select(self, papers: npt.NDArray[np.intp]) -> Rows:
        """Only these papers."""
        size = self.size[papers]
        end = np.cumsum(size)
        reviews = np.arange(end[-1]) + np.repeat(self.end[papers] - end, size)
        return Rows(self.weight[reviews], size, self.reviewers, self.load, self.centre)


class _Negated(Rows):
    """Papers in reverse order with all signs changed, computed as far as it is asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.size, self.reviewers, self.load = rows, rows.size[::-1], rows.reviewers, rows.load
        self.centre, self.reviews = -rows.centre, rows.reviews
        self.most, self.limited, self.sparse = rows.most, rows.limited, rows.sparse

    @cached_property
    def weight(self) -> Floats:  # type: ignore[override]
        return -self._rows.weight[::-1]

    @cached_property
    def counted(self) -> tuple[Floats, Ints] | None:
        counted = self._rows.counted
        return None if counted is None else (-counted[0][::-1], counted[1][::-1])

    @cached_property
    def unlimited(self) -> tuple[bool, bool]:
        return self._rows.unlimited[::-1]


# Theorem R4.
def least_totals(rows: Rows) -> Floats:
    """For each `i`, the exact least total of the reviews that `i` reviewers can hold; shape ``(n + 1,)``.

    Greedy: the smallest reviews that each paper must give; then the smallest of all that may be given.

    >>> rows = Rows(np.array([0.0, 0.1, 5.0, 6.0]), np.array([2, 2]), reviewers=2, load=2)
    >>> least_totals(rows).tolist()
    [0.0, 5.0, 11.1]
    """
    if not rows.sparse:
        return _within_limits(rows, rows.reviewers)
    most, (first, last) = rows.most, rows.unlimited
    if first and last:
        return rows.totals
    least = rows.totals.copy()
    if not first:
        least[:most] = _within_limits(rows.select(rows.extremes[0]), most - 1)
    if not last:
        # The last ones hold everything except the least totals of the negated record.
        held = _within_limits(rows.select(rows.extremes[1]).negated(), most - 1)
        least[rows.reviewers - most + 1 :] = least[-1] + held[::-1]
    return least


def _within_limits(rows: Rows, upto: int) -> Floats:
    """The least totals for `i` from 0 to ``upto`` within the limits of papers.

    The review of rank `p` in a paper with `k` may be given from `i = p + 1` and must be from `i = n - k + p + 1` on.
    """
    order = np.argsort(rows.weight)
    weight = rows.weight[order] - rows.centre
    may = rows.rank[order] + 1
    must = may + rows.reviewers - np.repeat(rows.size, rows.size)[order]
    totals = []
    for i in range(upto + 1):
        forced, others = weight[must <= i], weight[(may <= i) & (must > i)]
        totals.append(forced.sum() + others[: i * rows.load - forced.size].sum())
    return np.array(totals)


# Theorem R5.
def pinned_totals(rows: Rows) -> tuple[Floats, Floats]:
    """For each `q`, the least total of the `q` reviewers with the largest means, and the greatest of the smallest.

    At most `q` reviewers hold the `q` largest reviews; `q` reviewers that include these hold them and `q (l - 1)`
    others, at least the smallest within the limits of papers. Likewise for the smallest. Both have shape ``(n + 1,)``.
    """
    n, running = rows.reviewers, rows.running
    total = running[-1]
    others = slice(None, None, rows.load - 1) if rows.load > 1 else np.zeros(n + 1, dtype=np.int64)
    least = total - running[::-1][: n + 1] + running[others][: n + 1]
    most = running[: n + 1] + total - running[::-1][others][: n + 1]
    few = rows.select(np.union1d(*rows.extremes)) if rows.sparse else rows
    for side, part, sign in ((least, few, 1), (most, few.negated(), -1)):
        for count in _limits_may_tell(rows, sign) if rows.sparse else range(1, n if n <= DENSE else 1):
            side[count] = sign * max(sign * side[count], _pinned(part, count))
    return least, most


def pins_may_tell(rows: Rows) -> bool:
    """Whether `pinned_totals` may add to order and total: a quick test, mostly negative.

    See docs/mathematics.md, "The envelope", for the proof.
    """
    if not (rows.sparse and all(rows.unlimited)):
        return True
    mean, others, last = rows.mean, rows.load - 1, rows.reviews - 1
    if _unlimited_may_tell(rows):
        return True
    # Where limits of papers bind, reviews of other papers take their place, which are small, too.
    few = rows.limited - 1 if rows.limited else 0
    least, small, large, greatest = rows.at(np.array([0, few, last - few, last])).tolist()
    return bool(greatest + others * small > rows.load * mean or least + others * large < rows.load * mean)


def _unlimited_may_tell(rows: Rows) -> bool:
    """Whether bounds of `pinned_totals` without limits of papers may add to order and total.

    They are compared where both bounds are straight lines, or by inequalities if there are many distinct weights.
    """
    others = rows.load - 1
    if rows.counted is None or not others:
        x, mean = rows.ascending, rows.mean
        below = int(x.searchsorted(mean))
        missing = others * (below * mean - float(x[:below].sum()))
        return bool(missing < below * (x[-1] - mean) or missing < (x.size - below) * (mean - x[0]))
    value, count = rows.counted
    ends = np.append(0, np.cumsum(count))
    surplus = np.append(0.0, np.cumsum(count * (value - value @ count / rows.reviews)))  # of the smallest weights
    turns = np.concatenate((ends, (rows.reviews - ends) / others)), np.concatenate((rows.reviews - ends, ends / others))
    for turn, smallest in zip(turns, (True, False), strict=True):
        q = turn[(turn > 0) & (turn < rows.reviewers)]
        pinned, rest = (q, rows.reviews - others * q) if smallest else (rows.reviews - q, others * q)
        if (np.interp(rest, ends, surplus) > np.interp(pinned, ends, surplus)).any():
            return True
    return False


def _limits_may_tell(rows: Rows, sign: int) -> list[int]:
    """The `q` for which limits of papers may improve a bound (on the largest: 1, on the smallest: -1).

    Of the `q l` smallest reviews of different papers at least `q (l - 1)` are of papers without pinned reviews.
    """
    if rows.size.size < rows.limited:
        return list(range(1, rows.most))
    q = np.arange(1, rows.most)
    pinned, others = (rows.ascending[::-1], rows.smallest) if sign > 0 else (rows.ascending, -rows.largest)
    held = np.cumsum(np.concatenate(([0.0], np.sort(others)[: rows.limited])))
    limited = sign * np.cumsum(pinned[: q.size]) + held[q * rows.load] - held[q]
    return [int(count) for count in q[limited > sign * q * rows.load * rows.mean]]


def _pinned(rows: Rows, count: int) -> float:
    """The least total for one ``count``: pinned reviews, forced reviews, then the smallest available ones."""
    weight = rows.weight - rows.centre
    order = np.lexsort((rows.rank, rows.weight))  # of equal weights in a paper, the last is pinned first
    pinned = np.zeros(rows.weight.size, dtype=bool)
    pinned[order[-count:]] = True
    size = np.repeat(rows.size, rows.size)
    held = np.repeat(np.add.reduceat(pinned.astype(np.int64), rows.start), rows.size)
    may = ~pinned & (rows.rank < count - held)
    must = may & (rows.rank < size - (rows.reviewers - count) - held)
    rest = weight[may & ~must]
    missing = count * (rows.load - 1) - int(np.count_nonzero(must))
    smallest = np.partition(rest, missing - 1)[:missing] if 0 < missing < rest.size else rest[: max(missing, 0)]
    return float(np.sum(weight[pinned]) + np.sum(weight[must]) + np.sum(smallest))


def _all_equal(reviews: Floats, some: Floats) -> bool:
    """Whether reviews are all equal, and some of the papers, each with one of these, are as many."""
    return not reviews.size or bool(reviews[0] == reviews[-1] and np.count_nonzero(some == reviews[0]) >= reviews.size)


def _of_different_papers(reviews: Floats, smallest: Floats) -> bool:
    """Whether the smallest reviews, ascending, can be of different papers, given each paper's smallest review."""
    if not reviews.size:
        return True
    last = reviews[-1]
    below = int(reviews.searchsorted(last))
    return bool(np.count_nonzero(smallest < last) == below and np.count_nonzero(smallest <= last) >= reviews.size)
