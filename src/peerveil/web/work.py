"""What a process of the page does: one task, as the command line would do it, in the folder of the files it needs."""

from __future__ import annotations

import json
import os
import signal
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from peerveil.app.messages import NOTHING_RELEASED, explain, renaming
from peerveil.app.options import filled
from peerveil.app.requests import InspectRequest, RefineRequest, ReleaseRequest
from peerveil.errors import spelled
from peerveil.quantities.base import Quantity, register_missing, registered
from peerveil.support.extensions import load_extensions
from peerveil.web.labels import label

if TYPE_CHECKING:
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - a process imports what its task needs

Step = Callable[[str], None]
Request = TypeVar("Request")


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to do.

    Attributes:
        kind: which of the functions below.
        folder: where the files are; their names are relative to it, as a user's are on the command line.
        said: what the user said, by the names of options.
        output: the folder to write to.
        others: folders of releases to compare with, by their names.
        quantities: those that are registered; a new process knows only those of the package.
    """

    kind: Literal["warm", "demo", "inspect", "plan", "promise", "release", "refine"]
    folder: str
    said: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    others: dict[str, str] = field(default_factory=dict)
    quantities: tuple[Quantity, ...] = field(default_factory=registered)


def main(pipe: Connection) -> None:
    """Wait for a task, do it, and tell what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever ends the page ends this, too
    with suppress(EOFError, OSError):
        _load()
        task: Task = pipe.recv()
        pipe.send(_outcome(task, lambda words: pipe.send(("step", words))))


def _load() -> None:
    """Import what most tasks need, while there is nothing to do yet."""
    import peerveil.app.inspect
    import peerveil.app.release
    import peerveil.reporting.charts  # noqa: F401


def _outcome(task: Task, step: Step) -> tuple[str, Any]:
    try:
        register_missing(task.quantities)
        load_extensions()
        os.chdir(task.folder)
        return "done", _KINDS[task.kind](task, step)
    except Exception as error:  # noqa: BLE001 - its text may hold private values: it is explained, not shown
        # Where a ledger is charged, whoever waits for the answer asks it what was charged.
        consequence = "" if task.said.get("ledger") else NOTHING_RELEASED
        return "failed", explain(error, label, consequence=consequence)[0]


def asked(kind: type[Request], task: Task, **more: Any) -> Request:
    """The request of a task; fields that were left empty keep their defaults."""
    return filled(kind, {name: value for name, value in (task.said | more).items() if value not in (None, "")})


def _warm(task: Task, step: Step) -> dict[str, Any]:
    """Make the program that draws pictures which answer to the mouse, from what is installed."""
    import vl_convert

    step("Preparing pictures")
    make: Any = vl_convert.javascript_bundle
    part = Path(f"{task.output}.part")
    part.write_text(make(), encoding="utf-8")
    part.replace(task.output)
    return {}


def _demo(task: Task, step: Step) -> dict[str, Any]:
    """Write a synthetic conference."""
    from peerveil.app.demo import conference

    step("Inventing a conference")
    conference().write_csv(Path(task.output))
    return _inspect(task, step)


def _inspect(task: Task, step: Step) -> dict[str, Any]:
    """What is in a file."""
    from peerveil.app.inspect import inspect

    step("Reading the file")
    return {"facts": inspect(asked(InspectRequest, task))}


def _promise(task: Task, step: Step) -> dict[str, Any]:
    """What the release will state; nothing is drawn or spent."""
    from peerveil.app.release import promise

    promised = promise(asked(ReleaseRequest, task, output=task.output), step)
    claim = promised.guarantee
    return {
        "summary": claim.summary,
        "promise": claim.promise,
        "not_protected": claim.not_protected,
        "reviewers": promised.reviewers,
        "noise": None if promised.deviation is None else f"{promised.deviation:.3g}",
        "counted": promised.counted,
    }


