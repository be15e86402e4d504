"""What the command line shows of a release."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from peerveil.cli.options import option
from peerveil.cli.working import after_writing
from peerveil.errors import spelled
from peerveil.planning.plans import Plan
from peerveil.record.public_record import Floats
from peerveil.releases.release import Release

if TYPE_CHECKING:
    from peerveil.private.tracks import GroupReleases

# What is shown is data, with any brackets and colons it has: never markup.
out = Console(markup=False, emoji=False, highlight=False)
err = Console(stderr=True, markup=False, emoji=False, highlight=False)


def print_json(document: object) -> None:
    """A document for machines; in ASCII, so that every stdout can carry it whole."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def report_warnings(messages: Iterable[Warning]) -> None:
    """Print warnings of the library on stderr, one line each."""
    for message in messages:
        err.print(f"peerveil: warning: {spelled(message, option)}", soft_wrap=True)


def tell_unsigned(signed: int) -> None:
    """Say on stderr that signed releases were replaced, so that their signatures are gone."""
    if signed:
        what = "the signature of the replaced release was" if signed == 1 else f"{signed} signatures were"
        err.print(f"peerveil: {what} removed; sign anew with: peerveil sign", soft_wrap=True)


def report_release(made: Release, output: str, *, as_json: bool, report: bool = True) -> None:
    """Say what was released and where it is."""
    with after_writing(output):
        if as_json:
            print_json(
                {
                    "folder": output,
                    "quantity": made.quantity,
                    "reviewers": made.reviewers,
                    "guarantee": made.guarantee.summary,
                    "estimator": made.estimator,
                    "expected_rmse": made.outlook.expected_rmse if made.outlook else None,
                    "notes": list(made.notes),
                    "charge": made.charge,
                }
            )
        else:
            out.print(release_panel(made))
            written = ("release.json", "release.csv", *(("report.html",) if report else ()))
            out.print(f"Written: {', '.join(str(Path(output) / name) for name in written)}", soft_wrap=True)
            if made.charge is not None:
                out.print(f"Charged to the ledger as release {made.charge}.")


def report_groups(made: GroupReleases, output: str, folders: dict[str, str], *, as_json: bool) -> None:
    """Print what was released of each group, and what all releases promise together."""
    with after_writing(output):
        errors = {name: one.outlook.expected_rmse if one.outlook else None for name, one in made.releases.items()}
        if as_json:
            groups = [
                {
                    "group": name,
                    "folder": folders[name],
                    "reviewers": one.reviewers,
                    "guarantee": one.guarantee.summary,
                    "expected_rmse": errors[name],
                }
                for name, one in made.releases.items()
            ]
            print_json({"folder": output, "groups": groups, "guarantee": made.guarantee.summary})
            return
        rows = [
            (
                name,
                str(one.reviewers),
                "" if errors[name] is None else f"{errors[name]:.3g}",
                folders[name],
                one.guarantee.summary,
            )
            for name, one in made.releases.items()
        ]
        out.print(rows_table(("group", "reviewers", "expected error", "folder", "claim"), rows))
        out.print()
        out.print(f"All groups together: {made.guarantee.summary}", style="bold")
        out.print(made.guarantee.promise)


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 32) -> str:
    """A bar of a share of the width, to an eighth of a character.

    >>> bar(0.5, width=4)
    '██'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def histogram(values: Floats, bins: int = 12) -> Table:
    """How many reviewers have which mean."""
    low, high = float(values[0]), float(values[-1])
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        table.add_row(f"{left:.2f} to {right:.2f}", Text(bar(count / counts.max()), style="cyan"), str(count))
    return table


def release_panel(release: Release) -> Panel:
    """What was released, and with which promise."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    loads = release.loads
    facts.add_row("record", f"{release.papers} papers, {loads.reviews} reviews, {loads.reviewers} reviewers")
    facts.add_row("loads", loads.describe())
    facts.add_row("public", release.public)
    facts.add_row("claim", Text(release.guarantee.summary, style="bold"))
    if release.human:
        facts.add_row("that is", release.human)
    facts.add_row("promise", release.promise)
    facts.add_row("limits", release.not_protected)
    if release.outlook is not None:
        facts.add_row("expected error", release.outlook.summary)
        facts.add_row("assuming", release.outlook.assumption)
    for note in release.notes:
        facts.add_row("note", note)
    title = Text.assemble((release.quantity, "bold"), ": reviewers by their released mean")
    return Panel(Group(histogram(release.values), Text(), facts), title=title, title_align="left")


def facts_table(facts: dict[str, object]) -> Table:
    """Names and values, a row each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in facts.items():
        table.add_row(name, "; ".join(map(str, value)) or "none" if isinstance(value, list) else str(value))
    return table


#: Cells up to this many characters are not broken into lines.
_KEPT_WHOLE = 12


def rows_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Columns with their names, a row each; nothing is cut off, however narrow the terminal."""
    table = Table(box=None, pad_edge=False)
    cells = [tuple(row) for row in rows]
    for place, column in enumerate(columns):  # what is short, such as a number, stays in one piece; sentences make way
        whole = all(len(cell) <= _KEPT_WHOLE for cell in (column, *(row[place] for row in cells)))
        table.add_column(column, overflow="fold", no_wrap=whole, min_width=1)
    for row in cells:
        table.add_row(*row)
    return table


def error_table(errors: dict[str, float]) -> Table:
    """Root mean squared errors, each as a bar on a logarithmic scale."""
    table = Table(box=None, pad_edge=False)
    table.add_column("what is published")
    table.add_column("typical error of a mean", justify="right")
    table.add_column("(logarithmic)")
    logs = {name: np.log10(max(value, 1e-12)) for name, value in errors.items()}
    low, high = min(logs.values()) - 0.5, max(logs.values())
    for name, value in errors.items():
        table.add_row(name, f"{value:.3g}", Text(bar((logs[name] - low) / (high - low), 24), style="magenta"))
    return table


#: What the table of a plan shows.
PLAN_COLUMNS = ("", "mechanism", "estimator", "error of a mean", "worst decile", "by leniency")


def plan_rows(made: Plan) -> dict[str, list[list[str]]]:
    """For each budget its choices, a row each: > marks what is recommended, * estimators that promise less."""
    recommended = set(made.recommended)
    rows: dict[str, list[list[str]]] = {}
    for choice in made.choices:
        budget = f"epsilon {choice.epsilon:g}" + (f", delta {choice.delta:g}" if choice.delta else "")
        row = [
            ">" if choice in recommended else "",
            choice.title,
            choice.estimator + ("" if choice.guaranteed else " *"),
            f"{choice.rmse:.3g} ± {choice.rmse_error:.1g}",
            f"{choice.decile:.3g} ± {choice.decile_error:.1g}",
            f"{choice.rmse_least:.2g} to {choice.rmse_most:.2g}",
        ]
        rows.setdefault(budget, []).append(row)
    return rows
