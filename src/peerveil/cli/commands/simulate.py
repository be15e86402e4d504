"""`peerveil simulate`: the paper's experiments, and a real record's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, PublicOptions, grouped
from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.cli.sweeps import PaperSweep, RecordSweep

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def simulate(
    experiment: Annotated[
        str | None, typer.Argument(help="beta-5-1, beta-2-5, …, 'all' of the paper's eight, or none with --public.")
    ] = None,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder to write; a sweep that was ended goes on there.")
    ],
    public: Annotated[
        str | None, typer.Option(help="Public scores of a real conference, to deal to invented reviewers.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Draws for each setting; 100, or 20 on a real record.")] = None,
    methods: Annotated[str, typer.Option(help="What to compare.")] = "noisy,baseline,chain,tight,safe,bayes",
    mechanism: Annotated[str, typer.Option(help="With --public: 'laplace' or 'histogram'.")] = "laplace",
    noise_scale: Annotated[float | None, typer.Option(help="Scale of the noise; the paper's (Laplace) is 1.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="With --public: the budget, instead of --noise-scale.")] = None,
    bins: opt.BinCount = None,
    unit: opt.Unit = "reviewer",
    leniency: Annotated[
        str, typer.Option(help="With --public: how strongly invented reviewers differ; 0 is not at all.")
    ] = "0,0.4,0.9,2",
    quantity: opt.Quantity = "ratings",
    loads: LoadsOptions,
    scores: PublicOptions,
    seed: Annotated[int, typer.Option(help="Where the draws come from.", min=0)] = 1,
    workers: opt.Workers = None,
    cluster: opt.Cluster = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
) -> None:
    """Repeat the paper's simulations, or simulate on a real public record: errors as data and as pictures.

    Ended with Ctrl-C or otherwise, a sweep goes on where it was if it is started again in the same way.
    """
    from peerveil.cli.sweeps import PaperSweep, RecordSweep, run

    chosen = tuple(method.strip() for method in methods.split(",") if method.strip())
    sweep: PaperSweep | RecordSweep
    if public is None:
        if experiment is None:
            raise InputError("name an experiment (or 'all'), or a real record with --public")
        if epsilon is not None or mechanism != "laplace" or bins is not None:
            raise InputError(
                "--epsilon, --mechanism and --bins go with --public: the paper's experiments have Laplace noise"
            )
        sweep = PaperSweep(experiment, draws or 100, chosen, noise_scale or 1.0, seed)
    else:
        if experiment is not None:
            raise InputError("name an experiment or a real record with --public, not both")
        weights = scores.weights(public, loads, quantity)
        sweep = RecordSweep(
            weights,
            Path(public).stem,
            opt.parse_numbers(leniency, "--leniency"),
            draws or 20,
            chosen,
            opt.simulated_mechanism(weights, unit, mechanism, epsilon=epsilon, scale=noise_scale, bins=bins),
            seed,
        )
    run(sweep, Path(output), workers=workers, cluster=cluster, overwrite=overwrite, as_json=as_json)
