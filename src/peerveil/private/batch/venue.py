"""Venues of a batch, and their outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from peerveil.errors import InputError
from peerveil.inference.estimators import check_estimator
from peerveil.inference.pooling import PooledPrior, with_prior
from peerveil.mechanisms import Asked
from peerveil.planning.auto import Undecided
from peerveil.private.batch.folders import REPORTS
from peerveil.private.release import Ready, prepare_release
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.weights import weigh
from peerveil.record.public_record import PublicRecord
from peerveil.regions import check_region
from peerveil.releases.release import Release
from peerveil.reporting.terms import About, Terms
from peerveil.support.version import software

#: Published instead of the reason of a failure, which may hold private values.
SEE_PRIVATE = "failed: see the private log"

_NAME = re.compile(r"[\w][\w.+-]{0,99}")

Status = Literal["released", "stands", "failed"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Venue:
    """A venue of a batch.

    Attributes:
        name: its name, also the name of its folder.
        read: returns the private reviews and the public record.
        mechanism: the mechanism, with its budget.
        quantity, unit, region, estimator, lone, accept_float_noise, declare_kept, prior: as in a release.
        licence, citation, about: the terms of publication, and what the release is about.
        dataset: the data set to charge; the venue's name by default.
        budget: the budget to open if the data set has none: arguments of ``Ledger.open``.
        report: whether to write report.html and its figures.
        settings: all settings of the venue, which must stay the same when a batch is resumed.
    """

    name: str
    read: Callable[[], tuple[Reviews, str | PublicRecord]] = field(repr=False)
    mechanism: Asked
    quantity: str = "ratings"
    unit: str = "reviewer"
    region: str = "tight"
    estimator: str | None = None
    lone: Lone = "refuse"
    accept_float_noise: bool = False
    declare_kept: bool = False
    prior: PooledPrior | None = None
    licence: str | None = None
    citation: str | None = None
    about: About = field(default=About())
    dataset: str | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    report: bool = True
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_venue_name(self.name)
        check_region(self.region)
        if self.estimator is not None:
            check_estimator(self.estimator)
        Terms(licence=self.licence, citation=self.citation, about=self.about)

    def undecided(self) -> Undecided:
        """The public data from which a plan chooses its mechanism."""
        reviews, public = self.read()
        weights = weigh(reviews.public(public, declare_kept=self.declare_kept), self.quantity, lone=self.lone)
        pooled = with_prior(weights, self.prior)
        return Undecided(name=self.name, asked=self.mechanism, weights=pooled, unit=self.unit)

    def ready(self) -> Ready:
        """Its release, read and checked."""
        reviews, public = self.read()
        names = ("quantity", "mechanism", "unit", "estimator", "lone", "accept_float_noise", "declare_kept", "prior")
        return prepare_release(reviews, public=public, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a venue.

    Attributes:
        name: the venue's name.
        status: ``"released"``; ``"stands"``: released by an earlier run; ``"failed"``.
        reason: the reason of a failure, which may hold private values.
        claim: the privacy claim of the release.
        warnings: private warnings for the user who releases it.
        expected_error: the expected error of the release, if stated.
        folder: the folder of the release within that of the batch.
        verdict: the verdict on the release against no release, if stated.
        error: the class of the error of a failure.
    """

    name: str
    status: Status
    reason: str = ""
    claim: str = ""
    warnings: tuple[str, ...] = ()
    expected_error: float | None = None
    folder: str = ""
    verdict: str = ""
    error: str = ""

    @classmethod
    def of(cls, name: str, status: Status, release: Release, warnings: tuple[str, ...] = ()) -> Outcome:
        """The outcome of a venue that has a release."""
        return cls(
            name=name,
            status=status,
            claim=release.guarantee.summary,
            warnings=warnings,
            expected_error=release.outlook.expected_rmse if release.outlook else None,
            folder=name,
            verdict=release.verdict.word if release.verdict else "",
        )


def public_report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report on the outcomes without private values."""
    facts = report(outcomes)
    for outcome in facts["outcomes"]:
        del outcome["warnings"], outcome["error"]
        outcome["reason"] = SEE_PRIVATE if outcome["status"] == "failed" else ""
    return facts


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report on the outcomes with reasons and warnings, which may hold private values."""
    count = Counter(outcome.status for outcome in outcomes)
    return {
        "software": software(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "venues": len(outcomes),
        **{status: count[status] for status in get_args(Status)},
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def check_venue_name(name: str) -> str:
    """The name of a venue; raises unless it is valid as a folder name on every system.

    >>> check_venue_name("iclr-2021")
    'iclr-2021'
    """
    if not _NAME.fullmatch(name) or name.endswith(".") or name.casefold() in REPORTS:
        raise InputError(f"a venue's name must be of letters, digits, '-', '_', '+' and '.', got {name!r}")
    return name
