"""`peerveil simulate`: the paper's experiments, and simulations on a public record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.app.requests import SimulateRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from rich.table import Table

    from peerveil.simulation.experiments import Sweep


@opt.with_options
def simulate(request: SimulateRequest, *, as_json: opt.AsJson = False) -> None:
    """Repeat the paper's simulations, or simulate on a real public record; write errors as data and figures.

    An interrupted sweep is resumed when the same command is run again.
    """
    from peerveil.app.simulate import simulate
    from peerveil.cli.working import after_writing, counting

    for sweep, files in simulate(request, counting):
        with after_writing(request.output):
            _show(sweep, files, as_json=as_json)


def _show(sweep: Sweep, files: list[Path], *, as_json: bool) -> None:
    from peerveil.cli.show import out

    if as_json:
        sys.stdout.write(json.dumps([point._asdict() for point in sweep.table()]) + "\n")
        return
    out.print(sweep.title)
    out.print(_table(sweep))
    out.print(f"Written: {', '.join(map(str, files))}\n", soft_wrap=True)


def _table(sweep: Sweep) -> Table:
    """Return mean errors with standard errors: one row per setting, one column per method."""
    from peerveil.cli.show import rows_table
    from peerveil.simulation.experiments import TITLES

    cells: dict[float, list[str]] = {}
    for point in sweep.table():
        cells.setdefault(point.point, []).append(f"{point.mean:.3g} ± {point.error:.1g}")
    rows = [[f"{setting:g}", *row] for setting, row in cells.items()]
    return rows_table([sweep.axis, *(TITLES[method] for method in sweep.methods)], rows)
