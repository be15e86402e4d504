"""Published numbers as frames of the library that the user asks for, and as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from peerveil.errors import InputError

#: The libraries that can make a frame. Polars is always installed.
Backend = Literal["polars", "pandas", "pyarrow"]


def make_frame(columns: Mapping[str, Sequence[object]], backend: Backend = "polars") -> Any:
    """Return a frame with these columns, in which ``None`` is missing.

    >>> make_frame({"rank": [1, 2], "band_lower": [None, None]}).dtypes
    [Int64, Float64]
    """
    import narwhals as nw  # noqa: PLC0415 - only frames need it

    if backend not in (known := get_args(Backend)):
        raise InputError(f"backend must be one of {', '.join(known)}, got {backend!r}")
    # A column without any number would have no type.
    types = {name: nw.Float64() if all(cell is None for cell in cells) else None for name, cells in columns.items()}
    try:
        return nw.from_dict(columns, schema=types, backend=backend).to_native()
    except ModuleNotFoundError:
        raise InputError(f"a frame of {backend} needs the package {backend}, which is not installed") from None


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as the text of a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
