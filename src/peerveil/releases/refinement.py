"""Refinement of a noisy vector with the public record, without access to private data."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import InputError, PeerveilError, PriorWarning, unexpected
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.estimators import check_estimator, estimate
from peerveil.inference.findings import Finding, findings
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import MODEL, POOLED, PooledPrior, UsedPrior, divided, with_prior
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.mechanisms import Asked, Described, External, mechanism_from
from peerveil.planning.auto import CHOSEN, Undecided, decide
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.law import Law
from peerveil.privacy.neighbours import Neighbours
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Floats
from peerveil.regions import Region
from peerveil.regions import region as make_region
from peerveil.regions.projection import check_vector
from peerveil.releases.release import Release
from peerveil.reporting.published import CHANCE_RANKS, thinned
from peerveil.reporting.terms import Terms
from peerveil.support.threads import on_one_thread
from peerveil.support.version import software


def refine(
    noisy: npt.ArrayLike | Release,
    weights: PublicWeights,
    *,
    mechanism: Described | None = None,
    region: str = "tight",
    estimator: str | None = None,
    prior: PooledPrior | None = None,
) -> Release:
    """Return a release with a published noisy vector refined by public data.

    The result is as private as the noisy vector and, unless ``estimator="bayes"``, never further from the truth.

    Args:
        noisy: the noisy vector, one entry per reviewer in order of rank; or a release, whose claim is kept.
        weights: public weights of the same record and quantity.
        mechanism: the mechanism of the vector, as its source states it; leave it out for a release.
        region: the region to project on.
        estimator: ``"safe"`` (default if the noise distribution is known): the posterior mean, kept where it is never
            further from the truth than the noisy vector; ``"projection"``: the nearest vector in the region;
            ``"bayes"``: the posterior mean.
        prior: what earlier releases say about reviewers, from :func:`peerveil.pool`; the usual prior by default.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([-1.0, 2.5, 2.0, 9.5], weights, mechanism=pv.External(words="Noise by the 2024 chairs."))
    >>> release.values.round(4).tolist()
    [1.0, 2.75, 2.75, 5.0]
    """
    if not isinstance(weights, PublicWeights):
        raise InputError(f"weights must be public weights, got {type(weights).__name__}; peerveil.weigh makes them")
    weights = with_prior(weights, prior)
    if isinstance(noisy, Release):
        return _refine_again(noisy, weights, mechanism=mechanism, region=region, estimator=estimator)
    source = mechanism or External(words="nothing is known about how the vector was made private")
    if source.on_counts:
        raise InputError(
            "histogram noise is added to counts, which the vector does not contain; refine the release.json, which does"
        )
    _check_law(estimator, source.describe())
    return assemble(
        noisy,
        weights,
        mechanism=source,
        guarantee=Guarantee(kind="stated", statement=source.in_words()),
        public="as declared by whoever refined the vector",
        bounds=make_region(weights, region),
        estimator=estimator,
    )


def with_counted(weights: PublicWeights, noisy: npt.ArrayLike | NoisyCounts) -> PublicWeights:
    """Return the weights, with the number of reviewers estimated from noisy counts if it is not public."""
    if not is_open(weights.part):
        return weights
    if not isinstance(noisy, NoisyCounts) or noisy.outside is None:
        raise InputError("the number of reviewers is not public: the counts must include reviewers without a review")
    return weights.counted(noisy.inside(weights.part.whole.reviewers))


def _refine_again(
    release: Release, weights: PublicWeights, *, mechanism: Described | None, region: str, estimator: str | None
) -> Release:
    """A release with its noisy vector refined again; claim, mechanism and public record stay the same."""
    if mechanism is not None:
        raise InputError("the release states its mechanism; leave mechanism out")
    if weights.quantity != release.quantity:
        raise InputError(f"the release is of {release.quantity}, the weights are of {weights.quantity}")
    if weights.digest() != release.record_digest:
        raise InputError(
            "the public record is not the one this release was made from; give the same scores and the same loads"
        )
    weights = with_counted(weights, release.perturbed)
    refined = reassemble(release, weights, bounds=make_region(weights, region), estimator=estimator)
    if refined.estimator == release.estimator:
        return refined
    return replace(refined, notes=tuple(note for note in refined.notes if CHOSEN not in note))  # on another estimator


def reassemble(release: Release, weights: PublicWeights, *, bounds: Region, estimator: str | None) -> Release:
    """Return a release with its noisy data refined again, given its own public weights and their region."""
    _check_law(estimator, release.mechanism)
    refined = assemble(release.perturbed, weights, bounds=bounds, estimator=estimator, **_stated(release))
    if release.schema == 1:  # which states none
        refined = replace(
            refined, findings=(), chance=None, evidence=None, within=None, shapes=None, tails=None, prior=None
        )
    kept = ("terms", "group", "charge", "part", "extension", "schema", "series")
    return replace(refined, **{name: getattr(release, name) for name in kept})


def _stated(source: Release | Perturbed) -> dict[str, Any]:
    """What a source states about its noisy data."""
    return {name: getattr(source, name) for name in ("mechanism", "guarantee", "public", "notes")}


def assemble(
    noisy: npt.ArrayLike | NoisyCounts,
    weights: PublicWeights,
    *,
    mechanism: Described | dict[str, Any],
    guarantee: Guarantee,
    public: str,
    bounds: Region,
    estimator: str | None,
    notes: tuple[str, ...] = (),
) -> Release:
    """Return a release from noisy data, public weights with their region, and a claim."""
    description = mechanism if isinstance(mechanism, dict) else mechanism.describe()
    law = law_of(description)
    # Without noise, or if its distribution is unknown, there is no likelihood.
    chosen = "projection" if law is None else "safe" if estimator is None else estimator
    counts = noisy if isinstance(noisy, NoisyCounts) else None
    vector = noisy.vector(bounds.reviewers) if isinstance(noisy, NoisyCounts) else noisy
    r = check_vector("noisy", vector, bounds.reviewers)
    likelihood = None if law is None else EntryLikelihood(r, law) if counts is None else CountLikelihood(counts, law)
    with on_one_thread():
        estimated = estimate(r, weights, bounds, likelihood, estimator=chosen)
        evidence = estimated.evidence if weights.model == MODEL else None
        prior = UsedPrior.of(weights, evidence)
        shapes: Floats | None = None
        if evidence is not None and likelihood is not None:
            told = evidence if evidence.ndim > 2 else weights.derived(RecordModel).shaped_evidence(likelihood)
            evidence, shapes = (evidence, None) if told is None else divided(told)
        found: tuple[Finding, ...] = ()
        chance: Floats | None = None
        if likelihood is not None and estimated.outlook is not None:
            found = findings(weights, likelihood, estimated.values, estimated.outlook)
            if weights.model > 1 and weights.exact and not weights.open:  # unknown to earlier versions
                chance = weights.derived(RecordModel).dealt[thinned(weights.reviewers, CHANCE_RANKS)]
    lower, upper = proven_bounds(weights, bounds)
    if prior is not None and prior.unlike:
        warnings.warn(PriorWarning(*estimated.notes), stacklevel=2)
    stated = (note for note in notes if POOLED not in note or note in estimated.notes)
    return Release(
        quantity=weights.quantity,
        values=estimated.values,
        noisy=r,
        histogram=counts,
        lower=lower,
        upper=upper,
        guarantee=guarantee,
        mechanism=description,
        region=bounds.name,
        estimator=chosen,
        outlook=estimated.outlook,
        findings=found,
        chance=chance,
        evidence=evidence,
        within=None if evidence is None else Within.of(weights),
        shapes=shapes,
        tails=None if evidence is None else Tails.of(weights),
        prior=prior,
        papers=weights.sizes().size,
        loads=weights.loads,
        part=weights.part,
        public=public,
        record_digest=weights.digest(),
        gap=estimated.gap,
        notes=tuple(dict.fromkeys((*stated, *_count_note(weights), *bounds.notes, *estimated.notes))),
        created=datetime.now(UTC).replace(microsecond=0),
        software=software(),
    )


def proven_bounds(weights: PublicWeights, bounds: Region) -> tuple[Floats, Floats]:
    """Return proven bounds of each entry; the range of weights if the number of reviewers is an estimate."""
    if not weights.open:
        return bounds.lower, bounds.upper
    low, high = (np.full(bounds.reviewers, end) for end in weights.span)
    return low, high


def _count_note(weights: PublicWeights) -> tuple[str, ...]:
    """The note on an estimated number of reviewers."""
    if not is_open(weights.part):
        return ()
    note = (
        f"How many of the {weights.part.whole.reviewers} reviewers have a review in this release is not public: "
        f"{weights.reviewers} is an estimate from the noisy counts. Expected error, bands and what the estimator "
        "promises take it as known."
    )
    return (note,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Perturbed:
    """Noisy data with its claim and everything public that refinement needs; it contains nothing private."""

    noisy: Floats | NoisyCounts
    weights: PublicWeights
    mechanism: Described
    guarantee: Guarantee
    public: str
    notes: tuple[str, ...]

    def refined(self, bounds: Region, estimator: str | None) -> Release:
        """Return the release, given a region of the weights."""
        weights = with_counted(self.weights, self.noisy)
        if weights is not self.weights:  # the number of reviewers is now estimated
            bounds = make_region(weights, bounds.name)
        return assemble(self.noisy, weights, bounds=bounds, estimator=estimator, **_stated(self))

    def to_document(self) -> dict[str, Any]:
        """Return the data as JSON, with the digest of the weights."""
        return {
            "record": self.weights.digest(),
            "noisy": None if isinstance(self.noisy, NoisyCounts) else self.noisy.tolist(),
            "histogram": self.noisy.to_document() if isinstance(self.noisy, NoisyCounts) else None,
            "mechanism": self.mechanism.describe(),
            "guarantee": asdict(self.guarantee),
            "public": self.public,
            "notes": list(self.notes),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any], weights: PublicWeights) -> Perturbed:
        """Return the data from JSON, given the same public weights."""
        if document["record"] != weights.digest():
            raise InputError("the public record is not the one for which noise was drawn; give the same record")
        mechanism = mechanism_from(document["mechanism"])
        assert mechanism is not None  # noqa: S101 - as written here
        claim = {key: value for key, value in document["guarantee"].items() if key != "neighbours"}
        counts = document["histogram"]
        return cls(
            noisy=NoisyCounts.from_document(counts)
            if counts is not None
            else check_vector("noisy", document["noisy"], weights.reviewers),
            weights=weights,
            mechanism=mechanism,
            guarantee=Guarantee(**claim).about(Neighbours.of(weights.part, hidden=weights.hidden_span > 0)),
            public=document["public"],
            notes=tuple(document["notes"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Unfinished:
    """A named release whose noise is drawn and which is still to be refined; it contains nothing private."""

    name: str
    perturbed: Perturbed
    region: str
    estimator: str | None
    terms: Terms = field(default=Terms())


def finish(work: Unfinished, _: object) -> Release | PeerveilError:
    """Return the release, or the error; a task for parallel workers."""
    try:
        bounds = make_region(work.perturbed.weights, work.region)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PriorWarning)  # the release states it, and the caller tells it
            return replace(work.perturbed.refined(bounds, work.estimator), terms=work.terms)
    except PeerveilError as error:
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - other releases must go on
        return PeerveilError(unexpected(error))


def work(task: Undecided | Unfinished, seeds: object) -> Asked | Release | PeerveilError:
    """Return what public work gives: a request with its plan, or a release; a task for parallel workers."""
    return decide(task, seeds) if isinstance(task, Undecided) else finish(task, seeds)


def law_of(described: dict[str, Any]) -> Law | None:
    """Return the distribution of the noise of a described mechanism, if it is stated.

    >>> law_of({"name": "laplace", "epsilon": None, "scale": 2.0})
    LaplaceLaw(scale=2.0)
    """
    noise = known.stated if (known := mechanism_from(described)) is not None else None
    return None if noise is None else noise.law


def _check_law(estimator: str | None, mechanism: dict[str, Any]) -> None:
    check_estimator(estimator or "projection", law_known=law_of(mechanism) is not None)
