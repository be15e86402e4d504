"""A release, from private reviews to what may be published."""

from __future__ import annotations

from dataclasses import replace

from peerveil.bundle import Release
from peerveil.errors import InputError
from peerveil.estimation import check_estimator
from peerveil.guarantee import check_unit
from peerveil.mechanisms import Laplace
from peerveil.private.noise import perturb
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.private.truth import true_vector
from peerveil.record import PublicRecord
from peerveil.refinement import assemble
from peerveil.regions import check_region
from peerveil.regions import region as make_region
from peerveil.sensitivity import l1_sensitivity
from peerveil.weights import Lone, weigh

_PUBLIC_WORDS = {"all": "all scores, and load counts", "none": "no scores; load counts"}


def release(
    reviews: Reviews,
    *,
    public: str | PublicRecord | None = None,
    quantity: str = "ratings",
    mechanism: Laplace,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str = "safe",
    lone: Lone = "refuse",
) -> Release:
    """Release the sorted means of reviewers' weights, privately.

    Args:
        reviews: the private reviews.
        public: which scores are public: ``"all"``, ``"none"``, or the public record. There is no default.
        quantity: ``"ratings"`` or ``"miscalibration"``.
        mechanism: e.g. ``Laplace(epsilon=1.0)``.
        unit: what is protected: all of a ``"reviewer"``'s reviews, or one ``"review"``.
        region: the region that public data proves to hold the truth.
        estimator: how the noisy vector is refined: ``"safe"``, ``"projection"`` or ``"bayes"``; see ``refine``.
        lone: what to do with the miscalibration of a paper's only review: ``"refuse"`` or ``"zero"``.

    >>> import peerveil as pv
    >>> papers = ["p", "p", "q", "q", "r", "r"]
    >>> reviews = Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    >>> release = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    >>> release.guarantee.summary
    'epsilon = 1 per reviewer (pure differential privacy)'
    >>> bool(abs(release.values.sum() - 15) < 1e-9)     # the total is public, so it is exact
    True
    """
    if public is None:
        raise InputError(f"{EXPLAIN_PUBLIC}; nothing was released")
    if not isinstance(mechanism, Laplace):
        raise InputError(
            f"mechanism must be one whose noise Peerveil draws (Laplace), got {mechanism!r}; a vector that was made "
            "private elsewhere is for refine"
        )
    protected = check_unit(unit)
    check_region(region)
    check_estimator(estimator)
    if reviews.reviewers < 2:
        raise InputError("the file has one reviewer only: there is nobody to hide among, so nothing can be released")
    record = reviews.public(public)
    weights = weigh(record, quantity, lone=lone)
    sensitivity = l1_sensitivity(weights, protected)
    guarantee = mechanism.guarantee(sensitivity, protected)
    bounds = make_region(weights, region)  # what can fail must fail before noise is drawn
    noisy, scale = perturb(true_vector(reviews, quantity, lone=lone), mechanism, sensitivity)
    return assemble(
        noisy,
        weights,
        mechanism=replace(mechanism, epsilon=None, scale=scale) if scale else mechanism,
        guarantee=guarantee,
        public=_PUBLIC_WORDS.get(str(public), "a public record: scores as far as it shows them, loads as declared"),
        bounds=bounds,
        estimator=estimator,
        notes=record.notes,
    )
