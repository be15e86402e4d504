"""Neighbouring assignments, by the definition of the promise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from reference.theta import Assignment


def flat(assignment: Assignment) -> tuple[int, ...]:
    return tuple(j for row in assignment for j in row)


def is_neighbour(one: Assignment, other: Assignment, unit: str) -> bool:
    """Both are valid assignments of the same record with the same loads; tells whether they are neighbours.

    review: two reviewers exchanged one review each.
    reviewer: some reviewer holds, in exactly one of the two, every review whose holder differs.
    """
    moved = [(a, b) for a, b in zip(flat(one), flat(other), strict=True) if a != b]
    if unit == "review":
        return len(moved) == 2 and moved[0] == moved[1][::-1]
    return any(exchanged(one, other, j) for j in set(flat(one)))


def exchanged(one: Assignment, other: Assignment, j: int) -> bool:
    """Whether only reviews of this reviewer were exchanged, one for one, or none at all."""
    return all((a == j) != (b == j) for a, b in zip(flat(one), flat(other), strict=True) if a != b)


def neighbours(listed: list[Assignment], unit: str) -> Iterator[tuple[Assignment, Assignment]]:
    return ((one, other) for one, other in combinations(listed, 2) if is_neighbour(one, other, unit))


def neighbours_up_to_names(
    listed: list[Assignment], loads: list[int], unit: str
) -> Iterator[tuple[Assignment, Assignment]]:
    """All neighbours, but for renaming reviewers of equal load: in the first one they appear in order."""

    def in_order(assignment: Assignment) -> bool:
        seen = list(dict.fromkeys(flat(assignment)))
        return all(j < k for a, j in enumerate(seen) for k in seen[a + 1 :] if loads[j] == loads[k])

    return ((one, other) for one in listed if in_order(one) for other in listed if is_neighbour(one, other, unit))
