"""Tasks about groups of reviewers: shares by an attribute, or the difference between two groups."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.app.requests import EffectRequest, ReleaseRequest
from peerveil.errors import spelled
from peerveil.web.labels import label
from peerveil.web.work.tasks import PACKED, Step, Task, pack, request_of

if TYPE_CHECKING:
    from peerveil.app.effects import Written
    from peerveil.private.charging import Spending
    from peerveil.releases.effects.answers import Answer

#: The picture in a report.
_PICTURE = re.compile(r"<figure>\s*(<svg.*?</svg>)", re.DOTALL)


def promise(task: Task, step: Step) -> dict[str, Any]:
    """Return what the release will state and cost, and how precise it will be; nothing is drawn or charged."""
    from peerveil.app import effects
    from peerveil.app.effects import crosstabs

    if task.options["question"] == "difference":
        return effects.promise(request_of(EffectRequest, task), step)
    return crosstabs.promise(request_of(ReleaseRequest, task), step)


def release(task: Task, step: Step) -> dict[str, Any]:
    """Make the release, and return what the page shows of it."""
    from peerveil.app.ledger import Spending

    with Spending(task.options.get("ledger") or None) as spending:
        released = _released(task, spending, step)
    made = released.answer
    report = (Path(task.output) / "bundle" / "report.html").read_text(encoding="utf-8")
    picture = _PICTURE.search(report)
    return {
        "answer": made.title,
        "facts": made.facts(),
        "picture": picture[1] if picture else "",
        "summary": made.guarantee.summary,
        "human": made.guarantee.human,
        "promise": made.guarantee.promise,
        "notes": list(made.notes),
        "record": f"{made.papers:,} papers, {made.loads.reviews:,} reviews, {made.loads.reviewers:,} reviewers",
        "remarks": [*(spelled(message, label) for message in released.warnings), *released.remarks],
    }


def _released(task: Task, spending: Spending, step: Step) -> Written[Answer]:
    from peerveil.app import effects
    from peerveil.app.effects import crosstabs

    if task.options["question"] == "difference":
        return effects.effect(request_of(EffectRequest, task), spending, step=step, write=_write)
    return crosstabs.release(request_of(ReleaseRequest, task), spending, step=step, write=_write)


def _write(answer: Answer, folder: Path) -> None:
    """Write the files of an answer into a folder, and a zip file of them."""
    bundle = folder / "bundle"
    bundle.mkdir()
    answer.write_into(bundle)
    pack(bundle, folder / PACKED)
