"""`peerveil demo`: a synthetic conference, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerveil.cli import options as opt

# ruff: noqa: PLC0415 - commands import what they need when they run


def demo(
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder to write; the default one is replaced.")
    ] = "peerveil-demo",
    seed: Annotated[int, typer.Option(help="Which synthetic conference.", min=0)] = 1,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of each of the four releases.")] = 1.0,
    export: Annotated[
        str | None,
        typer.Option(help="Only write the conference as a platform exports it: hotcrp, easychair, cmt, … or 'all'."),
    ] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Make a synthetic conference and release all four quantities of it, end to end."""
    from peerveil.cli.demonstration import run, write_exports

    if export is not None:
        write_exports(Path(output), export, seed=seed, overwrite=overwrite or output == "peerveil-demo")
        return
    run(Path(output), seed=seed, epsilon=epsilon, overwrite=overwrite or output == "peerveil-demo")
