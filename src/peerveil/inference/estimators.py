"""Estimators: from noisy data, a region and the law of the noise to the published values.

- ``projection``: the nearest point of the region. It uses the region alone, and is never further from the truth than
  the noisy vector.
- ``safe``: uses the posterior as well, and is never further from the truth than the noisy vector either. On average it
  is far nearer than the projection; not in every single case.
- ``bayes``: the posterior mean behind ``safe``, without that promise.

See docs/mathematics.md, "Estimation". Public data and the noisy vector only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, ProjectionError
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.expected_error import ASSUMPTION, ASSUMPTION_HIDDEN, LEVEL, ExpectedError
from peerveil.inference.family import family_of
from peerveil.inference.likelihood import Likelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import used_prior
from peerveil.inference.posterior import Posterior
from peerveil.quantities.long_vectors import minimum_from, running_maximum
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region
from peerveil.regions.isotonic import Curves
from peerveil.regions.projection import VIOLATION_TOLERANCE, Projection, check_vector, project

ESTIMATORS = ("projection", "safe", "bayes")

#: Long vectors are given by runs of equal entries if these are on average as long as this.
_LEAST_RUN = 8

#: Prior deviation of the best point from the posterior mean, as a share of the segment from the projection to it.
_DOUBT = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """The result of an estimator.

    Attributes:
        values: the estimate, a point of the region.
        gap: certificate of the last projection.
        outlook: expected error and credible bands; ``None`` where the law of the noise is not known.
        notes: remarks for readers.
        evidence: the log-likelihood of the noisy data on the grid of the family, by which releases are pooled.
    """

    values: Floats
    gap: float
    outlook: ExpectedError | None = None
    notes: tuple[str, ...] = ()
    evidence: Floats | None = None


def check_estimator(estimator: str, *, law_known: bool = True) -> None:
    """Raise an error for an unknown estimator, or for one that needs a law where none is known."""
    if estimator not in ESTIMATORS:
        raise InputError(
            Argument("estimator"), f" must be one of {', '.join(map(repr, ESTIMATORS))}, got {estimator!r}"
        )
    if estimator != "projection" and not law_known:
        raise InputError(
            f"estimator {estimator!r} needs the law of the noise, which is not known here; state it with ",
            Argument("law", ...),
            ", or use 'projection'",
        )


def estimate(
    noisy: npt.ArrayLike,
    weights: PublicWeights,
    region: Region,
    likelihood: Likelihood | CountLikelihood | None,
    *,
    estimator: str = "safe",
    posterior: Posterior | None = None,
    outlook: bool = True,
) -> Estimate:
    """Estimate the sorted vector.

    Args:
        noisy: the noisy vector.
        weights: the public weights.
        region: a region of the weights.
        likelihood: the likelihood of entries or counts; ``None`` where the law of the noise is not known.
        estimator: ``"projection"``, ``"safe"`` or ``"bayes"``; the last two need a likelihood.
        posterior: the posterior, if already computed; by default from the weights and the likelihood.
        outlook: whether to compute expected error and bands, which take as long as the estimate itself.

    >>> import peerveil as pv
    >>> from peerveil.privacy.noise_laws import LaplaceLaw
    >>> from peerveil.inference.likelihood import EntryLikelihood
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> noisy = np.array([-1.0, 2.5, 2.0, 9.5])
    >>> made = estimate(noisy, weights, pv.region(weights), EntryLikelihood(noisy, LaplaceLaw(scale=2.0)))
    >>> round(float(made.values.sum()), 6), made.outlook.expected_rmse < 1      # the total is public
    (11.5, True)
    """
    made = estimates(noisy, weights, region, likelihood, [estimator], posterior=posterior, outlook=outlook)
    return made[estimator]


def estimates(
    noisy: npt.ArrayLike,
    weights: PublicWeights,
    region: Region,
    likelihood: Likelihood | CountLikelihood | None,
    estimators: Sequence[str],
    *,
    posterior: Posterior | None = None,
    outlook: bool = True,
) -> dict[str, Estimate]:
    """Return the estimates of several estimators by name, as :func:`estimate` makes them; they share what they can."""
    for name in estimators:
        check_estimator(name, law_known=likelihood is not None)
    r = check_vector("noisy", noisy, region.reviewers)
    projected = project(r, region)
    if likelihood is None:
        return dict.fromkeys(estimators, Estimate(values=projected.values, gap=projected.gap))
    model = weights.derived(RecordModel)
    posterior = model.posterior(likelihood) if posterior is None else posterior
    if posterior is None:
        note = "No expected error could be computed; the values are the projection."
        return dict.fromkeys(estimators, Estimate(values=projected.values, gap=projected.gap, notes=(note,)))
    points = {"projection": projected}
    if set(estimators) != {"projection"}:
        points["bayes"] = _shrunk_mean(posterior, projected, region, likelihood, r)
    if "safe" in estimators:
        points["safe"] = nearest_safe(points["bayes"], projected, region, r, long=model.long)
    return {name: _with_outlook(points[name], posterior, region, weights, outlook=outlook) for name in estimators}


def _with_outlook(
    point: Projection, posterior: Posterior, region: Region, weights: PublicWeights, *, outlook: bool
) -> Estimate:
    """The estimate at a point, with expected error and bands if asked for."""
    if not outlook:
        return Estimate(values=point.values, gap=point.gap)
    assumption = ASSUMPTION if weights.exact else ASSUMPTION + ASSUMPTION_HIDDEN
    expected = _expected_error(point.values, posterior, region, weights, assumption)
    apart = posterior.variance + (posterior.mean - weights.derived(RecordModel).guess) ** 2
    expected = replace(expected, public_rmse=math.sqrt(float(np.mean(apart))))
    notes, evidence = _on_prior(weights, posterior.evidence), posterior.evidence
    return Estimate(values=point.values, gap=point.gap, outlook=expected, notes=notes, evidence=evidence)


def _on_prior(weights: PublicWeights, evidence: Floats | None) -> tuple[str, ...]:
    """The note on a pooled prior."""
    prior = used_prior(weights)
    return () if prior is None or evidence is None else (prior.note(evidence),)


def _expected_error(
    values: Floats, posterior: Posterior, region: Region, weights: PublicWeights, assumption: str
) -> ExpectedError:
    least, most = region.implied()
    furthest = np.maximum(np.maximum(values - least, most - values), 0.0)
    squares = np.minimum(posterior.variance + (values - posterior.mean) ** 2, furthest**2)
    honest = family_of(weights).honest_bands
    ends = _with_doubt(posterior) if honest else posterior.band(LEVEL)
    first, second = (np.clip(end, least, np.maximum(least, most)) for end in ends)
    # Round-off may swap the ends of a band of almost no width.
    lower, upper = np.minimum(first, second), np.maximum(first, second)
    if honest:
        lower, upper = _with_width(lower, upper, np.sqrt(squares), (least, most))
        lower, upper = minimum_from(np.minimum(lower, values)), running_maximum(np.maximum(upper, values))
    rmse = math.sqrt(float(np.mean(squares)))
    return ExpectedError(expected_rmse=rmse, lower=lower, upper=upper, assumption=assumption)


def _with_width(lower: Floats, upper: Floats, doubt: Floats, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The bands, where bounds leave one value of a band: as wide as its doubt, within these bounds.

    A posterior may lie beyond the bounds, which it does not know; then its band is cut to a single value.
    """
    point = (lower == upper) & (doubt > 0)
    if not point.any():
        return lower, upper
    least, most = np.maximum(lower - doubt, ends[0]), np.minimum(upper + doubt, np.maximum(*ends))
    return np.where(point, np.minimum(least, lower), lower), np.where(point, np.maximum(most, upper), upper)


