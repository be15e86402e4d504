"""What users write on the command line, turned into what the library takes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from peerveil.app.messages import written
from peerveil.errors import Argument, InputError
from peerveil.quantities.base import names

if TYPE_CHECKING:
    from peerveil.mechanisms import Mechanism
    from peerveil.quantities.base import Lone as LoneChoice
    from peerveil.quantities.weights import PublicWeights
    from peerveil.record.criteria import MissingCriteria as MissingChoice
    from peerveil.record.loads import LoadsStatement

Load = Annotated[int | None, typer.Option(help="Every reviewer's load, if all have the same.", rich_help_panel="Loads")]
Loads = Annotated[
    str | None,
    typer.Option(help="'3:800,4:900' (counts), '1-6' (range) or '3,4' (set of loads).", rich_help_panel="Loads"),
]
Reviewers = Annotated[
    int | None, typer.Option(help="Number of reviewers; needed with a range or a set.", rich_help_panel="Loads")
]


class RegisteredNames(OptionInfo):
    """An option whose help lists the quantities that are registered when it is shown."""

    @property
    def help(self) -> str:
        """The names, and the text that was given."""
        return " | ".join(names()) + self._text

    @help.setter  # noqa: A003 - typer's name
    def help(self, text: str | None) -> None:
        self._text = text or ""


Quantity = Annotated[str, RegisteredNames(default=...)]
Lone = Annotated[
    str, typer.Option(help="Miscalibration of a paper's only review: 'refuse', or 'zero' to let it count as 0.")
]
Region = Annotated[str, typer.Option(help="tight | envelope | chain | baseline | hull: what public data proves.")]
Estimator = Annotated[
    str | None,
    typer.Option(
        help="safe (the default where the noise is known) | projection | bayes (best on average, without the promise "
        "never to be less accurate than the noisy vector)."
    ),
]
Unit = Annotated[str, typer.Option(help="What is protected: all of a 'reviewer', or one 'review'.")]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        help="laplace | histogram (less noise for many reviewers) | gaussian | sinh-normal | auto (what a plan from "
        "public data finds best)",
        rich_help_panel="Noise",
    ),
]
Epsilon = Annotated[
    float | None, typer.Option(help="Privacy budget: smaller is more private.", rich_help_panel="Noise")
]
Delta = Annotated[
    float | None,
    typer.Option(help="With concentrated noise: a small chance that epsilon does not hold, e.g. 1e-6."),
]
Rho = Annotated[
    float | None, typer.Option(help="Budget of concentrated noise, instead of --epsilon.", rich_help_panel="Noise")
]
Omega = Annotated[float | None, typer.Option(help="With --rho: of sinh-normal noise.", rich_help_panel="Noise")]
NoiseScale = Annotated[
    float | None,
    typer.Option(
        help="The noise itself, instead of a budget: its scale (Laplace) or deviation.", rich_help_panel="Noise"
    ),
]
NoiseBound = Annotated[
    float | None, typer.Option(help="With --noise-scale: of sinh-normal noise.", rich_help_panel="Noise")
]
Licence = Annotated[
    str | None,
    typer.Option(help="Under which licence it is published, e.g. CC-BY-4.0; none is stated by default."),
]
Citation = Annotated[str | None, typer.Option(help="How to cite it, where the usual words do not fit.")]
LedgerPlace = Annotated[
    str | None,
    typer.Option("--ledger", help="Charge this ledger first: a file or a database (see `peerveil ledger`)."),
]
BinCount = Annotated[
    int | None, typer.Option("--bins", help="Of a histogram: how many bins, at most.", rich_help_panel="Noise")
]
Workers = Annotated[int | None, typer.Option(help="Processes to use; all cores by default.")]
Cluster = Annotated[str | None, typer.Option(help="Run on a Dask cluster: tcp://host:8786.")]
Output = Annotated[str, typer.Option("--output", "-o", help="Folder to write; must not hold files already.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output folder if it holds files.")]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Leave out report.html and its figures: write the data only.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")]
ScoreScale = Annotated[
    str | None, typer.Option(help="Lowest and highest possible score, e.g. '1,10'; others are refused.")
]
Format = Annotated[
    str | None,
    typer.Option(
        help="openreview | hotcrp | easychair | cmt | csv | tsv | parquet | json; found from the content by default."
    ),
]
Symbols = Annotated[
    str | None,
    typer.Option(help="Scores that are letters, the lowest first: 'D<C<B<A', or 'A=4,B=3'.", rich_help_panel="Reading"),
]
Person = Annotated[
    str | None,
    typer.Option(
        help="Whom a subreviewer's review counts to: 'member' or 'subreviewer'. Needed where there are any.",
        rich_help_panel="Reading",
    ),
]
Ids = Annotated[
    str | None,
    typer.Option(help="'people' if reviewers' ids stand for people across papers.", rich_help_panel="Reading"),
]
People = Annotated[
    str | None,
    typer.Option(help="File that tells who is behind which OpenReview signature.", rich_help_panel="Reading"),
]
ReviewName = Annotated[
    str | None, typer.Option(help="What the venue calls reviews on OpenReview.", rich_help_panel="Reading")
]
Mapping = Annotated[
    str | None, typer.Option(help="TOML file that says how to read; options come first.", rich_help_panel="Reading")
]
PaperColumn = Annotated[str | None, typer.Option(help="Column of papers.", rich_help_panel="Columns")]
ReviewerColumn = Annotated[str | None, typer.Option(help="Column of reviewers.", rich_help_panel="Columns")]
ScoreColumn = Annotated[str | None, typer.Option(help="Column of scores.", rich_help_panel="Columns")]
RatingsColumn = Annotated[str | None, typer.Option(help="Column of scores.", rich_help_panel="Columns")]
CriteriaColumns = Annotated[
    str | None,
    typer.Option(
        help="Columns of criteria, e.g. 'soundness,clarity', for normalized and subjectivity; more is better.",
        rich_help_panel="Columns",
    ),
]
MissingCriteria = Annotated[
    str,
    typer.Option(
        help="Where a criterion is missing: 'refuse', or 'leave-out' the whole paper.",
        rich_help_panel="Columns",
    ),
]
MissingScore = Annotated[
    str | None,
    typer.Option(
        help="Reviews without a score: 'absent' states that everyone can see which they are, 'leave-out' leaves out "
        "their whole papers, 'refuse' stops. By default absent with --public all, refused otherwise.",
        rich_help_panel="Columns",
    ),
]
DeclareKept = Annotated[
    bool,
    typer.Option(
        "--declare-kept",
        help="Where papers or reviews were left out: declare, for everyone to know, how many reviewers have which load "
        "among the kept ones. Noise on the vector needs that; a histogram does not.",
    ),
]
PublicPaperColumn = Annotated[
    str | None, typer.Option(help="Column of papers in the file of public scores.", rich_help_panel="Columns")
]
PublicRatingsColumn = Annotated[
    str | None, typer.Option(help="Column of scores in the file of public scores.", rich_help_panel="Columns")
]

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


def parse_loads(text: str | None) -> LoadsStatement | None:
    """Loads as written: counts, a range, or a set.

    >>> parse_loads("3:800,4:900"), parse_loads("1-6"), parse_loads("3,4")
    ({3: 800, 4: 900}, (1, 6), {3, 4})
    """
    if text is None:
        return None
    parts = text.split(",")
    try:
        if ":" in text:
            stated = {int(size): int(count) for size, count in (part.split(":") for part in parts)}
        elif "-" in text:
            low, high = text.split("-")
            return int(low), int(high)
        else:
            return {int(size) for size in parts}
    except ValueError:
        raise InputError(Argument("loads"), f" must look like '3:800,4:900', '1-6' or '3,4', got {text!r}") from None
    if len(stated) < len(parts):
        raise InputError(Argument("loads"), f" states a load twice, got {text!r}")
    return stated


def parse_scale(text: str | None) -> tuple[float, float] | None:
    """The score scale as written.

    >>> parse_scale("1,10")
    (1.0, 10.0)
    """
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(Argument("scale", of="score"), f" must look like '1,10', got {text!r}") from None
    return low, high


def parse_mechanism(
    name: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    omega: float | None = None,
    scale: float | None = None,
    bound: float | None = None,
    bins: int | None = None,
) -> Mechanism:
    """The mechanism as written.

    >>> parse_mechanism("gaussian", rho=0.1)
    Gaussian(rho=0.1, epsilon=None, delta=None, scale=None)
    """
    from peerveil.mechanisms import OWN  # noqa: PLC0415

    if name not in OWN:
        hint = ("; say how many bins with ", Argument("bins", ...)) if name.startswith("histogram") else ()
        raise InputError(Argument("mechanism"), f" must be one of {', '.join(OWN)} here, got {name!r}", *hint)
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "omega": omega}
    given |= {"scale": scale, "bound": bound, "bins": bins}
    given = {argument: value for argument, value in given.items() if value is not None}
    kind: type[Mechanism] = OWN[name]
    for argument in given:
        if argument not in kind.parameters():
            noise = "noise" if argument in ("scale", "bound") else ""
            raise InputError(Argument(argument, of=noise), f" does not go with {name} noise")
    return kind.from_parameters(given)


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """Numbers as written, between commas.

    >>> parse_numbers("0,0.4", "--leniency")
    (0.0, 0.4)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{option} must be numbers between commas, got {text!r}") from None


