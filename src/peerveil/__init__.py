"""Peerveil: publish how a conference's reviewers rate, provably private and as accurate as public data allows."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from peerveil.moved import MovedModules

if TYPE_CHECKING:
    from peerveil.errors import BudgetError as BudgetError
    from peerveil.errors import FileError as FileError
    from peerveil.errors import FileWarning as FileWarning
    from peerveil.errors import GroupWarning as GroupWarning
    from peerveil.errors import InputError as InputError
    from peerveil.errors import LedgerError as LedgerError
    from peerveil.errors import LedgerWarning as LedgerWarning
    from peerveil.errors import OutputError as OutputError
    from peerveil.errors import PeerveilError as PeerveilError
    from peerveil.errors import PriorWarning as PriorWarning
    from peerveil.errors import ProjectionError as ProjectionError
    from peerveil.errors import RecordError as RecordError
    from peerveil.errors import TablesWarning as TablesWarning
    from peerveil.errors import VenueError as VenueError
    from peerveil.errors import WithdrawalWarning as WithdrawalWarning
    from peerveil.errors import WriteError as WriteError
    from peerveil.inference.pooling import PooledPrior as PooledPrior
    from peerveil.mechanisms.external import External as External
    from peerveil.mechanisms.gaussian import Gaussian as Gaussian
    from peerveil.mechanisms.histogram import Histogram as Histogram
    from peerveil.mechanisms.laplace import Laplace as Laplace
    from peerveil.mechanisms.sinh_normal import SinhNormal as SinhNormal
    from peerveil.planning.auto import Auto as Auto
    from peerveil.planning.choices import Plan as Plan
    from peerveil.planning.crosstabs import CrosstabPlan as CrosstabPlan
    from peerveil.planning.crosstabs import plan_by as plan_by
    from peerveil.planning.effects import EffectPlan as EffectPlan
    from peerveil.planning.effects import plan_effect as plan_effect
    from peerveil.planning.linked import CorrelationPlan as CorrelationPlan
    from peerveil.planning.linked import plan_correlation as plan_correlation
    from peerveil.planning.plans import plan as plan
    from peerveil.privacy.guarantee import Guarantee as Guarantee
    from peerveil.privacy.guarantee import compose as compose
    from peerveil.privacy.stated_facts import Statement as Statement
    from peerveil.private.crosstabs import release_by as release_by
    from peerveil.private.effects import effect as effect
    from peerveil.private.grouped.promises import AnswerPromise as AnswerPromise
    from peerveil.private.grouped.promises import promise_effect as promise_effect
    from peerveil.private.grouped.tracks import TrackAnswers as TrackAnswers
    from peerveil.private.grouped.tracks import effect_groups as effect_groups
    from peerveil.private.grouped.tracks import release_by_groups as release_by_groups
    from peerveil.private.ledger import Ledger as Ledger
    from peerveil.private.linked.correlation import correlate as correlate
    from peerveil.private.linked.promises import promise_correlation as promise_correlation
    from peerveil.private.promises import Promise as Promise
    from peerveil.private.promises import promise as promise
    from peerveil.private.readers import read as read
    from peerveil.private.releasing import release as release
    from peerveil.private.reviews import Reviews as Reviews
    from peerveil.private.tracks import release_groups as release_groups
    from peerveil.quantities.columns import Share as Share
    from peerveil.quantities.weights import PublicWeights as PublicWeights
    from peerveil.quantities.weights import weigh as weigh
    from peerveil.record.loads import Loads as Loads
    from peerveil.record.public_files import read_public as read_public
    from peerveil.record.public_record import PublicRecord as PublicRecord
    from peerveil.record.tracks import read_groups as read_groups
    from peerveil.regions import region as region
    from peerveil.regions.convex import Region as Region
    from peerveil.regions.projection import Projection as Projection
    from peerveil.regions.projection import project as project
    from peerveil.releases.checking.results import Verification as Verification
    from peerveil.releases.comparison import Comparison as Comparison
    from peerveil.releases.comparison import compare as compare
    from peerveil.releases.comparison.series import Series as Series
    from peerveil.releases.effects.crosstabs import Crosstab as Crosstab
    from peerveil.releases.effects.published import Effect as Effect
    from peerveil.releases.linked.published import Correlation as Correlation
    from peerveil.releases.pooling import pool as pool
    from peerveil.releases.pooling import read_prior as read_prior
    from peerveil.releases.refinement import refine as refine
    from peerveil.releases.release import Release as Release
    from peerveil.releases.verification import verify as verify
    from peerveil.reporting.terms import About as About
    from peerveil.sampling.combining import Combined as Combined
    from peerveil.sampling.combining import combine as combine
    from peerveil.sampling.tables import SampledTables as SampledTables
    from peerveil.sampling.tables import sample_tables as sample_tables
    from peerveil.support.version import __version__ as __version__

# Modules and their public names, which are loaded on first use: `import peerveil` and `peerveil --help` stay quick.
_NAMES = {
    "errors": "BudgetError FileError FileWarning GroupWarning InputError LedgerError LedgerWarning OutputError "
    "PeerveilError PriorWarning ProjectionError RecordError TablesWarning VenueError WithdrawalWarning WriteError",
    "inference.pooling": "PooledPrior",
    "mechanisms.external": "External",
    "mechanisms.gaussian": "Gaussian",
    "mechanisms.histogram": "Histogram",
    "mechanisms.laplace": "Laplace",
    "mechanisms.sinh_normal": "SinhNormal",
    "planning.auto": "Auto",
    "planning.choices": "Plan",
    "planning.crosstabs": "CrosstabPlan plan_by",
    "planning.effects": "EffectPlan plan_effect",
    "planning.linked": "CorrelationPlan plan_correlation",
    "planning.plans": "plan",
    "privacy.guarantee": "Guarantee compose",
    "privacy.stated_facts": "Statement",
    "private.grouped.promises": "AnswerPromise promise_effect",
    "private.grouped.tracks": "TrackAnswers effect_groups release_by_groups",
    "private.crosstabs": "release_by",
    "private.effects": "effect",
    "private.linked.correlation": "correlate",
    "private.linked.promises": "promise_correlation",
    "private.ledger": "Ledger",
    "private.promises": "Promise promise",
    "private.readers": "read",
    "private.releasing": "release",
    "private.reviews": "Reviews",
    "private.tracks": "release_groups",
    "quantities.columns": "Share",
    "quantities.weights": "PublicWeights weigh",
    "record.loads": "Loads",
    "record.public_files": "read_public",
    "record.public_record": "PublicRecord",
    "record.tracks": "read_groups",
    "regions": "region",
    "regions.convex": "Region",
    "regions.projection": "Projection project",
    "releases.checking.results": "Verification",
    "releases.comparison": "Comparison compare",
    "releases.comparison.series": "Series",
    "releases.effects.crosstabs": "Crosstab",
    "releases.effects.published": "Effect",
    "releases.linked.published": "Correlation",
    "releases.pooling": "pool read_prior",
    "releases.refinement": "refine",
    "releases.release": "Release",
    "releases.verification": "verify",
    "reporting.terms": "About",
    "sampling.combining": "Combined combine",
    "sampling.tables": "SampledTables sample_tables",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

sys.meta_path.append(MovedModules())

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list of strings


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("peerveil.support.version").__version__
    if name not in _HOME:
        raise AttributeError(f"module 'peerveil' has no attribute {name!r}")
    return getattr(import_module(f"peerveil.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
