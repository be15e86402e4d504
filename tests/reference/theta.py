"""All assignments of a small record, and all vectors they give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

Rows = Sequence[Sequence[float]]
Assignment = tuple[tuple[int, ...], ...]


def assignments(rows: Rows, loads: Sequence[int]) -> Iterator[Assignment]:
    """Every way to give the reviews of each row to different reviewers so that reviewer j gets loads[j] of them.

    An assignment holds, for each row, the reviewer of each of its reviews.
    """

    def place(r: int, room: list[int]) -> Iterator[Assignment]:
        if r == len(rows):
            yield ()
            return
        for chosen in permutations([j for j, left in enumerate(room) if left], len(rows[r])):
            for j in chosen:
                room[j] -= 1
            # What is left must fit: nobody can take more reviews than there are rows to come.
            if max(room, default=0) <= len(rows) - r - 1:
                for rest in place(r + 1, room):
                    yield (chosen, *rest)
            for j in chosen:
                room[j] += 1

    return place(0, list(loads))


def means(rows: Rows, assignment: Assignment, loads: Sequence[int]) -> tuple[Fraction, ...]:
    """The exact sorted means of an assignment."""
    totals = [Fraction(0)] * len(loads)
    for row, holders in zip(rows, assignment, strict=True):
        for x, j in zip(row, holders, strict=True):
            totals[j] += Fraction(x)
    return tuple(sorted(total / load for total, load in zip(totals, loads, strict=True)))


def theta(rows: Rows, loads: Sequence[int]) -> set[tuple[Fraction, ...]]:
    """All sorted vectors of means that some assignment with these loads gives.

    Paper by paper. Reviewers who have the same load, room and total so far are interchangeable, so a state is the
    multiset of these.
    """
    states = {tuple(sorted((load, load, Fraction(0)) for load in loads))}
    for r, row in enumerate(rows):
        to_come = len(rows) - r - 1
        states = {new for state in states for new in _given(state, [Fraction(x) for x in row], to_come)}
    return {tuple(sorted(total / load for load, _, total in state)) for state in states}


State = tuple[tuple[int, int, Fraction], ...]


def _given(state: State, row: list[Fraction], to_come: int) -> set[State]:
    """Every state after the reviews of a paper went to different reviewers."""
    partial: set[tuple[State, State]] = {(state, ())}  # who has none of this paper yet, who has
    for x in row:
        partial = {
            (tuple(sorted((*free[:j], *free[j + 1 :]))), tuple(sorted((*done, (load, room - 1, total + x)))))
            for free, done in partial
            for j, (load, room, total) in enumerate(free)
            if room and (j == 0 or free[j] != free[j - 1])
        }
    # Nobody can take more reviews than there are papers to come.
    return {tuple(sorted(free + done)) for free, done in partial if all(room <= to_come for _, room, _ in free + done)}


def theta_among(rows: Rows, reviewers: int, sizes: Iterable[int]) -> set[tuple[Fraction, ...]]:
    """The same where only the set of loads is known."""
    total = sum(map(len, rows))
    found: set[tuple[Fraction, ...]] = set()
    for loads in combinations_with_replacement(sorted(sizes), reviewers):
        if sum(loads) == total:
            found |= theta(rows, loads)
    return found
