"""Options that several commands share, gathered: a command takes a group as one argument."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from peerveil.app.messages import renaming
from peerveil.cli import options as opt
from peerveil.errors import Argument, InputError

if TYPE_CHECKING:
    from peerveil.mechanisms import Asked, Mechanism
    from peerveil.private.reviews import Reviews
    from peerveil.quantities.weights import PublicWeights
    from peerveil.record.public_record import PublicRecord
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - commands import what they need when they run


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose arguments of a group's type become the group's options."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    groups = {name: hint for name, hint in hints.items() if getattr(hint, "is_option_group", False)}
    shown: list[inspect.Parameter] = []
    for parameter in own:
        if parameter.name in groups:
            shown += _options(groups[parameter.name])
        else:
            shown.append(parameter.replace(annotation=hints[parameter.name]))

    @wraps(command)
    def run(**given: Any) -> None:
        gathered = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**gathered, **given)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def _options(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


class OptionGroup:
    """A frozen dataclass of options."""

    is_option_group = True


@dataclass(frozen=True)
class NoiseOptions(OptionGroup):
    """Which noise, by its budget or by itself."""

    mechanism: opt.MechanismName = "laplace"
    epsilon: opt.Epsilon = None
    delta: opt.Delta = None
    rho: opt.Rho = None
    omega: opt.Omega = None
    noise_scale: opt.NoiseScale = None
    noise_bound: opt.NoiseBound = None
    bins: opt.BinCount = None

    def chosen_or_auto(self) -> Asked:
        """The mechanism, or that a plan is to choose it."""
        from peerveil.planning.auto import Auto

        if self.mechanism != Auto.name:
            return self.chosen()
        fixed = (self.rho, self.omega, self.noise_scale, self.noise_bound, self.bins)
        if self.epsilon is None or any(option is not None for option in fixed):
            raise InputError(
                Argument("mechanism", Auto.name),
                " goes with a budget, ",
                Argument("epsilon", ...),
                " and ",
                Argument("delta", ...),
                "; it chooses the noise itself",
            )
        return Auto(epsilon=self.epsilon, delta=self.delta, workers=None)

    def chosen(self) -> Mechanism:
        """The mechanism."""
        if self.epsilon is self.rho is self.noise_scale is None:
            raise InputError(
                "give a budget with ",
                Argument("epsilon", ...),
                " (1 is a common choice) or ",
                Argument("rho", ...),
                ", or the noise itself with ",
                Argument("scale", ..., of="noise"),
            )
        return opt.parse_mechanism(
            self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            omega=self.omega,
            scale=self.noise_scale,
            bound=self.noise_bound,
            bins=self.bins,
        )


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """How to read a file of reviews."""

    score_scale: opt.ScoreScale = None
    format: opt.Format = None
    paper: opt.PaperColumn = None
    reviewer: opt.ReviewerColumn = None
    score: opt.ScoreColumn = None
    criteria: opt.CriteriaColumns = None
    missing_criteria: opt.MissingCriteria = "refuse"
    missing_score: opt.MissingScore = None
    symbols: opt.Symbols = None
    person: opt.Person = None
    ids: opt.Ids = None
    people: opt.People = None
    review_name: opt.ReviewName = None
    mapping: opt.Mapping = None

    def said(self) -> dict[str, Any]:
        """What a reader is told, but for what to do about missing criteria and the mapping."""
        columns = ("format", "paper", "reviewer", "score", "missing_score")
        same = (*columns, "symbols", "person", "ids", "people", "review_name")
        parsed = {"scale": opt.parse_scale(self.score_scale), "criteria": opt.parse_criteria(self.criteria)}
        return parsed | {name: getattr(self, name) for name in same}

    def reviews(self, file: str) -> Reviews:
        """The reviews of a file."""
        from peerveil.private.readers import read

        gaps = opt.parse_missing(self.missing_criteria)
        return read(file, mapping=self.mapping, missing_criteria=gaps, **self.said())


@dataclass(frozen=True)
class LoadsOptions(OptionGroup):
    """What is public about loads."""

    load: opt.Load = None
    loads: opt.Loads = None
    reviewers: opt.Reviewers = None

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        return any(option is not None for option in (self.load, self.loads, self.reviewers))

    def stated(self) -> dict[str, Any]:
        """As the library takes it."""
        return {"load": self.load, "loads": opt.parse_loads(self.loads), "reviewers": self.reviewers}


@dataclass(frozen=True)
class PublicOptions(OptionGroup):
    """How to read a file of public scores, and what to weigh in it."""

    lone: opt.Lone = "refuse"
    score_scale: opt.ScoreScale = None
    paper: opt.PaperColumn = None
    ratings: opt.RatingsColumn = None
    criteria: opt.CriteriaColumns = None
    missing_criteria: opt.MissingCriteria = "refuse"

    def record(
        self,
        file: str,
        loads: LoadsOptions,
        release: Release | None = None,
        only: list[str] | None = None,
    ) -> PublicRecord:
        """The record of a file, or of some of its papers.

        Loads are as the options say, or as a release states them: those among the reviews that it is of.
        """
        from peerveil.privacy.groups import part_of

        if release is None:
            return self._read(file, loads.stated())
        stated = loads.stated() if loads.given else release.loads.stated()
        whole = self._read(file, {"load": 1})  # of the whole's loads, nothing needs to be known
        return part_of(whole, whole.papers if only is None else only, part=release.part, **stated)

    def _read(self, file: str, stated: dict[str, Any]) -> PublicRecord:
        from peerveil.record.public_files import read_public

        return read_public(
            file,
            **stated,
            scale=opt.parse_scale(self.score_scale),
            paper=self.paper,
            ratings=self.ratings,
            criteria=opt.parse_criteria(self.criteria),
            missing_criteria=opt.parse_missing(self.missing_criteria),
        )

    def weights(
        self,
        file: str,
        loads: LoadsOptions,
        quantity: str,
        release: Release | None = None,
        only: list[str] | None = None,
    ) -> PublicWeights:
        """The public weights of a file's reviews, or of those that a release is of."""
        from peerveil.quantities.weights import weigh

        lone = opt.parse_lone(self.lone)
        return weigh(self.record(file, loads, release, only), quantity, lone=lone)


