"""Pooled priors: what earlier releases of a conference say about how its reviewers differ.

Each release keeps its *evidence*: the log-likelihood of its noisy output at each leniency and discrepancy of the
family. Earlier evidence gives prior probabilities for the next release. See docs/mathematics.md, "Pooled priors".
Published data only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr

from peerveil.errors import InputError
from peerveil.inference.family import CORRELATIONS, FAMILIES
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support.atomic_files import write_new
from peerveil.support.html_tables import table

#: The version of the model whose grid evidence is on, and the shape of the grid: correlations by discrepancies.
MODEL = 2
SHAPE = (CORRELATIONS.size, len(FAMILIES[MODEL].discrepancies))

#: The least evidence that is kept, relative to the greatest, and its number of decimals.
LEAST, DECIMALS = -50.0, 4

#: The maximal number of releases in a prior.
MOST = 100

#: The hyperprior: typical correlations of a series; how far its years are from these, with probabilities; and how the
#: probabilities of discrepancies are tilted towards large ones, with probabilities.
_TYPICAL = np.linspace(0.0, 0.95, 39)
_APART = {0.02: 0.45, 0.05: 0.3, 0.1: 0.2, 0.2: 0.05}
_TILTS = {-2.0: 0.1, -1.0: 0.2, 0.0: 0.4, 1.0: 0.2, 2.0: 0.1}

#: The prior probability that a year is not like the others, so that the family's own prior holds; a year disagrees if
#: its posterior probability exceeds a half.
UNLIKE, DISAGREES = 0.2, 0.5

#: The deviation, from year to year, of the share of the variance within papers; and the fewest papers that show it.
_WITHIN_VARIES, _FEWEST_PAPERS = 0.03, 10

#: The words by which the note on a pooled prior is recognised.
POOLED = "a prior pooled from "

#: The greatest share within papers: that of opinions which differ more than those on other papers.
_MOST_WITHIN = 2.0

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 200


def grid(bounds: Floats, finite: npt.NDArray[np.bool_]) -> Floats:
    """Return the evidence on the grid of the family, given the log-likelihood of each law.

    Laws of several ranges of hidden-score offsets are equally probable. The greatest evidence is 0.

    >>> evidence = grid(np.zeros(2 * SHAPE[0] * SHAPE[1]), np.ones(2 * SHAPE[0] * SHAPE[1], dtype=bool))
    >>> evidence.shape == SHAPE, float(evidence.min())
    (True, 0.0)
    """
    each = np.where(finite, bounds, -np.inf).reshape(-1, *SHAPE)
    logs = logsumexp(each, axis=0)
    return np.asarray(np.round(np.maximum(logs - logs.max(), LEAST), DECIMALS) + 0.0)


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


@dataclass(frozen=True)
class Within:
    """The share of the variance of a public record's weights that is within papers: how far reviewers disagree.

    Attributes:
        share: the share, 1 minus the intraclass correlation of papers.
        error: its standard error by sampling.
    """

    share: float
    error: float

    def __post_init__(self) -> None:
        if not (0 <= self.share <= _MOST_WITHIN and 0 < self.error <= 1):
            raise InputError(f"within must be a share from 0 to {_MOST_WITHIN:g} and its standard error, up to 1")

    @classmethod
    def of(cls, weights: PublicWeights) -> Within | None:
        """Return the share of a record; ``None`` if weights are hidden, say nothing about papers, or are too few.

        >>> Within.of(PublicWeights.from_rows([[1, 2], [3, 4]] * 5, load=2)).share
        0.367347
        """
        sizes = weights.sizes()
        papers, reviews = sizes.size, weights.low.size
        centred = weights.reach.centred or weights.reach.folded
        if not weights.exact or centred or papers < _FEWEST_PAPERS or 2 * reviews < 3 * papers:
            return None
        means = np.bincount(weights.paper, weights=weights.low) / sizes
        between = float(sizes @ (means - weights.low.mean()) ** 2) / (papers - 1)
        inside = float(np.sum((weights.low - means[weights.paper]) ** 2)) / (reviews - papers)
        size = (reviews - float(np.sum(sizes**2)) / reviews) / (papers - 1)
        total = between + (size - 1) * inside
        if not total > 0 or not np.isfinite(total):
            return None
        share = min(size * inside / total, _MOST_WITHIN)
        error = share * (1 + (size - 1) * (1 - share)) * (2 / (size * (size - 1) * (papers - 1))) ** 0.5
        return cls(round(share, 6), round(min(max(abs(error), 1e-6), 1.0), 6))

    def to_document(self) -> list[float]:
        """Return the share and its error as JSON."""
        return [self.share, self.error]


@dataclass(frozen=True, kw_only=True, eq=False)
class Earlier:
    """An earlier release, as a pooled prior holds it.

    Attributes:
        name: what it is called; may be empty.
        record: the digest of its public record.
        release: the digest of its release.json.
        evidence: its evidence, of shape :data:`SHAPE`.
        within: how far its reviewers disagree within papers, if that is public.
    """

    name: str
    record: str
    release: str
    evidence: Floats = field(repr=False)
    within: Within | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or len(self.name) > _LONGEST or not (self.name + "x").isprintable():
            raise InputError(f"the name of a pooled release must be printable, with at most {_LONGEST} characters")
        for digest in (self.record, self.release):
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise InputError("a pooled release must name the digests of its record and of its release.json")
        object.__setattr__(self, "evidence", check_evidence(self.evidence))

    def to_document(self) -> dict[str, Any]:
        """Return the release as JSON."""
        within = None if self.within is None else self.within.to_document()
        numbers = {"evidence": self.evidence.tolist(), "within": within}
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
        """The prior probability of each correlation (rows) and discrepancy (columns) in a year like the others."""
        correlations, discrepancies = _laws()
        likelihood = np.exp([each.evidence for each in self.releases])
        flat = correlations.reshape(-1, SHAPE[0])
        of_years = np.log(flat @ likelihood @ discrepancies.T).sum(axis=0)
        logs = _hyperprior() + of_years.reshape(_hyperprior().shape)
        weight = np.exp(logs - logs.max())
        chances = np.einsum("mth,mtr,hd->rd", weight / weight.sum(), correlations, discrepancies, optimize=True)
        chances.flags.writeable = False
        return np.asarray(chances)

    def without(self, record: str) -> PooledPrior:
        """Return the prior without the release of a public record: a release never pools with itself."""
        left = tuple(each for each in self.releases if each.record != record)
        if len(left) == len(self.releases):
            return self
        if not left:
            raise InputError("the prior holds no other conference than this one; a release does not pool with itself")
        return replace(self, releases=left)

    def typical(self) -> tuple[float, float, float]:
        """Return the mean share of the variance of weights that leniency explains, and its 5 % and 95 % quantiles."""
        share = np.where(CORRELATIONS > 0, CORRELATIONS**2, 0.0)
        chance = self.chances.sum(axis=1)
        order = np.argsort(share, kind="stable")
        below = np.cumsum(chance[order])
        low, high = (float(share[order][np.searchsorted(below, p)]) for p in (0.05, 0.95))
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
        return (
            f"In a year like these, leniency explains about {100 * mean:.0f} % of the variance of {varies} (likely "
            f"{100 * low:.0f} to {100 * high:.0f} %)."
        )

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
    """

    pooled: PooledPrior
    within: Within | None

    @cached_property
    def beforehand(self) -> float:
        """The probability that the year is not like the others, given the public records alone.

        In a year like the others, the share of the variance within papers is normal around theirs; in another one, it
        may be anything from 0 to 1.
        """
        shares = [each.within for each in self.pooled.releases if each.within is not None]
        if self.within is None or not shares:
            return UNLIKE
        precision = np.array([1 / (each.error**2 + _WITHIN_VARIES**2) for each in shares])
        centre = float(precision @ [each.share for each in shares]) / float(precision.sum())
        variance = self.within.error**2 + _WITHIN_VARIES**2 + 1 / float(precision.sum())
        square = (self.within.share - centre) ** 2 / variance
        like = max(float(np.exp(-0.5 * square) / np.sqrt(2 * np.pi * variance)), 1e-300)
        return UNLIKE / (UNLIKE + (1 - UNLIKE) * like)

    def unlike(self, evidence: Floats) -> float:
        """Return the posterior probability that the year is not like the others, given its evidence as well."""
        likelihood = np.exp(evidence)
        like, other = (float(np.sum(chances * likelihood)) for chances in (self.pooled.chances, usual()))
        return self.beforehand * other / (self.beforehand * other + (1 - self.beforehand) * like)

    def disagrees(self, evidence: Floats) -> bool:
        """Return whether the year is probably not like the others."""
        return self.unlike(evidence) > DISAGREES

    @cached_property
    def mixed(self) -> Floats:
        """The prior probabilities before evidence: of a year like the others, or unlike them."""
        return np.asarray((1 - self.beforehand) * self.pooled.chances + self.beforehand * usual())

    def chances_for(self, evidence: Floats) -> Floats:
        """Return the prior probabilities for a release with this evidence: the usual ones if it disagrees."""
        return usual() if self.disagrees(evidence) else self.mixed

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
            f"the prior is pooled from releases of {prior.quantity}, the weights are of {weights.quantity}: how far "
            "reviewers differ in one says little about the other"
        )
    prior.without(weights.digest())  # must leave a release
    return replace(weights, prior=prior)


