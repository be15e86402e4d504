"""Opinions over years: what public scores alone tell of leniency in a series and in a year.

The share of the variance that is within papers grows with leniency, if single scores and papers differ as before. The
skewness and the excess kurtosis of opinions within papers are taken to be normal around what leniency implies, with
three deviations: one that the years of a series share, because of scales and of how single scores are made; one from
year to year; and the error by sampling. See docs/mathematics.md, "Pooled priors". Public data only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from peerveil.inference.pooling.opinions import LEAST_WITHIN, TAILS_VARY, Tails, Within
from peerveil.record.public_record import Floats

#: The skewness and excess kurtosis of leniency by shape, the normal one first (smaller than those of the laws where
#: tails are long, because scales end).
_SKEWNESS = (0.0, 0.0, 0.0, 1.5, -1.5)
_KURTOSIS = (0.0, -2.0, 3.0, 3.0, 3.0)

#: The deviations from year to year, beside sampling, of skewness and kurtosis; and what is added to these for each unit
#: of excess kurtosis, because a few reviewers make heavy tails.
_VARIES = {"skewness": (0.05, 0.2), "kurtosis": (0.1, 0.4)}

#: The deviation, from year to year, of the share of the variance within papers that is not due to leniency.
_WITHIN_VARIES = 0.03

#: So many deviations count at most: a record that fits no shape prefers none. Of tails in a year like the others more
#: count, so that a year whose tails nothing explains is not taken for one of them.
_FURTHEST, _FURTHEST_APART = 4.0, 6.0

#: The deviations of skewness and kurtosis that single scores may have by themselves, whatever leniency is.
_ANYTHING = {"skewness": 1.0, "kurtosis": 3.0}


@dataclass(frozen=True, eq=False)
class Moment:
    """The skewness or the kurtosis of opinions: its mean over earlier years, and what leniency implies.

    Attributes:
        name: ``"skewness"`` or ``"kurtosis"``.
        found: its mean over earlier years, weighted by precision.
        variance: the variance of this mean by sampling.
        years: the number of earlier years.
    """

    name: str
    found: float
    variance: float
    years: int

    @classmethod
    def both(cls, earlier: Sequence[Tails]) -> Iterator[Moment]:
        """Return skewness and kurtosis over earlier years."""
        for name in _VARIES:
            precision = np.array([getattr(each, f"{name}_error") ** -2 for each in earlier])
            found = float(precision @ [getattr(each, name) for each in earlier]) / float(precision.sum())
            yield cls(name, found, 1 / float(precision.sum()), len(earlier))

    def implied(self, correlations: Floats, within: float) -> Floats:
        """Return what leniency of each shape (rows) and correlation (columns) implies.

        Where leniency explains ``rho^2`` of the variance of weights and ``w`` of it is within papers, an opinion has
        ``(rho^2 / w)^1.5`` times the skewness of leniency and ``(rho^2 / w)^2`` times its excess kurtosis, if the rest
        of it is normal.
        """
        part = np.minimum(np.maximum(correlations, 0.0) ** 2 / max(within, LEAST_WITHIN), 1.0)
        return np.outer(_SKEWNESS, part**1.5) if self.name == "skewness" else np.outer(_KURTOSIS, part**2)

    def varies(self, correlations: Floats, within: float) -> Floats:
        """Return the variance from year to year for each shape and correlation."""
        part = np.minimum(np.maximum(correlations, 0.0) ** 2 / max(within, LEAST_WITHIN), 1.0)
        least, more = _VARIES[self.name]
        return np.asarray((least + more * np.maximum(np.outer(_KURTOSIS, part**2), 0.0)) ** 2)

    def of_mean(self, correlations: Floats, within: float) -> Floats:
        """Return the variance of the mean over earlier years around what they share."""
        return self.variance + self.varies(correlations, within) / self.years


def of_next_share(within: Within, earlier: Sequence[Within], correlations: Floats, typical: Floats) -> Floats:
    """Return the log-likelihood of a year's share of the variance within papers, given those of earlier years.

    If scores of one reviewer and qualities of papers vary as before, the variance between papers is ``1 - w`` of the
    variance ``1 - m^2`` that leniency does not explain, and so it is in a year with another correlation.

    Args:
        within: that of the year.
        earlier: those of earlier years of its series.
        correlations: the correlations of the year.
        typical: the typical correlations of the series.

    Returns:
        It for each typical correlation (rows) and correlation of the year (columns).
    """
    precision = np.array([1 / (each.error**2 + _WITHIN_VARIES**2) for each in earlier])
    usually = float(precision @ [each.share for each in earlier]) / float(precision.sum())
    variance = within.error**2 + _WITHIN_VARIES**2 + 1 / float(precision.sum())
    of_series = np.minimum(typical**2, usually)[:, None]  # leniency is within papers
    of_year = np.maximum(correlations, 0.0) ** 2
    expected = 1 - max(1 - usually, 0.0) * (1 - of_year) / (1 - of_series)
    return np.asarray(-0.5 * ((within.share - expected) ** 2 / variance + np.log(2 * np.pi * variance)))


def of_series(earlier: Sequence[Tails], typical: Floats, within: float) -> Floats:
    """Return the log-likelihood of the tails of earlier years for each shape and typical correlation of the series."""
    logs = np.zeros((len(_KURTOSIS), typical.size))
    for moment in Moment.both(earlier):
        variance = moment.of_mean(typical, within) + TAILS_VARY**2
        logs += _normal(moment.found - moment.implied(typical, within), variance)
    return logs


def of_year(tails: Tails, correlations: Floats, within: float) -> Floats:
    """Return the log-likelihood of a year's tails for each shape and correlation, if no other year tells anything."""
    logs = np.zeros((len(_KURTOSIS), correlations.size))
    for moment in Moment.both([tails]):
        variance = moment.of_mean(correlations, within) + TAILS_VARY**2
        logs += _normal(moment.found - moment.implied(correlations, within), variance)
    return logs


