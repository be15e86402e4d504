"""Releases of private reviews: a number for each reviewer, sorted, or counted for each value of an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL
from peerveil.inference.pooling import PooledPrior
from peerveil.mechanisms import Asked, Histogram
from peerveil.planning.auto import asked_for
from peerveil.private.crosstabs import ReadyCrosstab, prepare_crosstab
from peerveil.private.release import PreparedRelease, prepare_whole_release, spending_for
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.record.public_record import PublicRecord
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.release import Release
from peerveil.reporting.terms import About, Terms

#: Arguments with their defaults that a table of counts has no use for, and those that only a table has.
_NOT_BY = {"region": "tight", "estimator": None, "name": None, "accept_float_noise": False, "prior": None}
_ONLY_BY = {"values": None, "others": False, "bins": None, "level": LEVEL, "sizes": None}


@overload
def release(
    reviews: Reviews,
    *,
    by: None = None,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    epsilon: float | None = None,
    mechanism: Asked | None = None,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str | None = None,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    declare_kept: bool = False,
    prior: PooledPrior | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Release: ...
@overload
def release(
    reviews: Reviews,
    *,
    by: str,
    values: Sequence[str],
    others: bool = False,
    sizes: Sequence[int] | None = None,
    bins: int | None = None,
    level: float = LEVEL,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    epsilon: float | None = None,
    mechanism: Histogram | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    ledger: str | None = None,
    dataset: str | None = None,
    declare_kept: bool = False,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Crosstab: ...
def release(
    reviews: Reviews,
    *,
    by: str | None = None,
    values: Sequence[str] | None = None,
    others: bool = False,
    sizes: Sequence[int] | None = None,
    bins: int | None = None,
    level: float = LEVEL,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    epsilon: float | None = None,
    mechanism: Asked | None = None,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str | None = None,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    declare_kept: bool = False,
    prior: PooledPrior | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> Release | Crosstab:
    r"""Release a number of each reviewer with differential privacy: sorted, or how it is distributed in each group.

    Args:
        reviews: the private reviews; with ``by``, read with a table of attributes (:func:`peerveil.read`).
        by: an attribute of reviewers. The release is then a table of counts, as that of :func:`peerveil.release_by`,
            whose noise is a histogram's; ``region``, ``estimator``, ``name`` and ``prior`` do not go with it.
        values: with ``by``, its values, each of which is a group. They are published, and never taken from the data.
        others: with ``by``, whether reviewers with other values exist, who are one more group.
        sizes: with ``by``, the number of reviewers of each group, if these are public.
        bins: with ``by``, the greatest number of bins.
        level: with ``by``, the level of the intervals of shares.
        public: which scores (and criteria, if any were read) are public: ``"all"``, ``"none"``, or the public record.
            There is no default.
        quantity: ``"ratings"``, ``"miscalibration"``, ``"normalized"``, ``"subjectivity"``, or your own function of the
            public record, as in :func:`peerveil.weigh`.
        statistic: the number for each reviewer: the ``"mean"`` of the weights, their ``"spread"`` (standard deviation),
            ``"range"``, ``"lowest"`` or ``"highest"``, one that you registered, or the share of the reviews with a
            property: ``Share("score>=6")``. ``"agreement"`` is the mean distance from the co-reviewers' scores.
        epsilon: the budget. Mechanism and estimator are then chosen by a plan from public data alone, as with
            ``mechanism=Auto(epsilon=...)``.
        mechanism: instead of ``epsilon``: ``Laplace(epsilon=1.0)``, ``Histogram(epsilon=1.0)``, ``Gaussian(rho=0.1)``;
            or ``Auto(epsilon=1.0, delta=1e-6)``.
        unit: the protected unit: all reviews of a ``"reviewer"``, or one ``"review"``.
        region: the region that contains the true vector by public data.
        estimator: how the noisy vector is refined: ``"safe"`` or ``"projection"``, which are never less accurate than
            the noise alone, or ``"bayes"``, which is the most accurate on average. By default the plan's choice, or
            ``"safe"`` where a mechanism is given.
        lone: the miscalibration of a paper's single review: ``"refuse"`` it, or count it as ``"zero"``.
        name: the name of a quantity given as a function; the function's name by default.
        ledger: the ledger to charge before noise is drawn: a file, or the address of a database.
        dataset: the name of the data set in the ledger; optional if there is only one.
        accept_float_noise: accept noise whose last digits are not protected (``SinhNormal``).
        declare_kept: if papers or reviews were left out, declare the number of reviewers with each load among the kept
            reviews to be public. Noise on the vector requires that, unless it follows from what is public; a histogram
            does not, because it also counts the reviewers without a kept review.
        prior: what earlier releases say about reviewers, from :func:`peerveil.pool`; the usual prior by default. It
            costs no privacy.
        licence: the licence of the release, such as ``"CC-BY-4.0"``; none is stated by default.
        citation: how to cite it, instead of the usual citation.
        about: title, conference, authors, contact and address of the release, as its report shows them.

    >>> import peerveil as pv
    >>> papers = ["p", "p", "q", "q", "r", "r"]
    >>> reviews = Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    >>> release = pv.release(reviews, public="all", epsilon=1.0)
    >>> release.guarantee.summary
    'epsilon = 1 per reviewer (pure differential privacy)'
    >>> bool(abs(release.values.sum() - 15) < 1e-9)     # the total is public, so it is exact
    True

    With a table of the reviewers' attributes, by group:

    >>> import io
    >>> people = io.BytesIO(b"reviewer,seniority\nann,senior\nbob,junior\ncem,junior")
    >>> rows = io.BytesIO(b"paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6")
    >>> reviews = pv.read(rows, attributes=people, scale=(1, 10))
    >>> groups = ("senior", "junior")
    >>> pv.release(reviews, public="all", epsilon=1.0, statistic="range", by="seniority", values=groups).groups
    ('senior', 'junior')
    """
    whole: dict[str, Any] = {"region": region, "estimator": estimator, "name": name, "prior": prior}
    whole |= {"accept_float_noise": accept_float_noise}
    table: dict[str, Any] = {"values": values, "others": others, "sizes": sizes, "level": level}
    _check_fitting(by, whole, table | {"bins": bins})
    shared: dict[str, Any] = {"public": public, "quantity": with_statistic(quantity, statistic), "unit": unit}
    shared |= {"lone": lone, "declare_kept": declare_kept}
    terms: dict[str, Any] = {"licence": licence, "citation": citation, "about": about or About()}
    prepared: PreparedRelease | ReadyCrosstab
    with spending_for(ledger) as spending:
        if by is None:
            noise = asked_for(mechanism, epsilon)
            prepared = prepare_whole_release(reviews, mechanism=noise, **shared, **whole, **terms)
        else:
            counts = _noise_of_counts(mechanism, epsilon, bins)
            prepared = prepare_crosstab(reviews, by=by, mechanism=counts, terms=Terms(**terms), **shared, **table)
        return prepared.draw(spending, dataset)


def _check_fitting(by: str | None, whole: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    """Refuse arguments of the other kind of release than is asked for, and a table without stated values."""
    given, defaults, words = (table, _ONLY_BY, " goes with ") if by is None else (whole, _NOT_BY, " does not go with ")
    for name, value in given.items():
        usual = defaults[name]
        if value is not None if usual is None else value != usual:
            raise InputError(Argument(name), words, Argument("by", by or ...))
    if by is not None and table["values"] is None:
        raise InputError(
            "state the values of the attribute (",
            Argument("values", ...),
            "), such as 'senior' and 'junior'; they are published, so they are never taken from the data",
        )


def _noise_of_counts(mechanism: Asked | None, epsilon: float | None, bins: int | None) -> Histogram:
    """Return the noise of a table of counts: a histogram's, by a budget or as given."""
    if mechanism is None and epsilon is not None:
        return Histogram(epsilon=epsilon, bins=bins)
    asked = asked_for(mechanism, epsilon)
    if not isinstance(asked, Histogram) or bins is not None:
        raise InputError(
            Argument("by"),
            " releases counts: give ",
            Argument("epsilon", ...),
            " and ",
            Argument("bins", ...),
            f", or a Histogram with both; got {type(asked).__name__}{'' if bins is None else f' and {bins} bins'}",
        )
    return asked
