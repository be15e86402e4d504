"""`peerveil release`: from a file of reviews to a folder to publish."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, NoiseOptions, ReadingOptions, grouped
from peerveil.cli.working import working
from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.private.reviews import Reviews
    from peerveil.record import PublicRecord

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def release(
    file: Annotated[str, typer.Argument(help="Private reviews: a row a review, with paper, reviewer and score.")],
    *,
    output: opt.Output,
    public: Annotated[
        str | None,
        typer.Option(
            help="What everyone can see: 'all' scores and load counts, 'none' (load counts only), or a file. Required."
        ),
    ] = None,
    noise: NoiseOptions,
    accept_float_noise: Annotated[
        bool,
        typer.Option(
            "--accept-float-noise",
            help="Take noise whose last digits are not protected (sinh-normal).",
            rich_help_panel="Noise",
        ),
    ] = False,
    quantity: opt.Quantity = "ratings",
    unit: opt.Unit = "reviewer",
    ledger: Annotated[
        str | None,
        typer.Option(help="Charge this ledger first: a file or a database (see `peerveil ledger`)."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which data set's budget to charge.")] = None,
    region: opt.Region = "tight",
    estimator: opt.Estimator = None,
    lone: opt.Lone = "refuse",
    loads: LoadsOptions,
    reading: ReadingOptions,
    public_paper: opt.PublicPaperColumn = None,
    public_ratings: opt.PublicRatingsColumn = None,
    overwrite: opt.Overwrite = False,
    no_report: opt.NoReport = False,
    as_json: opt.AsJson = False,
) -> None:
    """Make a private release from a file of reviews: release.json, release.csv and report.html in a folder.

    With a file of public scores, say what is public about loads: --load, --loads, or --reviewers.
    """
    from peerveil.bundle import FILES
    from peerveil.cli.show import report_release, telling_warnings
    from peerveil.files import staged_folder
    from peerveil.private.release import release as make
    from peerveil.private.reviews import EXPLAIN_PUBLIC

    if not public:
        raise InputError(f"--public is missing: {EXPLAIN_PUBLIC}")
    mechanism = noise.chosen()
    with staged_folder(output, own=FILES, overwrite=overwrite) as stage, working("Reading the reviews") as step:
        reviews = reading.reviews(file)
        visible = stated_public(public, reviews, loads, reading, columns=(public_paper, public_ratings))
        step("Drawing noise, bounding the truth from public data, estimating")
        with telling_warnings():
            made = make(
                reviews,
                public=visible,
                quantity=quantity,
                mechanism=mechanism,
                unit=unit,
                region=region,
                estimator=estimator or "safe",
                lone=opt.parse_lone(lone),
                ledger=ledger,
                dataset=dataset,
                accept_float_noise=accept_float_noise,
            )
        made.write_into(stage, report=not no_report)
    _tell(reviews)
    report_release(made, output, as_json=as_json, report=not no_report)


def stated_public(
    public: str,
    reviews: Reviews,
    loads: LoadsOptions,
    reading: ReadingOptions,
    *,
    columns: tuple[str | None, str | None],
) -> str | PublicRecord:
    """What is public, as the library takes it: 'all', 'none', or the record of a file."""
    from peerveil.public_files import read_public

    paper, ratings = columns
    if public in ("all", "none"):
        if loads.given or paper is not None or ratings is not None:
            raise InputError(
                "--load, --loads, --reviewers, --public-paper and --public-ratings go with a file of public "
                "scores, not with --public all or none"
            )
        return public
    with opt.spelling(paper="--public-paper", ratings="--public-ratings"):
        return read_public(
            public,
            **loads.stated(),
            scale=reviews.scale,
            paper=paper,
            ratings=ratings,
            criteria=opt.parse_criteria(reading.criteria) or reviews.criteria_names,  # a mapping may have named them
            missing_criteria=opt.parse_missing(reading.missing_criteria),
        )


def _tell(reviews: Reviews) -> None:
    """Say on stderr what was left out of the private file, which no release may."""
    for words in (*(f"left out: {what}" for what in reviews.report.left_out), *reviews.report.problems):
        sys.stderr.write(f"peerveil: {words}\n")
