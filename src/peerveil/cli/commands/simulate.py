"""`peerveil simulate`: the paper's experiments, and simulations on a public record."""

from __future__ import annotations

from peerveil.app.requests import SimulateRequest
from peerveil.cli import options as opt


@opt.with_options
def simulate(request: SimulateRequest, *, as_json: opt.AsJson = False) -> None:
    """Repeat the paper's simulations, or simulate on a real public record; write errors as data and figures.

    An interrupted sweep is resumed when the same command is run again.
    """
    from peerveil.app.simulate import simulate
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.cli.working import after_writing, counting
    from peerveil.simulation.experiments import TITLES

    for sweep, files in simulate(request, counting):
        with after_writing(request.output):
            if as_json:
                print_json([point._asdict() for point in sweep.table()], "simulate", indent=None)
                continue
            cells: dict[float, list[str]] = {}
            for point in sweep.table():
                cells.setdefault(point.point, []).append(f"{point.mean:.3g} ± {point.error:.1g}")
            rows = [[f"{setting:g}", *row] for setting, row in cells.items()]
            out.print(sweep.title)
            out.print(rows_table([sweep.axis, *(TITLES[method] for method in sweep.methods)], rows))
            out.print(f"Written: {', '.join(map(str, files))}\n", soft_wrap=True)
