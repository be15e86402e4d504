"""Files of sampled tables: Parquet and CSV, a README that says what they know, and tables.json with the diagnostics."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from scipy.special import stdtrit

from peerveil.quantities.statistics import split
from peerveil.sampling.tables import MOST, SampledTables
from peerveil.support.atomic_files import staged_folder
from peerveil.support.version import software

#: The picture of the diagnostics.
PICTURE = "diagnostics.svg"

_README = """\
# {number} sampled tables

Each file `table-….parquet`, and the same as `.csv`, is one possible table of the conference: {columns}, one row per
review. All {number} are equally good, and none is the true one. They were drawn from differentially private releases
of {quantity}, together with the public record. They contain no further private information: anyone can draw them
again from these with the seed {seed}.

## What the tables know

- Papers, public scores and the number of reviews per reviewer are those of the public record, exactly{loads}.
- Nobody reviews a paper twice.
- How {quantity} are distributed over reviewers is drawn anew for each table from the posterior of the releases. How the
  tables differ shows how uncertain it is.
{drawn}
## What they do not know

- **Who reviewed what.** Reviewers are numbered at random in each table: reviewer 1 of one table is not reviewer 1 of
  another, and no row says anything about a person.
- **Anything else about reviewers.** The releases tell {quantity} only. All else is as random as that leaves it: how far
  a reviewer's scores are spread if only means were released, who shares papers with whom, who sees which topics, how
  reviewers change over time. A result that depends on such things is a result about random dealing.

## How to use them

Compute your number for every table. With {number} numbers of mean M and variance B, the estimate for the true table is
M, and its 90 % interval is M ± t √((1 + 1/{number}) B), with t = {t:.3f} (Student's law, {freedom} degrees of freedom).
Never use one table alone, and never average tables before computing. In Python, `peerveil.sample_tables` draws the
tables again, and `peerveil.combine(tables, function)` does this and warns where a function depends on what the releases
do not tell.

`tables.json` states what the tables were drawn from and how the draws went: the share of reviewers whose number is in
another bin than the posterior draw asked for (misplaced), of accepted moves (acceptance), of reviews that changed
hands after the target was fixed (renewed), and the share of misplaced reviewers after each round of exchanges (trace).
Its `settling` says whether the draws have settled: since the target was fixed, which share of reviews stayed with their
reviewers, beyond chance, in the worst table (left), and how the mean share of misplaced reviewers changed (drift).
`diagnostics.svg` shows them. Made with {software}.
"""

_DRAWN_SCORES = (
    "- {number} scores are hidden. They are **drawn**, and `score_drawn` marks them: single ones mean nothing. They "
    "are as random as the releases leave them, with the public scores as a guide, or the scale if no score is public.\n"
)
_DRAWN_ATTRIBUTES = (
    "- {names} of reviewers: **drawn** such that the released numbers by group fit, and as random as these leave it.\n"
)


def save(tables: SampledTables, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the files of sampled tables into a new folder atomically, and return the folder."""
    with staged_folder(folder, own=own_files(), overwrite=overwrite) as stage:
        write_into(tables, stage)
    return Path(folder)


def write_into(tables: SampledTables, folder: Path) -> None:
    """Write the files of sampled tables into an existing folder."""
    number = len(tables)
    for index, table in enumerate(tables, start=1):
        frame = table.to_frame()
        frame.write_parquet(folder / f"{_name(index)}.parquet")
        frame.write_csv(folder / f"{_name(index)}.csv")
    text = _README.format(
        number=number,
        columns=", ".join(tables[0].columns()),
        quantity=told(tables),
        drawn=_drawn(tables),
        seed=tables.seed,
        loads="" if tables.record.loads.counts is not None else "; where only a range of loads is public, drawn",
        t=float(stdtrit(number - 1, 0.95)),
        freedom=number - 1,
        software=software(),
    )
    (folder / PICTURE).write_text(tables.plot().svg, encoding="utf-8")
    (folder / "README.md").write_text(text, encoding="utf-8")
    (folder / "tables.json").write_text(json.dumps(document(tables), indent=1) + "\n", encoding="utf-8")


def _drawn(tables: SampledTables) -> str:
    """What is drawn besides who holds what, in words."""
    hidden, names = tables.record.hidden, ", ".join(f"`{attribute.name}`" for attribute in tables.attributes)
    scores = _DRAWN_SCORES.format(number=f"{hidden:,}") if hidden else ""
    return scores + (_DRAWN_ATTRIBUTES.format(names=names) if names else "")


def told(tables: SampledTables) -> str:
    """Return what the releases tell of reviewers, in words."""
    return " and ".join(map(in_words, tables.fitted_to))


def in_words(quantity: str) -> str:
    """Return what a release of a quantity tells of reviewers.

    >>> in_words("ratings"), in_words("spread of ratings by seniority")
    ("reviewers' means of ratings", "reviewers' spreads of ratings by seniority")
    """
    statistic, weighed = split(quantity)
    return f"reviewers' {statistic.plural} of {weighed}"


def document(tables: SampledTables) -> dict[str, object]:
    """Return the contents of tables.json."""
    return {
        "tables": len(tables),
        "fitted_to": list(tables.fitted_to),
        "record": tables.record_digest,
        "seed": tables.seed,
        "software": software(),
        "hidden_scores": tables.record.hidden,
        "attributes": {attribute.name: list(attribute.values) for attribute in tables.attributes},
        "diagnostics": tables.diagnostics | {"trace": tables.trace},
        "settling": asdict(tables.settling),
    }


def own_files() -> frozenset[str]:
    """Return the names of all files that a folder of tables may hold."""
    tables = (f"{_name(index)}.{kind}" for index in range(1, MOST + 1) for kind in ("parquet", "csv"))
    return frozenset(("README.md", "tables.json", PICTURE, *tables))


def _name(index: int) -> str:
    return f"table-{index:04d}"
