"""Option texts, parsed into arguments of the library."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

from peerveil.app.messages import refusal
from peerveil.app.options import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions
from peerveil.errors import Argument, InputError
from peerveil.inference.pooling import PooledPrior
from peerveil.mechanisms import OWN, Asked, Laplace, Mechanism
from peerveil.planning.auto import Auto
from peerveil.quantities.base import Lone
from peerveil.quantities.columns import Column, Share, column_of
from peerveil.quantities.functions import with_statistic
from peerveil.record.criteria import MissingCriteria
from peerveil.record.loads import LoadsStatement
from peerveil.releases.pooling import read_prior
from peerveil.reporting.terms import About


def parse_loads(text: str | None) -> LoadsStatement | None:
    """Return loads from a text: counts, a range, or a set.

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
    """Return the score scale from a text.

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


def parse_numbers(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text.

    >>> parse_numbers("0,0.4", "leniency")
    (0.0, 0.4)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(Argument(name), f" must be numbers separated by commas, got {text!r}") from None


def parse_lone(text: str) -> Lone:
    """Return the treatment of a paper with a single review."""
    return _choice("lone", text, Lone)  # type: ignore[no-any-return]


def parse_missing(text: str) -> MissingCriteria:
    """Return the treatment of a missing criterion."""
    return _choice("missing_criteria", text, MissingCriteria)  # type: ignore[no-any-return]


def _choice(name: str, text: str, choices: Any) -> Any:
    if text not in get_args(choices):
        raise InputError(Argument(name), f" must be {' or '.join(map(repr, get_args(choices)))}, got {text!r}")
    return text


def parse_criteria(text: str | None) -> list[str]:
    """Return the columns of criteria from a comma-separated text.

    >>> parse_criteria("soundness, clarity")
    ['soundness', 'clarity']
    """
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(
            Argument("criteria"), f" must be names of different columns, such as 'soundness,clarity', got {text!r}"
        )
    return names


def parse_mechanism(name: str, **given: float | None) -> Mechanism:
    """Return the mechanism of a name with those of its arguments that are given.

    >>> parse_mechanism("gaussian", rho=0.1, epsilon=None)
    Gaussian(rho=0.1, epsilon=None, delta=None, scale=None)
    """
    if name not in OWN:
        binned = any(
            re.fullmatch(rf"{kind.name}\W*\d+\W*(?:bins?\W*)?", name)
            for kind in OWN.values()
            if "bins" in kind.parameters()
        )
        hint = ("; say how many bins with ", Argument("bins", ...)) if binned else ()
        raise InputError(Argument("mechanism"), f" must be one of {', '.join(OWN)}, got {name!r}", *hint)
    arguments: dict[str, Any] = {argument: value for argument, value in given.items() if value is not None}
    kind: type[Mechanism] = OWN[name]
    for argument in arguments:
        if argument not in kind.parameters():
            noise = "noise" if argument in ("scale", "bound") else ""
            raise InputError(Argument(argument, of=noise), f" does not go with {name} noise")
    return kind.from_parameters(arguments)


def mechanism_or_auto(noise: NoiseOptions) -> Asked:
    """Return the mechanism of a release or an audit, or the budget for which a plan chooses it.

    Without a name, a plan chooses for a budget of epsilon (and delta); other parameters imply the simplest mechanism
    that takes them: a scale Laplace noise, bins a histogram.

    >>> mechanism_or_auto(NoiseOptions(epsilon=1.0)).name, mechanism_or_auto(NoiseOptions(noise_scale=1.0)).name
    ('auto', 'laplace')
    """
    given = {name: getattr(noise, name) for name in ("epsilon", "delta", "rho", "omega", "bins")}
    given |= {"scale": noise.noise_scale, "bound": noise.noise_bound}
    name = noise.mechanism or _implied({name for name, value in given.items() if value is not None})
    if name == Auto.name:
        if noise.epsilon is None or any(given[name] is not None for name in given.keys() - {"epsilon", "delta"}):
            raise refusal("{mechanism} auto goes with a budget, {epsilon} and {delta}; it chooses the noise itself")
        return Auto(epsilon=noise.epsilon, delta=noise.delta, workers=None)
    if noise.epsilon is noise.rho is noise.noise_scale is None:
        raise refusal(
            "give a budget with {epsilon} (1 is a common choice) or {rho}, or the noise itself with {noise_scale}"
        )
    return parse_mechanism(name, **given)


def _implied(given: set[str]) -> str:
    """Return the name of the mechanism for parameters that are given without one."""
    if "epsilon" in given and given <= {"epsilon", "delta"}:
        return Auto.name
    fit: list[type[Mechanism]] = [kind for kind in OWN.values() if given <= set(kind.parameters())]
    return min(fit, key=lambda kind: len(kind.parameters()), default=Laplace).name


def loads_arguments(loads: LoadsOptions) -> dict[str, Any]:
    """Return the library's arguments for public information about loads."""
    return {"load": loads.load, "loads": parse_loads(loads.loads), "reviewers": loads.reviewers}


