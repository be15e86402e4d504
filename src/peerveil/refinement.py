"""From a noisy vector and the public record to what is published. Nothing private is in reach here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.bundle import Release
from peerveil.errors import InputError
from peerveil.guarantee import Guarantee
from peerveil.mechanisms import External, Mechanism
from peerveil.projection import project
from peerveil.regions import Region
from peerveil.regions import region as make_region
from peerveil.version import software
from peerveil.weights import PublicWeights

ESTIMATORS = ("projection",)


def refine(
    noisy: npt.ArrayLike | Release,
    weights: PublicWeights,
    *,
    mechanism: Mechanism | None = None,
    region: str = "tight",
    estimator: str = "projection",
) -> Release:
    """Sharpen a noisy vector that was published elsewhere.

    The result is never further from the truth than the noisy vector, whatever the truth, and as private.

    Args:
        noisy: the published vector, one entry a reviewer, in order of rank; or a release, whose claim is carried over.
        weights: public weights of the same record and quantity.
        mechanism: how the vector was made private, as its source states it; a release states it itself.
        region: which region to project on.
        estimator: ``"projection"``.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([-1.0, 2.5, 2.0, 9.5], weights, mechanism=pv.External(words="Noise by the 2024 chairs."))
    >>> release.values.round(4).tolist()
    [1.0, 2.75, 2.75, 5.0]
    """
    if isinstance(noisy, Release):
        return _refine_again(noisy, weights, mechanism=mechanism, region=region, estimator=estimator)
    source = (
        External(words="nothing is known about how the vector was made private") if mechanism is None else mechanism
    )
    return assemble(
        noisy,
        weights,
        mechanism=source,
        guarantee=Guarantee(kind="stated", statement=_stated(source)),
        public="as declared by whoever refined the vector",
        bounds=make_region(weights, region),
        estimator=estimator,
    )


def _refine_again(
    release: Release, weights: PublicWeights, *, mechanism: Mechanism | None, region: str, estimator: str
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
    return assemble(
        release.noisy,
        weights,
        mechanism=release.mechanism,
        guarantee=release.guarantee,
        public=release.public,
        bounds=make_region(weights, region),
        estimator=estimator,
        notes=release.notes,
    )


def assemble(
    noisy: npt.ArrayLike,
    weights: PublicWeights,
    *,
    mechanism: Mechanism | dict[str, Any],
    guarantee: Guarantee,
    public: str,
    bounds: Region,
    estimator: str,
    notes: tuple[str, ...] = (),
) -> Release:
    """A release from a noisy vector, public weights with their region, and a claim: how every release is made."""
    check_estimator(estimator)
    projection = project(noisy, bounds)
    return Release(
        quantity=weights.quantity,
        values=projection.values,
        noisy=np.array(noisy, dtype=np.float64),
        lower=bounds.lower,
        upper=bounds.upper,
        guarantee=guarantee,
        mechanism=mechanism if isinstance(mechanism, dict) else mechanism.describe(),
        region=bounds.name,
        estimator=estimator,
        papers=weights.sizes().size,
        loads=weights.loads,
        public=public,
        record_digest=weights.digest(),
        gap=projection.gap,
        notes=tuple(dict.fromkeys((*notes, *bounds.notes))),  # each once
        created=datetime.now(UTC).replace(microsecond=0),
        software=software(),
    )


def check_estimator(estimator: str) -> None:
    """Refuse an estimator that does not exist."""
    if estimator not in ESTIMATORS:
        raise InputError(f"estimator must be one of {', '.join(map(repr, ESTIMATORS))}, got {estimator!r}")


def _stated(mechanism: Mechanism) -> str:
    if isinstance(mechanism, External):
        return mechanism.words
    parameters = ", ".join(f"{k} {v:g}" for k, v in mechanism.describe().items() if isinstance(v, float | int))
    return f"{mechanism.name} noise ({parameters})."
