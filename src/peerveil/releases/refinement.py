"""From a noisy vector and the public record to what is published. Nothing private is in reach here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import InputError, PeerveilError, unexpected
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.estimators import check_estimator, estimate
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.mechanisms import Described, External, mechanism_from
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
from peerveil.releases.terms import Terms
from peerveil.support.threads import on_one_thread
from peerveil.support.version import software


def refine(
    noisy: npt.ArrayLike | Release,
    weights: PublicWeights,
    *,
    mechanism: Described | None = None,
    region: str = "tight",
    estimator: str | None = None,
) -> Release:
    """Sharpen a noisy vector that was published elsewhere.

    The result is as private as the noisy vector and, unless ``"bayes"`` is asked for, never further from the truth,
    whatever the truth.

    Args:
        noisy: the published vector, one entry a reviewer, in order of rank; or a release, whose claim is carried over.
        weights: public weights of the same record and quantity.
        mechanism: how the vector was made private, as its source states it; a release states it itself.
        region: which region to project on.
        estimator: ``"safe"``, the default where the law of the noise is known: uses what public data makes likely;
            ``"projection"``: uses only what it makes possible; ``"bayes"``: as ``"safe"``, without its promise.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([-1.0, 2.5, 2.0, 9.5], weights, mechanism=pv.External(words="Noise by the 2024 chairs."))
    >>> release.values.round(4).tolist()
    [1.0, 2.75, 2.75, 5.0]
    """
    if not isinstance(weights, PublicWeights):
        raise InputError(f"weights must be public weights, got {type(weights).__name__}; peerveil.weigh makes them")
    if isinstance(noisy, Release):
        return _refine_again(noisy, weights, mechanism=mechanism, region=region, estimator=estimator)
    source = (
        External(words="nothing is known about how the vector was made private") if mechanism is None else mechanism
    )
    if source.on_counts:
        raise InputError(
            "the noise of a histogram is on counts, which the vector alone does not tell; refine its release.json, "
            "which holds them"
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
    """The weights, with the number of reviewers estimated from noisy counts where it is not public."""
    if not is_open(weights.part):
        return weights
    if not isinstance(noisy, NoisyCounts) or noisy.outside is None:
        raise InputError(
            "how many reviewers have a kept review is not public: the counts must include one of those without"
        )
    return weights.counted(noisy.inside(weights.part.whole.reviewers))


def _refine_again(
    release: Release, weights: PublicWeights, *, mechanism: Described | None, region: str, estimator: str | None
) -> Release:
    """Project a release's noisy vector anew: its claim, mechanism and public record stay what they are."""
    if mechanism is not None:
        raise InputError("the release itself says how it was made private; leave mechanism out")
    if weights.quantity != release.quantity:
        raise InputError(f"the release is of {release.quantity}, the weights are of {weights.quantity}")
    if weights.digest() != release.record_digest:
        raise InputError(
            "the public record is not the one this release was made from; give the same scores and the same loads"
        )
    weights = with_counted(weights, release.noisy if release.histogram is None else release.histogram)
    return reassemble(release, weights, bounds=make_region(weights, region), estimator=estimator)


def reassemble(release: Release, weights: PublicWeights, *, bounds: Region, estimator: str | None) -> Release:
    """A release's noisy vector refined anew, with public weights that are known to be its own and their region."""
    _check_law(estimator, release.mechanism)
    made = assemble(
        release.noisy if release.histogram is None else release.histogram,
        weights,
        mechanism=release.mechanism,
        guarantee=release.guarantee,
        public=release.public,
        bounds=bounds,
        estimator=estimator,
        notes=release.notes,
    )
    carried = ("terms", "group", "charge", "part", "extension", "schema")  # the claim stays in its version's words
    return replace(made, **{name: getattr(release, name) for name in carried})


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
    """A release from noisy data, public weights with their region, and a claim: how every release is made."""
    description = mechanism if isinstance(mechanism, dict) else mechanism.describe()
    law = law_of(description)
    # Without a known law of the noise there is no likelihood.
    chosen = "projection" if law is None else "safe" if estimator is None else estimator
    counts = noisy if isinstance(noisy, NoisyCounts) else None
    vector = noisy.vector(bounds.reviewers) if isinstance(noisy, NoisyCounts) else noisy
    r = check_vector("noisy", vector, bounds.reviewers)
    likelihood = None if law is None else EntryLikelihood(r, law) if counts is None else CountLikelihood(counts, law)
    with on_one_thread():
        found = estimate(r, weights, bounds, likelihood, estimator=chosen)
    lower, upper = proven_bounds(weights, bounds)
    return Release(
        quantity=weights.quantity,
        values=found.values,
        noisy=r,
        histogram=counts,
        lower=lower,
        upper=upper,
        guarantee=guarantee,
        mechanism=description,
        region=bounds.name,
        estimator=chosen,
        outlook=found.outlook,
        papers=weights.sizes().size,
        loads=weights.loads,
        part=weights.part,
        public=public,
        record_digest=weights.digest(),
        gap=found.gap,
        notes=tuple(dict.fromkeys((*notes, *_estimated(weights), *bounds.notes, *found.notes))),  # each once
        created=datetime.now(UTC).replace(microsecond=0),
        software=software(),
    )


