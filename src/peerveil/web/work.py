"""What a process of the page does: one task, as the command line would do it, in the folder of the files it needs."""

from __future__ import annotations

import json
import os
import signal
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from peerveil.app.messages import NOTHING_RELEASED, explain, renaming
from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, NoiseOptions, PublicOptions, ReadingOptions, ReleaseOptions
from peerveil.errors import spelled
from peerveil.quantities.base import Quantity, register_missing, registered
from peerveil.support.extensions import load_extensions
from peerveil.web.labels import label

if TYPE_CHECKING:
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - a process imports what its task needs

Step = Callable[[str], None]


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
    """Load what most tasks need, while there is nothing to do yet."""


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


def group(kind: type, said: dict[str, Any]) -> Any:
    """A group of options from what was said; what was left empty is left out."""
    known = {one.name for one in fields(kind)}
    return kind(**{name: value for name, value in said.items() if name in known and value not in (None, "")})


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
    import numpy as np

    from peerveil.cli.demonstration import CRITERIA
    from peerveil.simulation.conferences import synthetic_conference

    step("Inventing a conference")
    conference = synthetic_conference(criteria=CRITERIA, rng=np.random.default_rng(1))
    conference.write_csv(Path(task.output))
    return _inspect(task, step)


def _inspect(task: Task, step: Step) -> dict[str, Any]:
    """What is in a file."""
    from peerveil.private.inspection import inspect

    step("Reading the file")
    reading: ReadingOptions = group(ReadingOptions, task.said)
    with renaming(ratings="score"):
        facts = inspect(task.said["file"], mapping=reading.mapping, **reading.said())
    return {"facts": facts}


def _promise(task: Task, step: Step) -> dict[str, Any]:
    """What a release would promise, and with which noise: everything is checked, nothing is drawn or spent."""
    from peerveil.private.release import prepare_release
    from peerveil.regions import check_region

    said = task.said
    noise, reading, loads = (group(kind, said) for kind in (NoiseOptions, ReadingOptions, LoadsOptions))
    mechanism = noise.chosen()
    check_region(said.get("region") or "tight")
    step("Reading the reviews")
    reviews = reading.reviews(said["file"])
    visible = group(ReleaseOptions, said).visible(reviews, loads, reading)
    step("Computing how much noise is needed")
    ready = prepare_release(
        reviews,
        public=visible,
        quantity=said["quantity"],
        mechanism=mechanism,
        unit=said["unit"],
        estimator=said.get("estimator") or None,
        lone=opt.parse_lone(said.get("lone") or "refuse"),
        accept_float_noise=True,  # whether it is accepted is asked when it is released
    )
    claim, noise_drawn = ready.noise.guarantee, ready.noise.settled
    return {
        "summary": claim.summary,
        "promise": claim.promise,
        "not_protected": claim.not_protected,
        "reviewers": ready.weights.reviewers,
        "noise": None if noise_drawn is None else f"{noise_drawn.law.deviation:.3g}",
        "counted": mechanism.on_counts,
    }


def _plan(task: Task, step: Step) -> dict[str, Any]:
    """What each budget would buy, as `peerveil plan` says; nothing is drawn or spent."""
    from peerveil.planning.plans import EPSILONS, plan
    from peerveil.quantities.weights import weigh
    from peerveil.releases.plan_files import picture_rows
    from peerveil.reporting import charts

    said = task.said
    reading, loads = group(ReadingOptions, said), group(LoadsOptions, said)
    step("Reading the reviews")
    reviews = reading.reviews(said["file"])
    visible = group(ReleaseOptions, said).visible(reviews, loads, reading)
    weights = weigh(reviews.public(visible), said["quantity"], lone=opt.parse_lone(said.get("lone") or "refuse"))
    made = plan(
        weights,
        epsilons=sorted({*EPSILONS, said["epsilon"]}),
        unit=said["unit"],
        draws=3,  # a picture to choose by, soon
        workers=1,  # this is a process of its own already
        progress=lambda done, total: step(f"Rehearsing releases on public data: {done} of {total}"),
    )
    choice = made.best(said["epsilon"])
    return {
        "for": [said["quantity"], said["unit"]],
        "epsilon": said["epsilon"],
        "chosen": {"mechanism": choice.mechanism, "bins": choice.bins, "estimator": choice.estimator},
        "sentences": list(made.sentences),
        "assumption": made.assumption,
        "svg": charts.to_svg(charts.error_against_epsilon(picture_rows(made), chosen=said["epsilon"])),
    }


