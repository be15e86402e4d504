"""The command line: it parses, calls the library and shows. Results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerveil.cli import ledger as ledger_commands
from peerveil.cli import options as opt
from peerveil.cli.working import after_writing, silence, tidy_ending
from peerveil.cli.working import working as _working
from peerveil.errors import InputError, PeerveilError

if TYPE_CHECKING:
    from peerveil.bundle import Release
    from peerveil.mechanisms import Mechanism
    from peerveil.private.reviews import Reviews
    from peerveil.record import PublicRecord

# Commands import what they need when they run: `peerveil --help` answers at once.
# ruff: noqa: PLC0415

app = typer.Typer(
    name="peerveil",
    help="Publish how a conference's reviewers rate: provably private, and as accurate as public data allows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


app.add_typer(ledger_commands.app, name="ledger")


def main() -> None:
    """Run the command line; errors become one clear line and an exit code, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack a character; that is no reason to stop
    try:
        with tidy_ending():
            _run()
    except PeerveilError as error:
        sys.stderr.write(f"peerveil: {opt.spell(str(error))}\n")
        sys.exit(error.exit_code)
    except OSError as error:
        silence()
        sys.stderr.write(f"peerveil: {error.strerror or 'input or output failed'}; nothing was released\n")
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - an exception's text may hold private values: never show it
        place = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
        sys.stderr.write(f"peerveil: internal error ({where}); nothing was released. Please report it\n")
        sys.exit(1)


def _run() -> None:
    try:
        app()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # now, while a failure can still be told


def _show_version(asked: bool) -> None:
    if asked:
        from peerveil.version import software

        sys.stdout.write(f"{software()}\n")
        raise typer.Exit