def _with_doubt(posterior: Posterior) -> tuple[Floats, Floats]:
    """The bands, and at least a deviation to either side of the mean.

    Only where few values are attainable can a band be narrower: one value alone may have the band's probability.
    """
    lower, upper = posterior.shortest_band(LEVEL)
    deviation = np.sqrt(posterior.variance)
    return np.minimum(lower, posterior.mean - deviation), np.maximum(upper, posterior.mean + deviation)


def _shrunk_mean(
    posterior: Posterior, projected: Projection, region: Region, likelihood: Likelihood | CountLikelihood, r: Floats
) -> Projection:
    """The posterior mean, shrunk towards the projection as far as the noisy vector contradicts it.

    The squared error along the segment between both is a parabola. The noisy vector gives an unbiased estimate of its
    minimum, the more precise the longer the segment; the prior puts it at the mean. A posterior from counts knows all
    attainable means, and is not shrunk.
    """
    try:
        mean = project(posterior.mean, region)
    except ProjectionError:
        return projected
    if isinstance(likelihood, CountLikelihood):
        return mean
    deviation, way = likelihood.deviation, mean.values - projected.values
    length = float(way @ way)
    if length <= (1e-9 * deviation) ** 2:
        return mean
    along = float((r - projected.values) @ way)
    # Covariance of the noise with the segment (Stein): through the mean, and through the projection.
    bias = float(np.sum(posterior.variance)) - deviation**2 * degrees_of_freedom(projected.values, region)
    minimum, variance = (along - bias) / length, deviation**2 / length
    share = float(np.clip((minimum * _DOUBT**2 + variance) / (_DOUBT**2 + variance), 0.0, 1.0))
    if share == 1:
        return mean
    gap, violation = max(mean.gap, projected.gap), max(mean.violation, projected.violation)
    return Projection(values=projected.values + share * way, gap=gap, violation=violation)