def _release(task: Task, step: Step) -> dict[str, Any]:
    """Make a release, as `peerveil release` does."""
    from peerveil.private.charging import Spending
    from peerveil.private.release import release_within
    from peerveil.support.atomic_files import Room

    said = task.said
    noise, reading, loads = (group(kind, said) for kind in (NoiseOptions, ReadingOptions, LoadsOptions))
    mechanism = noise.chosen()
    step("Reading the reviews")
    reviews = reading.reviews(said["file"])
    visible = group(ReleaseOptions, said).visible(reviews, loads, reading)
    step("Drawing noise, bounding the truth from public data, estimating")
    with Spending(said.get("ledger") or None, room=Room(task.folder)) as spending:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            made = release_within(
                spending,
                reviews,
                public=visible,
                quantity=said["quantity"],
                mechanism=mechanism,
                unit=said["unit"],
                region=said.get("region") or "tight",
                estimator=said.get("estimator") or None,
                lone=opt.parse_lone(said.get("lone") or "refuse"),
                dataset=said.get("dataset") or None,
            )
        told_now = [spelled(remark.message, label) for remark in remarks]
        told_now += [
            f"resumed release {number}: charged before, nothing more was charged" for number in spending.resumed
        ]
        left_out = [f"left out: {what}" for what in reviews.report.left_out]
        spending.free()
        result = _written(made, task, step, remarks=[*told_now, *left_out, *reviews.report.problems])
        spending.done(task.output)
    return result


def _refine(task: Task, step: Step) -> dict[str, Any]:
    """Sharpen a noisy vector, as `peerveil refine` does."""
    from peerveil.mechanisms import Described, External
    from peerveil.releases.noisy_files import read_noisy
    from peerveil.releases.refinement import refine
    from peerveil.releases.release import Release

    said = task.said
    noise: Described | None = None
    if said.get("noise_scale"):
        noise = opt.parse_mechanism(said.get("mechanism") or "laplace", scale=said["noise_scale"])
    elif said.get("words"):
        noise = External(words=said["words"])
    step("Reading")
    source = read_noisy(said["noisy"])
    quantity = said.get("quantity") or "ratings"
    if isinstance(source, Release):
        quantity, noise = source.quantity, None  # it says both itself
    scores, loads = group(PublicOptions, said), group(LoadsOptions, said)
    with renaming(paper="public_paper", ratings="public_ratings"):
        weights = scores.weights(said["public"], loads, quantity)
    step("Bounding the truth from public data, estimating")
    made = refine(
        source,
        weights,
        mechanism=noise,
        region=said.get("region") or "tight",
        estimator=said.get("estimator") or None,
    )
    return _written(made, task, step, remarks=[])


def _written(made: Release, task: Task, step: Step, *, remarks: list[str]) -> dict[str, Any]:
    """Write the bundle, as files and packed, and what the page shows of it."""
    from peerveil.releases.release import Release
    from peerveil.reporting import charts

    step("Drawing pictures and writing files")
    output = Path(task.output)
    bundle = output / "bundle"
    output.mkdir(mode=0o700)  # and no parents: the folder of a page that has ended must not come back, open to all
    bundle.mkdir()
    made.write_into(bundle)
    pack(bundle, output / "bundle.zip")
    pictures = {
        "means": charts.histogram(made),
        "shares": charts.cumulative(made),
        "refinement": charts.refinement(made),
        "bounds": charts.proven(made),
    }
    if task.others:
        releases = {name: Release.load(folder) for name, folder in task.others.items()}
        pictures["comparison"] = charts.comparison({**releases, task.said["called"]: made})
        (output / "comparison.svg").write_text(charts.to_svg(pictures["comparison"]), encoding="utf-8")
    specifications = {name: charts.specification(picture) for name, picture in pictures.items()}
    (output / "pictures.json").write_text(json.dumps(specifications), encoding="utf-8")
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
        "remarks": remarks,
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