@app.callback()
def _everywhere(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(epilog="Example:  peerveil inspect reviews.csv --score-scale 1,10")
def inspect(
    file: Annotated[str, typer.Argument(help="Private reviews (a row a review), or public scores per paper.")],
    *,
    score_scale: opt.ScoreScale = None,
    format: opt.Format = None,  # noqa: A002 - the name users know
    paper: opt.PaperColumn = None,
    reviewer: opt.ReviewerColumn = None,
    score: opt.ScoreColumn = None,
    criteria: opt.CriteriaColumns = None,
    symbols: opt.Symbols = None,
    person: opt.Person = None,
    ids: opt.Ids = None,
    people: opt.People = None,
    review_name: opt.ReviewName = None,
    mapping: opt.Mapping = None,
    write_mapping: Annotated[
        str | None,
        typer.Option(help="Draft a TOML file for --mapping, to fill in.", rich_help_panel="Reading"),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Tell what is in a file: papers, reviewers, loads, scores, problems. No names, no means."""
    from peerveil.cli.show import facts_table, out
    from peerveil.private.inspection import draft_mapping
    from peerveil.private.inspection import inspect as look

    said: dict[str, Any] = {"scale": opt.parse_scale(score_scale), "format": format}
    said |= {"paper": paper, "reviewer": reviewer, "score": score, "symbols": symbols, "person": person}
    said |= {"ids": ids, "people": people, "review_name": review_name, "criteria": opt.parse_criteria(criteria)}
    with opt.spelling(ratings="--score"):
        if write_mapping is not None:
            draft_mapping(file, write_mapping, **said)
            out.print(f"Written: {write_mapping}; fill it in and use it with --mapping", soft_wrap=True)
            return
        facts = look(file, mapping=mapping, **said)
    if as_json:
        _print_json(facts)
    else:
        out.print(facts_table(facts))


@app.command(epilog="Example:  peerveil release reviews.csv --public all --epsilon 1 --score-scale 1,10 -o out")
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
    mechanism: opt.MechanismName = "laplace",
    epsilon: opt.Epsilon = None,
    delta: opt.Delta = None,
    rho: opt.Rho = None,
    omega: opt.Omega = None,
    noise_scale: opt.NoiseScale = None,
    noise_bound: opt.NoiseBound = None,
    bins: opt.BinCount = None,
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
    load: opt.Load = None,
    loads: opt.Loads = None,
    reviewers: opt.Reviewers = None,
    score_scale: opt.ScoreScale = None,
    format: opt.Format = None,  # noqa: A002 - the name users know
    paper: opt.PaperColumn = None,
    reviewer: opt.ReviewerColumn = None,
    score: opt.ScoreColumn = None,
    criteria: opt.CriteriaColumns = None,
    missing_criteria: opt.MissingCriteria = "refuse",
    symbols: opt.Symbols = None,
    person: opt.Person = None,
    ids: opt.Ids = None,
    people: opt.People = None,
    review_name: opt.ReviewName = None,
    mapping: opt.Mapping = None,
    public_paper: opt.PublicPaperColumn = None,
    public_ratings: opt.PublicRatingsColumn = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
) -> None:
    """Make a private release from a file of reviews: release.json and release.csv in a folder.

    With a file of public scores, say what is public about loads: --load, --loads, or --reviewers.
    """
    from peerveil.bundle import FILES
    from peerveil.files import staged_folder
    from peerveil.private.readers import read
    from peerveil.private.release import release as make
    from peerveil.private.reviews import EXPLAIN_PUBLIC
    from peerveil.public_files import read_public

    if not public:
        raise InputError(f"--public is missing: {EXPLAIN_PUBLIC}")
    if epsilon is rho is noise_scale is None:
        raise InputError(
            "give a budget with --epsilon (1 is a common choice) or --rho, or the noise itself with --noise-scale"
        )
    noise = opt.parse_mechanism(
        mechanism, epsilon=epsilon, delta=delta, rho=rho, omega=omega, scale=noise_scale, bound=noise_bound, bins=bins
    )
    scale, stated = opt.parse_scale(score_scale), opt.parse_loads(loads)
    graded, gaps = opt.parse_criteria(criteria), opt.parse_missing(missing_criteria)
    with staged_folder(output, own=FILES, overwrite=overwrite) as stage, _working("Reading the reviews") as step:
        reviews = read(
            file,
            scale=scale,
            paper=paper,
            reviewer=reviewer,
            score=score,
            criteria=graded,
            missing_criteria=gaps,
            format=format,
            symbols=symbols,
            person=person,
            ids=ids,
            people=people,
            review_name=review_name,
            mapping=mapping,
        )
        visible: str | PublicRecord = public
        if public in ("all", "none"):
            of_files = (load, stated, reviewers, public_paper, public_ratings)
            if any(option is not None for option in of_files):
                raise InputError(
                    "--load, --loads, --reviewers, --public-paper and --public-ratings go with a file of public "
                    "scores, not with --public all or none"
                )
        else:
            with opt.spelling(paper="--public-paper", ratings="--public-ratings"):
                visible = read_public(
                    public,
                    load=load,
                    loads=stated,
                    reviewers=reviewers,
                    scale=reviews.scale,
                    paper=public_paper,
                    ratings=public_ratings,
                    criteria=graded or reviews.criteria_names,  # a mapping may have named them
                    missing_criteria=gaps,
                )
        step("Drawing noise, bounding the truth from public data, estimating")
        with _telling_warnings():
            made = make(
                reviews,
                public=visible,
                quantity=quantity,
                mechanism=noise,
                unit=unit,
                region=region,
                estimator=estimator or "safe",
                lone=opt.parse_lone(lone),
                ledger=ledger,
                dataset=dataset,
                accept_float_noise=accept_float_noise,
            )
        made.write_into(stage)
    _tell(reviews)
    _report(made, output, as_json=as_json)


@app.command(epilog="Example:  peerveil refine noisy.csv --public iclr.csv --load 4 --noise-scale 1 -o out")
def refine(
    noisy: Annotated[str, typer.Argument(help="The noisy vector: one number a line, a column 'noisy', or JSON.")],
    *,
    public: Annotated[str, typer.Option(help="Public scores: a row a paper ('6;8;5') or a row a review.")],
    output: opt.Output,
    quantity: Annotated[
        str | None,
        typer.Option(
            help="ratings (the default) | miscalibration | normalized | subjectivity; a release.json says it itself."
        ),
    ] = None,
    mechanism: opt.MechanismName = "laplace",
    noise_scale: Annotated[
        float | None, typer.Option(help="Scale of its noise, where known.", rich_help_panel="Noise")
    ] = None,
    noise_bound: opt.NoiseBound = None,
    words: Annotated[str | None, typer.Option(help="How it was made private, in its source's words.")] = None,
    region: opt.Region = "tight",
    estimator: opt.Estimator = None,
    lone: opt.Lone = "refuse",
    load: opt.Load = None,
    loads: opt.Loads = None,
    reviewers: opt.Reviewers = None,
    score_scale: opt.ScoreScale = None,
    paper: opt.PaperColumn = None,
    ratings: opt.RatingsColumn = None,
    criteria: opt.CriteriaColumns = None,
    missing_criteria: opt.MissingCriteria = "refuse",
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
) -> None:
    """Sharpen a noisy vector that someone published: never less accurate, and as private."""
    from peerveil.bundle import FILES, Release
    from peerveil.files import staged_folder
    from peerveil.mechanisms import External
    from peerveil.noisy_files import read_noisy
    from peerveil.public_files import read_public
    from peerveil.refinement import refine as sharpen
    from peerveil.weights import weigh

    if words is not None and noise_scale is not None:
        raise InputError("give --words or --noise-scale, not both")
    noise: Mechanism | None = None
    if noise_scale is not None:
        noise = opt.parse_mechanism(mechanism, scale=noise_scale, bound=noise_bound)
    elif words is not None:
        noise = External(words=words)
    scale, stated = opt.parse_scale(score_scale), opt.parse_loads(loads)
    graded, gaps = opt.parse_criteria(criteria), opt.parse_missing(missing_criteria)
    with staged_folder(output, own=FILES, overwrite=overwrite) as stage, _working("Reading") as step:
        source = read_noisy(noisy)
        if isinstance(source, Release):
            quantity = _same_quantity(source, quantity)
            if noise is not None:
                raise InputError("a release.json says itself how it was made private; leave out --words, --noise-scale")
        record = read_public(
            public,
            load=load,
            loads=stated,
            reviewers=reviewers,
            scale=scale,
            paper=paper,
            ratings=ratings,
            criteria=graded,
            missing_criteria=gaps,
        )
        step("Bounding the truth from public data, estimating")
        weights = weigh(record, quantity or "ratings", lone=opt.parse_lone(lone))
        made = sharpen(source, weights, mechanism=noise, region=region, estimator=estimator)
        made.write_into(stage)
    _report(made, output, as_json=as_json)


@contextmanager
def _telling_warnings() -> Iterator[None]:
    """Warnings of the library, a line each on stderr."""
    import warnings

    from peerveil.cli.show import err

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    for warning in told:
        err.print(f"peerveil: warning: {opt.spell(str(warning.message))}", soft_wrap=True)


@app.command(epilog="Example:  peerveil audit --mechanism laplace --epsilon 1 --unit reviewer")
def audit(
    *,
    mechanism: opt.MechanismName = "laplace",
    epsilon: opt.Epsilon = None,
    delta: opt.Delta = None,
    rho: opt.Rho = None,
    omega: opt.Omega = None,
    noise_scale: opt.NoiseScale = None,
    noise_bound: opt.NoiseBound = None,
    bins: opt.BinCount = None,
    unit: opt.Unit = "reviewer",
    load: Annotated[int, typer.Option(help="Reviews of each reviewer in the audited records.")] = 2,
    public: Annotated[str, typer.Option(help="Whether 'all' scores of the records are public, or 'none'.")] = "all",
    draws: Annotated[int, typer.Option(help="Releases of each of the two records.")] = 20_000,
    confidence: Annotated[float, typer.Option(help="With which the lower bounds are to hold.")] = 0.99,
    workers: opt.Workers = None,
    as_json: opt.AsJson = False,
) -> None:
    """Test the claim of a mechanism: release two worst-case neighbours many times, and try to tell them apart.

    Exit code 1 if the claim is contradicted.
    """
    from peerveil.cli.show import facts_table, out
    from peerveil.cli.working import counting
    from peerveil.private.audit import audit as run_audit

    noise = opt.parse_mechanism(
        mechanism, epsilon=epsilon, delta=delta, rho=rho, omega=omega, scale=noise_scale, bound=noise_bound, bins=bins
    )
    with counting("Releasing worst-case neighbours") as progress:
        found = run_audit(
            noise,
            unit=unit,
            load=load,
            public=public,
            draws=draws,
            confidence=confidence,
            delta=delta,
            workers=workers,
            progress=progress,
        )
    if as_json:
        _print_json(
            {
                "claim": found.guarantee.summary,
                "draws": found.draws,
                "confidence": found.confidence,
                "delta": found.delta,
                "claimed": found.claimed,
                "epsilon": found.epsilon,
                "delta_found": found.delta_found,
                "passed": found.passed,
            }
        )
    else:
        at = f" at delta {found.delta:g}" if found.delta else ""
        facts: dict[str, object] = {
            "claim": found.guarantee.summary,
            "claimed": f"epsilon {found.claimed:.6g}{at}",
            "found": f"epsilon is at least {found.epsilon:.4g}{at}; delta at the claimed epsilon at least "
            f"{found.delta_found:.2g}",
            "how sure": f"each with confidence {found.confidence:g}, from {found.draws} releases of each record",
            "result": "the claim stands" if found.passed else "THE CLAIM IS CONTRADICTED",
        }
        out.print(facts_table(facts))
    if not found.passed:
        raise typer.Exit(1)


@app.command(epilog="Example:  peerveil simulate all --draws 100 -o figures")
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
    lone: opt.Lone = "refuse",
    load: opt.Load = None,
    loads: opt.Loads = None,
    reviewers: opt.Reviewers = None,
    score_scale: opt.ScoreScale = None,
    paper: opt.PaperColumn = None,
    ratings: opt.RatingsColumn = None,
    seed: Annotated[int, typer.Option(help="Where the draws come from.", min=0)] = 1,
    workers: opt.Workers = None,
    cluster: Annotated[str | None, typer.Option(help="Run on a Dask cluster: tcp://host:8786.")] = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
) -> None:
    """Repeat the paper's simulations, or simulate on a real public record: errors as data and as pictures.

    Ended with Ctrl-C or otherwise, a sweep goes on where it was if it is started again in the same way.
    """
    from peerveil.cli.simulate import PaperSweep, RecordSweep, run
    from peerveil.public_files import read_public
    from peerveil.weights import weigh

    chosen = tuple(method.strip() for method in methods.split(",") if method.strip())
    if (experiment is None) == (public is None):
        raise InputError("name an experiment (or 'all'), or a real record with --public, one of the two")
    if public is None:
        if epsilon is not None or mechanism != "laplace" or bins is not None:
            raise InputError(
                "--epsilon, --mechanism and --bins go with --public: the paper's experiments have Laplace noise"
            )
        assert experiment is not None  # noqa: S101 - one of the two
        sweep: PaperSweep | RecordSweep = PaperSweep(experiment, draws or 100, chosen, noise_scale or 1.0, seed)
    else:
        record = read_public(
            public,
            load=load,
            loads=opt.parse_loads(loads),
            reviewers=reviewers,
            scale=opt.parse_scale(score_scale),
            paper=paper,
            ratings=ratings,
        )
        weights = weigh(record, quantity, lone=opt.parse_lone(lone))
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


def _same_quantity(release: Release, asked: str | None) -> str:
    if asked not in (None, release.quantity):
        raise InputError(f"--quantity is {asked}, but the release is of {release.quantity}; leave it out")
    return release.quantity


@app.command(epilog="Example:  peerveil demo")
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
    from peerveil.cli.demo import run, write_exports

    if export is not None:
        write_exports(Path(output), export, seed=seed, overwrite=overwrite or output == "peerveil-demo")
        return
    run(Path(output), seed=seed, epsilon=epsilon, overwrite=overwrite or output == "peerveil-demo")


def _tell(reviews: Reviews) -> None:
    """Say on stderr what was left out of the private file, which no release may."""
    for words in (*(f"left out: {what}" for what in reviews.report.left_out), *reviews.report.problems):
        sys.stderr.write(f"peerveil: {words}\n")


def _report(made: Release, output: str, *, as_json: bool) -> None:
    with after_writing(output):
        from peerveil.cli.show import out, release_panel

        if as_json:
            _print_json(
                {
                    "folder": output,
                    "quantity": made.quantity,
                    "reviewers": made.reviewers,
                    "guarantee": made.guarantee.summary,
                    "estimator": made.estimator,
                    "expected_rmse": made.outlook.expected_rmse if made.outlook else None,
                    "notes": list(made.notes),
                }
            )
        else:
            out.print(release_panel(made))
            out.print(f"Written: {Path(output) / 'release.json'}, {Path(output) / 'release.csv'}", soft_wrap=True)


def _print_json(facts: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(facts, indent=1) + "\n")  # in ASCII: every stdout can carry it whole
