"""Plans that venues of a batch share.

The first venue of a kind is planned, and venues alike (:mod:`peerveil.planning.alike`) use its plan. The plan is kept
in the private folder before it is used: a venue that was charged must be drawn with the same mechanism when a batch is
resumed.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peerveil.mechanisms import Asked
from peerveil.planning.alike import likeness
from peerveil.planning.auto import Auto, Undecided
from peerveil.planning.choices import Choice, Plan
from peerveil.private.batch.folders import write_text
from peerveil.support.atomic_files import rename_new

_FIELDS = ("quantity", "unit", "reviewers", "draws", "seed", "alone")


@dataclass(frozen=True)
class SharedPlans:
    """The plans of a batch, in a folder.

    Attributes:
        folder: where plans are kept, in one file each.
        known: the plans that were read or made, by their keys.
    """

    folder: Path
    known: dict[str, tuple[str, Plan]] = field(default_factory=dict, repr=False)

    def key(self, task: Undecided) -> str | None:
        """The key of the plan that a venue may share; ``None`` if it may share none."""
        alike = likeness(task.weights) if isinstance(task.asked, Auto) else None
        if alike is None or not isinstance(task.asked, Auto):
            return None
        asked = task.asked
        settings = [task.unit, asked.epsilon, asked.delta, asked.mechanisms]
        return hashlib.sha256(json.dumps([settings, alike]).encode()).hexdigest()[:24]

    def find(self, key: str | None, name: str, asked: Asked) -> Auto | None:
        """The request of a venue with the plan of venues alike, if there is one."""
        if key is None or not isinstance(asked, Auto):
            return None
        if key not in self.known:
            with suppress(OSError, ValueError, TypeError, KeyError):  # missing or damaged: it is planned
                self.known[key] = _read((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        if key not in self.known:
            return None
        planned_for, plan = self.known[key]
        return replace(asked, workers=1, planned=plan, shared=planned_for != name)

    def keep(self, key: str | None, name: str, asked: Auto) -> Auto:
        """Keep the plan of a venue for others; returns its request, with the plan of another run if there is one."""
        if key is None or asked.planned is None:
            return asked
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            write_text(self.folder / f"{key}.json", _written(name, asked.planned), 0o600, rename_new)
        return self.find(key, name, asked) or asked


def _written(name: str, plan: Plan) -> str:
    facts: dict[str, Any] = {field: getattr(plan, field) for field in _FIELDS}
    facts |= {"leniencies": plan.leniencies, "choices": plan.choices, "delta_stated": plan._delta_stated}
    return json.dumps({"venue": name, "plan": facts}) + "\n"


def _read(text: str) -> tuple[str, Plan]:
    document = json.loads(text)
    facts = document["plan"]
    plan = Plan(
        **{field: facts[field] for field in _FIELDS},
        leniencies=tuple(facts["leniencies"]),
        choices=tuple(Choice(*choice) for choice in facts["choices"]),
        _delta_stated=facts["delta_stated"],
    )
    return document["venue"], plan
