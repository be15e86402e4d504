"""Pooled priors: what earlier releases of a conference say about how its reviewers differ.

Each release keeps its *evidence*: the log-likelihood of its noisy output at each leniency and discrepancy of the
family, and for each shape of leniency. Earlier evidence gives prior probabilities for the next release. See
docs/mathematics.md, "Pooled priors".
Published data only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr

from peerveil.errors import Argument, InputError
from peerveil.inference.family import CORRELATIONS, FAMILIES
from peerveil.inference.pooling.moments import of_next_share, of_next_year, of_scores, of_series, of_year
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.inference.pooling.shapes import SHAPED, SHAPES
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support.atomic_files import write_new
from peerveil.support.html_tables import table

#: The version of the model whose grid evidence is on, and the shape of the grid: correlations by discrepancies.
MODEL = 2
SHAPE = (CORRELATIONS.size, len(FAMILIES[MODEL].discrepancies))

#: The shape of the evidence of other shapes of leniency than the normal one.
SHAPES_SHAPE = (len(SHAPES), int(SHAPED.sum()), SHAPE[1])

#: The least evidence that is kept, relative to the greatest, and its number of decimals.
LEAST, DECIMALS = -50.0, 4

#: The maximal number of releases in a prior.
MOST = 100

#: The hyperprior: typical correlations of a series; and how far its years are from these, with probabilities. Beside
#: these, a series has a shape of leniency, a discrepancy, and is or is not one in which reviewers differ less than by
#: chance: each with the probabilities that a single year has.
_TYPICAL = np.linspace(0.0, 0.95, 39)
_APART = {0.02: 0.45, 0.05: 0.3, 0.1: 0.2, 0.2: 0.05}

# Theorem I1: no prior is certain, as the usual one always has a part.
#: The prior probability that a year is not like the others, so that the family's own prior holds; a year disagrees if
#: its posterior probability exceeds a half.
UNLIKE, DISAGREES = 0.3, 0.5

#: The probability that, in a year that is not like the others, tails are those of single scores, whatever leniency is.
OF_SCORES = 0.1

#: The shapes of leniency, with prior probabilities.
_SHAPES = {"normal": 0.6, "camps": 0.1, "heavy": 0.1, "lenient": 0.1, "strict": 0.1}

#: The probability that what a year has of its series is drawn anew: its shape, its discrepancy, and whether reviewers
#: differ less than by chance, each by itself.
_ANEW = 0.1

#: The share of the variance of weights that is within papers, where it is not public.
_USUAL_WITHIN = 0.6

#: The words by which the note on a pooled prior is recognised.
POOLED = "a prior pooled from "

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 200


def grid(bounds: Floats, finite: npt.NDArray[np.bool_], *, shaped: bool = False) -> Floats:
    """Return the evidence on the grid of the family, given the log-likelihood of each law.

    Laws of several ranges of hidden-score offsets are equally probable. Where laws are ``shaped``, there is one grid
    for each shape of leniency. The greatest evidence, that of normal leniency if there are shapes, is 0.

    >>> evidence = grid(np.zeros(2 * SHAPE[0] * SHAPE[1]), np.ones(2 * SHAPE[0] * SHAPE[1], dtype=bool))
    >>> evidence.shape == SHAPE, float(evidence.min())
    (True, 0.0)
    """
    each = np.where(finite, bounds, -np.inf).reshape(-1, *SHAPE)
    logs = each if shaped else logsumexp(each, axis=0)
    top = logs[0].max() if shaped else logs.max()
    return np.asarray(np.round(np.clip(logs - top, LEAST, -LEAST), DECIMALS) + 0.0)


def check_evidence(evidence: npt.ArrayLike, name: str = "evidence") -> Floats:
    """Return evidence if it has the shape of the grid, is finite and has 0 as its greatest number."""
    try:
        checked = np.array(evidence, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        checked = np.empty(0)
    if checked.shape != SHAPE or not ((checked >= LEAST) & (checked <= 0)).all() or checked.max() != 0:
        raise InputError(
            f"{name} must have {SHAPE[0]} rows of {SHAPE[1]} numbers from {LEAST:g} to 0, with 0 as the greatest"
        )
    checked.flags.writeable = False
    return checked


def check_shapes(shapes: npt.ArrayLike, name: str = "shapes") -> Floats:
    """Return the evidence of the other shapes of leniency if it has the right form and is finite."""
    try:
        checked = np.array(shapes, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        checked = np.empty(0)
    if checked.shape != SHAPES_SHAPE or not (np.abs(checked) <= -LEAST).all():
        raise InputError(
            f"{name} must have {SHAPES_SHAPE[0]} grids of {SHAPES_SHAPE[1]} rows of {SHAPES_SHAPE[2]} numbers from "
            f"{LEAST:g} to {-LEAST:g}"
        )
    checked.flags.writeable = False
    return checked


def divided(evidence: Floats) -> tuple[Floats, Floats | None]:
    """Return the evidence of normal leniency, and that of other shapes at the correlations at which these are drawn.

    The latter is ``None`` if shapes were not told apart.
    """
    return (evidence, None) if evidence.ndim == 2 else (evidence[0], evidence[1:, SHAPED])


@dataclass(frozen=True, kw_only=True, eq=False)
class Earlier:
    """An earlier release, as a pooled prior holds it.

    Attributes:
        name: what it is called; may be empty.
        record: the digest of its public record.
        release: the digest of its release.json.
        evidence: its evidence, of shape :data:`SHAPE`.
        within: how far its reviewers disagree within papers, if that is public.
        shapes: its evidence for other shapes of leniency, of shape :data:`SHAPES_SHAPE`, if it tells them apart.
        tails: how heavy the tails of opinions are, if that is public.
    """

    name: str
    record: str
    release: str
    evidence: Floats = field(repr=False)
    within: Within | None = None
    shapes: Floats | None = field(default=None, repr=False)
    tails: Tails | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or len(self.name) > _LONGEST or not (self.name + "x").isprintable():
            raise InputError(f"the name of a pooled release must be printable, with at most {_LONGEST} characters")
        for digest in (self.record, self.release):
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise InputError("a pooled release must name the digests of its record and of its release.json")
        object.__setattr__(self, "evidence", check_evidence(self.evidence))
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes(self.shapes))

    @property
    def likelihood(self) -> Floats:
        """The likelihood of each shape, correlation and discrepancy, relative to the greatest."""
        logs = np.repeat(self.evidence[None], len(_SHAPES), axis=0)
        if self.shapes is not None:
            logs[1:, SHAPED] = self.shapes
        return np.asarray(np.exp(logs - logs.max()))

    def to_document(self) -> dict[str, Any]:
        """Return the release as JSON."""
        within, tails = (None if each is None else each.to_document() for each in (self.within, self.tails))
        shapes = None if self.shapes is None else self.shapes.tolist()
        numbers = {"evidence": self.evidence.tolist(), "shapes": shapes, "within": within, "tails": tails}
        return {"name": self.name, "record": self.record, "release": self.release} | numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledPrior:
    """Prior probabilities of leniency and discrepancy from earlier releases. Make one with :func:`peerveil.pool`.

    Attributes:
        quantity: the quantity of all releases.
        releases: the earlier releases, one per public record.

    >>> flat = Earlier(name="", record=f"sha256:{'0' * 64}", release=f"sha256:{'1' * 64}", evidence=np.zeros(SHAPE))
    >>> prior = PooledPrior(quantity="ratings", releases=(flat,))
    >>> round(float(prior.chances.sum()), 9), prior
    (1.0, PooledPrior(ratings of 1 conference))
    """

    quantity: str
    releases: tuple[Earlier, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.releases) <= MOST:
            raise InputError(f"a prior must be pooled from 1 to {MOST} releases, got {len(self.releases)}")
        if len({each.record for each in self.releases}) < len(self.releases):
            raise InputError("a prior must not hold two releases of one public record")
        named = isinstance(self.quantity, str) and 0 < len(self.quantity) <= _LONGEST
        if not (named and self.quantity.isprintable()):
            raise InputError("a prior must name its quantity")

    @cached_property
    def chances(self) -> Floats:
        """The prior probabilities in a year like the others: by shape, correlation and discrepancy."""
        chances = np.einsum("qmrd,qs->srd", self._years, _shapes_of_years(), optimize=True)
        chances.flags.writeable = False
        return np.asarray(chances)

    def chances_given(self, within: Within | None, tails: Tails | None) -> tuple[Floats, float, float]:
        """Return the same given the public record of the year, and how likely this record is in a year like the others.

        Args:
            within: the share of the variance within papers in the year.
            tails: how heavy the tails of opinions in the year are.

        Returns:
            The probabilities, the density of the tails, and that of the share given the tails; densities are 1 where
            the share or the tails are not public in the year or in all earlier ones.
        """
        of_shares = np.zeros((_TYPICAL.size, SHAPE[0]))
        of_tails = np.zeros((len(_SHAPES), _TYPICAL.size, len(_SHAPES), SHAPE[0]))
        if within is not None and self.shares:
            of_shares = of_next_share(within, self.shares, CORRELATIONS, _TYPICAL)
        if tails is not None and self.tails:
            share = self.within if within is None else within.share
            of_tails = of_next_year(tails, self.tails, CORRELATIONS, share, typical=_TYPICAL, usually=self.within)
        how, shapes = "qmrd,qs,qmsr->mrsd", _shapes_of_years()
        each = np.einsum(how, self._years, shapes, np.exp(of_tails), optimize=True)
        density = float(each.sum())
        most = float(
            of_shares.max()
        )  # all may be beyond floating-point range; not their ratios: deviations are at least 0.03
        chances = np.einsum("mrsd,mr->srd", each / density, np.exp(of_shares - most))
        return chances / chances.sum(), density, float(chances.sum() * np.exp(most))

    @cached_property
    def _years(self) -> Floats:
        """The probabilities given earlier releases: by shape and typical correlation of the series, and of years."""
        correlations, discrepancies = _laws()
        shapes = _shapes_of_years()
        flat = correlations.reshape(-1, SHAPE[0])
        logs = _hyperprior()
        if self.tails:
            logs = logs + of_series(self.tails, _TYPICAL, self.within)[:, :, None, None]
        for each in self.releases:
            of_shapes = flat @ each.likelihood @ discrepancies.T
            logs = logs + np.log(np.tensordot(shapes, of_shapes, axes=1)).reshape(logs.shape)
        weight = np.exp(logs - logs.max())
        return np.asarray(
            np.einsum("qmth,mtr,hd->qmrd", weight / weight.sum(), correlations, discrepancies, optimize=True)
        )

    @cached_property
    def shares(self) -> list[Within]:
        """How far reviewers disagree within papers in the earlier releases of which that is public."""
        return [each.within for each in self.releases if each.within is not None]

    @cached_property
    def tails(self) -> list[Tails]:
        """How heavy the tails of opinions are in the earlier releases of which that is public."""
        return [each.tails for each in self.releases if each.tails is not None]

    @property
    def within(self) -> float:
        """The mean share of the variance within papers; a usual one if it is not public."""
        return float(np.mean([each.share for each in self.shares])) if self.shares else _USUAL_WITHIN

    def without(self, record: str) -> PooledPrior:
        """Return the prior without the release of a public record: a release never pools with itself."""
        left = tuple(each for each in self.releases if each.record != record)
        if len(left) == len(self.releases):
            return self
        if not left:
            raise InputError("the prior holds no other conference than this one; a release does not pool with itself")
        return replace(self, releases=left)

    def typical(self) -> tuple[float, float, float]:
        """Return the mean share of the variance of weights that leniency explains, and its 5 % and 95 % quantiles.

        That is where reviewers do not differ less than by chance.
        """
        wider = CORRELATIONS >= 0
        share, chance = CORRELATIONS[wider] ** 2, self.chances.sum(axis=(0, 2))[wider]
        chance /= chance.sum()
        below = np.cumsum(chance)
        low, high = (float(share[np.searchsorted(below, p)]) for p in (0.05, 0.95))
        return float(share @ chance), low, high

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the prior, by which a release names it."""
        text = json.dumps(self._content(), sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def to_document(self) -> dict[str, Any]:
        """Return the prior as JSON; its probabilities follow from the evidence, and are stated for readers."""
        return self._content() | {"chances": self.chances.tolist(), "digest": self.digest}

    def _content(self) -> dict[str, Any]:
        releases = [each.to_document() for each in self.releases]
        return {"kind": "prior", "model": MODEL, "quantity": self.quantity, "releases": releases}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the prior into a new JSON file, and return its path."""
        place = Path(path)
        if place.suffix != ".json":
            raise InputError(f"a prior is written as .json, not as {place.suffix or place.name!r}")
        write_new(place, json.dumps(self.to_document(), indent=1, allow_nan=False) + "\n")
        return place

    @property
    def sentence(self) -> str:
        """What the pool says about a year like the others."""
        mean, low, high = self.typical()
        varies = "scores" if self.quantity == "ratings" else words_of(self.quantity).varies or self.quantity
        alone = len(self.releases) == 1
        year = "this" if alone else "these"
        caution = " With one earlier release, how much years differ is assumed: nothing shows it yet." if alone else ""
        likely = f"likely {100 * low:.0f} to {100 * high:.0f} %, unless reviewers differ less than by chance"
        explained = f"leniency explains about {100 * mean:.0f} % of the variance of {varies}"
        return f"In a year like {year}, {explained} ({likely}).{caution}"

    def __repr__(self) -> str:
        number = len(self.releases)
        return f"PooledPrior({self.quantity} of {number} conference{'s' if number > 1 else ''})"

    def _repr_html_(self) -> str:
        rows = [(each.name or each.record[:19], each.release[:19]) for each in self.releases]
        return table(f"Pooled prior: {self.quantity}", [*rows, ("together", self.sentence)])


@dataclass(frozen=True, eq=False)
class YearPrior:
    """The prior of one release: what the others of a pooled prior say about it.

    Attributes:
        pooled: the pooled prior, without the release itself.
        within: how far reviewers of the release's record disagree within papers, if that is public.
        tails: how heavy the tails of opinions in the record are, if that is public.
    """

    pooled: PooledPrior
    within: Within | None
    tails: Tails | None = None

    @cached_property
    def beforehand(self) -> float:
        """The probability that the year is not like the others, given the public records alone.

        In another year, the share of the variance within papers may be anything from 0 to 1. Tails count only if they
        are less likely in a year like the others: what all years share, as they do their scale, makes none like them.
        """
        _, tails, share = self._given
        like = max(share * min(tails / self._elsewhere[1], 1.0), 1e-300)
        return UNLIKE / (UNLIKE + (1 - UNLIKE) * like)

    @property
    def like(self) -> Floats:
        """The prior probabilities if the year is like the others, given its public record."""
        return self._given[0]

    @property
    def other(self) -> Floats:
        """The prior probabilities if the year is not like the others: the usual ones, and what tails tell of shapes."""
        return self._elsewhere[0]

    @cached_property
    def _given(self) -> tuple[Floats, float, float]:
        return self.pooled.chances_given(self.within, self.tails)

    @cached_property
    def _elsewhere(self) -> tuple[Floats, float]:
        """The probabilities in a year that is not like the others, and the density of its tails."""
        if self.tails is None or not self.pooled.tails:
            return usual(), 1.0
        within = self.pooled.within if self.within is None else self.within.share
        likelihood = np.exp(of_year(self.tails, CORRELATIONS, within))
        chances = np.multiply.outer(list(_SHAPES.values()), usual()[0]) * likelihood[:, :, None]
        density = float(chances.sum())
        mixed = (1 - OF_SCORES) * chances / density + OF_SCORES * usual()  # whose parts tails leave as they are
        return mixed, (1 - OF_SCORES) * density + OF_SCORES * float(np.exp(of_scores(self.tails)))

    def unlike(self, evidence: Floats) -> float:
        """Return the posterior probability that the year is not like the others, given its evidence as well."""
        likelihood = np.exp(evidence - evidence.max())
        both = (self.like, self.other)
        like, other = (float(np.sum(_for(evidence, chances) * likelihood)) for chances in both)
        return self.beforehand * other / (self.beforehand * other + (1 - self.beforehand) * like)

    def disagrees(self, evidence: Floats) -> bool:
        """Return whether the year is probably not like the others."""
        return self.unlike(evidence) > DISAGREES

    @cached_property
    def mixed(self) -> Floats:
        """The prior probabilities before evidence: of a year like the others, or unlike them."""
        return np.asarray((1 - self.beforehand) * self.like + self.beforehand * self.other)

    def chances_for(self, evidence: Floats) -> Floats:
        """Return the prior probabilities for a release with this evidence: the usual ones if it disagrees."""
        return _for(evidence, usual() if self.disagrees(evidence) else self.mixed)

    def note(self, evidence: Floats) -> str:
        """Return the note that the release with this evidence carries."""
        number = len(self.pooled.releases)
        of = f"{POOLED}{number} earlier release{'s' if number > 1 else ''}"
        if self.disagrees(evidence):
            why = "Its public record is" if self.beforehand > DISAGREES else "Its noisy data are"
            return f"{why} unlike those of {of}, so the usual prior was used instead."
        return f"Estimates, expected error and bands rest on {of}."


@dataclass(frozen=True, kw_only=True)
class UsedPrior:
    """The pooled prior of a release, as its release.json names it.

    Attributes:
        digest: the digest of the prior.
        releases: the number of earlier releases that it was pooled from, without the release itself.
        unlike: whether the release disagrees with these, so that the usual prior was used.
    """

    digest: str
    releases: int
    unlike: bool

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest) or not 1 <= self.releases <= MOST or type(self.unlike) is not bool:
            raise InputError("prior must name the digest of a pooled prior and the number of its releases")

    @classmethod
    def of(cls, weights: PublicWeights, evidence: Floats | None) -> UsedPrior | None:
        """Return the prior of the weights, given the evidence of a release; ``None`` if the usual one was used."""
        prior = used_prior(weights)
        if weights.prior is None or prior is None or evidence is None:
            return None
        number = len(prior.pooled.releases)
        return cls(digest=weights.prior.digest, releases=number, unlike=prior.disagrees(evidence))

    def to_document(self) -> dict[str, Any]:
        """Return the prior as JSON."""
        return asdict(self)


def with_prior(weights: PublicWeights, prior: PooledPrior | None) -> PublicWeights:
    """Return the weights with a pooled prior, from which their own record is left out.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    >>> with_prior(weights, None) is weights
    True
    """
    if prior is None:
        return weights
    if not isinstance(prior, PooledPrior):
        raise InputError(f"prior must be a pooled prior, got {type(prior).__name__}; peerveil.pool makes one")
    if prior.quantity != weights.quantity:
        raise InputError(
            Argument("prior"),
            f": it is pooled from releases of {prior.quantity}, but this one is of {weights.quantity}: how far "
            "reviewers differ in one says little about the other",
        )
    prior.without(weights.digest())  # must leave a release
    return replace(weights, prior=prior)


def used_prior(weights: PublicWeights) -> YearPrior | None:
    """Return the prior of the weights, from which their own record is left out; ``None`` for the usual one."""
    if weights.prior is None:
        return None
    assert isinstance(weights.prior, PooledPrior)  # noqa: S101 - as with_prior gives it
    return YearPrior(weights.prior.without(weights.digest()), Within.of(weights), Tails.of(weights))


@cache
def usual() -> Floats:
    """Return the probabilities of the family itself, whose leniency is normal."""
    family = FAMILIES[MODEL]
    chances = np.zeros((len(_SHAPES), *SHAPE))
    chances[0] = np.outer(family.correlation_chances, list(family.discrepancies.values()))
    return chances


def _for(evidence: Floats, chances: Floats) -> Floats:
    """The probabilities on the grid of the evidence, which may not tell shapes apart."""
    return chances if evidence.ndim == chances.ndim else np.asarray(chances.sum(axis=0))


@cache
def _shapes_of_years() -> Floats:
    """The probability of each shape of a year (columns), given that of the series (rows)."""
    return _repeated(list(_SHAPES.values()))


def _repeated(chances: Sequence[float]) -> Floats:
    """The probabilities of a year's kinds (columns), given that of the series (rows): mostly the same, or any."""
    return (1 - _ANEW) * np.eye(len(chances)) + _ANEW * np.array(chances)


@cache
def _laws() -> tuple[Floats, Floats]:
    """The laws of a year, given its series.

    Returns:
        Those of correlations, by typical one, and by distance: first in series whose reviewers do not differ less than
        by chance, then in those whose reviewers do; and those of discrepancies, by that of the series.
    """
    family = FAMILIES[MODEL]
    wider = CORRELATIONS[CORRELATIONS >= 0]
    below = CORRELATIONS.size - wider.size
    ends = np.concatenate(([0.0], (wider[1:] + wider[:-1]) / 2, [1.0]))
    chances = np.diff(ndtr((ends - _TYPICAL[:, None, None]) / np.array(list(_APART))[None, :, None]), axis=2)
    chances /= chances.sum(axis=2, keepdims=True)
    even = np.full((*chances.shape[:2], below), 1 / below)
    of_series = [
        np.concatenate((narrower * even, wide * chances), axis=2)
        for wide, narrower in _repeated([1 - family.narrower, family.narrower])
    ]
    return np.concatenate(of_series, axis=1), _repeated(list(family.discrepancies.values()))


@cache
def _hyperprior() -> Floats:
    """The logarithms of the prior probabilities of a series: shape, typical correlation, distance, and discrepancy."""
    family = FAMILIES[MODEL]
    density = np.exp(-0.5 * ((_TYPICAL - family.typical) / family.spread) ** 2)
    typical = (1 - family.anything) * density / density.sum() + family.anything / _TYPICAL.size
    shapes, distances = (np.array(list(each.values())) for each in (_SHAPES, _APART))
    apart = np.outer([1 - family.narrower, family.narrower], distances).ravel()
    return np.asarray(np.log(np.einsum("q,m,t,h->qmth", shapes, typical, apart, list(family.discrepancies.values()))))
