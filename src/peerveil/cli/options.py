"""What users write on the command line, turned into what the library takes."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

import typer

from peerveil.errors import InputError
from peerveil.loads import LoadsStatement

LoneChoice = Literal["refuse", "zero"]

Load = Annotated[int | None, typer.Option(help="Every reviewer's load, if all have the same.", rich_help_panel="Loads")]
Loads = Annotated[
    str | None,
    typer.Option(help="'3:800,4:900' (counts), '1-6' (range) or '3,4' (set of loads).", rich_help_panel="Loads"),
]
Reviewers = Annotated[
    int | None, typer.Option(help="Number of reviewers; needed with a range or a set.", rich_help_panel="Loads")
]
Quantity = Annotated[str, typer.Option(help="ratings | miscalibration")]
Lone = Annotated[
    str, typer.Option(help="Miscalibration of a paper's only review: 'refuse', or 'zero' to let it count as 0.")
]
Region = Annotated[str, typer.Option(help="chain | baseline: what public data proves about the truth.")]
Estimator = Annotated[str, typer.Option(help="projection: never less accurate than the noisy vector.")]
Output = Annotated[str, typer.Option("--output", "-o", help="Folder to write; must not hold files already.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output folder if it holds files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")]
ScoreScale = Annotated[
    str | None, typer.Option(help="Lowest and highest possible score, e.g. '1,10'; others are refused.")
]
Format = Annotated[str | None, typer.Option(help="csv | tsv | parquet | jsonl; found from the content by default.")]
PaperColumn = Annotated[str | None, typer.Option(help="Column of papers.", rich_help_panel="Columns")]
ReviewerColumn = Annotated[str | None, typer.Option(help="Column of reviewers.", rich_help_panel="Columns")]
ScoreColumn = Annotated[str | None, typer.Option(help="Column of scores.", rich_help_panel="Columns")]


def parse_loads(text: str | None) -> LoadsStatement | None:
    """Loads as written: counts, a range, or a set.

    >>> parse_loads("3:800,4:900"), parse_loads("1-6"), parse_loads("3,4")
    ({3: 800, 4: 900}, (1, 6), {3, 4})
    """
    if text is None:
        return None
    try:
        if ":" in text:
            pairs = [part.split(":") for part in text.split(",")]
            return {int(size): int(count) for size, count in pairs}
        if "-" in text:
            low, high = text.split("-")
            return int(low), int(high)
        return {int(size) for size in text.split(",")}
    except ValueError:
        raise InputError(f"--loads must look like '3:800,4:900', '1-6' or '3,4', got {text!r}") from None


def parse_scale(text: str | None) -> tuple[float, float] | None:
    """The score scale as written.

    >>> parse_scale("1,10")
    (1.0, 10.0)
    """
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--score-scale must look like '1,10', got {text!r}") from None
    return low, high


def parse_lone(text: str) -> LoneChoice:
    """What to do with a paper's only review."""
    if text not in get_args(LoneChoice):
        raise InputError(f"--lone must be 'refuse' or 'zero', got {text!r}")
    return cast("LoneChoice", text)
