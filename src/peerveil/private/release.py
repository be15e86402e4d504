"""A release, from private reviews to what may be published."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from peerveil.bins import Bins, NoisyCounts
from peerveil.bundle import Release
from peerveil.errors import InputError
from peerveil.estimation import check_estimator
from peerveil.guarantee import Guarantee, Unit, check_unit
from peerveil.mechanisms import OWN, Histogram, OwnMechanism, SinhNormal, histogram_bins
from peerveil.private.noise import Prepared, prepare
from peerveil.private.reviews import EXPLAIN_PUBLIC, Reviews
from peerveil.private.truth import true_vector
from peerveil.quantities import Lone, Quantity
from peerveil.record import Floats, PublicRecord
from peerveil.refinement import assemble
from peerveil.regions import Region, check_region
from peerveil.regions import region as make_region
from peerveil.sensitivity import sensitivity
from peerveil.weights import PublicWeights, weigh


def release(
    reviews: Reviews,
    *,
    public: str | PublicRecord | None = None,
    quantity: Quantity = "ratings",
    mechanism: OwnMechanism,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str = "safe",
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
) -> Release:
    """Release the sorted means of reviewers' weights, privately.

    Args:
        reviews: the private reviews.
        public: which scores (and criteria, where they are read) are public: ``"all"``, ``"none"``, or the public
            record. There is no default.
        quantity: ``"ratings"``, ``"miscalibration"``, ``"normalized"``, ``"subjectivity"``, or your own function of the
            public record, as in :func:`peerveil.weigh`.
        mechanism: e.g. ``Laplace(epsilon=1.0)``, ``Histogram(epsilon=1.0)``, ``Gaussian(rho=0.1)``.
        unit: what is protected: all of a ``"reviewer"``'s reviews, or one ``"review"``.
        region: the region that public data proves to hold the truth.
        estimator: how the noisy vector is refined: ``"safe"``, ``"projection"`` or ``"bayes"``; see ``refine``.
        lone: what to do with the miscalibration of a paper's only review: ``"refuse"`` or ``"zero"``.
        name: what to call a quantity given as a function; the function's name by default.
        ledger: the ledger to charge, before noise is drawn: a file, or a database's address.
        dataset: the name under which the ledger has the budget; may be left out if it has one data set only.
        accept_float_noise: take noise whose last digits are not protected (``SinhNormal``).

    >>> import peerveil as pv
    >>> papers = ["p", "p", "q", "q", "r", "r"]
    >>> reviews = Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    >>> release = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    >>> release.guarantee.summary
    'epsilon = 1 per reviewer (pure differential privacy)'
    >>> bool(abs(release.values.sum() - 15) < 1e-9)     # the total is public, so it is exact
    True
    """
    made = perturb(
        reviews,
        public=public,
        quantity=quantity,
        mechanism=mechanism,
        unit=unit,
        region=region,
        lone=lone,
        name=name,
        ledger=ledger,
        dataset=dataset,
        accept_float_noise=accept_float_noise,
        estimator=estimator,
    )
    return made.refined(estimator)


@dataclass(frozen=True, kw_only=True, eq=False)
class Perturbed:
    """Noise on a vector or on counts, with its claim, and everything public that is needed to refine it.

    Nothing in it is private.
    """

    noisy: Floats | NoisyCounts
    weights: PublicWeights
    bounds: Region
    mechanism: OwnMechanism
    guarantee: Guarantee
    public: str
    notes: tuple[str, ...]

    def refined(self, estimator: str) -> Release:
        """What is published of it."""
        return assemble(
            self.noisy,
            self.weights,
            mechanism=self.mechanism,
            guarantee=self.guarantee,
            public=self.public,
            bounds=self.bounds,
            estimator=estimator,
            notes=self.notes,
        )


def perturb(
    reviews: Reviews,
    *,
    public: str | PublicRecord | None,
    quantity: Quantity,
    mechanism: OwnMechanism,
    unit: str,
    region: str,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    estimator: str = "safe",
) -> Perturbed:
    """The private part of a release: check everything, charge the ledger, draw the noise. Arguments as in a release."""
    if public is None:
        raise InputError(f"{EXPLAIN_PUBLIC}; nothing was released")
    if not isinstance(mechanism, tuple(OWN.values())):
        raise InputError(
            f"mechanism must be one whose noise Peerveil draws ({', '.join(OWN)}), got {mechanism!r}; a vector that "
            "was made private elsewhere is for refine"
        )
    if isinstance(mechanism, SinhNormal) and not accept_float_noise:
        raise InputError(
            "sinh-normal noise is drawn in floating point, so the last digits of what is published may reveal more "
            "than the claim says; use Gaussian noise, or accept that (accept_float_noise=True)"
        )
    if dataset is not None and ledger is None:
        raise InputError(f"dataset={dataset!r} names a budget, but no ledger is given (ledger=)")
    protected = check_unit(unit)
    check_region(region)
    check_estimator(estimator)
    if reviews.reviewers < 2:
        raise InputError("the file has one reviewer only: there is nobody to hide among, so nothing can be released")
    record = reviews.public(public)
    weights = weigh(record, quantity, lone=lone, name=name)
    bounds = make_region(weights, region)  # what can fail must fail before budget is spent and noise is drawn
    bound = sensitivity(weights, protected)
    bins = histogram_bins(weights, mechanism, bound) if isinstance(mechanism, Histogram) else None
    noise = prepare(mechanism, bound, protected, weights.reviewers if bins is None else bins.number)
    draw = _ready(noise, true_vector(reviews, quantity, record=record, lone=lone), bins)
    if ledger is not None:
        _charge(ledger, dataset, reviews, weights, noise)
    return Perturbed(
        noisy=draw(),
        weights=weights,
        bounds=bounds,
        mechanism=noise.mechanism,
        guarantee=noise.guarantee,
        public=_public_words(public, record),
        notes=record.notes,
    )


def _ready(noise: Prepared, truth: Floats, bins: Bins | None) -> Callable[[], Floats | NoisyCounts]:
    """Check what is to be protected; the noise itself is drawn when what is returned is called."""
    if bins is None:
        vector = noise.checked(truth)
        return lambda: noise.draw(vector)
    counts, found = noise.checked_counts(bins.counts(truth)), bins
    return lambda: NoisyCounts(bins=found, counts=noise.draw_counts(counts))


def _public_words(public: str | PublicRecord, record: PublicRecord) -> str:
    """What was stated to be public."""
    if public == "none":
        return "no scores; load counts"
    criteria = "" if record.criteria is None else f" and criteria ({', '.join(record.criteria_names)})"
    if public == "all":
        return f"all scores{criteria}, and load counts"
    return f"a public record: scores{criteria} as far as it shows them, loads as declared"


class LedgerWarning(UserWarning):
    """Something about the ledger that does not stop a release, but that its chair should know."""


def _charge(ledger: str, dataset: str | None, reviews: Reviews, weights: PublicWeights, noise: Prepared) -> None:
    """Charge the release to the budgets of its data set; a claim for another unit is computed from the noise."""
    from peerveil.private.fingerprint import fingerprint  # noqa: PLC0415 - databases only where they are needed
    from peerveil.private.ledger import Ledger  # noqa: PLC0415

    def claim_for(unit: Unit) -> Guarantee:
        if unit == noise.guarantee.unit:
            return noise.guarantee
        return noise.mechanism.guarantee(sensitivity(weights, unit), unit)

    book = Ledger(ledger)
    assert noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
    charge = book.charge(
        book.dataset(dataset),
        claim_for,
        quantity=weights.quantity,
        unit=noise.guarantee.unit,
        mechanism=noise.mechanism,
        fingerprint=fingerprint(reviews),
    )
    if charge.data_changed:
        warnings.warn(
            f"the reviews differ from those last released as {charge.dataset!r}; if they are of another conference, "
            "they were charged to the wrong budget",
            LedgerWarning,
            stacklevel=4,
        )
    if charge.also_as:
        warnings.warn(
            f"the same reviews were released as {', '.join(map(repr, charge.also_as))} before; both budgets are spent "
            "on the same reviewers, and neither counts the other's",
            LedgerWarning,
            stacklevel=4,
        )
