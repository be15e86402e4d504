"""Sweeps of simulations that can be interrupted, as data and pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from peerveil.cli.show import out, rows_table
from peerveil.cli.working import after_writing, counting
from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Mechanism
from peerveil.quantities.weights import PublicWeights
from peerveil.releases.sweep_files import sweep_folder, write_sweep
from peerveil.simulation.experiments import EXPERIMENTS, TITLES, Sweep, simulate, simulate_record
from peerveil.support import parallel


@dataclass(frozen=True)
class PaperSweep:
    """One of the paper's experiments, or all of them."""

    experiment: str
    draws: int
    methods: tuple[str, ...]
    scale: float
    seed: int

    def settings(self) -> dict[str, object]:
        """What must be the same for a sweep to go on."""
        return {"draws": self.draws, "methods": self.methods, "scale": self.scale, "seed": self.seed}

    def runs(self) -> Iterator[tuple[str, Callable[..., Sweep]]]:
        """What to run, with what to show meanwhile."""
        if self.experiment not in (*EXPERIMENTS, "all"):
            raise InputError(
                Argument("experiment"), f" must be 'all' or one of {', '.join(EXPERIMENTS)}, got {self.experiment!r}"
            )
        names = EXPERIMENTS if self.experiment == "all" else [self.experiment]
        for name in names:

            def one(name: str = name, **options: Any) -> Sweep:
                return simulate(
                    name, draws=self.draws, methods=self.methods, scale=self.scale, seed=self.seed, **options
                )

            yield EXPERIMENTS[name].title, one


@dataclass(frozen=True)
class RecordSweep:
    """Invented assignments of a real public record."""

    weights: PublicWeights
    name: str
    leniency: tuple[float, ...]
    draws: int
    methods: tuple[str, ...]
    mechanism: Mechanism
    seed: int

    def settings(self) -> dict[str, object]:
        """What must be the same for a sweep to go on."""
        return {
            "record": self.weights.digest(),
            "leniency": self.leniency,
            "draws": self.draws,
            "methods": self.methods,
            "mechanism": self.mechanism.describe(),
            "seed": self.seed,
        }

    def runs(self) -> Iterator[tuple[str, Callable[..., Sweep]]]:
        """What to run, with what to show meanwhile."""

        def one(**options: Any) -> Sweep:
            return simulate_record(
                self.weights,
                leniency=self.leniency,
                mechanism=self.mechanism,
                draws=self.draws,
                methods=self.methods,
                name=self.name,
                seed=self.seed,
                **options,
            )

        yield self.name, one


def run(
    sweep: PaperSweep | RecordSweep,
    folder: Path,
    *,
    workers: int | None,
    cluster: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Run a sweep, write what it found and show it."""
    runs = list(sweep.runs())
    tasks = sweep_folder(folder, sweep.settings(), overwrite=overwrite)
    with parallel.cluster(cluster) as executor:
        for title, one in runs:
            found = _run_one(title, one, executor=executor, workers=workers, keep=tasks)
            files = write_sweep(found, folder)
            with after_writing(folder):
                _show(found, files, as_json=as_json)


def _run_one(
    title: str, one: Callable[..., Sweep], *, executor: Executor | None, workers: int | None, keep: Path
) -> Sweep:
    with counting(title) as progress:
        return one(executor=executor, workers=workers, keep=keep, progress=progress)


def _show(sweep: Sweep, files: list[Path], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps([point._asdict() for point in sweep.table()]) + "\n")
        return
    out.print(sweep.title)
    out.print(_table(sweep))
    out.print(f"Written: {', '.join(map(str, files))}\n", soft_wrap=True)


def _table(sweep: Sweep) -> Table:
    """Mean errors with their standard errors: a row a setting, a column a method."""
    cells: dict[float, list[str]] = {}
    for point in sweep.table():
        cells.setdefault(point.point, []).append(f"{point.mean:.3g} ± {point.error:.1g}")
    rows = [[f"{setting:g}", *row] for setting, row in cells.items()]
    return rows_table([sweep.axis, *(TITLES[method] for method in sweep.methods)], rows)