def _plan(task: Task, step: Step) -> dict[str, Any]:
    """The accuracy to expect at each budget; nothing is drawn or spent."""
    from peerveil.app.plan import plan_release
    from peerveil.releases.plan_files import picture_rows
    from peerveil.reporting import charts

    request, epsilon = asked(ReleaseRequest, task, output=task.output), task.said["epsilon"]
    plan = plan_release(request, [epsilon], draws=3, step=step)  # few draws: a picture to choose by, soon
    choice = plan.best(epsilon)
    return {
        "for": [plan.quantity, plan.unit],
        "epsilon": epsilon,
        "chosen": {"mechanism": choice.mechanism, "bins": choice.bins, "estimator": choice.estimator},
        "sentences": list(plan.sentences),
        "assumption": plan.assumption,
        "svg": charts.to_svg(charts.error_against_epsilon(picture_rows(plan), chosen=epsilon)),
    }


def _release(task: Task, step: Step) -> dict[str, Any]:
    """Make a release."""
    from peerveil.app.ledger import Spending
    from peerveil.app.release import release
    from peerveil.releases.release import Release

    request = asked(ReleaseRequest, task, output=task.output)
    with Spending(request.ledger) as spending:
        released = release(request, spending, step=step, write=_writer(task, step), parents=False)
    assert isinstance(released.release, Release)  # noqa: S101 - the page has no groups of papers
    remarks = [*(spelled(message, label) for message in released.warnings), *released.remarks]
    return _facts(released.release) | {"remarks": remarks}


def _refine(task: Task, step: Step) -> dict[str, Any]:
    """Refine a noisy vector."""
    from peerveil.app.refine import refine
    from peerveil.releases.noisy_files import read_noisy
    from peerveil.releases.release import Release

    step("Reading")
    request = asked(RefineRequest, task, output=task.output)
    if isinstance(read_noisy(request.noisy), Release):  # it states these itself; the form always sends them
        request = replace(request, quantity=None, words=None, noise_scale=None)
    with renaming(paper="public_paper", ratings="public_ratings"):
        refined = refine(request, step=step, write=_writer(task, step), parents=False)
    return _facts(refined) | {"remarks": []}


def _writer(task: Task, step: Step) -> Callable[[Release, Path], None]:
    """A function that writes a release into a folder: its bundle, as files and packed, and pictures for the page."""
    from peerveil.releases.release import Release
    from peerveil.reporting import charts

    def write(made: Release, folder: Path) -> None:
        step("Drawing pictures and writing files")
        bundle = folder / "bundle"
        bundle.mkdir()
        made.write_into(bundle)
        pack(bundle, folder / "bundle.zip")
        pictures = {
            "means": charts.histogram(made),
            "shares": charts.cumulative(made),
            "refinement": charts.refinement(made),
            "bounds": charts.proven(made),
        }
        if task.others:
            releases = {name: Release.load(place) for name, place in task.others.items()}
            pictures["comparison"] = charts.comparison({**releases, task.said["called"]: made})
            (folder / "comparison.svg").write_text(charts.to_svg(pictures["comparison"]), encoding="utf-8")
        specifications = {name: charts.specification(picture) for name, picture in pictures.items()}
        (folder / "pictures.json").write_text(json.dumps(specifications), encoding="utf-8")

    return write


def _facts(made: Release) -> dict[str, Any]:
    """What the page shows of a release."""
    loads = made.loads
    return {
        "quantity": made.quantity,
        "summary": made.guarantee.summary,
        "promise": made.promise,
        "estimator": made.estimator,
        "region": made.region,
        "record": f"{made.papers:,} papers, {loads.reviews:,} reviews, {loads.reviewers:,} reviewers",
        "error": made.outlook.summary if made.outlook else None,
        "expected_rmse": made.outlook.expected_rmse if made.outlook else None,
        "notes": list(made.notes),
    }


def pack(folder: Path, file: Path) -> None:
    """All files of a folder in a zip; the same files give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"release/{path.relative_to(folder).as_posix()}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, path.read_bytes())


_KINDS: dict[str, Callable[[Task, Step], dict[str, Any]]] = {
    "warm": _warm,
    "demo": _demo,
    "inspect": _inspect,
    "plan": _plan,
    "promise": _promise,
    "release": _release,
    "refine": _refine,
}
