"""Estimators: from a noisy vector, a region and the noise's law to what is published.

- ``projection``: the nearest point of the region. Uses only what is possible; never further from the truth than the
  noisy vector.
- ``safe``: uses what is likely, too, and is never further from the truth than the noisy vector either. On average far
  nearer than the projection; not in every single case.
- ``bayes``: the guess behind ``safe``, without that promise.

See docs/mathematics.md, "Estimation". Public data and the noisy vector only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, ProjectionError, RecordError
from peerveil.inference.count_posterior import CountFamily, CountNoise
from peerveil.inference.expected_error import ASSUMPTION, ASSUMPTION_HIDDEN, LEVEL, Outlook
from peerveil.inference.likelihood import Evidence
from peerveil.inference.posterior import Family, Model
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region
from peerveil.regions.isotonic import Curves
from peerveil.regions.projection import Projection, check_vector, project

ESTIMATORS = ("projection", "safe", "bayes")

#: How far, in shares of the way from the projection to the guess, the best point is thought to be off the guess.
_DOUBT = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """What an estimator returns.

    Attributes:
        values: the estimate, a point of the region.
        gap: certificate of the projection that ended it.
        outlook: how near it is to the truth, in all likelihood; ``None`` where the law of the noise is not known.
        notes: what a reader should know.
    """

    values: Floats
    gap: float
    outlook: Outlook | None = None
    notes: tuple[str, ...] = ()


def check_estimator(estimator: str, *, law_known: bool = True) -> None:
    """Refuse an estimator that does not exist, or that needs a law where none is known."""
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
    evidence: Evidence | CountNoise | None,
    *,
    estimator: str = "safe",
    model: Model | None = None,
    outlook: bool = True,
) -> Estimate:
    """Estimate the sorted vector.

    Args:
        noisy: the noisy vector.
        weights: the public weights.
        region: a region of theirs.
        evidence: what the noise says, on entries or on counts, from its law; ``None`` where that is not known.
        estimator: ``"projection"``, ``"safe"`` or ``"bayes"``; the last two need evidence.
        model: the posterior, if it is at hand; otherwise it is computed from the weights and the evidence.
        outlook: whether to compute the error to expect, too; its bands take as long as all the rest.

    >>> import peerveil as pv
    >>> from peerveil.privacy.noise_laws import LaplaceLaw
    >>> from peerveil.inference.likelihood import EntryNoise
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> noisy = np.array([-1.0, 2.5, 2.0, 9.5])
    >>> found = estimate(noisy, weights, pv.region(weights), EntryNoise(noisy, LaplaceLaw(scale=2.0)))
    >>> round(float(found.values.sum()), 6), found.outlook.expected_rmse < 1      # the total is public
    (11.5, True)
    """
    check_estimator(estimator, law_known=evidence is not None)
    r = check_vector("noisy", noisy, region.reviewers)
    projected = project(r, region)
    if evidence is None:
        return Estimate(values=projected.values, gap=projected.gap)
    model = _posterior(weights, evidence) if model is None else model
    if model is None:
        note = "No expected error could be computed; the values are the projection."
        return Estimate(values=projected.values, gap=projected.gap, notes=(note,))
    found = projected
    if estimator != "projection":
        guess = _guess(model, projected, region, evidence, r)
        found = guess if estimator == "bayes" else nearest_safe(guess, projected, region, r)
    assumed = ASSUMPTION if weights.exact else ASSUMPTION + ASSUMPTION_HIDDEN
    expected = _outlook(found.values, model, region, assumed) if outlook else None
    return Estimate(values=found.values, gap=found.gap, outlook=expected)


def _posterior(weights: PublicWeights, evidence: Evidence | CountNoise) -> Model | None:
    try:
        if isinstance(evidence, CountNoise):
            return CountFamily.of(weights, evidence.seen.bins).given(evidence)
        return Family.of(weights).given(evidence)
    except RecordError:
        return None  # no assignment was found to draw from


def _outlook(values: Floats, model: Model, region: Region, assumed: str = ASSUMPTION) -> Outlook:
    least, most = region.implied()
    furthest = np.maximum(np.maximum(values - least, most - values), 0.0)
    squares = np.minimum(model.variance + (values - model.mean) ** 2, furthest**2)
    one, other = (np.clip(end, least, np.maximum(least, most)) for end in model.band(LEVEL))
    # Where hardly any doubt is left, round-off may put the ends of a band the wrong way round.
    lower, upper = np.minimum(one, other), np.maximum(one, other)
    rmse = math.sqrt(float(np.mean(squares)))
    return Outlook(expected_rmse=rmse, lower=lower, upper=upper, assumption=assumed)


def _guess(
    model: Model, projected: Projection, region: Region, evidence: Evidence | CountNoise, r: Floats
) -> Projection:
    """The mean of the posterior, or a point between it and the projection if the noisy vector tells against it.

    A posterior from counts knows all attainable means, and needs no second opinion.
    """
    try:
        mean = project(model.mean, region)
    except ProjectionError:
        return projected
    if isinstance(evidence, CountNoise):
        return mean
    share = _trust(mean.values, model, projected.values, region, deviation=evidence.reach, r=r)
    if share == 1:
        return mean
    values = projected.values + share * (mean.values - projected.values)
    return Projection(
        values=values, gap=max(mean.gap, projected.gap), violation=max(mean.violation, projected.violation)
    )


def _trust(mean: Floats, model: Model, p: Floats, region: Region, *, deviation: float, r: Floats) -> float:
    """Which share of the way from the projection ``p`` to the model's mean to go.

    The squared error along the way is a parabola, and the noisy vector tells where it is least: up to noise, that
    shrinks as the way gets longer. What it says is weighed against the model, which says: at its mean.
    """
    way = mean - p
    length = float(way @ way)
    if length <= (1e-9 * deviation) ** 2:
        return 1.0
    along = float((r - p) @ way)
    # How the noise leans along the way: it pulls the projection in so many directions, and the mean by its variance.
    lean = float(np.sum(model.variance)) - deviation**2 * degrees_of_freedom(p, region)
    seen, doubt = (along - lean) / length, deviation**2 / length
    return float(np.clip((seen * _DOUBT**2 + doubt) / (_DOUBT**2 + doubt), 0.0, 1.0))


def degrees_of_freedom(t: Floats, region: Region) -> int:
    """In how many directions a projection on a region moves with the vector that is projected.

    Runs of equal entries move as one, unless a bound holds them. A sum that is at its bound takes one direction away
    from the runs since the last such sum.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 4], [0, 4], [0, 4]], load=2), "baseline")
    >>> degrees_of_freedom(np.array([1.0, 2.0, 3.0]), region)    # the total is fixed
    2
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
        known = np.isfinite(bound[count]) & (count > 0)
        tied[known] |= np.abs(sums + count * t[0] - bound[count])[known] <= slack * n
    total = running[-1] + n * t[0]
    tied[-1] = tied[-1] or min(total - region.total[0], region.total[1] - total) <= slack * n
    upto = np.concatenate(([0], np.cumsum(free)[tied]))
    return int(np.sum(np.maximum(np.diff(upto) - 1, 0)) + np.count_nonzero(free) - upto[-1])


