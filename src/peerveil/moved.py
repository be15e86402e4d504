"""Module paths of version 0.1, which import the module at its new path with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Modules that kept their name and moved from the root into a package.
_PACKAGED = {
    "inference": "count_posterior posterior prior",
    "planning": "auto rehearsal rounds",
    "privacy": "accounting bins budget claims gdp guarantee neighbours sensitivity",
    "quantities": "monotone weights",
    "record": "criteria loads parts public_files public_scores",
    "regions": "projection",
    "releases": "comparison documents noisy_files page_text plan_files refinement signatures verification words_v1",
    "reporting": "charts published report sweep_files terms",
    "simulation": "experiments exports",
    "support": "staging threads version",
    "tables": "delimited json_files scores",
}

#: Old path to new path, both within the package.
MOVED = {name: f"{package}.{name}" for package, names in _PACKAGED.items() for name in names.split()} | {
    "assignment": "inference.assignments",
    "binning": "mechanisms.bin_choice",
    "bundle": "releases.release",
    "checks": "support.arguments",
    "document_check": "releases.checking.document",
    "engine": "support.parallel",
    "estimation": "inference.estimators",
    "evidence": "inference.likelihood",
    "files": "support.atomic_files",
    "groups": "record.tracks",
    "laws": "privacy.noise_laws",
    "looking": "tables.sniffing",
    "markup": "support.html_tables",
    "noise_check": "inference.noise_test",
    "normals": "inference.gaussians",
    "outlook": "inference.expected_error",
    "private.batch_folders": "private.batch.folders",
    "private.database": "private.ledger.database",
    "private.groups": "private.tracks",
    "private.stating": "private.ledger.release_facts",
    "private.truth": "private.true_vector",
    "programme": "regions.quadratic_programme",
    "public_forms": "record.public_formats",
    "release_files": "releases.checking.files",
    "simulate": "simulation.conferences",
    "statement": "privacy.stated_facts",
    "table_files": "tables.reading",
    "twopass": "regions.isotonic",
    "unpacking": "tables.opening",
    "verdict": "releases.checking.results",
}


class MovedModules(MetaPathFinder, Loader):
    """Import hook for old module paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for an old path, otherwise ``None``."""
        package, _, old = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "peerveil" and old in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the requested module by the one at the new path."""
        old = module.__name__
        new = f"peerveil.{MOVED[old.partition('.')[2]]}"
        warnings.warn(f"{old} is now {new}; import that instead", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)
