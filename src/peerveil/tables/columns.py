"""Columns of cells that take little memory: a cell that occurs often is kept once, with a small number for each row.

A table of a conference has few different scores and blanks, some thousand reviewers, and perhaps a name a row. Python's
lists take eight bytes a cell and some sixty for each text, where the file has two.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from mmap import mmap
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.unsignedinteger[Any]]

#: What a column of a table is: cells by row.
Cells = Sequence[Any]

# Below this number of different cells it is not worth asking whether they repeat.
_MANY = 2**14

# What a different cell takes in memory beside its letters. Looking them up may take as much as the file.
_BYTES_A_CELL = 64

# Rows that are looked at together; what is made of them is small beside any file that is large.
BLOCK = 2**16


class Coded(Sequence[Any]):
    """A column as its different cells and, for each row, the place of its cell among them.

    Attributes:
        values: the cells; each that occurs is here, perhaps some that do not.
        codes: for each row the place of its cell, in the fewest bytes that hold them.

    >>> column = Coded(["a", "b"], array("B", [0, 1, 0]))
    >>> list(column), column[1], len(column)
    (['a', 'b', 'a'], 'b', 3)
    """

    __slots__ = ("codes", "values")

    def __init__(self, values: Sequence[Any], codes: array[int] | Codes) -> None:
        self.values = values
        self.codes: memoryview[int] = memoryview(codes)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self.values[code] for code in self.codes[row]]
        return self.values[self.codes[row]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes)

    def numbers(self) -> Codes:
        """The codes as an array that shares their memory."""
        return np.asarray(self.codes)

    def used(self) -> npt.NDArray[np.intp]:
        """The places of the cells that occur, ascending."""
        return np.flatnonzero(self.sizes())

    def arranged(self) -> bool:
        """Whether the values are texts that ascend, and each occurs."""
        ascend = all(isinstance(value, str) for value in self.values) and all(a < b for a, b in pairwise(self.values))
        return ascend and self.used().size == len(self.values)

    def sizes(self) -> npt.NDArray[np.intp]:
        """How many rows have each cell."""
        total = np.zeros(len(self.values), dtype=np.intp)
        step = max(BLOCK, len(self.values))
        for start in range(0, len(self), step):  # at once, it would make a wide copy of all
            total += np.bincount(self.numbers()[start : start + step], minlength=total.size)
        return total

    def row_of(self, places: Iterable[int]) -> int:
        """The first row whose cell is at one of these places."""
        return int(np.flatnonzero(np.isin(self.numbers(), list(places)))[0])

    @classmethod
    def of(cls, names: Iterable[str], count: int) -> Coded:
        """A column of so many texts, its values sorted, each once.

        >>> column = Coded.of(["b", "a", "b"], 3)
        >>> column.values, column.codes.tolist()
        (('a', 'b'), [1, 0, 1])
        """
        cells = np.fromiter(names, dtype=object, count=count)
        order = scratch(count)
        order[:] = np.argsort(cells, kind="stable")
        codes = scratch(count)
        return cls(tuple(_distinct(cells, order, codes)), codes)


def _distinct(cells: npt.NDArray[Any], order: Codes, codes: Codes) -> Iterator[Any]:
    """The different cells in their order; the place of each row's is written among the codes."""
    before: Any = None
    count = 0
    for start in range(0, order.size, BLOCK):
        rows = order[start : start + BLOCK]
        block = cells[rows]
        new = np.ones(rows.size, dtype=bool)
        new[1:] = block[1:] != block[:-1]
        new[0] = start == 0 or block[0] != before
        codes[rows] = np.cumsum(new) + (count - 1)
        count += int(np.count_nonzero(new))
        before = block[-1]
        yield from block[new].tolist()


def scratch(count: int, kind: type[np.generic] = np.uint32) -> npt.NDArray[Any]:
    """An array of zeros whose memory goes back to the system when it is let go of.

    Memory of the usual kind may stay with the process, in holes between what is still needed.
    """
    size = np.dtype(kind).itemsize * count
    return np.frombuffer(mmap(-1, max(1, size)), dtype=kind, count=count)


def give_back() -> None:
    """Have freed memory given back to the system before much more is needed, where the C library knows how."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class Packed(Sequence[Any]):
    """A column of texts that hardly repeat, one after the other in one piece of memory.

    >>> column = Packed(["a", "", "bc"])
    >>> list(column), column[2]
    (['a', '', 'bc'], 'bc')
    """

    __slots__ = ("_ends", "_text")

    def __init__(self, cells: Iterable[str] = ()) -> None:
        self._text = bytearray()
        self._ends = array("I", [0])
        self.extend(cells)

    def extend(self, cells: Iterable[str]) -> None:
        """Take the next cells."""
        pieces = [cell.encode("utf-8", "surrogatepass") for cell in cells]
        ends = list(accumulate(map(len, pieces), initial=len(self._text)))[1:]
        if ends and ends[-1] > _MOST[self._ends.typecode]:
            self._ends = array("Q", self._ends)
        self._ends.extend(array(self._ends.typecode, ends))
        self._text += b"".join(pieces)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        place = range(len(self))[row]
        return self._text[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for start, end in pairwise(self._ends):
            yield self._text[start:end].decode("utf-8", "surrogatepass")


class Unread(Sequence[Any]):
    """A column of which only the name is known: nobody asked for its cells."""

    __slots__ = ("rows",)

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> Any: ...
    def __getitem__(self, row: int | slice) -> Any:
        raise LookupError("the cells of this column were not read")


class Growing:
    """A column of texts that is read piece by piece; its cells are coded as long as enough of them repeat."""

    def __init__(self, size: int = 0) -> None:
        """A column of a file of some size."""
        self._size, self._many = size, _MANY
        self._place = _Places()
        self._codes = array("B")
        self._packed: Packed | None = None

    def extend(self, cells: Iterable[str]) -> None:
        """Take the next cells."""
        if self._packed is not None:
            self._packed.extend(cells)
            return
        places = [self._place[cell] for cell in cells]
        width = len(self._place) - 1
        if width > _MOST[self._codes.typecode]:
            self._codes = array("H" if width <= _MOST["H"] else "I", self._codes)
        self._codes.extend(array(self._codes.typecode, places))
        if len(self._place) > self._many and len(self._codes) < 2 * len(self._place):
            self._many = len(self._place) * 5 // 4
            if sum(_BYTES_A_CELL + 2 * len(cell) for cell in self._place) > self._size:
                self._packed = Packed(self.column())
                self._place.clear()
                del self._codes[:]

    def column(self) -> Cells:
        """The column as it is now."""
        return Coded(list(self._place), self._codes) if self._packed is None else self._packed


_MOST = {"B": 2**8 - 1, "H": 2**16 - 1, "I": 2**32 - 1, "Q": 2**64 - 1}


class _Places(dict[str, int]):
    def __missing__(self, cell: str) -> int:
        place = self[cell] = len(self)
        return place


def mapped(cells: Cells, function: Callable[[Any], Any]) -> Cells:
    """A column with a function of each cell; of equal ones only once, where they are coded."""
    if isinstance(cells, Coded):
        return Coded(list(map(function, cells.values)), cells.numbers())
    return list(map(function, cells))


def taken(cells: Cells, rows: npt.NDArray[np.intp]) -> Cells:
    """Some rows of a column."""
    if isinstance(cells, Coded):
        return Coded(cells.values, cells.numbers()[rows])
    return [cells[row] for row in rows.tolist()]