def degrees_of_freedom(t: Floats, region: Region) -> int:
    """Degrees of freedom of a projection ``t``: the trace of its derivative in the projected vector.

    Runs of equal entries move as one, unless a bound on entries is active. Each active bound on a sum takes one degree
    of freedom from the runs since the last one.
    """
    n, slack = t.size, region.slack(1e-9)
    ends = np.flatnonzero(np.append(np.diff(t) > slack, True)) + 1
    starts = np.concatenate(([0], ends[:-1]))
    at_bound = (t - region.lower <= slack) | (region.upper - t <= slack)
    free = ~np.logical_or.reduceat(at_bound, starts)
    running = np.concatenate(([0.0], np.cumsum(t - t[0])))
    tied = np.zeros(ends.size, dtype=bool)
    for bound, of_largest in zip(region.sums(), (False, False, True, True), strict=True):
        count = n - ends if of_largest else ends
        sums = running[-1] - running[ends] if of_largest else running[ends]
        finite = np.isfinite(bound[count]) & (count > 0)
        tied[finite] |= np.abs(sums + count * t[0] - bound[count])[finite] <= slack * n
    total = running[-1] + n * t[0]
    tied[-1] = tied[-1] or min(total - region.total[0], region.total[1] - total) <= slack * n
    upto = np.concatenate(([0], np.cumsum(free)[tied]))
    return int(np.sum(np.maximum(np.diff(upto) - 1, 0)) + np.count_nonzero(free) - upto[-1])


# Theorem P5.
def nearest_safe(
    guess: Projection, projected: Projection, region: Region, r: Floats, *, long: bool = False
) -> Projection:
    """The point nearest to a guess that is no further than ``r`` from any point of the region.

    It is ``t = (guess + m q) / (1 + m)`` with ``q`` the projection of ``r + (r - guess) / m``, for the least multiplier
    ``m`` that passes the test. Both use a superset of the region that isotonic regression can handle, which makes the
    test stricter. Where no point passes, the projection is returned, which is always safe. For ``long`` vectors, ``m``
    is found within a few percent.
    """
    if np.array_equal(projected.values, r):
        return projected  # the noisy vector is possible, so nothing else is safe
    starts, times = runs_of(r, guess.values) if long else (None, None)
    r, mean = (r, guess.values) if starts is None else (r[starts], guess.values[starts])
    curves = Curves.of(region, times)
    if curves.point(r) is None:
        low, high = (np.full(region.reviewers, end) for end in (region.lower[0], region.upper[-1]))
        curves = Curves.of(Region(name="ends", lower=low, upper=high, total=region.total), times)
    if _is_safe(mean, r, curves, region):
        return guess
    best: Floats | None = None
    fails, passes, steps = (-8.0, 8.0, 8) if long else (-20.0, 40.0, 40)  # base-2 logarithms of multipliers
    for _ in range(steps):
        middle = (fails + passes) / 2
        m = 2.0**middle
        pulled = curves.point(r + (r - mean) / m)
        t = None if pulled is None else (mean + m * pulled) / (1 + m)
        if t is not None and _is_safe(t, r, curves, region):
            best, passes = t, middle
        else:
            fails = middle
    best = best if best is None or times is None else np.repeat(best, times)
    if best is None:
        return projected
    if long and (violation := region.violation(best)) <= region.slack(VIOLATION_TOLERANCE):
        return Projection(values=best, gap=guess.gap, violation=violation)
    try:
        return project(best, region)  # no further from any point of the region than `best`
    except ProjectionError:
        return projected


def runs_of(*vectors: Floats) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]:
    """Where all vectors begin a run of equal entries, and how long these are; ``None`` if there are too many.

    >>> starts, times = runs_of(np.zeros(40), np.repeat([1.0, 2.0], 20))
    >>> starts.tolist(), times.tolist()
    ([0, 20], [20, 20])
    >>> runs_of(np.arange(40.0))
    (None, None)
    """
    changes = np.logical_or.reduce([vector[1:] != vector[:-1] for vector in vectors])
    starts = np.append(0, np.flatnonzero(changes) + 1)
    if starts.size > len(vectors[0]) // _LEAST_RUN:
        return None, None
    return starts, np.diff(starts, append=len(vectors[0]))


# Theorem P4.
def _is_safe(t: Floats, r: Floats, curves: Curves, region: Region) -> bool:
    """Whether ``t`` is no further than ``r`` from any ``theta`` of the set, with a margin for round-off.

    ``|r - theta|^2 - |t - theta|^2 = |d|^2 - 2 d·(theta - t)`` with ``d = r - t``.
    """
    d = r - t
    all_d = d if curves.times is None else d * curves.times
    offset = max(abs(float(region.lower[0])), abs(float(region.upper[-1])))
    round_off = (1e-15 * region.reviewers * region.spread + 1e-15 * offset) * float(np.sum(np.abs(all_d)))
    return curves.reach(d, t) + round_off <= 0.5 * float(all_d @ d)
