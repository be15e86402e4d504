"""`peerveil refine`: a noisy vector that someone published, sharpened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, PublicOptions, grouped
from peerveil.cli.tracks import GroupOptions
from peerveil.cli.working import working
from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.mechanisms import Described
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def refine(
    noisy: Annotated[str, typer.Argument(help="The noisy vector: one number a line, a column 'noisy', or JSON.")],
    *,
    public: Annotated[str, typer.Option(help="Public scores: a row a paper ('6;8;5') or a row a review.")],
    output: opt.Output,
    quantity: Annotated[
        str | None,
        opt.RegisteredNames(default=..., help="; the first by default, a release.json says it itself."),
    ] = None,
    mechanism: opt.MechanismName = "laplace",
    noise_scale: Annotated[
        float | None, typer.Option(help="Scale of its noise, where known.", rich_help_panel="Noise")
    ] = None,
    noise_bound: opt.NoiseBound = None,
    words: Annotated[str | None, typer.Option(help="How it was made private, in its source's words.")] = None,
    region: opt.Region = "tight",
    estimator: opt.Estimator = None,
    loads: LoadsOptions,
    scores: PublicOptions,
    tracks: GroupOptions,
    overwrite: opt.Overwrite = False,
    no_report: opt.NoReport = False,
    as_json: opt.AsJson = False,
) -> None:
    """Sharpen a noisy vector that someone published: never less accurate, and as private.

    A release.json says itself what it is of, how it was made private, and which loads are public.
    """
    from peerveil.cli.show import report_release, tell_unsigned
    from peerveil.mechanisms import External
    from peerveil.releases.noisy_files import read_noisy
    from peerveil.releases.refinement import refine as sharpen
    from peerveil.releases.release import OWN_FILES, Release
    from peerveil.releases.signatures import count_signatures
    from peerveil.support.atomic_files import staged_folder

    if words is not None and noise_scale is not None:
        raise InputError("give --words or --noise-scale, not both")
    noise: Described | None = None
    if noise_scale is not None:
        noise = opt.parse_mechanism(mechanism, scale=noise_scale, bound=noise_bound)
    elif words is not None:
        noise = External(words=words)
    signed = count_signatures(output)
    with staged_folder(output, own=OWN_FILES, overwrite=overwrite) as stage, working("Reading") as step:
        source = read_noisy(noisy)
        release = only = None
        if isinstance(source, Release):
            release, only = source, tracks.papers_of(source, public, scores.paper)
            quantity = _same_quantity(source, quantity)
            if noise is not None:
                raise InputError("a release.json says itself how it was made private; leave out --words, --noise-scale")
        elif tracks.given:
            raise InputError("--groups and --group-column go with the release.json of a group of papers")
        weights = scores.weights(public, loads, quantity or "ratings", release, only)
        step("Bounding the truth from public data, estimating")
        made = sharpen(source, weights, mechanism=noise, region=region, estimator=estimator)
        made.write_into(stage, report=not no_report)
    tell_unsigned(signed)
    report_release(made, output, as_json=as_json, report=not no_report)


def _same_quantity(release: Release, asked: str | None) -> str:
    if asked not in (None, release.quantity):
        raise InputError(f"--quantity is {asked}, but the release is of {release.quantity}; leave it out")
    return release.quantity