def proven_bounds(weights: PublicWeights, bounds: Region) -> tuple[Floats, Floats]:
    """What public data proves each entry to lie between; only the range of weights if their number is an estimate."""
    if not weights.open:
        return bounds.lower, bounds.upper
    low, high = (np.full(bounds.reviewers, end) for end in weights.span)
    return low, high


def _estimated(weights: PublicWeights) -> tuple[str, ...]:
    """What a release says where its number of reviewers is an estimate."""
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
    """A noisy vector with its claim, and everything public that is needed to refine it. Nothing in it is private.

    Attributes:
        noisy: the noisy vector, or noisy counts.
        weights: the public weights it belongs to.
        mechanism: the mechanism, with its noise stated.
        guarantee: the claim.
        public: what was stated to be public.
        notes: what readers of the release should know.
    """

    noisy: Floats | NoisyCounts
    weights: PublicWeights
    mechanism: Described
    guarantee: Guarantee
    public: str
    notes: tuple[str, ...]

    def refined(self, bounds: Region, estimator: str | None) -> Release:
        """What is published of it, with a region of its weights."""
        weights = with_counted(self.weights, self.noisy)
        if weights is not self.weights:  # now that the number of reviewers is estimated
            bounds = make_region(weights, bounds.name)
        return assemble(
            self.noisy,
            weights,
            mechanism=self.mechanism,
            guarantee=self.guarantee,
            public=self.public,
            bounds=bounds,
            estimator=estimator,
            notes=self.notes,
        )

    def to_document(self) -> dict[str, Any]:
        """As JSON can hold it, without the weights, of which it has the digest."""
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
        """From what was kept, with the same public weights."""
        if document["record"] != weights.digest():
            raise InputError("the public record is not the one for which noise was drawn; give the same record")
        mechanism = mechanism_from(document["mechanism"])
        assert mechanism is not None  # noqa: S101 - we wrote it
        claim = {key: value for key, value in document["guarantee"].items() if key != "neighbours"}
        noisy: Floats | NoisyCounts
        if document["histogram"] is not None:
            noisy = NoisyCounts.from_document(document["histogram"])
        else:
            noisy = check_vector("noisy", document["noisy"], weights.reviewers)
        return cls(
            noisy=noisy,
            weights=weights,
            mechanism=mechanism,
            guarantee=Guarantee(**claim).about(Neighbours.of(weights.part, hidden=weights.hidden_span > 0)),
            public=document["public"],
            notes=tuple(document["notes"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Unfinished:
    """A release whose noise is drawn and whose public work is still to be done, by whoever: it holds nothing private.

    Attributes:
        name: which one it is.
        perturbed: the noisy vector with its claim.
        region: the region to bound the truth with.
        estimator: how to refine.
        terms: on which terms it is published.
    """

    name: str
    perturbed: Perturbed
    region: str
    estimator: str | None
    terms: Terms = field(default=Terms())


def finish(work: Unfinished, _: object) -> Release | PeerveilError:
    """A task of the engine: the release, or why it failed."""
    try:
        made = work.perturbed.refined(make_region(work.perturbed.weights, work.region), work.estimator)
        return replace(made, terms=work.terms)
    except PeerveilError as error:
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - one release that fails must not end the others
        return PeerveilError(unexpected(error))


def law_of(described: dict[str, Any]) -> Law | None:
    """The law of the noise that a mechanism's description states, if it does.

    >>> law_of({"name": "laplace", "epsilon": None, "scale": 2.0})
    LaplaceLaw(scale=2.0)
    """
    mechanism = mechanism_from(described)
    noise = None if mechanism is None else mechanism.stated
    return None if noise is None else noise.law


def _check_law(estimator: str | None, mechanism: dict[str, Any]) -> None:
    check_estimator(estimator or "projection", law_known=law_of(mechanism) is not None)