@dataclass(frozen=True)
class ReleaseOptions(OptionGroup):
    """What is public, what is released, and how."""

    public: Annotated[
        str | None,
        typer.Option(
            help="What everyone can see: 'all' scores and load counts, 'none' (load counts only), or a file. Required."
        ),
    ] = None
    quantity: opt.Quantity = "ratings"
    unit: opt.Unit = "reviewer"
    dataset: Annotated[str | None, typer.Option(help="Which data set's budget to charge.")] = None
    region: opt.Region = "tight"
    estimator: opt.Estimator = None
    lone: opt.Lone = "refuse"
    declare_kept: opt.DeclareKept = False
    accept_float_noise: Annotated[
        bool,
        typer.Option(
            "--accept-float-noise",
            help="Take noise whose last digits are not protected (sinh-normal).",
            rich_help_panel="Noise",
        ),
    ] = False
    public_paper: opt.PublicPaperColumn = None
    public_ratings: opt.PublicRatingsColumn = None
    licence: opt.Licence = None
    citation: opt.Citation = None

    def check(self) -> None:
        """Refuse to go on until it is said what is public."""
        from peerveil.private.reviews import EXPLAIN_PUBLIC

        if not self.public:
            raise InputError(Argument("public"), " is missing: ", *EXPLAIN_PUBLIC)

    def chosen(self) -> dict[str, Any]:
        """As the library takes it, but for what is public."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "region": self.region,
            "estimator": self.estimator,
            "lone": opt.parse_lone(self.lone),
            "accept_float_noise": self.accept_float_noise,
            "declare_kept": self.declare_kept,
            "licence": self.licence,
            "citation": self.citation,
        }

    def visible(self, reviews: Reviews, loads: LoadsOptions, reading: ReadingOptions) -> str | PublicRecord:
        """What is public, as the library takes it: 'all', 'none', or the record of a file."""
        from peerveil.record.public_files import read_public

        self.check()
        assert self.public is not None  # noqa: S101 - checked
        if self.public in ("all", "none"):
            if loads.given or self.public_paper is not None or self.public_ratings is not None:
                raise InputError(
                    *(Argument("load"), ", ", Argument("loads"), ", ", Argument("reviewers"), ", "),
                    *(Argument("public_paper"), " and ", Argument("public_ratings")),
                    *(" go with a file of public scores, not with ", Argument("public", "all"), " or none"),
                )
            return self.public
        if not os.path.exists(self.public):  # noqa: PTH110 - a name may be no path
            raise InputError(
                Argument("public"), f" must be 'all', 'none', or a file with the public scores, got {self.public!r}"
            )
        with renaming(paper="public_paper", ratings="public_ratings"):
            return read_public(
                self.public,
                **loads.stated(),
                scale=reviews.scale,
                paper=self.public_paper,
                ratings=self.public_ratings,
                criteria=opt.parse_criteria(reading.criteria) or reviews.criteria_names,  # a mapping may name them
                missing_criteria=opt.parse_missing(reading.missing_criteria),
                absent=reviews.absent,
            )