def simulated_mechanism(
    weights: PublicWeights, unit: str, name: str, *, epsilon: float | None, scale: float | None, bins: int | None
) -> Mechanism:
    """The mechanism to simulate, with its noise: as given, or as a budget would make it."""
    from peerveil.mechanisms import OWN  # noqa: PLC0415
    from peerveil.planning.rehearsal import Rehearsal  # noqa: PLC0415

    if (epsilon is None) == (scale is None):
        raise InputError(
            "give a budget with ",
            Argument("epsilon", ...),
            " (1 is a common choice), or the noise itself with ",
            Argument("scale", ..., of="noise"),
        )
    simulated = [kind.name for kind in OWN.values() if kind.planned == ("epsilon",)]
    if name not in simulated:
        raise InputError(
            Argument("mechanism"), f" must be {' or '.join(map(repr, simulated))} in a simulation, got {name!r}"
        )
    return Rehearsal.of(weights, parse_mechanism(name, epsilon=epsilon, scale=scale, bins=bins), unit=unit).mechanism


def parse_lone(text: str) -> LoneChoice:
    """What to do with a paper's only review."""
    from peerveil.quantities.base import Lone as LoneChoice  # noqa: PLC0415

    for known in get_args(LoneChoice):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise InputError(Argument("lone"), f" must be 'refuse' or 'zero', got {text!r}")


def parse_criteria(text: str | None) -> list[str]:
    """Columns of criteria as written.

    >>> parse_criteria("soundness, clarity")
    ['soundness', 'clarity']
    """
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(
            Argument("criteria"), f" must be names of different columns, such as 'soundness,clarity', got {text!r}"
        )
    return names


def parse_missing(text: str) -> MissingChoice:
    """What to do where a criterion is missing."""
    from peerveil.record.criteria import MissingCriteria as MissingChoice  # noqa: PLC0415

    for known in get_args(MissingChoice):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise InputError(Argument("missing_criteria"), f" must be 'refuse' or 'leave-out', got {text!r}")
