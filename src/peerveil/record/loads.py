"""Public knowledge of the reviewers' loads: how many reviews each has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, Part, RecordError

#: A caller's statement of loads: counts per load, a range ``(low, high)``, or the set of loads.
LoadsStatement = Mapping[int, int] | tuple[int, int] | Set[int]

# Arguments in messages, with examples of counts, a range and a set.
_LOAD, _LOADS, _REVIEWERS = (Argument(name, ...) for name in ("load", "loads", "reviewers"))
_COUNTS, _RANGE, _SET = (Argument("loads", example) for example in ({3: 800, 4: 900}, (1, 6), {3, 4}))


@dataclass(frozen=True, kw_only=True)
class Loads:
    """The public knowledge of reviewers' loads, made by :func:`declare_loads`.

    Attributes:
        reviewers: number of reviewers, ``n``.
        reviews: number of reviews, ``N``.
        sizes: the loads that may occur, ascending.
        counts: number of reviewers with each of ``sizes``; ``None`` if only the set is public.

    >>> declare_loads(12, load=3)
    Loads(reviewers=4, reviews=12, sizes=(3,), counts=(4,))
    >>> declare_loads(11, loads={3, 2}, reviewers=4).counts    # two sizes: the counts follow
    (1, 3)
    >>> declare_loads(11, loads=(1, 6), reviewers=4).counts is None
    True
    """

    reviewers: int
    reviews: int
    sizes: tuple[int, ...]
    counts: tuple[int, ...] | None

    def __post_init__(self) -> None:
        if not self.sizes or any(b <= a for a, b in pairwise((0, *self.sizes))):
            raise RecordError(f"loads must be distinct whole numbers of at least 1, got {self.sizes}")
        _check_range(self.reviews, self.smallest, self.largest, self.reviewers)
        if self.counts is not None:
            if len(self.counts) != len(self.sizes) or min(self.counts) < 1:
                raise RecordError(f"each load needs a count of at least 1, got {self.counts}")
            _check_sum(self.sizes, self.counts, self.describe(), reviews=self.reviews, reviewers=self.reviewers)

    @property
    def uniform(self) -> bool:
        """Whether all reviewers have the same load."""
        return len(self.sizes) == 1

    @property
    def smallest(self) -> int:
        """The least load that may occur."""
        return self.sizes[0]

    @property
    def largest(self) -> int:
        """The greatest load that may occur."""
        return self.sizes[-1]

    def per_reviewer(self, most: int | None = None) -> npt.NDArray[np.int64]:
        """Return all loads, descending, or the ``most`` largest. The counts must be public.

        >>> declare_loads(11, loads={2: 1, 3: 3}).per_reviewer(2).tolist()
        [3, 3]
        """
        if self.counts is None:
            raise RecordError("only the set of loads is public, not how many reviewers have each")
        most = self.reviewers if most is None else most
        counts = np.minimum(self.counts, most)
        return np.repeat(np.array(self.sizes, dtype=np.int64)[::-1], counts[::-1])[:most]

    def stated(self) -> dict[str, Any]:
        """Return the arguments with which :func:`declare_loads` makes these loads.

        >>> declare_loads(11, loads=(1, 6), reviewers=4).stated()
        {'loads': {1, 2, 3, 4, 5, 6}, 'reviewers': 4}
        """
        loads = set(self.sizes) if self.counts is None else dict(zip(self.sizes, self.counts, strict=True))
        return {"loads": loads, "reviewers": self.reviewers}

    def describe(self) -> str:
        """Return the loads in words.

        >>> declare_loads(11, loads={2: 1, 3: 3}).describe()
        '1 reviewer with 2 reviews, 3 reviewers with 3 reviews'
        """
        if self.counts is not None:
            return ", ".join(
                f"{count} reviewer{'s'[: count != 1]} with {size} review{'s'[: size != 1]}"
                for size, count in zip(self.sizes, self.counts, strict=True)
            )
        low, high = self.smallest, self.largest
        if self.sizes == tuple(range(low, high + 1)):
            return f"between {low} and {high} reviews each"
        return f"{', '.join(map(str, self.sizes[:-1]))} or {high} reviews each"

    def brief(self) -> str:
        """Return the loads in one line.

        >>> declare_loads(11, loads={2: 1, 3: 3}).brief(), declare_loads(12, load=3).brief()
        ('2 to 3 reviews each, median 3', '3 reviews each')
        """
        if self.uniform:
            return f"{self.largest} review{'s'[: self.largest != 1]} each"
        if self.counts is None:
            return f"{self.smallest} to {self.largest} reviews each"
        return f"{self.smallest} to {self.largest} reviews each, median {np.median(self.per_reviewer()):g}"


def declare_loads(
    reviews: int,
    *,
    load: int | None = None,
    loads: LoadsStatement | None = None,
    reviewers: int | None = None,
    papers: int | None = None,
) -> Loads:
    """Return the loads that a user states, or refuse numbers that do not agree.

    Args:
        reviews: number of reviews in the record.
        load: the load of every reviewer.
        loads: counts per load (``{3: 800, 4: 900}``), a range of loads (the tuple ``(1, 6)``), or the set of
            loads that occur (``{3, 4}``). A range or a set needs ``reviewers``.
        reviewers: number of reviewers. Alone, it assumes nothing about the loads.
        papers: number of papers, which no load exceeds.

    >>> declare_loads(10, load=3)
    Traceback (most recent call last):
    peerveil.errors.RecordError: load=3 does not divide the 10 reviews of the record: ...
    """
    if load is not None and loads is not None:
        given = (Argument("load", load), ", ", Argument("loads", loads))
        raise RecordError("state ", _LOAD, " or ", _LOADS, ", not both (got ", *given, ")")
    if reviewers is not None:
        reviewers = _whole(Argument("reviewers"), reviewers)
    if load is not None:
        return _uniform(reviews, _whole(Argument("load"), load), reviewers)
    if isinstance(loads, Mapping):
        return _counted(reviews, loads, reviewers)
    if reviewers is None:
        raise RecordError(
            *("what is public about loads must be stated: ", _LOAD, " (every reviewer has it), ", _COUNTS, ", "),
            *(_RANGE, " or ", _SET, " with ", _REVIEWERS, ", or ", _REVIEWERS, " alone"),
        )
    most = reviews if papers is None else papers  # no one reviews a paper twice
    if loads is None:
        return _among(reviews, range(1, most + 1), reviewers)
    if isinstance(loads, tuple) and len(loads) == 2:
        low, high = (_whole(Argument("loads"), size) for size in loads)
        if low > high:
            raise RecordError(Argument("loads"), f" as a range needs low <= high, got {loads}")
        return _among(reviews, range(low, max(low, min(high, most)) + 1), reviewers)
    if isinstance(loads, Set) and loads:
        return _among(reviews, sorted(_whole(Argument("loads"), size) for size in loads), reviewers)
    raise RecordError(
        Argument("loads"), f" must be counts {{load: count}}, a range (low, high) or a set of loads, got {loads!r}"
    )


def _whole(name: Part, value: object, least: int = 1) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise RecordError(name, f" must be a whole number of at least {least}, got {value!r}")


def _check_range(reviews: int, low: int, high: int, reviewers: int) -> None:
    if not low * reviewers <= reviews <= high * reviewers:
        raise RecordError(
            Argument("reviewers", reviewers),
            f" with loads from {low} to {high} hold between {low * reviewers} and "
            f"{high * reviewers} reviews, but the record has {reviews}",
        )


def _check_sum(sizes: Sequence[int], counts: Sequence[int], text: str, *, reviews: int, reviewers: int) -> None:
    total = sum(size * count for size, count in zip(sizes, counts, strict=True))
    if sum(counts) != reviewers or total != reviews:
        raise RecordError(
            f"loads do not add up: {text} make {sum(counts)} reviewers and {total} reviews, but the record has "
            f"{reviewers} reviewers and {reviews} reviews; if some reviews have no score or were left out, state a "
            "range of loads (",
            Argument("loads", (1, max(sizes))),
            ") and the number of reviewers (",
            Argument("reviewers", sum(counts)),
            ")",
        )


def _uniform(reviews: int, load: int, reviewers: int | None) -> Loads:
    if reviews % load:
        raise RecordError(
            Argument("load", load),
            f" does not divide the {reviews} reviews of the record: {reviews // load} reviewers would "
            f"leave {reviews % load} over; state ",
            _COUNTS,
            " if loads differ, or a range of loads and the number of reviewers if some reviews have no score",
        )
    if reviewers is not None and reviewers * load != reviews:
        raise RecordError(
            Argument("reviewers", reviewers),
            " with ",
            Argument("load", load),
            f" make {reviewers * load} reviews, but the record has {reviews}",
        )
    return Loads(reviewers=reviews // load, reviews=reviews, sizes=(load,), counts=(reviews // load,))


def _counted(reviews: int, loads: Mapping[int, int], reviewers: int | None) -> Loads:
    stated = {
        _whole(Argument("loads"), size): _whole("the count of a load", count, least=0) for size, count in loads.items()
    }
    sizes = tuple(sorted(size for size, count in stated.items() if count))
    counts = tuple(stated[size] for size in sizes)
    number = sum(counts) if reviewers is None else reviewers
    _check_sum(sizes, counts, str(dict(loads)), reviews=reviews, reviewers=number)
    return Loads(reviewers=number, reviews=reviews, sizes=sizes, counts=counts)


def _among(reviews: int, stated: Sequence[int], reviewers: int) -> Loads:
    """Return loads known as a set, without those that the public numbers rule out."""
    low, high = stated[0], stated[-1]
    _check_range(reviews, low, high, reviewers)
    # A load is at most what remains if all others have the least, and at least what remains if they have the greatest.
    most, least = reviews - (reviewers - 1) * low, reviews - (reviewers - 1) * high
    possible = tuple(size for size in stated if least <= size <= most)
    if possible and len(possible) < len(stated):
        return _among(reviews, possible, reviewers)
    if possible and _reachable(reviews - low * reviewers, [size - low for size in possible[1:]], reviewers):
        if len(possible) > 2:
            return Loads(reviewers=reviewers, reviews=reviews, sizes=possible, counts=None)
        if len(possible) == 1:
            return _uniform(reviews, low, reviewers)
        extra = (reviews - low * reviewers) // (high - low)
        return _counted(reviews, {low: reviewers - extra, high: extra}, reviewers)
    raise RecordError(
        f"no numbers of reviewers with loads {', '.join(map(str, stated))} make {reviewers} reviewers and "
        f"{reviews} reviews"
    )


def _reachable(amount: int, steps: Sequence[int], most: int) -> bool:
    """Return whether at most ``most`` steps, each used any number of times, add up to the amount.

    A shortest sum uses fewer of the smaller steps than the size of the largest: among that many, some add up to a
    multiple of the largest.
    """
    if not steps:
        return amount == 0
    if steps[0] == 1 and len(steps) == steps[-1]:
        return True  # a complete range: the bounds on the amount were checked
    if amount % reduce(gcd, steps):
        return False
    largest = steps[-1]
    fewest = {0: 0}
    frontier = [0]
    for used in range(1, largest):
        frontier = [total + step for total in frontier for step in steps[:-1] if total + step <= amount]
        frontier = [total for total in dict.fromkeys(frontier) if fewest.setdefault(total, used) == used]
    return any(
        (amount - total) % largest == 0 and used + (amount - total) // largest <= most for total, used in fewest.items()
    )
