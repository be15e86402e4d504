"""Peerveil: publish how a conference's reviewers rate, provably private and as accurate as public data allows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerveil.auto import Auto as Auto
    from peerveil.bundle import Release as Release
    from peerveil.comparison import Comparison as Comparison
    from peerveil.comparison import compare as compare
    from peerveil.errors import BudgetError as BudgetError
    from peerveil.errors import FileError as FileError
    from peerveil.errors import InputError as InputError
    from peerveil.errors import LedgerError as LedgerError
    from peerveil.errors import OutputError as OutputError
    from peerveil.errors import PeerveilError as PeerveilError
    from peerveil.errors import ProjectionError as ProjectionError
    from peerveil.errors import RecordError as RecordError
    from peerveil.groups import read_groups as read_groups
    from peerveil.guarantee import Guarantee as Guarantee
    from peerveil.guarantee import compose as compose
    from peerveil.loads import Loads as Loads
    from peerveil.mechanisms import External as External
    from peerveil.mechanisms import Gaussian as Gaussian
    from peerveil.mechanisms import Histogram as Histogram
    from peerveil.mechanisms import Laplace as Laplace
    from peerveil.mechanisms import SinhNormal as SinhNormal
    from peerveil.planning import Plan as Plan
    from peerveil.planning import plan as plan
    from peerveil.private.groups import GroupWarning as GroupWarning
    from peerveil.private.groups import release_groups as release_groups
    from peerveil.private.ledger import Ledger as Ledger
    from peerveil.private.readers import read as read
    from peerveil.private.release import LedgerWarning as LedgerWarning
    from peerveil.private.release import release as release
    from peerveil.private.reviews import Reviews as Reviews
    from peerveil.projection import Projection as Projection
    from peerveil.projection import project as project
    from peerveil.public_files import read_public as read_public
    from peerveil.record import PublicRecord as PublicRecord
    from peerveil.refinement import refine as refine
    from peerveil.regions import region as region
    from peerveil.regions.convex import Region as Region
    from peerveil.statement import Statement as Statement
    from peerveil.verdict import Verification as Verification
    from peerveil.verification import verify as verify
    from peerveil.version import __version__ as __version__
    from peerveil.weights import PublicWeights as PublicWeights
    from peerveil.weights import weigh as weigh

# Names are loaded on first use: `import peerveil` and `peerveil --help` stay quick.
_HOME = {
    "Auto": "auto",
    "BudgetError": "errors",
    "Comparison": "comparison",
    "External": "mechanisms",
    "FileError": "errors",
    "Gaussian": "mechanisms",
    "GroupWarning": "private.groups",
    "Guarantee": "guarantee",
    "Histogram": "mechanisms",
    "InputError": "errors",
    "Laplace": "mechanisms",
    "Ledger": "private.ledger",
    "LedgerError": "errors",
    "LedgerWarning": "private.release",
    "Loads": "loads",
    "OutputError": "errors",
    "PeerveilError": "errors",
    "Plan": "planning",
    "Projection": "projection",
    "ProjectionError": "errors",
    "PublicRecord": "record",
    "PublicWeights": "weights",
    "RecordError": "errors",
    "Region": "regions.convex",
    "Release": "bundle",
    "Reviews": "private.reviews",
    "SinhNormal": "mechanisms",
    "Statement": "statement",
    "Verification": "verdict",
    "compare": "comparison",
    "compose": "guarantee",
    "plan": "planning",
    "project": "projection",
    "read": "private.readers",
    "read_groups": "groups",
    "read_public": "public_files",
    "refine": "refinement",
    "region": "regions",
    "release": "private.release",
    "release_groups": "private.groups",
    "verify": "verification",
    "weigh": "weights",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list of strings, made from the table above


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("peerveil.version").__version__
    if name not in _HOME:
        raise AttributeError(f"module 'peerveil' has no attribute {name!r}")
    return getattr(import_module(f"peerveil.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
