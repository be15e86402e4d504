"""Files of a plan: JSON, table and chart."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from peerveil.planning.choices import Choice, Plan
from peerveil.reporting.plots import plan_plot
from peerveil.reporting.plots import plan_rows as picture_rows  # noqa: F401 - its name in version 0.2
from peerveil.support.frames import csv_text
from peerveil.support.version import software

#: The files of a plan.
FILES = ("plan.json", "plan.csv", "plan.svg")


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON; a standard error of a single draw, which is not a number, is null."""
    return {
        **{name: getattr(plan, name) for name in ("quantity", "unit", "reviewers")},
        "leniencies": list(plan.leniencies),
        **{name: getattr(plan, name) for name in ("draws", "seed", "alone", "assumption")},
        "sentences": list(plan.sentences),
        "answer": list(plan.answer),
        "recommended": [
            _choice_document(choice) | {"verdict": plan.verdict(choice.epsilon).to_document()}
            for choice in plan.recommended
        ],
        "choices": [_choice_document(choice) for choice in plan.choices],
        "software": software(),
    }


def _choice_document(choice: Choice) -> dict[str, Any]:
    missing = {name: None for name, value in choice._asdict().items() if isinstance(value, float) and math.isnan(value)}
    return choice._asdict() | missing


def write_plan(plan: Plan, folder: Path) -> None:
    """Write a plan's files into an existing folder."""
    (folder / "plan.json").write_text(json.dumps(plan_document(plan), indent=1) + "\n", encoding="utf-8")
    (folder / "plan.csv").write_text(csv_text(Choice._fields, plan.choices), encoding="utf-8", newline="")
    plan_plot(plan).save(folder / "plan.svg")
