"""Small conferences for Hypothesis: ties, repeated scores, one paper, one reviewer, loads of one, any scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st

import peerveil as pv
from peerveil.record.loads import LoadsStatement

PAPERS = "abcdefgh"


@dataclass(frozen=True)
class Case:
    """Rows of weights and one valid assignment of them; ``holders`` has the reviewer of each weight."""

    rows: list[list[float]]
    holders: list[list[int]]

    @property
    def loads(self) -> list[int]:
        counts: dict[int, int] = {}
        for row in self.holders:
            for j in row:
                counts[j] = counts.get(j, 0) + 1
        return [counts[j] for j in sorted(counts)]

    @property
    def reviewers(self) -> int:
        return len(self.loads)

    def stated(self) -> LoadsStatement:
        """The loads as counts."""
        return {size: self.loads.count(size) for size in set(self.loads)}

    def weights(self) -> pv.PublicWeights:
        return pv.PublicWeights.from_rows(self.rows, loads=self.stated())

    def columns(self) -> tuple[list[str], list[str], list[float]]:
        """Paper, reviewer and score of each review."""
        triples = [
            (PAPERS[p], f"reviewer{j}", x)
            for p, (row, holders) in enumerate(zip(self.rows, self.holders, strict=True))
            for x, j in zip(row, holders, strict=True)
        ]
        papers, reviewers, scores = zip(*triples, strict=True)
        return list(papers), list(reviewers), list(scores)

    def truth(self) -> list[float]:
        totals = [0.0] * self.reviewers
        for row, holders in zip(self.rows, self.holders, strict=True):
            for x, j in zip(row, holders, strict=True):
                totals[j] += x
        return sorted(total / load for total, load in zip(totals, self.loads, strict=True))


_INTEGERS = st.integers(1, 4).map(float)
_SIGNED = st.sampled_from([-1.0, 0.0, 0.0, 1.0])
# Subnormal numbers have no relative precision, so no bound relative to the spread of weights can hold for them.
_REALS = st.floats(0, 1, width=32, allow_subnormal=False)
_HUGE = st.floats(-1e9, 1e9, allow_subnormal=False)
_TINY = st.floats(-1e-9, 1e-9, allow_subnormal=False)
_OFFSET = st.integers(0, 8).map(lambda i: 1e6 + i / 8)


@st.composite
def scores(draw: st.DrawFn, count: int) -> list[float]:
    """Scores of one flavour: a few integers, mixed signs, reals, huge, tiny, or with a large offset."""
    flavour = draw(st.sampled_from([_INTEGERS, _SIGNED, _REALS, _HUGE, _TINY, _OFFSET]))
    return draw(st.lists(flavour, min_size=count, max_size=count))


@st.composite
def cases(draw: st.DrawFn, *, most_reviews: int = 8, uniform: bool | None = None) -> Case:
    """A small record with a valid assignment; ``uniform`` asks for equal or for any loads."""
    if uniform is None:
        uniform = draw(st.booleans())
    if uniform:
        load = draw(st.integers(1, 3))
        reviewers = draw(st.integers(1, max(1, most_reviews // load)))
        papers = draw(st.integers(load, min(load * reviewers, 6, most_reviews)))
        # Deal papers to reviewers from a shuffled list of slots; cyclic dealing never repeats a paper.
        sizes = _row_sizes(draw, load * reviewers, papers, reviewers)
        order = draw(st.permutations(range(reviewers)))
        holders: list[list[int]] = []
        place = 0
        for size in sizes:
            holders.append([order[(place + i) % reviewers] for i in range(size)])
            place += size
    else:
        reviewers = draw(st.integers(1, 4))
        papers = draw(st.integers(1, 4))
        pairs = [(p, j) for p in range(papers) for j in range(reviewers)]
        chosen = set(draw(st.lists(st.sampled_from(pairs), max_size=most_reviews - max(papers, reviewers))))
        chosen |= {(i % papers, i % reviewers) for i in range(max(papers, reviewers))}
        holders = [[j for j in range(reviewers) if (p, j) in chosen] for p in range(papers)]
    flat = draw(scores(sum(map(len, holders))))
    values = iter(flat)
    return Case(rows=[[next(values) for _ in row] for row in holders], holders=holders)


def _row_sizes(draw: st.DrawFn, total: int, papers: int, reviewers: int) -> list[int]:
    sizes = []
    for left in range(papers, 0, -1):
        least = max(1, total - (left - 1) * reviewers)
        most = min(reviewers, total - (left - 1))
        size = draw(st.integers(least, most))
        sizes.append(size)
        total -= size
    return sizes


def hidden_variants(
    rows: list[list[float]], hidden: list[list[bool]], scale: list[float]
) -> Iterator[list[list[float]]]:
    """Every way to fill in the hidden scores from a small scale."""
    places = [(p, i) for p, row in enumerate(hidden) for i, h in enumerate(row) if h]
    for values in product(scale, repeat=len(places)):
        filled = [list(row) for row in rows]
        for (p, i), value in zip(places, values, strict=True):
            filled[p][i] = value
        yield filled


@st.composite
def hidden_cases(draw: st.DrawFn) -> tuple[Case, list[list[bool]]]:
    """A case on the scale 1, 2, 3 with up to three hidden scores, or all of a tiny one."""
    case = draw(cases(most_reviews=5))
    rows = [[float(draw(st.integers(1, 3))) for _ in row] for row in case.rows]
    places = [(p, i) for p, row in enumerate(rows) for i in range(len(row))]
    chosen = set(draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)))
    return Case(rows, case.holders), [[(p, i) in chosen for i in range(len(row))] for p, row in enumerate(rows)]


def visible(case: Case, hidden: list[list[bool]]) -> pv.PublicRecord:
    rows = [
        [None if h else x for x, h in zip(row, flags, strict=True)]
        for row, flags in zip(case.rows, hidden, strict=True)
    ]
    return pv.PublicRecord.from_rows(rows, loads=case.stated(), scale=(1, 3))


@dataclass(frozen=True)
class Graded:
    """A case whose reviews have criteria; ``grades`` has the numbers of each, a row a paper, like the scores."""

    case: Case
    grades: dict[str, list[list[float]]]
    hidden: list[list[bool]]

    def columns(self) -> dict[str, list[float]]:
        return {name: [x for row in rows for x in row] for name, rows in self.grades.items()}

    def reviews(self, **options: Any) -> pv.Reviews:
        return pv.Reviews.from_columns(*self.case.columns(), criteria=self.columns(), **options)

    def record(self, scale: tuple[float, float] | None = None) -> pv.PublicRecord:
        """What is public: all but the hidden reviews."""

        def shown(rows: list[list[float]]) -> list[list[float | None]]:
            return [
                [None if h else x for x, h in zip(row, flags, strict=True)]
                for row, flags in zip(rows, self.hidden, strict=True)
            ]

        return pv.PublicRecord.from_rows(
            shown(self.case.rows),
            papers=PAPERS[: len(self.case.rows)],
            loads=self.case.stated(),
            scale=scale,
            criteria={name: shown(rows) for name, rows in self.grades.items()},
        )


@st.composite
def graded_cases(draw: st.DrawFn, *, most_reviews: int = 8) -> Graded:
    """A small record with one to three criteria of few grades, and nothing hidden."""
    case = draw(cases(most_reviews=most_reviews))
    names = draw(st.sampled_from([["clarity"], ["soundness", "clarity"], ["b", "c", "a"]]))
    grades = {name: [[float(draw(st.integers(1, 3))) for _ in row] for row in case.rows] for name in names}
    return Graded(case, grades, [[False] * len(row) for row in case.rows])


@st.composite
def hidden_graded_cases(draw: st.DrawFn) -> Graded:
    """A case on the scale 1, 2, 3 with one or two criteria of two grades, some reviews hidden and some not."""
    case, hidden = draw(hidden_cases().filter(lambda pair: not all(h for row in pair[1] for h in row)))
    names = draw(st.sampled_from([["clarity"], ["soundness", "clarity"]]))
    grades = {name: [[float(draw(st.integers(1, 2))) for _ in row] for row in case.rows] for name in names}
    return Graded(case, grades, hidden)
