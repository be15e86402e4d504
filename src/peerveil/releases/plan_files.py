"""Plans as files: JSON, a table and a picture."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from peerveil.planning.plans import Choice, Plan
from peerveil.reporting.charts import error_against_epsilon, write_svg
from peerveil.support.version import software

#: What a plan's folder holds.
FILES = ("plan.json", "plan.csv", "plan.svg")


def plan_document(made: Plan) -> dict[str, Any]:
    """A plan as JSON has it."""
    return {
        "quantity": made.quantity,
        "unit": made.unit,
        "reviewers": made.reviewers,
        "leniencies": list(made.leniencies),
        "draws": made.draws,
        "seed": made.seed,
        "alone": made.alone,
        "assumption": made.assumption,
        "sentences": list(made.sentences),
        "recommended": [choice._asdict() for choice in made.recommended],
        "choices": [choice._asdict() for choice in made.choices],
        "software": software(),
    }


def write_plan(made: Plan, folder: Path) -> None:
    """Write a plan's files into an existing folder."""
    (folder / "plan.json").write_text(json.dumps(plan_document(made), indent=1) + "\n", encoding="utf-8")
    with (folder / "plan.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(Choice._fields)
        writer.writerows(made.choices)
    write_svg(error_against_epsilon(picture_rows(made)), folder / "plan.svg")


def picture_rows(made: Plan) -> list[tuple[str, str, float, float, float]]:
    """What the picture of a plan shows: for each kind of mechanism and estimator the best at each budget.

    >>> from peerveil.planning.plans import plan
    >>> from peerveil.quantities.weights import PublicWeights
    >>> made = plan(PublicWeights.from_rows([[1, 5], [2, 2], [4, 5]], load=2), epsilons=[1], draws=2, workers=1)
    >>> [row[:3] for row in picture_rows(made)][:2]
    [('laplace', 'projection', 1.0), ('laplace', 'safe', 1.0)]
    """
    best: dict[tuple[str, str, float], Choice] = {}
    for choice in made.choices:
        key = (choice.mechanism, choice.estimator, choice.epsilon)
        if key not in best or choice.rmse < best[key].rmse:
            best[key] = choice
    return [(*key, choice.rmse, choice.rmse_error) for key, choice in best.items()]
