"""Findings: what a release of means says about reviewers, in numbers with intervals and in sentences.

See docs/mathematics.md, "Findings". Public data and the noisy output only, so they cost no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from peerveil.errors import InputError
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.expected_error import LEVEL, ExpectedError
from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.quantities.base import words_of
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats

#: The share of papers that is accepted, unless another is given.
ACCEPTED = 0.25

#: The least number of reviewers of whom a tenth can be spoken of.
_FEWEST = 10

#: The correlation of the sorted means with the quantiles of a normal law: likely half-way between that of a uniform law
#: and 1, and at least that of an exponential law.
_LIKELY, _ALIKE = (1 + math.sqrt(3 / math.pi)) / 2, 0.903

#: The least share that is not shown as 0 %.
_SHOWN = 0.005

_VARIANCE = (
    "From an analysis of variance of all reviews by reviewer, where a negative variance counts as 0. The interval "
    "covers the noise, and the doubt about how means are spread within bins."
)
_DEALT = (
    " Papers are taken to be assigned regardless of their quality: where reviewers get papers of like quality, part of "
    "the number is due to the papers."
)
_TENTH = "The value is the released {number} of that rank, the interval its credible band."

#: What each finding rests on.
ASSUMPTIONS = {
    "leniency_share": _VARIANCE,
    "reliability": _VARIANCE,
    "strictest_tenth": _TENTH,
    "most_lenient_tenth": _TENTH,
    "lowest_tenth": _TENTH,
    "highest_tenth": _TENTH,
    "changed_decisions": (
        "Papers are accepted by mean score; quality, leniency and the rest of a score are independent and normal; "
        "each reviewer's leniency, were it known, is subtracted. Its variance is that of the first finding."
    ),
    "paper_shift": (
        "It is the standard deviation of the mean leniency of a paper's reviewers; the variance of leniency is that of "
        "the first finding."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A number that a release implies, with its interval.

    Attributes:
        name: one of ``ASSUMPTIONS``.
        quantity: the quantity of the release.
        value: the number.
        lower: lower end of its interval.
        upper: upper end of its interval.
        level: the probability with which the interval contains the number that the true assignment gives.
        accepted: the share of accepted papers that ``changed_decisions`` is computed for.

    >>> Finding(name="leniency_share", quantity="ratings", value=0.12, lower=0.08, upper=0.17).sentence
    'Reviewers differ: leniency explains 12 % (8 to 17 %) of the variance of scores.'
    """

    name: str
    quantity: str
    value: float
    lower: float
    upper: float
    level: float = LEVEL
    accepted: float | None = None

    def __post_init__(self) -> None:
        if self.name not in ASSUMPTIONS:
            raise InputError(f"the name of a finding must be one of {', '.join(ASSUMPTIONS)}")
        if not (self.lower <= self.value <= self.upper and math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise InputError("the value of a finding must lie in its interval")
        if not 0 < self.level < 1:
            raise InputError(f"level must lie between 0 and 1, got {self.level}")
        if (self.name == "changed_decisions") != (self.accepted is not None and 0 < self.accepted < 1):
            raise InputError("accepted must be a share between 0 and 1 for changed_decisions, and absent otherwise")

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        return str(getattr(self, f"_{self.name}")())

    @property
    def assumption(self) -> str:
        """What the finding rests on."""
        dealt = self.quantity == "ratings" and self.name in ("leniency_share", "reliability", "changed_decisions")
        return ASSUMPTIONS[self.name].replace("{number}", words_of(self.quantity).number) + _DEALT * dealt

    def to_document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        numbers = {key: value for key, value in asdict(self).items() if key != "quantity" and value is not None}
        return numbers | {"sentence": self.sentence, "assumption": self.assumption}

    @classmethod
    def from_document(cls, stated: dict[str, Any], quantity: str) -> Finding:
        """Return a finding from JSON, if its words follow from its numbers."""
        words = ("sentence", "assumption")
        finding = cls(quantity=quantity, **{key: value for key, value in stated.items() if key not in words})
        if any(stated[key] != getattr(finding, key) for key in words):
            raise InputError("the words of a finding are not what its numbers imply; the file was changed")
        return finding

    @property
    def clause(self) -> str:
        """Value and interval, for a sentence that has said what they are of."""
        return self._percent() if self.name in ("leniency_share", "changed_decisions") else self._number(2)

    def _leniency_share(self) -> str:
        who, of = {
            "ratings": ("leniency", "the variance of scores"),
            "miscalibration": ("leniency", "the variance among scores of the same paper"),
        }.get(self.quantity, ("who reviews", f"the variance of {words_of(self.quantity).varies or self.quantity}"))
        differ = "Reviewers differ" if self.lower >= _SHOWN else "It is not clear whether reviewers differ"
        return f"{differ}: {who} explains {self._percent()} of {of}."

    def _reliability(self) -> str:
        numbers = words_of(self.quantity).numbers
        return (
            f"If the same people reviewed as many other papers, their new {numbers} would have a correlation of "
            f"{self._number(2)} with these."
        )

    def _strictest_tenth(self) -> str:
        return self._tenth("strictest", "lowest", "less")

    def _most_lenient_tenth(self) -> str:
        return self._tenth("most lenient", "highest", "more")

    def _tenth(self, kind: str, end: str, side: str) -> str:
        if self.quantity == "ratings":
            return f"The {kind} tenth of reviewers give {self._number(2, f' or {side}')} on average."
        if self.quantity == "miscalibration":
            number = self._number(2, f" or {side}", sign="+")
            return f"The {kind} tenth of reviewers differ from their co-reviewers by {number} on average."
        return f"The tenth of reviewers with the {end} means have {self._number(3, f' or {side}')}."

    def _lowest_tenth(self) -> str:
        return f"A tenth of the reviewers have {words_of(self.quantity).a_number} of {self._number(2, ' or less')}."

    def _highest_tenth(self) -> str:
        return f"A tenth of the reviewers have {words_of(self.quantity).a_number} of {self._number(2, ' or more')}."

    def _changed_decisions(self) -> str:
        return (
            f"Without leniency, {self._percent()} of the accepted papers would be others, at an acceptance rate of "
            f"{100 * (self.accepted or 0.0):.3g} %."
        )

    def _paper_shift(self) -> str:
        return f"Leniency moves a paper's mean score up or down by {self._number(2)} points, typically."

    def _percent(self) -> str:
        value, lower, upper = (f"{100 * number:.0f}" for number in (self.value, self.lower, self.upper))
        return f"{value} % ({lower} to {upper} %)"

    def _number(self, digits: int, more: str = "", *, sign: str = "") -> str:
        form = f"{sign},.{digits}f" if abs(self.value) < 1000 else f"{sign},.0f"
        value, lower, upper = (f"{number + 0.0:{form}}" for number in (self.value, self.lower, self.upper))
        return f"{value}{more} ({'almost certainly' if lower == upper else f'{lower} to {upper}'})"


def findings(
    weights: PublicWeights,
    likelihood: CountLikelihood | EntryLikelihood,
    values: Floats,
    outlook: ExpectedError,
    *,
    accepted: float = ACCEPTED,
) -> tuple[Finding, ...]:
    """Return the findings of a release, the most general first.

    Where scores are hidden or the number of reviewers is not public, sums of squares are not public either: there are
    then only the tenths, and so it is for other statistics than the mean. Nothing is found about fewer than ten
    reviewers.

    Args:
        weights: the public weights.
        likelihood: the noisy data with the law of its noise.
        values: the released means, ascending.
        outlook: their expected error and bands.
        accepted: the share of papers that is accepted.
    """
    n, tenth = weights.reviewers, weights.reviewers // 10
    if n < _FEWEST:
        return ()
    made: list[Finding] = []
    if weights.exact and not weights.open and weights.loads.largest > 1 and weights.statistic is MEAN:
        with np.errstate(all="ignore"):
            made += _of_variance(weights, likelihood, accepted)
    lenient = words_of(weights.quantity).number == "mean"
    names = ("strictest_tenth", "most_lenient_tenth") if lenient else ("lowest_tenth", "highest_tenth")
    for name, rank in zip(names, (tenth - 1, n - tenth), strict=True):
        value = float(values[rank])
        lower, upper = min(value, float(outlook.lower[rank])), max(value, float(outlook.upper[rank]))
        made.append(Finding(name=name, quantity=weights.quantity, value=value, lower=lower, upper=upper))
    return tuple(made)


class Components(NamedTuple):
    """Variances of weights: of reviewers, of the rest, and of the reviewers' means that both give."""

    reviewers: float
    rest: float
    of_means: float

    @property
    def share(self) -> float:
        """The share of the variance that reviewers explain: the intraclass correlation."""
        return self.reviewers / (self.reviewers + self.rest)

    @property
    def reliability(self) -> float:
        """The correlation of reviewers' means with those of as many other reviews: by Spearman and Brown."""
        return self.reviewers / self.of_means


def components(weights: PublicWeights, of_means: float, inverse: float, square: float) -> Components:
    """Return the components whose expectations are the variance of the means and the total sum of squares.

    With equal loads ``l`` they are those of the analysis of variance, ``(MSB - MSW) / l`` and ``MSW``; what is below 0
    is taken to be 0.

    Args:
        weights: the public weights, all exact.
        of_means: the variance of the reviewers' means, each counted once, with ``n - 1`` as divisor.
        inverse: the mean of ``1 / load``.
        square: the sum of the squared loads over the number of reviews.
    """
    reviews, total = weights.low.size, float(np.sum((weights.low - weights.low.mean()) ** 2))
    reviewers = (of_means * (reviews - 1) - inverse * total) / (reviews - 1 - inverse * (reviews - square))
    reviewers = min(max(reviewers, 0.0), total / (reviews - square))
    rest = (total - (reviews - square) * reviewers) / (reviews - 1)
    return Components(reviewers, max(rest, 0.0), reviewers + inverse * max(rest, 0.0))


def load_moments(loads: Loads) -> tuple[tuple[float, float], ...]:
    """Return the mean of ``1 / load`` and the sum of squared loads over the reviews; their least and greatest values.

    If the number of reviewers with each load is public, the two are the same.

    >>> load_moments(Loads(reviewers=3, reviews=6, sizes=(1, 2, 3), counts=None))
    ((0.5, 2.0), (0.6666666666666666, 2.5))
    """
    n, reviews, least, most = loads.reviewers, loads.reviews, loads.smallest, loads.largest
    if loads.counts is not None:
        sizes, counts = np.array(loads.sizes, dtype=np.float64), np.array(loads.counts, dtype=np.float64)
        return ((float(counts @ (1 / sizes) / n), float(counts @ sizes**2 / reviews)),)
    if least == most:
        return ((1 / least, float(least)),)
    # By convexity: all loads equal, or all at the ends of the range.
    mean = reviews / n
    upper = (mean - least) / (most - least)
    return (
        (1 / mean, mean),
        ((1 - upper) / least + upper / most, n / reviews * ((1 - upper) * least**2 + upper * most**2)),
    )


def _of_variance(
    weights: PublicWeights, likelihood: CountLikelihood | EntryLikelihood, accepted: float
) -> list[Finding]:
    """The findings that follow from the variance of the means."""
    total = float(np.sum((weights.low - weights.low.mean()) ** 2))
    if total == 0:
        return []
    moments = load_moments(weights.loads)
    least = moments[0][0] * total / (weights.low.size - 1)
    most = total / (weights.low.size - max(square for _, square in moments))  # of all variance due to reviewers
    ends = _variance_of_means(weights, likelihood, least, most)
    quantity, sizes = weights.quantity, weights.sizes()
    inverse = float(np.mean(1 / sizes))
    named: dict[str, Callable[[Components], float]] = {
        "leniency_share": lambda part: part.share,
        "reliability": lambda part: part.reliability,
    }
    if quantity == "miscalibration":
        # Scores minus their paper's mean, of which k scores have k - 1.
        inside = float(np.sum((weights.low * (1 - 1 / sizes)[weights.paper]) ** 2)) / max(float(np.sum(sizes - 1)), 1.0)
        named["leniency_share"] = lambda part: min(part.reviewers / inside, 1.0)
        named["paper_shift"] = lambda part: math.sqrt(part.reviewers * inverse)
    elif quantity == "ratings" and sizes.size > 1:
        of_papers = float(np.var(np.bincount(weights.paper, weights=weights.low) / sizes, ddof=1))
        if of_papers > 0:
            named["changed_decisions"] = lambda part: share_changed(part.reviewers * inverse / of_papers, accepted)
    made = []
    for name, number in named.items():
        found = np.array([[number(components(weights, end, *pair)) for end in ends] for pair in moments])
        if not np.isfinite(found).all():
            return []
        made.append(
            Finding(
                name=name,
                quantity=quantity,
                value=float(found[:, 1].mean()),
                lower=float(found[:, 0].min()),
                upper=float(found[:, 2].max()),
                accepted=accepted if name == "changed_decisions" else None,
            )
        )
    return made


def share_changed(leniency: float, accepted: float) -> float:
    """Return the share of accepted papers that differ if leniency is removed from papers' mean scores.

    Args:
        leniency: the share of the variance of papers' mean scores that is due to leniency.
        accepted: the share of papers that is accepted.

    >>> share_changed(0.0, 0.25), round(share_changed(1.0, 0.25), 6)      # nothing, or a draw of lots
    (0.0, 0.75)
    """
    kept = math.sqrt(min(max(1 - leniency, 0.0), 1.0))  # the correlation of both rankings
    return 2 * float(owens_t(float(ndtri(1 - accepted)), math.sqrt((1 - kept) / (1 + kept)))) / accepted


def _variance_of_means(
    weights: PublicWeights, likelihood: CountLikelihood | EntryLikelihood, least: float, most: float
) -> tuple[float, float, float]:
    """The lower end, the value and the upper end of the variance of the reviewers' means."""
    if isinstance(likelihood, CountLikelihood):
        return interval(*_from_counts(weights, likelihood), least=least, most=most)
    n, noise = weights.reviewers, np.float64(likelihood.law.deviation)  # which overflows to infinity
    off = likelihood.centre - likelihood.centre.mean()
    # The mean square, less that of the noise; its own variance is greatest for Laplace noise.
    square = float(off @ off) / (n - 1) - noise**2
    error = noise * math.sqrt((4 * max(square, 0.0) + 5 * noise**2) / n)
    squares = interval(square, square, square, error, least=least, most=most)
    # The length along the quantiles of a normal law, which most of the noise is not along.
    normal = ndtri((np.arange(n) + 0.5) / n)
    length = float(normal @ off) / float(np.linalg.norm(normal)) / math.sqrt(n - 1)
    low, high = sorted((length, length / _ALIKE))
    limits = math.sqrt(least), math.sqrt(most)
    ends = interval(low, length / _LIKELY, high, noise / math.sqrt(n - 1), least=limits[0], most=limits[1])
    lower, value, upper = (end * end for end in ends)
    return squares if squares[2] - squares[0] < upper - lower else (lower, value, upper)


def _from_counts(weights: PublicWeights, likelihood: CountLikelihood) -> tuple[float, float, float, float]:
    """The least, the expected and the greatest variance of the means that the counts allow, and its noise.

    Within bins, means are expected to lie as in draws; they may lie as in draws at any leniency, or evenly.
    """
    n, counts = weights.reviewers, likelihood.noisy.counts.astype(np.float64)
    counts = counts + (n - counts.sum()) / counts.size
    bins, deviation = likelihood.noisy.bins, float(likelihood.law.deviation)
    low, high = bins.low - weights.low.mean(), bins.high - weights.low.mean()
    first, second = _moments_in_bins(weights, likelihood)
    first, second = np.vstack((first, (low + high) / 2)), np.vstack((second, (low**2 + low * high + high**2) / 3))
    chances = np.append(family_of(weights).correlation_chances, 0.0)

    def noise(of_bins: Floats) -> float:  # given the sum of all counts
        return deviation * float(np.linalg.norm(of_bins - of_bins.mean()))

    variances = second @ counts / (n - 1)
    if not weights.loads.uniform:  # the mean of the means is not public
        variances -= ((first @ counts) ** 2 - noise(chances @ first) ** 2) / (n * (n - 1))
    value, possible = float(chances @ variances), variances[np.append(CORRELATIONS >= 0, True)]
    return (
        min(float(possible.min()), value),
        value,
        max(float(possible.max()), value),
        noise(chances @ second) / (n - 1),
    )


def _moments_in_bins(weights: PublicWeights, likelihood: CountLikelihood) -> tuple[Floats, Floats]:
    """The mean distance from the mean weight within each bin and its mean square; one row per leniency."""
    bins = likelihood.noisy.bins
    steps = weights.derived(RecordModel).count_prior(bins, shaped=False).steps
    end = bins.low[0] + np.cumsum(steps.width) - weights.low.mean()
    start = end - steps.width
    first_step = np.searchsorted(steps.bin, np.arange(bins.number))

    def moment(power: int) -> Floats:
        rises = (1 - steps.share) * (end**power - start**power)
        return np.asarray(start[first_step] ** power + np.add.reduceat(rises, first_step, axis=1))

    return moment(1), moment(2)


def interval(
    low: float,
    middle: float,
    high: float,
    noise: float,
    *,
    least: float,
    most: float = math.inf,
    level: float = LEVEL,
) -> tuple[float, float, float]:
    """Return the interval of a number of at least ``least``, with its most likely value in the middle.

    The number was observed with normal noise, once an offset that is not known is taken off: the observation is
    anything from ``low`` to ``high``, in expectation ``middle``. Whatever the offset, about ``level`` of the intervals
    contain the number (Imbens and Manski). If noise has moved the observation beyond ``most``, which the number cannot
    exceed, the interval reaches from there as far down as that of a number of at most ``most``; its upper end may lie
    beyond.

    >>> [round(end, 3) for end in interval(5.0, 5.0, 5.0, 1.0, least=0.0)]
    [3.355, 5.0, 6.645]
    >>> [round(end, 3) for end in interval(-1.0, -1.0, -1.0, 1.0, least=0.0)]
    [0.0, 0.0, 1.148]
    >>> [round(end, 3) for end in interval(9.0, 9.0, 9.0, 1.0, least=0.0, most=5.0)]
    [4.485, 9.0, 10.645]
    """
    if noise == 0:
        return max(low, least), max(middle, least), max(high, least)
    level = 1 - 2 * float(ndtr(-_normal_reach(np.array((high - low) / noise), level)))
    lower, upper = _shortest(low, noise, least, level)[0], _shortest(high, noise, least, level)[1]
    if low > most:
        beyond = max((most - low) / noise, -30.0)
        below = float(ndtri((1 - level) * ndtr(beyond))) - beyond
        lower = max(min(lower, most + noise * below), least)
    return lower, min(max(middle, least, lower), upper), upper


def _normal_reach(wide: Floats, level: float) -> Floats:
    """How far beyond both ends of a range of offsets an interval must go, in deviations of normal noise."""
    least, most = np.zeros_like(wide), np.full_like(wide, 10.0)
    for _ in range(50):
        middle = (least + most) / 2
        enough = ndtr(middle + wide) - ndtr(-middle) >= level
        least, most = np.where(enough, least, middle), np.where(enough, middle, most)
    return np.asarray(most)


def _shortest(observed: float, noise: float, least: float, level: float) -> tuple[float, float]:
    """The shortest credible interval of a number of at least ``least``, otherwise of any size, given normal noise."""
    above = max((observed - least) / noise, -30.0)
    possible = float(ndtr(above))
    reach = float(ndtri((1 + level * possible) / 2))
    if above > reach:
        return observed - reach * noise, observed + reach * noise
    return least, least + noise * (above - float(ndtri((1 - level) * possible)))
