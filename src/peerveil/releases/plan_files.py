"""Files of a plan: JSON, table and chart."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from peerveil.planning.plans import Choice, Plan
from peerveil.releases.documents import csv_text
from peerveil.reporting.charts import error_against_epsilon, write_svg
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
    write_svg(error_against_epsilon(picture_rows(plan), alone=plan.alone), folder / "plan.svg")


def picture_rows(plan: Plan) -> list[tuple[str, str, float, float, float]]:
    """Return the rows of a plan's chart: the best choice per mechanism, estimator and budget.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5]], load=2)
    >>> [row[:3] for row in picture_rows(pv.plan(weights, epsilons=[1], draws=2, workers=1))][:2]
    [('laplace', 'projection', 1.0), ('laplace', 'safe', 1.0)]
    """
    best: dict[tuple[str, str, float], Choice] = {}
    for choice in plan.choices:
        key = (choice.mechanism, choice.estimator, choice.epsilon)
        if key not in best or choice.rmse < best[key].rmse:
            best[key] = choice
    return [(*key, choice.rmse, choice.rmse_error) for key, choice in best.items()]
