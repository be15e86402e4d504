"""The options of the command line: how each field of a request is written, and how messages spell it."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

from peerveil.app.formats import format_labels
from peerveil.app.messages import written
from peerveil.app.options import filled
from peerveil.errors import Argument
from peerveil.quantities.base import names

_PUBLIC_SCORES = "Public scores: a row a paper ('6;8;5') or a row a review."
_A_RELEASE = "A release: its folder, or its release.json."


class RegisteredNames(OptionInfo):
    """An option whose help lists what is registered when it is shown: quantities by default."""

    listed: Callable[[], Iterable[str]] = staticmethod(names)

    @property
    def help(self) -> str:
        """The names, and the text that was given."""
        return " | ".join(self.listed()) + self._text

    @help.setter  # noqa: A003 - typer's name
    def help(self, text: str | None) -> None:
        self._text = text or ""


class RegisteredFormats(RegisteredNames):
    """An option whose help lists the formats of private files."""

    listed = staticmethod(format_labels)


def _panel(name: str, **options: str) -> dict[str, Any]:
    return {field: typer.Option(help=words, rich_help_panel=name) for field, words in options.items()}


def _plain(**options: str) -> dict[str, Any]:
    return {field: typer.Option(help=words) for field, words in options.items()}


def _folder(words: str) -> Any:
    return typer.Option("--output", "-o", help=words)


#: The option or argument of each field; "Request.field" where a field means something else in one request.
OPTIONS: dict[str, Any] = {
    **_panel(
        "Loads",
        load="Every reviewer's load, if all have the same.",
        loads="'3:800,4:900' (counts), '1-6' (range) or '3,4' (set of loads).",
        reviewers="Number of reviewers; needed with a range or a set.",
    ),
    **_panel(
        "Noise",
        mechanism="laplace | histogram (less noise for many reviewers) | gaussian | sinh-normal | auto (what a plan "
        "from public data finds best)",
        epsilon="Privacy budget: smaller is more private.",
        rho="Budget of concentrated noise, instead of --epsilon.",
        omega="With --rho: of sinh-normal noise.",
        noise_scale="The noise itself, instead of a budget: its scale (Laplace) or deviation.",
        noise_bound="With --noise-scale: of sinh-normal noise.",
        bins="Of a histogram: how many bins, at most.",
    ),
    **_panel(
        "Reading",
        symbols="Scores that are letters, the lowest first: 'D<C<B<A', or 'A=4,B=3'.",
        person="Whom a subreviewer's review counts to: 'member' or 'subreviewer'. Needed where there are any.",
        ids="'people' if reviewers' ids stand for people across papers.",
        people="File that tells who is behind which OpenReview signature.",
        review_name="What the venue calls reviews on OpenReview.",
        mapping="TOML file that says how to read; options come first.",
        write_mapping="Draft a TOML file for --mapping, to fill in.",
    ),
    **_panel(
        "Columns",
        paper="Column of papers.",
        reviewer="Column of reviewers.",
        score="Column of scores.",
        ratings="Column of scores.",
        criteria="Columns of criteria, e.g. 'soundness,clarity', for normalized and subjectivity; more is better.",
        missing_criteria="Where a criterion is missing: 'refuse', or 'leave-out' the whole paper.",
        missing_score="Reviews without a score: 'absent' states that everyone can see which they are, 'leave-out' "
        "leaves out their whole papers, 'refuse' stops. By default absent with --public all, refused otherwise.",
        public_paper="Column of papers in the file of public scores.",
        public_ratings="Column of scores in the file of public scores.",
    ),
    **_panel(
        "Groups",
        groups="File that says which paper is in which group (track, area).",
        group_column="Column of groups: of --groups, or of the file itself.",
    ),
    **_plain(
        lone="Miscalibration of a paper's only review: 'refuse', or 'zero' to let it count as 0.",
        region="tight | envelope | chain | baseline | hull: what public data proves.",
        estimator="safe (the default where the noise is known) | projection | bayes (best on average, without the "
        "promise never to be less accurate than the noisy vector).",
        unit="What is protected: all of a 'reviewer', or one 'review'.",
        delta="With concentrated noise: a small chance that epsilon does not hold, e.g. 1e-6.",
        dataset="Which data set's budget to charge.",
        licence="Under which licence it is published, e.g. CC-BY-4.0; none is stated by default.",
        citation="How to cite it, where the usual words do not fit.",
        ledger="Charge this ledger first: a file or a database (see `peerveil ledger`).",
        workers="Processes to use; all cores by default.",
        cluster="Run on a Dask cluster: tcp://host:8786.",
        score_scale="Lowest and highest possible score, e.g. '1,10'; others are refused.",
        write_public="Write the scores of every paper, without reviewers, to a new CSV file. Publish it only if "
        "visitors see all of these scores anyway.",
        signed_by="Refuse what is not signed by this SSH public key, or by one of an allowed_signers file.",
        words="How it was made private, in its source's words.",
        methods="What to compare.",
        leniency="With --public: how strongly invented reviewers differ; 0 is not at all.",
        case="Audit one case only, by its name in the table.",
        confidence="With which all lower bounds are to hold together.",
        export="Only write the conference as a platform exports it: hotcrp, easychair, cmt, … or 'all'.",
        private="Private folder of the chair, outside of the output folder: how far each venue has come, and why "
        "venues failed. By default <output>.private, beside it.",
    ),
    "quantity": RegisteredNames(default=...),
    "format": RegisteredFormats(default=..., help="; found from the content by default."),
    "seed": typer.Option(help="Where the draws come from.", min=0),
    "output": _folder("Folder to write; must not hold files already."),
    "overwrite": typer.Option("--overwrite", help="Replace the output folder if it holds files."),
    "no_report": typer.Option("--no-report", help="Leave out report.html and its figures: write the data only."),
    "declare_kept": typer.Option(
        "--declare-kept",
        help="Where papers or reviews were left out: declare, for everyone to know, how many reviewers have which load "
        "among the kept ones. Noise on the vector needs that; a histogram does not.",
    ),
    "accept_float_noise": typer.Option(
        "--accept-float-noise",
        help="Take noise whose last digits are not protected (sinh-normal).",
        rich_help_panel="Noise",
    ),
    "no_shared_reviewers": typer.Option(
        "--no-shared-reviewers",
        help="Declare, for everyone to know, that no reviewer has reviews in two groups; it is checked.",
        rich_help_panel="Groups",
    ),
    "InspectRequest.file": typer.Argument(help="Private reviews (a row a review), or public scores per paper."),
    "PlanRequest.public": typer.Argument(help=_PUBLIC_SCORES),
    "PlanRequest.epsilon": typer.Option(help="The budgets to compare, between commas."),
    "PlanRequest.delta": typer.Option(help="Consider Gaussian noise, too, with this delta."),
    "PlanRequest.draws": typer.Option(help="Assignments for each leniency; by default as the size of the record asks."),
    "PlanRequest.output": _folder("Folder for plan.json, plan.csv and a picture."),
    "ReleaseRequest.file": typer.Argument(help="Private reviews: a row a review, with paper, reviewer and score."),
    "ReleaseOptions.public": typer.Option(
        help="What everyone can see: 'all' scores and load counts, 'none' (load counts only), or a file. Required."
    ),
    "RefineRequest.noisy": typer.Argument(help="The noisy vector: one number a line, a column 'noisy', or JSON."),
    "RefineRequest.public": typer.Option(help=_PUBLIC_SCORES),
    "RefineRequest.quantity": RegisteredNames(
        default=..., help="; the first by default, a release.json says it itself."
    ),
    "RefineRequest.noise_scale": typer.Option(help="Scale of its noise, where known.", rich_help_panel="Noise"),
    "VerifyRequest.release": typer.Argument(help=_A_RELEASE),
    "VerifyRequest.public": typer.Option(help=_PUBLIC_SCORES),
    "BatchRequest.venues": typer.Argument(help="A TOML file with a [[venue]] each, or a folder with a file each."),
    "BatchRequest.output": _folder("Folder of the releases; a batch that was ended goes on there."),
    "SimulateRequest.experiment": typer.Argument(
        help="beta-5-1, beta-2-5, …, 'all' of the paper's eight, or none with --public."
    ),
    "SimulateRequest.output": _folder("Folder to write; a sweep that was ended goes on there."),
    "SimulateRequest.public": typer.Option(help="Public scores of a real conference, to deal to invented reviewers."),
    "SimulateRequest.draws": typer.Option(help="Draws for each setting; 100, or 20 on a real record."),
    "SimulateRequest.mechanism": typer.Option(help="With --public: 'laplace' or 'histogram'."),
    "SimulateRequest.noise_scale": typer.Option(help="Scale of the noise; the paper's (Laplace) is 1."),
    "SimulateRequest.epsilon": typer.Option(help="With --public: the budget, instead of --noise-scale."),
    "AuditRequest.load": typer.Option(help="Reviews of each reviewer in the audited records."),
    "AuditRequest.public": typer.Option(
        help="Audit only cases where 'all' scores are public, or 'none'; both by default."
    ),
    "AuditRequest.draws": typer.Option(
        help="Releases of each of the two records of a case; by default as many as take a few seconds."
    ),
    "DemoRequest.output": _folder("Folder to write; the default one is replaced."),
    "DemoRequest.seed": typer.Option(help="Which synthetic conference.", min=0),
    "DemoRequest.epsilon": typer.Option(help="Privacy budget of each of the four releases."),
}

ReleasePlace = Annotated[str, typer.Argument(help=_A_RELEASE)]
AsJson = Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of a request's type become one option per field, nested groups included."""
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
    """A parameter for each field of a request."""
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


#: Options that are called otherwise than the arguments they become.
_OPTIONS = {"shared": "shared_reviewers", "law": "noise_scale", "epsilons": "epsilon", "mechanisms": "mechanism"}

#: Arguments that no option gives: files and names that stand alone, and what only Python has.
_NO_OPTION = frozenset({"estimators", "experiment", "first", "name", "noisy", "reviews_per_paper", "second"})


def option(argument: Argument) -> str:
    """An argument as users write it on the command line.

    >>> option(Argument("scale", of="noise")), option(Argument("symbols", "B<A")), option(Argument("loads", {3: 8}))
    ('--noise-scale', "--symbols 'B<A'", '--loads 3:8')
    """
    if argument.key in _NO_OPTION:
        return argument.name.replace("_", " ")
    name = _OPTIONS.get(argument.key, argument.key).replace("_", "-")
    value = argument.value
    if value is None or value is ... or isinstance(value, bool):
        return f"--no-{name}" if value is False else f"--{name}"
    return f"--{name} {shlex.quote(written(value))}"
