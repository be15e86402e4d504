"""Published counts of people by their means in two conferences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from peerveil.inference.linked.tables import rows_of
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.record.public_record import Floats
from peerveil.releases import documents


@dataclass(frozen=True, kw_only=True)
class Cell:
    """People with means in a bin of the first conference and in one of the second.

    Attributes:
        first_from: the least mean in the first conference.
        first_to: the greatest mean there.
        second_from: the least mean in the second conference.
        second_to: the greatest mean there.
        noisy: the noisy count.
        people: the estimated number of people.
        share: their share of all who are in the same bin of the first conference.
        share_lower: lower end of its interval, which covers the noise only.
        share_upper: upper end of its interval.
    """

    first_from: float
    first_to: float
    second_from: float
    second_to: float
    noisy: float
    people: float
    share: float
    share_lower: float
    share_upper: float

    def numbers(self) -> list[float]:
        """Return all numbers."""
        return list(asdict(self).values())

    @classmethod
    def from_document(cls, cell: dict[str, Any]) -> Cell:
        """Return the cell that a JSON object states."""
        names = [field.name for field in fields(cls)]
        numbers = documents.vector_from([cell[name] for name in names], "cells").tolist()
        return cls(**dict(zip(names, numbers, strict=True)))


def cells_of(table: LinkedCounts, noisy: Floats, scale: float, *, level: float) -> tuple[Cell, ...]:
    """Return the cells of a table of noisy counts, one row of the table after the other."""
    first, second = table.bins
    groups = rows_of(table, noisy, scale, level=level)
    counts = noisy.reshape(table.number, -1)
    return tuple(
        Cell(
            first_from=float(first.low[one]),
            first_to=float(first.high[one]),
            second_from=float(second.low[other]),
            second_to=float(second.high[other]),
            noisy=float(counts[one, other]),
            people=group.counts[other],
            share=group.shares[other],
            share_lower=group.low[other],
            share_upper=group.high[other],
        )
        for one, group in enumerate(groups)
        for other in range(table.number)
    )


def shown_rows(cells: tuple[Cell, ...]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the table for a report: names of columns, and for each row its name and its shares with intervals."""
    number = int(np.sqrt(len(cells)))
    columns = [_span(cell.second_from, cell.second_to) for cell in cells[:number]]
    rows = []
    for start in range(0, len(cells), number or 1):
        row = cells[start : start + number]
        shares = [f"{100 * c.share:.0f} % ({100 * c.share_lower:.0f} to {100 * c.share_upper:.0f} %)" for c in row]
        rows.append((_span(row[0].first_from, row[0].first_to), shares))
    return columns, rows


def _span(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"
