"""Module paths of version 0.1: importing one gives the module at its new path, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old path to new path, both within the package.
MOVED = {
    "accounting": "privacy.accounting",
    "assignment": "inference.assignments",
    "auto": "planning.auto",
    "binning": "mechanisms.bin_choice",
    "bins": "privacy.bins",
    "budget": "privacy.budget",
    "bundle": "releases.release",
    "charts": "reporting.charts",
    "checks": "support.arguments",
    "claims": "privacy.claims",
    "comparison": "releases.comparison",
    "count_posterior": "inference.count_posterior",
    "criteria": "record.criteria",
    "delimited": "tables.delimited",
    "document_check": "releases.document_check",
    "documents": "releases.documents",
    "engine": "support.parallel",
    "estimation": "inference.estimators",
    "evidence": "inference.likelihood",
    "experiments": "simulation.experiments",
    "exports": "simulation.exports",
    "files": "support.atomic_files",
    "gdp": "privacy.gdp",
    "groups": "privacy.groups",
    "guarantee": "privacy.guarantee",
    "json_files": "tables.json_files",
    "laws": "privacy.noise_laws",
    "loads": "record.loads",
    "looking": "tables.sniffing",
    "markup": "support.html_tables",
    "monotone": "quantities.monotone",
    "neighbours": "privacy.neighbours",
    "noise_check": "inference.noise_test",
    "noisy_files": "releases.noisy_files",
    "normals": "inference.gaussians",
    "outlook": "inference.expected_error",
    "page_text": "releases.page_text",
    "parts": "record.parts",
    "plan_files": "releases.plan_files",
    "posterior": "inference.posterior",
    "prior": "inference.prior",
    "private.batch_folders": "private.batch.folders",
    "private.database": "private.ledger.database",
    "private.groups": "private.tracks",
    "private.stating": "private.statements",
    "private.truth": "private.true_vector",
    "programme": "regions.quadratic_programme",
    "projection": "regions.projection",
    "public_files": "record.public_files",
    "public_forms": "record.public_formats",
    "public_scores": "record.public_scores",
    "published": "reporting.published",
    "refinement": "releases.refinement",
    "rehearsal": "planning.rehearsal",
    "release_files": "releases.published_files",
    "report": "reporting.report",
    "rounds": "planning.rounds",
    "scores": "tables.scores",
    "sensitivity": "privacy.sensitivity",
    "signatures": "releases.signatures",
    "simulate": "simulation.conferences",
    "staging": "support.staging",
    "statement": "privacy.statement",
    "sweep_files": "releases.sweep_files",
    "table_files": "tables.reading",
    "terms": "releases.terms",
    "threads": "support.threads",
    "twopass": "regions.isotonic",
    "unpacking": "tables.opening",
    "verdict": "releases.checks",
    "verification": "releases.verification",
    "version": "support.version",
    "weights": "quantities.weights",
    "words_v1": "releases.words_v1",
}


class MovedModules(MetaPathFinder, Loader):
    """Finds modules by their old paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec if the path is an old one."""
        package, _, old = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "peerveil" and old in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module at the new path in the place of the one that was asked for."""
        old = module.__name__
        new = f"peerveil.{MOVED[old.partition('.')[2]]}"
        warnings.warn(f"{old} is now {new}; import that instead", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)