def parse_filters(reading: ReadingOptions) -> dict[str, list[str]]:
    """Return the conditions on rows; on the page, there is one per line.

    >>> parse_filters(ReadingOptions(only=["Type=Review"]))
    {'only': ['Type=Review'], 'leave_out': [], 'visible_column': []}
    """
    given = {name: getattr(reading, name) or [] for name in ("only", "leave_out", "visible_column")}
    listed = {name: texts.splitlines() if isinstance(texts, str) else texts for name, texts in given.items()}
    return {name: [text for text in texts if text.strip()] for name, texts in listed.items()}


def reading_arguments(reading: ReadingOptions) -> dict[str, Any]:
    """Return the arguments of a reader, except those for missing criteria and the mapping."""
    same = ("format", "sheet", "encoding", "paper", "reviewer", "score", "missing_score", "symbols", "person", "ids")
    parsed: dict[str, Any] = {
        "scale": parse_scale(reading.score_scale),
        "criteria": parse_criteria(reading.criteria),
        "merge_names": bool(reading.merge_names),  # on the page, a text
        **parse_filters(reading),
    }
    return parsed | {
        name: getattr(reading, name) for name in (*same, "people", "review_name", "attributes", "committee")
    }


def weighed(quantity: str, statistic: str, share: str | None, weight: str | None) -> str:
    """Return the name of the quantity that four options ask for.

    >>> weighed("ratings", "spread", None, "confidence"), weighed("ratings", "mean", "score >= 6", None)
    ('spread of column confidence', 'share of score>=6')
    """
    if share is not None and (statistic, weight) != ("mean", None):
        raise refusal("{share} is a statistic of its own; leave out {statistic} and {weight}")
    if (share is not None or weight is not None) and quantity != "ratings":
        raise refusal("{share} and {weight} are of a column of the reviews; leave out {quantity}")
    of = Column(weight).name if weight is not None else quantity
    return str(with_statistic(of, statistic if share is None else Share(share)))


def reading_of(reading: ReadingOptions, quantity: str) -> ReadingOptions:
    """Return options that read the column which a quantity is of as the score, unless it is a criterion.

    >>> reading_of(ReadingOptions(), "share of confidence>=4").score
    'confidence'
    """
    column = column_of(quantity)
    if column is None or column in (parse_criteria(reading.criteria) or ()):
        return reading
    if reading.score not in (None, column):
        raise refusal("{score} and {weight} or {share} name different columns; the latter is read as the score")
    return replace(reading, score=column)


def release_arguments(what: ReleaseOptions) -> dict[str, Any]:
    """Return the arguments of a release, except the mechanism, public data, and the data set to charge."""
    same = ("unit", "region", "estimator", "accept_float_noise", "declare_kept", "licence", "citation")
    quantity = weighed(what.quantity, what.statistic, what.share, what.weight)
    parsed = {"quantity": quantity, "lone": parse_lone(what.lone), "about": parse_about(what)}
    return {name: getattr(what, name) for name in same} | parsed | {"prior": parse_prior(what.prior)}


def parse_prior(path: str | None) -> PooledPrior | None:
    """Return the pooled prior in a file; ``None`` if none is named."""
    return None if path is None else read_prior(path)


def parse_about(what: ReleaseOptions) -> About:
    """Return what a release is about; several authors may be in one text, separated by semicolons.

    >>> parse_about(ReleaseOptions(author=["Ada Lovelace; Alan Turing", "Emmy Noether"])).authors
    ('Ada Lovelace', 'Alan Turing', 'Emmy Noether')
    """
    authors = [name.strip() for given in what.author or [] for name in given.split(";")]
    facts = {name: getattr(what, name) for name in ("title", "conference", "year", "contact", "url")}
    return About(authors=tuple(authors), **facts)