def of_scores(tails: Tails) -> float:
    """Return the log-likelihood of a year's tails if they are those of single scores, whatever leniency is."""
    return sum(
        float(_normal(np.array(moment.found), np.array(moment.variance + _ANYTHING[moment.name] ** 2)))
        for moment in Moment.both([tails])
    )


def of_next_year(
    tails: Tails, earlier: Sequence[Tails], correlations: Floats, within: float, *, typical: Floats, usually: float
) -> Floats:
    """Return the log-likelihood of a year's tails, given those of earlier years of its series.

    Args:
        tails: those of the year.
        earlier: those of earlier years.
        correlations: the correlations of the year.
        within: the share of the variance within papers in the year.
        typical: the typical correlations of the series.
        usually: the share of the variance within papers in the series.

    Returns:
        It for each shape and typical correlation of the series, and each shape and correlation of the year.
    """
    logs = np.zeros((1, 1, len(_KURTOSIS), correlations.size))
    for moment, own in zip(Moment.both(earlier), Moment.both([tails]), strict=True):
        # What years share, given the earlier ones, is normal with this mean and variance.
        doubt = moment.of_mean(typical, usually)
        told = TAILS_VARY**2 / (TAILS_VARY**2 + doubt)
        shared = told * (moment.found - moment.implied(typical, usually))
        variance = own.of_mean(correlations, within) + (told * doubt)[:, :, None, None]
        distance = own.found - own.implied(correlations, within) - shared[:, :, None, None]
        logs = logs + _normal(distance, variance, _FURTHEST_APART)
    return logs


def _normal(distance: Floats, variance: Floats, furthest: float = _FURTHEST) -> Floats:
    """The logarithm of a normal density, within so many deviations."""
    return np.asarray(-0.5 * (np.minimum(distance**2 / variance, furthest**2) + np.log(2 * np.pi * variance)))