def nearest_safe(guess: Projection, projected: Projection, region: Region, r: Floats) -> Projection:
    """The point nearest to a guess that is no further than ``r`` from any point of the region.

    It is ``t = (guess + m q) / (1 + m)`` with ``q`` the projection of ``r + (r - guess) / m``, for the least multiplier
    ``m`` that passes the test. Both use a set that holds the region and that two passes can handle: that makes the test
    stricter. Where no point passes, for round-off or because the set is too large, the projection is returned: it is
    safe without a test.
    """
    curves = Curves.of(region)
    if curves.project(r) is None:
        curves = Curves.of(_ends_only(region))
    if _is_safe(guess.values, r, curves, region):
        return guess
    found: Floats | None = None
    low, high = -20.0, 40.0  # logarithms to base 2 of multipliers that fail, and that pass
    for _ in range(40):
        middle = (low + high) / 2
        m = 2.0**middle
        pulled = curves.project(r + (r - guess.values) / m)
        t = None if pulled is None else (guess.values + m * pulled[0]) / (1 + m)
        if t is not None and _is_safe(t, r, curves, region):
            found, high = t, middle
        else:
            low = middle
    if found is None:
        return projected
    try:
        return project(found, region)  # never further from any point of the region than what is projected
    except ProjectionError:
        return projected


def _is_safe(t: Floats, r: Floats, curves: Curves, region: Region) -> bool:
    """Whether ``t`` is no further than ``r`` from any ``theta`` of the set, with a margin for round-off.

    ``|r - theta|^2 - |t - theta|^2 = |d|^2 - 2 d·(theta - t)`` with ``d = r - t``.
    """
    d = r - t
    offset = max(abs(float(region.lower[0])), abs(float(region.upper[-1])))
    round_off = (1e-15 * t.size * region.spread + 1e-15 * offset) * float(np.sum(np.abs(d)))
    return curves.reach(d, t) + round_off <= 0.5 * float(d @ d)


def _ends_only(region: Region) -> Region:
    """The region without anything but the least and the greatest entry, and the total."""
    n = region.reviewers
    low, high = np.full(n, region.lower[0]), np.full(n, region.upper[-1])
    return Region(name="ends", lower=low, upper=high, total=region.total)
