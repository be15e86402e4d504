"""Tasks about groups of reviewers: shares by an attribute, or the difference between two groups."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.app.requests import EffectRequest, ReleaseRequest
from peerveil.web.work.tasks import Step, Task, remarks_on, request_of, write_bundle

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


def plan(task: Task, step: Step) -> dict[str, Any]:
    """Return how precise one release of all papers will be, whatever the tracks; nothing is drawn or charged."""
    apart = ("groups", "group_column", "no_shared_reviewers")
    options = {name: value for name, value in task.options.items() if name not in apart}
    return promise(replace(task, options=options), step)


def release(task: Task, step: Step) -> dict[str, Any]:
    """Make the release, or those of all tracks, and return what the page shows of them."""
    from peerveil.app.ledger import Spending

    with Spending(task.options.get("ledger") or None) as spending:
        released = _released(task, spending, step)
    remarks = {"remarks": remarks_on(task, released.warnings, released.remarks)}
    made, question = Path(task.output), task.options["question"]
    if released.tracks is None:
        return _facts(released.answer, made, question) | remarks
    tracks = [
        {"name": name, "folder": (folder := released.folders[name])} | _facts(answer, made / folder, question)
        for name, answer in released.tracks.answers.items()
    ]
    claim = {name: getattr(released.tracks.guarantee, name) for name in ("summary", "human", "promise")}
    return claim | {"groups": tracks} | remarks


def _facts(made: Answer, folder: Path, question: str) -> dict[str, Any]:
    """Return what the page shows of an answer that was written into a folder."""
    from peerveil.releases.effects.crosstabs import Crosstab

    report = (folder / "bundle" / "report.html").read_text(encoding="utf-8")
    picture = _PICTURE.search(report)
    return {
        "answer": made.title,
        "question": question,
        "facts": [*made.facts(), *([("precision", made.precision)] if isinstance(made, Crosstab) else [])],
        "picture": picture[1] if picture else "",
        "summary": made.guarantee.summary,
        "human": made.guarantee.human,
        "promise": made.guarantee.promise,
        "notes": list(made.notes),
        "record": f"{made.papers:,} papers, {made.loads.reviews:,} reviews, {made.loads.reviewers:,} reviewers",
    }


def _released(task: Task, spending: Spending, step: Step) -> Written[Answer]:
    from peerveil.app import effects
    from peerveil.app.effects import crosstabs

    if task.options["question"] == "difference":
        effect = request_of(EffectRequest, task)
        return effects.effect(effect, spending, step=step, write=partial(_write, of_several=effect.tracks.given))
    table = request_of(ReleaseRequest, task)
    return crosstabs.release(table, spending, step=step, write=partial(_write, of_several=table.tracks.given))


def _write(answer: Answer, folder: Path, *, of_several: bool) -> None:
    """Write an answer into a folder, as the page offers it."""
    write_bundle(folder, answer.write_into, of_several=of_several)
