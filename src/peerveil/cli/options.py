"""The options of the command line: one per field of a request, and how messages spell them."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

from peerveil.app.messages import written
from peerveil.app.options import filled, format_labels
from peerveil.errors import Argument, Phrase
from peerveil.quantities import statistics
from peerveil.quantities.base import names
from peerveil.support.discovery import declared

_PUBLIC_SCORES = "Public scores: one row per paper ('6;8;5') or one row per review."
_A_RELEASE = "A release: its folder, or its release.json."


def _registered(package: str, registry: str) -> Callable[[], list[str]]:
    """Return a function that lists what is registered; an extension that adds to a registry has loaded its package."""

    def listed() -> list[str]:
        loaded = sys.modules.get(f"peerveil.{package}")
        return sorted(declared(package).values() if loaded is None else getattr(loaded, registry))

    return listed


_mechanisms, _regions = _registered("mechanisms", "OWN"), _registered("regions", "REGIONS")


class RegisteredNames(OptionInfo):
    """An option whose help begins with the names that are registered when it is shown."""

    def __init__(self, registered: Callable[[], Iterable[str]], **settings: Any) -> None:
        self._registered = registered
        super().__init__(default=..., **settings)

    @property
    def help(self) -> str:
        """The names, and the text that was given."""
        return " | ".join(self._registered()) + self._text

    @help.setter  # noqa: A003 - typer's name
    def help(self, text: str | None) -> None:
        self._text = text or ""


def _options(panel: str | None = None, **helps: str) -> dict[str, Any]:
    return {field: typer.Option(help=text, rich_help_panel=panel) for field, text in helps.items()}


def _flags(panel: str | None = None, **helps: str) -> dict[str, Any]:
    names = {field: f"--{field.replace('_', '-')}" for field in helps}
    return {field: typer.Option(names[field], help=text, rich_help_panel=panel) for field, text in helps.items()}


def _folder(text: str) -> Any:
    return typer.Option("--output", "-o", help=text)


#: The option or argument of each field; "Request.field" where a field has another meaning in one request.
def _statistics() -> tuple[str, ...]:
    return (*statistics.names(), "agreement")


OPTIONS: dict[str, Any] = {
    **_options(
        "Loads",
        load="Number of reviews per reviewer, if it is the same for all.",
        loads="'3:800,4:900' (counts), '1-6' (range) or '3,4' (set of loads).",
        reviewers="Number of reviewers; needed with a range or a set.",
    ),
    **_options(
        "Noise",
        epsilon="Privacy budget: smaller is more private.",
        rho="Budget of concentrated noise, instead of --epsilon.",
        omega="With --rho, for sinh-normal noise.",
        noise_scale="The scale (Laplace) or standard deviation of the noise, instead of a budget.",
        noise_bound="With --noise-scale, for sinh-normal noise.",
        bins="Maximum number of bins of a histogram.",
    ),
    **_options(
        "Reading",
        sheet="Sheet of a workbook, if several could be meant.",
        encoding="Encoding of a text that is not UTF-8, e.g. cp1252; detected where possible.",
        symbols="Letter scores, lowest first: 'D<C<B<A', or 'A=4,B=3'.",
        person="Who a subreviewer's review counts for: 'member' or 'subreviewer'. Required if there are subreviewers.",
        ids="'people' if a reviewer's id is the same for all of their reviews.",
        people="File with the person behind each OpenReview signature.",
        review_name="Name of reviews at the OpenReview venue.",
        only="Keep only reviews with this value in a column, e.g. 'Type=Review' or 'Confidence>=3' (also != < <= >). "
        "May be repeated; all must hold.",
        leave_out="Leave out reviews with this value in a column, e.g. 'Decision=Withdrawn'. May be repeated.",
        visible_column="State that everyone can see a column by which reviews are kept or left out, and what it "
        "describes: 'Decision=paper' or 'Type=review'. Columns about reviewers are refused. May be repeated.",
        attributes="Table of private attributes, with one row per reviewer.",
        committee="Public list of everyone who reviews, one id per line (.txt), or a table: others are refused.",
        mapping="TOML file of reading options; the command line takes precedence.",
        write_mapping="Write a draft TOML file for --mapping.",
    ),
    **_options(
        "Columns",
        paper="Column of papers.",
        reviewer="Column of reviewers.",
        score="Column of scores.",
        ratings="Column of scores.",
        criteria="Columns of criteria, e.g. 'soundness,clarity', for normalized and subjectivity; more is better.",
        missing_criteria="If a criterion is missing: 'refuse' the file, or 'leave-out' the whole paper.",
        missing_score="Reviews without a score: 'absent' states that everyone can see which they are, 'leave-out' "
        "leaves out their papers, 'refuse' stops. Default: absent with --public all, refuse otherwise.",
        public_paper="Column of papers in the file of public scores.",
        public_ratings="Column of scores in the file of public scores.",
        public_sheet="Sheet of public scores, if their file is a workbook with several.",
        public_encoding="Encoding of the file of public scores, if it is not UTF-8.",
    ),
    **_options(
        "Groups",
        groups="File with the group (track, area) of each paper.",
        group_column="Column of groups, in --groups or in the file itself.",
    ),
    **_options(
        by="Attribute of reviewers that defines the groups: a column of --attributes.",
        values="Values of the attribute, e.g. 'senior,junior': one group each. They are published.",
        compare="Its values for the two groups, e.g. 'senior,junior'; the effect is first minus second.",
        same="Instead of --compare: a table of papers, with a public column named as --by. Reviews by reviewers with "
        "the value of the paper are compared with its other reviews.",
        sizes="Number of reviewers of each group, e.g. '750,750', if these are public; neighbours then share them.",
        limits="Public limits at which weights are clipped, e.g. '-4,4'.",
        icc="Intraclass correlation of a reviewer's weights, if it is public, e.g. from a release of means; otherwise "
        "a tenth of the budget is spent to learn it.",
        links="Table of two columns: a person's id in the first conference, and in the second. Default: the same ids.",
        least="Only people with at least so many reviews in each conference count.",
        expected_people="With --plan: how many people you expect in both conferences.",
        datasets="Data sets of both conferences, whose budgets are charged, e.g. 'conf2025,conf2026'.",
        second_mapping="TOML file of reading options for the second file, instead of those for the first.",
        second_public="Public scores of the second conference, for the release of a correlation.",
        level="Level of the interval.",
        first_share="With --plan: the share of reviews of the first group.",
        lone="Miscalibration of a paper with a single review: 'refuse', or 'zero' to count it as 0.",
        estimator="safe | projection (never less accurate than the noise alone) | bayes (most accurate expected; not "
        "guaranteed). Default: chosen with the mechanism; safe if a mechanism is named, and for refine.",
        share="Release the share of each reviewer's reviews with a property, e.g. 'score>=6' or 'confidence>=4' (also "
        "= != < <= >). Another column is read in place of the score; --public and --score-scale are then about it.",
        weight="Release a statistic of a column, e.g. 'confidence', in place of the score; --public and --score-scale "
        "are then about it.",
        unit="What is protected: all reviews of a 'reviewer', or a single 'review'.",
        delta="With concentrated noise: the probability that epsilon does not hold, e.g. 1e-6.",
        dataset="Data set whose budget is charged.",
        licence="Licence of the release, e.g. CC-BY-4.0; none by default.",
        citation="How to cite the release, instead of the default text.",
        ledger="Ledger to charge before noise is drawn: a file or a database (see `peerveil ledger`).",
        workers="Number of processes; all cores by default.",
        cluster="Address of a Dask cluster to run on: tcp://host:8786.",
        score_scale="Lowest and highest possible score, e.g. '1,10'; other scores are refused.",
        write_public="Write the scores of every paper, without reviewers, to a new CSV file. Publish it only if all "
        "of these scores are public already.",
        prior="File written by `peerveil pool`: what earlier releases say about reviewers, instead of the usual prior.",
        signed_by="Require a signature by this SSH public key, or by a key of an allowed_signers file.",
        words="How the vector was made private, in the words of its source.",
        methods="Methods to compare.",
        leniency="With --public: how much simulated reviewers differ in leniency; 0 is not at all.",
        case="Audit only the case with this name in the table.",
        confidence="Joint confidence of all lower bounds.",
        export="Only write the conference in a platform's format: hotcrp, easychair, cmt, … or 'all'.",
        private="Private folder for progress and reasons of failure, outside the output folder; by default "
        "<output>.private, next to it.",
    ),
    **_options(
        "Report",
        title="Title of the report.",
        conference="Name of the conference.",
        year="Year of the conference.",
        author="Author of the release; repeat it for several.",
        contact="Whom to ask: an e-mail address or an address on the web.",
        url="Address where the release is published.",
    ),
    "quantity": RegisteredNames(names),
    "statistic": RegisteredNames(
        _statistics, help=": the number for each reviewer; agreement: how far it is from co-reviewers."
    ),
    "region": RegisteredNames(_regions, help=": bounds proven from public data."),
    "format": RegisteredNames(format_labels, help="; detected by default."),
    "mechanism": RegisteredNames(
        _mechanisms,
        help=" | auto (chosen by a plan from public data; the default of releases with a budget). With --noise-scale "
        "the default is laplace, with --bins histogram.",
        rich_help_panel="Noise",
    ),
    "seed": typer.Option(help="Seed of the random draws.", min=0),
    "output": _folder("Output folder; must not contain files."),
    **_flags(
        others="Reviewers may be in none of these groups; otherwise it is declared publicly that none is.",
        randomised="State that groups were assigned at random, independently of papers; adds a randomisation test.",
        overwrite="Replace the files in the output folder.",
        drop_copies="Count reviews in PeerRead's files once that repeat the text and score of another of their paper.",
        no_report="Write only the data, without report.html and figures.",
        declare_kept="If papers or reviews were left out: declare publicly how many reviewers have each load among "
        "the remaining ones. Required for noise on the vector, not for a histogram.",
    ),
    **_flags("Reading", merge_names="Reviewers whose ids differ only in case, blanks or accents are the same people."),
    **_flags("Noise", accept_float_noise="Accept noise whose last digits are not protected (sinh-normal)."),
    **_flags(
        "Groups",
        no_shared_reviewers="Declare publicly that no reviewer has reviews in two groups; this is checked.",
    ),
    "InspectRequest.file": typer.Argument(help="Private reviews (one row per review), or public scores per paper."),
    "PlanRequest.public": typer.Argument(help=_PUBLIC_SCORES),
    "PlanRequest.epsilon": typer.Option(help="Budgets to compare, separated by commas."),
    "PlanRequest.delta": typer.Option(help="Also consider Gaussian noise, with this delta."),
    "PlanRequest.draws": typer.Option(help="Assignments per leniency; by default depends on the size of the record."),
    "PlanRequest.output": _folder("Folder for plan.json, plan.csv and a figure."),
    "ReleaseRequest.file": typer.Argument(help="Private reviews: one row per review, with paper, reviewer and score."),
    "ReleaseRequest.output": _folder("Output folder; must not contain files. Default: <file>-release, a new folder."),
    "ReleaseOptions.public": typer.Option(
        help="Public data: 'all' scores and load counts, 'none' (load counts only), or a file. Required."
    ),
    "EffectRequest.file": typer.Argument(help="Private reviews: one row per review, with paper, reviewer and score."),
    "EffectRequest.output": _folder("Output folder; must not contain files. Default: <file>-effect, a new folder."),
    "EffectRequest.epsilon": typer.Option(help="Privacy budget: smaller is more private. Required, but for --plan."),
    "EffectRequest.public": typer.Option(
        help="Public data: 'all' scores and load counts, 'none' (load counts only), or a file. Required."
    ),
    "CorrelateRequest.file": typer.Argument(help="Private reviews of a conference, one row per review."),
    "CorrelateRequest.second_file": typer.Argument(
        help="Private reviews of the second conference, with the same ids of people."
    ),
    "CorrelateRequest.output": _folder("Output folder; must not contain files. Default: <file>-correlation."),
    "CorrelateRequest.epsilon": typer.Option(help="Privacy budget: smaller is more private. Required, but for --plan."),
    "CorrelateRequest.public": typer.Option(
        help="Public data of both conferences: 'all' scores and load counts, or 'none' (load counts only). Required."
    ),
    "CorrelateRequest.bins": typer.Option(
        help="Release a table of people by their means in both, with 2 to 4 bins in each; it needs more noise."
    ),
    "CorrelateRequest.names": typer.Option(
        help="Names of the conferences, e.g. '2025,2026', which are published; by default those of the data sets."
    ),
    "RefineRequest.noisy": typer.Argument(help="The noisy vector: one number per line, a column 'noisy', or JSON."),
    "RefineRequest.public": typer.Option(help=_PUBLIC_SCORES),
    "RefineRequest.quantity": RegisteredNames(
        names, help="; default: the first, or the quantity stated in a release.json."
    ),
    "RefineRequest.mechanism": RegisteredNames(_mechanisms, help=": with --noise-scale.", rich_help_panel="Noise"),
    "RefineRequest.noise_scale": typer.Option(help="Scale of the noise, if known.", rich_help_panel="Noise"),
    "VerifyRequest.release": typer.Argument(help=_A_RELEASE),
    "VerifyRequest.public": typer.Option(help=_PUBLIC_SCORES),
    "TablesRequest.release": typer.Argument(help=_A_RELEASE),
    "TablesRequest.others": typer.Argument(
        help="Further releases of the same reviews, for example of spreads, or by an attribute."
    ),
    "TablesRequest.public": typer.Option(help=f"{_PUBLIC_SCORES[:-1]}, or 'none'."),
    "TablesRequest.tables": typer.Option(help="Number of tables, from 20 to 1,000."),
    "CompareRequest.releases": typer.Argument(
        help="Two or more releases of the same quantity, in order, such as those of later years: folders, or "
        "release.json. Differences are the second minus the first.",
    ),
    "CompareRequest.output": _folder(
        "Also write a new file: a page (.html), a chart (.svg), or all numbers (.json; .csv of three or more)."
    ),
    "CompareRequest.names": typer.Option(help="With -o: the names of the two releases, e.g. 2025 2026."),
    "CompareRequest.labels": typer.Option(help="The names of all releases, e.g. '2024,2025,2026'."),
    "PoolRequest.releases": typer.Argument(help="Earlier releases of the same quantity: folders, or release.json."),
    "PoolRequest.output": _folder("New JSON file for the prior."),
    "VerifyRequest.prior": typer.Option(
        help="File of the pooled prior that the release names, to repeat its estimates."
    ),
    "BatchRequest.venues": typer.Argument(
        help="A TOML file with one [[venue]] per venue, a CSV file with one row each (name, file, further options), or "
        "a folder with one file each."
    ),
    "BatchRequest.output": _folder("Folder of the releases; an interrupted batch is resumed."),
    "BatchRequest.retries": typer.Option(
        help="How often a charge is tried again if the ledger cannot be reached, after 1, 2, 4, … seconds."
    ),
    "BatchRequest.in_flight": typer.Option(
        help="Greatest number of venues under way, which bounds memory here and on the cluster; at least twice the "
        "number of workers."
    ),
    "BatchRequest.time_limit": typer.Option(
        help="Most seconds that reading a venue, its plan and its estimate may take each; a venue that takes longer "
        "fails."
    ),
    "BatchRequest.share_plans": typer.Option(
        "--share-plans",
        help="Let venues with similar numbers of reviewers, loads and spreads of scores share a plan, for speed; "
        "their releases say so.",
    ),
    "BatchRequest.log": typer.Option(
        help="File to append the log to, as lines of JSON, or '-' for stderr; by default log.jsonl in the private "
        "folder. It holds no identity, score or reason of failure.",
        rich_help_panel="Logs",
    ),
    "BatchRequest.log_level": typer.Option(
        help="Least level of what is logged: debug | info | warning | error.", rich_help_panel="Logs"
    ),
    "BatchRequest.metrics": typer.Option(
        help="File to write metrics to in Prometheus' text format, replaced every few seconds. metrics.json in the "
        "private folder holds the same numbers.",
        rich_help_panel="Logs",
    ),
    "SimulateRequest.experiment": typer.Argument(
        help="beta-5-1, beta-2-5, …, 'all' of the paper's eight, or none with --public."
    ),
    "SimulateRequest.output": _folder("Output folder; an interrupted sweep is resumed."),
    "SimulateRequest.public": typer.Option(help="Public scores of a real conference, assigned to simulated reviewers."),
    "SimulateRequest.draws": typer.Option(help="Draws per setting; 100, or 20 on a real record."),
    "SimulateRequest.mechanism": typer.Option(help="With --public: a mechanism whose budget is epsilon alone."),
    "SimulateRequest.noise_scale": typer.Option(help="Scale of the noise; 1 (Laplace) in the paper."),
    "SimulateRequest.epsilon": typer.Option(help="With --public: the budget, instead of --noise-scale."),
    "AuditRequest.load": typer.Option(help="Reviews per reviewer in the audited records."),
    "AuditRequest.public": typer.Option(
        help="Audit only cases in which 'all' scores are public, or 'none'; both by default."
    ),
    "AuditRequest.draws": typer.Option(
        help="Releases of each of the two records of a case; by default as many as take a few seconds."
    ),
    "DemoRequest.output": _folder("Output folder; the default folder is replaced."),
    "DemoRequest.seed": typer.Option(help="Seed of the synthetic conference.", min=0),
    "DemoRequest.epsilon": typer.Option(help="Privacy budget of each of the four releases."),
}

ReleasePlace = Annotated[str, typer.Argument(help=_A_RELEASE)]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show promise, cost and expected accuracy; nothing is drawn, charged or written."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Everything = Annotated[bool, typer.Option("--all", help="Show everything, even if it does not fit on one screen.")]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each request parameter is replaced by one option per field."""
    hints = get_type_hints(command, include_extras=True)
    requests: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in requests:
            shown += _parameters(requests[parameter.name])
        else:
            shown.append(parameter.replace(annotation=hints[parameter.name]))

    @wraps(command)
    def run(**given: Any) -> None:
        own = {name: value for name, value in given.items() if name in hints}
        command(**own, **{name: filled(request, given) for name, request in requests.items()})

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def _parameters(request: Any) -> Iterator[inspect.Parameter]:
    """Yield one parameter per field of a request, including nested groups."""
    hints = get_type_hints(request)
    for field in fields(request):
        hint: Any = hints[field.name]
        if is_dataclass(hint):
            yield from _parameters(hint)
            continue
        option = OPTIONS.get(f"{request.__name__}.{field.name}") or OPTIONS[field.name]
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=Annotated[hint, option],
        )


#: Options whose name differs from that of their argument.
_OPTIONS = {
    "shared": "shared_reviewers",
    "law": "noise_scale",
    "epsilons": "epsilon",
    "mechanisms": "mechanism",
    "authors": "author",
}

#: Arguments without an option: positional ones, and those of the Python library only.
_NO_OPTION = frozenset(
    {"estimators", "experiment", "first", "function", "name", "noisy", "reviews_per_paper", "second"}
)


def option(argument: Argument) -> str:
    """Return an argument as users write it on the command line.

    >>> option(Argument("scale", of="noise")), option(Argument("symbols", "B<A")), option(Argument("loads", {3: 8}))
    ('--noise-scale', "--symbols 'B<A'", '--loads 3:8')
    """
    if isinstance(argument, Phrase):
        return str(argument)
    if argument.key in _NO_OPTION:
        return argument.name.replace("_", " ")
    name = _OPTIONS.get(argument.key, argument.key).replace("_", "-")
    value = argument.value
    if value is None or value is ... or isinstance(value, bool):
        return f"--no-{name}" if value is False else f"--{name}"
    return f"--{name} {shlex.quote(written(value))}"
