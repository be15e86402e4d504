"""The tasks of a process of the page: actions of :mod:`peerveil.app`, in the folder of the files they need."""

from __future__ import annotations

import json
import os
import signal
import warnings
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.app.messages import NOTHING_RELEASED, renaming
from peerveil.app.options import LoadsOptions
from peerveil.app.requests import CompareRequest, InspectRequest, RefineRequest, ReleaseRequest, VerifyRequest
from peerveil.errors import Argument, FileError, FileWarning, InputError
from peerveil.inference.verdict import PROMISES
from peerveil.quantities import statistics
from peerveil.quantities.base import register_missing, words_of
from peerveil.support.extensions import load_extensions
from peerveil.web.labels import CHECKS, Problem, label
from peerveil.web.work import groups
from peerveil.web.work.tables import tables
from peerveil.web.work.tasks import FILE_FIELDS, PACKED, Step, Task, pack, remarks_on, request_of, write_bundle

if TYPE_CHECKING:
    from peerveil.releases.release import Release

__all__ = ["PACKED", "Task", "main", "pack", "request_of"]

#: A note in the report of the example.
_SYNTHETIC = "This is an example from a synthetic conference: its reviewers are simulated."


def main(pipe: Connection) -> None:
    """Receive a task, do it, and send the outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the page ends this process
    with suppress(EOFError, OSError):
        import peerveil.app.inspect
        import peerveil.app.release
        import peerveil.reporting.charts  # noqa: F401 - most tasks need these: load them while waiting

        task: Task = pipe.recv()
        pipe.send(_outcome(task, lambda step: pipe.send(("step", step))))


def _outcome(task: Task, step: Step) -> tuple[str, Any]:
    try:
        load_extensions()
        register_missing(task.quantities)
        statistics.register_missing(task.statistics)
        os.chdir(task.folder)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FileWarning)
            result = _KINDS[task.kind](task, step)
        if "remarks" in result:
            notices = (str(warning.message) for warning in caught if issubclass(warning.category, FileWarning))
            result["remarks"] = [*dict.fromkeys(notices), *result["remarks"]]
    except Exception as error:  # noqa: BLE001 - its text may hold private values: it is explained, not shown
        # With a ledger, the page adds what was charged.
        consequence = "" if task.options.get("ledger") else NOTHING_RELEASED
        problem = Problem.of(error, consequence=consequence)
        return "failed", problem if problem.field else replace(problem, field=_field_of_file(task, error))
    return "done", result


def _field_of_file(task: Task, error: Exception) -> str:
    """Return the field of the file that an error is about, or of its column of tracks; empty if there is none."""
    if not isinstance(error, FileError):
        return ""
    tracks = error.column is not None and error.column == task.options.get("group_column")
    name = Path(error.file).name
    roles = (role for role in FILE_FIELDS if Path(str(task.options.get(role))).name == name)
    return next(("public_file" if role == "public" else role for role in roles), "group_column" * tracks)


def _warm(task: Task, step: Step) -> dict[str, Any]:
    """Write the script that draws interactive charts."""
    import vl_convert

    step("Preparing charts")
    bundle: Any = vl_convert.javascript_bundle
    part = Path(f"{task.output}.part")
    part.write_text(bundle(), encoding="utf-8")
    part.replace(task.output)
    return {}


def _example(task: Task, step: Step) -> dict[str, Any]:
    """Write the files of the release in the working directory, with a note that it is synthetic."""
    from peerveil.releases.release import Release

    step("Drawing charts and writing the report")
    release = Release.load(task.folder)
    replace(release, notes=(_SYNTHETIC, *release.notes)).save(task.output, overwrite=True)
    return {}


def _demo(task: Task, step: Step) -> dict[str, Any]:
    """Write a synthetic conference, and return facts about it."""
    from peerveil.app.demo import conference

    step("Generating a conference")
    conference().write_csv(Path(task.output))
    return _inspect(task, step)


def _inspect(task: Task, step: Step) -> dict[str, Any]:
    """Return facts about a file."""
    from peerveil.app.inspect import inspect

    step("Reading the file")
    return {"facts": inspect(request_of(InspectRequest, task))}


def _public(task: Task, step: Step) -> dict[str, Any]:
    """Write all scores of a file of reviews, as they are if they are public."""
    from peerveil.app.inspect import write_scores

    step("Reading the file")
    write_scores(request_of(InspectRequest, replace(task, output="")), task.output)
    return {}


def _promise(task: Task, step: Step) -> dict[str, Any]:
    """Return what the release will state; nothing is drawn or charged."""
    if task.options.get("question"):
        return groups.promise(task, step)
    from peerveil.app.release import promise

    return promise(request_of(ReleaseRequest, task), step)


def _plan(task: Task, step: Step) -> dict[str, Any]:
    """Return the expected accuracy at each budget; nothing is drawn or charged."""
    if task.options.get("question"):
        return groups.plan(task, step)
    from peerveil.app.plan import plan_release
    from peerveil.reporting.plots import plan_plot

    epsilon = task.options["epsilon"]
    planned = plan_release(request_of(ReleaseRequest, task), epsilon, step=step)
    plan = planned.plan
    return {
        "answer": list(planned.answer),
        "others": list(planned.others),
        "assumption": plan.assumption,
        "svg": plan_plot(plan, chosen=epsilon).svg,
    }


def _release(task: Task, step: Step) -> dict[str, Any]:
    """Make a release, and return facts about it."""
    if task.options.get("question"):
        return groups.release(task, step)
    from peerveil.app.ledger import Spending
    from peerveil.app.release import release
    from peerveil.releases.release import Release

    request = request_of(ReleaseRequest, task)
    write = partial(_write, task, step, of_several=request.tracks.given)
    with Spending(request.ledger) as spending:
        released = release(request, spending, step=step, write=write, parents=False)
    result, remarks = released.release, remarks_on(task, released.warnings, released.remarks)
    if isinstance(result, Release):
        return _facts(result) | {"remarks": remarks}
    tracks = [{"name": name, "folder": released.folders[name]} | _facts(part) for name, part in result.releases.items()]
    claim = {name: getattr(result.guarantee, name) for name in ("summary", "human", "promise")}
    return claim | {"groups": tracks, "remarks": remarks}


def _refine(task: Task, step: Step) -> dict[str, Any]:
    """Refine a noisy vector, and return facts about it."""
    from peerveil.app.refine import refine
    from peerveil.releases.noisy_files import read_noisy
    from peerveil.releases.release import Release

    step("Reading")
    request, source = request_of(RefineRequest, task), None
    given = read_noisy(request.noisy)
    if isinstance(given, Release):  # it states these itself, and the form always sends them
        source = given
        request = replace(request, quantity=None, words=None, noise_scale=None, loads=LoadsOptions())
        request = replace(request, estimator=request.estimator or source.estimator)  # as published
    elif task.options.get("law") == "known":
        if request.noise_scale is None:
            raise InputError("Give ", Argument("noise_scale"), ", or say that the noise is not known")
        request = replace(request, words=None)
    else:
        request = replace(request, noise_scale=None)
    with renaming(sheet="public_sheet", encoding="public_encoding"):
        refined = refine(request, step=step, write=partial(_write, task, step), parents=False)
    facts = _facts(refined) | {"remarks": [], "called": _called(task, refined)}
    return facts if source is None else facts | {"published": _published(source, refined)}


def _called(task: Task, refined: Release) -> str:
    """Return the title of a refined release among those of the same files."""
    return f"{task.options.get('number', 1)}: {refined.estimator}, {refined.region}"


def _published(source: Release, refined: Release) -> dict[str, Any]:
    """Return what the page shows of the release that was refined: its estimator and error, and whether it is better."""
    errors = [None if release.outlook is None else release.outlook.expected_rmse for release in (source, refined)]
    return {
        "estimator": source.estimator,
        "error": errors[0],
        "better": None not in errors and errors[0] < errors[1],  # type: ignore[operator]
        "prior": source.prior is not None and refined.prior is None,
        "same": source.values.tolist() == refined.values.tolist(),
    }


def _verify(task: Task, step: Step) -> dict[str, Any]:
    """Check a release, and return all results in words."""
    from peerveil.app.verify import verify, verify_alone
    from peerveil.releases.verification import UNCHECKED

    options = task.options
    if options["public"]:
        verification = verify(request_of(VerifyRequest, task), step=step, spell=label)
    else:
        verification = verify_alone(options["release"], signed_by=options["signed_by"] or None, step=step)
    return {
        "verified": verification.verified,
        "against": bool(options["public"]),
        "unchecked": UNCHECKED,
        "checks": [asdict(check) | {"title": CHECKS.get(check.name, check.name)} for check in verification.checks],
    }


def _compare(task: Task, step: Step) -> dict[str, Any]:
    """Compare releases, and return their findings, a chart, and each against the first."""
    from peerveil.app.compare import compare, comparison_chart
    from peerveil.releases.release import Release
    from peerveil.reporting.charts import to_svg

    step("Reading")
    releases = {title: Release.load(folder) for title, folder in task.others.items()}
    (first, *_), last = task.others, list(task.others)[-1]
    pairs = []
    for title in list(task.others)[1:]:
        comparison = compare(CompareRequest(releases=[task.others[first], task.others[title]]))
        rows = [(*quantile.cells()[:5], quantile.tells) for quantile in comparison.quantiles]
        pairs.append(
            {"title": title, "sentences": comparison.sentences(title), "rows": rows, "words": comparison.words}
        )
    step("Drawing the chart")
    earlier = {title: folder for title, folder in task.others.items() if title != last}
    return {
        "releases": {title: _facts(release) for title, release in releases.items()},
        "withdrawn": [f"{title}: {words}" for title, folder in task.others.items() for words in _withdrawn(folder)],
        "first": first,
        "pairs": pairs,
        "svg": to_svg(comparison_chart(earlier, last, releases[last])),
    }


def _withdrawn(folder: str) -> list[str]:
    """Return that a release was withdrawn, in words; empty if it was not."""
    from peerveil.releases.signatures import read_bytes, release_file
    from peerveil.releases.withdrawal import withdrawal_checks

    place = release_file(folder)
    return [check.found for check in withdrawal_checks(place, read_bytes(place))]


def _write(task: Task, step: Step, release: Release, folder: Path, *, of_several: bool = False) -> None:
    """Write a release into a folder: its files, a zip file of them, and charts for the page."""
    from peerveil.app.compare import comparison_chart
    from peerveil.reporting import charts

    step("Drawing charts and writing files")
    write_bundle(folder, release.write_into, of_several=of_several)
    pictures = {
        "means": charts.histogram(release),
        "shares": charts.cumulative(release),
        "refinement": charts.refinement(release),
        "bounds": charts.proven(release),
    }
    if task.others:
        pictures["comparison"] = comparison_chart(task.others, _called(task, release), release)
        (folder / "comparison.svg").write_text(charts.to_svg(pictures["comparison"]), encoding="utf-8")
    specifications = {name: charts.specification(picture) for name, picture in pictures.items()}
    (folder / "pictures.json").write_text(json.dumps(specifications), encoding="utf-8")


def _facts(release: Release) -> dict[str, Any]:
    """Return what the page shows of a release."""
    loads, outlook = release.loads, release.outlook
    return {
        "quantity": release.quantity,
        "findings": [finding.sentence for finding in release.findings],
        "summary": release.guarantee.summary,
        "human": release.human,
        "promise": release.promise,
        "series": [f"{claim.summary}. {claim.guarantee.promise}" for claim in release.series],
        "estimator": release.estimator,
        "accuracy": PROMISES[release.estimator],
        "verdict": release.verdict.sentence if release.verdict else "",
        "caution": release.caution,
        "region": release.region,
        "record": f"{release.papers:,} papers, {loads.reviews:,} reviews, {loads.reviewers:,} reviewers",
        "error": release.error_summary if outlook else None,
        "number": words_of(release.quantity).number,
        "a_number": words_of(release.quantity).a_number,
        "expected_rmse": outlook.expected_rmse if outlook else None,
        "notes": list(release.notes),
        "prior": release.prior is not None,
        "venue": release.terms.about.venue,
    }


_KINDS = {
    "warm": _warm,
    "example": _example,
    "demo": _demo,
    "inspect": _inspect,
    "public": _public,
    "plan": _plan,
    "promise": _promise,
    "release": _release,
    "refine": _refine,
    "verify": _verify,
    "compare": _compare,
    "tables": tables,
}