def used_prior(weights: PublicWeights) -> YearPrior | None:
    """Return the prior of the weights, from which their own record is left out; ``None`` for the usual one."""
    if weights.prior is None:
        return None
    assert isinstance(weights.prior, PooledPrior)  # noqa: S101 - as with_prior gives it
    return YearPrior(weights.prior.without(weights.digest()), Within.of(weights))


@cache
def usual() -> Floats:
    """Return the probabilities of the family itself."""
    family = FAMILIES[MODEL]
    return np.outer(family.correlation_chances, list(family.discrepancies.values()))


@cache
def _laws() -> tuple[Floats, Floats]:
    """The laws of a year: of correlations by typical one and distance, and of discrepancies by tilt."""
    family = FAMILIES[MODEL]
    wider = CORRELATIONS[CORRELATIONS >= 0]
    below = CORRELATIONS.size - wider.size
    ends = np.concatenate(([0.0], (wider[1:] + wider[:-1]) / 2, [1.0]))
    chances = np.diff(ndtr((ends - _TYPICAL[:, None, None]) / np.array(list(_APART))[None, :, None]), axis=2)
    chances /= chances.sum(axis=2, keepdims=True)
    narrower = np.full((*chances.shape[:2], below), family.narrower / below)
    correlations = np.concatenate((narrower, (1 - family.narrower) * chances), axis=2)
    places = np.arange(SHAPE[1])
    discrepancies = np.array(list(family.discrepancies.values())) * np.exp(np.outer(list(_TILTS), places))
    return correlations, discrepancies / discrepancies.sum(axis=1, keepdims=True)


@cache
def _hyperprior() -> Floats:
    """The logarithms of the prior probabilities of typical correlation, distance and tilt."""
    family = FAMILIES[MODEL]
    density = np.exp(-0.5 * ((_TYPICAL - family.typical) / family.spread) ** 2)
    typical = (1 - family.anything) * density / density.sum() + family.anything / _TYPICAL.size
    parts = (typical, np.array(list(_APART.values())), np.array(list(_TILTS.values())))
    return np.asarray(np.log(np.einsum("m,t,h->mth", *parts)))
