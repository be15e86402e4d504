"""Routes of a chair: the steps from a file to a release."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from peerveil.app.inspect import attribute_columns, columns_of, mapping_of, sheets_of, track_column
from peerveil.app.ledger import charges_since, declare, ledger_view, pending_view, releases_so_far, series_view
from peerveil.app.options import ReadingOptions, filled
from peerveil.errors import Argument, InputError
from peerveil.mechanisms import OWN
from peerveil.web.budgets import try_to_open
from peerveil.web.cases import (
    ABOUT,
    CHOICES,
    LOADS,
    PUBLIC,
    READING,
    STEP_OF,
    TRACKS,
    Case,
    loads_of,
    number,
    scale_of,
    texts,
    whole,
)
from peerveil.web.earlier import add_earlier, forget_earlier
from peerveil.web.jobs import Job, State
from peerveil.web.labels import Problem, label
from peerveil.web.page import (
    GONE,
    Here,
    Page,
    form_of,
    keep_file,
    lookup,
    need,
    result_page,
    without_style,
)
from peerveil.web.work import Task

router = APIRouter(prefix="/chair")

_SAY_PUBLIC = ("Say in ", Argument("public"), " which scores are; nothing is assumed")


def _inspect(page: Page, case: Case, kind: Literal["inspect", "demo"] = "inspect", ahead: str = "file") -> Job:
    def then(job: Job, state: State) -> None:
        if state == "done":
            case.inspected, case.promised, case.planned = job.result["facts"], {}, {}
            if "idle filters" in case.inspected:  # told at its field; the same answers once more go on
                job.ahead = job.back

    folder = case.folder
    task = Task(kind=kind, folder=str(folder), options=case.reading(), output=str(folder / case.files["file"]))
    here = f"/chair/{case.id}"
    return page.jobs.start(task, title="Reading the file", ahead=f"{here}/{ahead}", back=f"{here}/file", then=then)


@router.get("")
async def start(page: Here) -> Response:
    """Return the page on which a file is opened."""
    return page.show("chair_start.html")


@router.put("")
async def upload(page: Here, request: Request, name: str) -> Response:
    """Take a file of reviews."""
    case = page.new_case(page.chairs)
    case.files["file"] = (await page.workspace.save(case.folder, name, request.stream())).name
    return JSONResponse({"next": f"{page.at}/work/{_inspect(page, case).id}"})


@router.post("/demo")
async def demo(page: Here) -> Response:
    """Generate a synthetic conference."""
    case = page.new_case(page.chairs)
    case.demo, case.files["file"] = True, "reviews.csv"
    case.answers |= {"score_scale": "1,10", "criteria": "soundness,clarity,originality"}
    return await page.follow(_inspect(page, case, "demo"))


@router.put("/{name}/files/{role}")
async def another(page: Here, request: Request, name: str, role: str, file: str) -> Response:
    """Take a further file."""
    if role not in ("public_file", "people", "mapping", "groups", "attributes", "prior"):
        raise HTTPException(404, "there is no such file")
    case = lookup(page.chairs, name)
    case.changed()
    if role == "prior":
        saved = await _keep_earlier(request, page, case, file)
    else:
        saved = await keep_file(request, page, case, role, file)
    case.changed()  # again: a promise may have been computed from a partial file
    case.planned = {}
    if role != "attributes":
        return JSONResponse({"name": saved})
    case.attributes = await asyncio.to_thread(attribute_columns, str(case.folder / case.files[role]))
    return JSONResponse({"name": saved, "columns": case.attributes})


async def _keep_earlier(request: Request, page: Page, case: Case, name: str) -> str:
    """Take a file of an earlier release, or of a prior; return the names of all that are pooled."""
    arriving = case.folder / "arriving"
    arriving.mkdir(exist_ok=True)
    file = await page.workspace.save(arriving, name, request.stream())
    need(not page.releasing(case), "a release with these files is being made; wait until it is done")
    several = request.query_params.get("several") == "1"
    return await asyncio.to_thread(lambda: add_earlier(case, file, name=name, several=several))


@router.get("/{name}/prior.json")
async def prior(page: Here, name: str) -> Response:
    """Return the prior that earlier releases give, to be published with the release."""
    case = lookup(page.chairs, name)
    file = case.folder / lookup(case.files, "prior")
    return FileResponse(file, media_type="application/json", filename=file.name)


@router.get("/{name}/file")
async def inspected(page: Here, name: str, failed: str = "") -> Response:
    """Return the contents of the file, and the form on how to read it."""
    case = lookup(page.chairs, name)
    if case.sheets is None:
        case.sheets = await asyncio.to_thread(sheets_of, str(case.folder / case.files["file"]))
    await _see_headings(case)
    case.seen = case.seen or bool(case.inspected)
    told = page.failed(failed)
    if told["problem"] is None:
        told["problem"] = _idle_filter(case)
    return page.show("chair_file.html", case=case, here="file", **told)


def _idle_filter(case: Case) -> Problem | None:
    """Return what the user should check about the first filter that leaves nothing out, if there is one."""
    for idle in case.inspected.get("idle filters", ()):
        filtered = label(Argument(idle["argument"], idle["condition"]))
        words = f"{filtered} leaves no review out: {idle['why']}. Correct it, or continue with it as it is"
        return Problem(words, idle["argument"], title="Please check")
    return None


async def _see_headings(case: Case) -> None:
    """Look up the headings of a case's file, unless they are known."""
    if case.headings is None:
        case.headings = await asyncio.to_thread(_headings, case)


def _headings(case: Case) -> tuple[str, ...]:
    """Return the headings of a case's file, for its menus; none if it is no table."""
    answers: dict[str, Any] = {
        name: case.answers[name] for name in ("format", "sheet", "encoding") if name in case.answers
    }
    try:
        return columns_of(str(case.folder / case.files["file"]), filled(ReadingOptions, answers)).headings
    except InputError:  # whoever reads it is told
        return ()


@router.get("/{name}/mapping.toml")
async def mapping(page: Here, name: str) -> Response:
    """Return the answers on how to read the file, as a mapping to be saved."""
    case = lookup(page.chairs, name)
    given = case.reading() | {"people": None}  # its path here is of no use elsewhere
    if "mapping" in case.files:
        given["mapping"] = str(case.folder / case.files["mapping"])
    text = mapping_of(filled(ReadingOptions, given))
    return Response(text, media_type="text/plain", headers={"Content-Disposition": "attachment"})  # links name it


@router.post("/{name}/file")
async def reading(page: Here, request: Request, name: str) -> Response:
    """Take the answers on how to read the file; read it again if they have changed."""
    case, form = lookup(page.chairs, name), await form_of(request)
    try:
        stated = texts(form, READING) | scale_of(form)
    except InputError as error:
        return page.show("chair_file.html", 422, case=case, here="file", problem=Problem.of(error), typed=form)
    before = {key: value for key, value in case.answers.items() if key in (*READING, "score_scale")}
    again = form.get("again") == "yes"
    if case.inspected and stated == before and not again:
        return page.to(f"/chair/{name}/public")
    case.answers = {key: value for key, value in case.answers.items() if key not in (*before, "declare_kept")} | stated
    case.inspected, case.headings = {}, None
    case.changed()
    return await page.follow(_inspect(page, case, ahead="file" if again or not case.seen else "public"))


@router.get("/{name}/public")
async def public_form(page: Here, name: str, failed: str = "") -> Response:
    """Return the form on what is public."""
    return page.show("chair_public.html", case=lookup(page.chairs, name), here="public", **page.failed(failed))


@router.get("/{name}/public-scores/{file}")
async def public_scores(page: Here, name: str, file: str) -> Response:
    """Return a file of all scores without reviewers, which readers need to verify and refine; ``file`` is its name."""
    case = lookup(page.chairs, name)
    written = page.own_file(case, f"public-scores-{case.turn}.csv")
    if not written.is_file():
        task = Task(kind="public", folder=str(case.folder), options=case.reading(), output=str(written))
        back = f"/chair/{name}/public"
        job = page.jobs.start(task, title="Writing the public scores", ahead=back, back=back)
        await asyncio.to_thread(job.finished.wait)
        if not written.is_file():  # unless another request has written it
            return page.to(f"/work/{job.id}")
    return FileResponse(written, filename=file)


@router.post("/{name}/public")
async def public(page: Here, request: Request, name: str) -> Response:
    """Take the answers on what is public."""
    case, form = lookup(page.chairs, name), await form_of(request)
    case.changed()
    try:
        kept = {key: value for key, value in case.answers.items() if key not in (*LOADS, "public")}
        case.answers = kept | loads_of(form) | texts(form, ("public",))
        need(case.answers.get("public") in PUBLIC, *_SAY_PUBLIC)
        case.options()
    except InputError as error:
        return page.show("chair_public.html", 422, case=case, here="public", problem=Problem.of(error), typed=form)
    case.planned = {}
    return page.to(f"/chair/{name}/choices")


@router.get("/{name}/choices")
async def choices(page: Here, name: str, failed: str = "") -> Response:
    """Return the form on what to release."""
    return await _show_choices(page, lookup(page.chairs, name), **page.failed(failed))


async def _show_choices(page: Page, case: Case, **values: Any) -> Response:
    await _see_headings(case)
    shown: dict[str, Any] = {
        "picture": without_style(case.planned.get("svg", "")),
        "other": _planned_otherwise(case),
        "track_column": track_column(case.headings or ()),
    }
    return page.show("chair_choices.html", case=case, here="choices", **shown, **values)


def _planned_otherwise(case: Case) -> bool:
    """Return whether the plan is for other choices than the present ones; it is for all papers, whatever the title."""
    planned = case.planned.get("options", {})
    try:
        options = case.options()
    except InputError:
        return True
    names = {*planned, *options} - {*ABOUT, *TRACKS, "groups", "licence", "citation", "year"}
    return any(planned.get(name) != options.get(name) for name in names)


@router.post("/{name}/choices")
async def chosen(page: Here, request: Request, name: str) -> Response:
    """Take the answers on what to release, and compute the promise."""

    def then(case: Case, result: dict[str, Any], asked: dict[str, Any]) -> None:
        if case.turn == asked["turn"]:  # otherwise the answers have changed
            case.promised = result | asked

    return await _with_choices(page, request, name, "promise", then)


@router.post("/{name}/plan")
async def plan(page: Here, request: Request, name: str) -> Response:
    """Take the answers on what to release, and plan."""

    def then(case: Case, result: dict[str, Any], asked: dict[str, Any]) -> None:
        case.planned = result | {"options": asked["options"]}

    return await _with_choices(page, request, name, "plan", then)


async def _with_choices(
    page: Page,
    request: Request,
    name: str,
    kind: Literal["promise", "plan"],
    then: Callable[[Case, dict[str, Any], dict[str, Any]], None],
) -> Response:
    """Store the answers on what to release, and follow a job; ``then`` takes its result, and its options and turn."""
    case, form = lookup(page.chairs, name), await form_of(request)
    case.changed()
    if form.get("earlier") == "none":
        forget_earlier(case)
    try:
        numbers: dict[str, Any] = {key: number(form, key) for key in ("epsilon", "delta")}
        need(numbers["epsilon"] is not None, "Give a budget with ", Argument("epsilon"), " (1 is a common choice)")
        need(numbers["epsilon"] > 0, Argument("epsilon"), " must be a number above 0")
        wholes = {key: whole(form, key) for key in ("bins", "year")}
        stated = (*CHOICES, *ABOUT)
        case.answers |= dict.fromkeys(stated, "") | texts(form, stated) | numbers | wholes
        mechanism = case.answers["mechanism"]
        parameters = OWN[mechanism].parameters() if mechanism in OWN else ("delta",)  # those of a plan's choice
        if case.answers["question"] == "shares":
            parameters = ("delta", "bins")
        case.answers |= {name: None for name in ("delta", "bins") if name not in parameters}
        need(case.answers.get("public") in PUBLIC, *_SAY_PUBLIC)
        need(case.answers["tracks"] in ("", "column", "file"), "Choose one of ", Argument("tracks"))
        asked: dict[str, Any] = {"options": case.options(), "turn": case.turn}
    except InputError as error:
        return await _show_choices(page, case, status=422, problem=Problem.of(error), typed=form)

    def finished(job: Job, state: State) -> None:
        if state == "done":
            then(case, job.result, asked)

    ledger = await asyncio.to_thread(_only_ledger, page) if kind == "promise" else {}
    task = Task(kind=kind, folder=str(case.folder), options=asked["options"] | ledger)
    back = f"/chair/{name}/choices"
    ahead, title = f"/chair/{name}/promise", "Computing the promise"
    if kind == "plan":
        ahead, title = f"{back}#plan", "Planning"
    job = page.jobs.start(task, title=title, ahead=ahead, back=back, then=finished)
    job.turn = asked["turn"]
    return await page.follow(job)


@router.post("/{name}/declare/{failed}")
async def declare_public(page: Here, request: Request, name: str, failed: str) -> Response:
    """Declare for a data set what a release was refused for, if it was public all along; nothing else is declared."""
    case, form = lookup(page.chairs, name), await form_of(request)
    job = lookup(page.jobs, failed)
    if job.declares is None or page.ledger is None or not job.back.startswith(f"/chair/{name}/"):
        raise HTTPException(404, GONE)
    if job.turn != case.turn:
        problem = Problem("Your answers have changed since; compute the promise again, and read what it would declare")
        return await _show_choices(page, case, status=409, problem=problem)
    if form.get("declared") != "yes":
        unconfirmed = Problem("Confirm first that all of this was public before", job.about, job.declares)
        shown: dict[str, Any] = {"status": 422, "problem": unconfirmed, "failed": failed, "typed": form}
        if STEP_OF.get(job.about) == "public":
            return page.show("chair_public.html", case=case, here="public", **shown)
        return await _show_choices(page, case, **shown)
    await asyncio.to_thread(declare, page.ledger, *job.declares)
    return await _show_choices(page, case, declared=job.declares, typed=form)


def _only_ledger(page: Page) -> dict[str, Any]:
    """Return the ledger if it has a single data set, whose budget a release is charged to; otherwise nothing."""
    names = set() if page.ledger is None else {account["dataset"] for account in ledger_view(page.ledger)[0]}
    return {"ledger": page.ledger} if len(names) == 1 else {}


@router.get("/{name}/promise")
async def promise(page: Here, name: str, failed: str = "") -> Response:
    """Return what the release will promise, to be read before it is made."""
    case = lookup(page.chairs, name)
    if not case.promised:
        return page.to(f"/chair/{name}/choices" + (f"?failed={failed}" if failed in page.jobs else ""))
    return await _show_promise(page, case, **page.failed(failed))


async def _show_promise(page: Page, case: Case, **values: Any) -> Response:
    accounts = None if page.ledger is None else (await asyncio.to_thread(ledger_view, page.ledger))[0]
    series = [] if page.ledger is None else await asyncio.to_thread(series_view, page.ledger)
    return page.show("chair_promise.html", case=case, here="promise", accounts=accounts, series=series, **values)


@router.post("/{name}/budget")
async def open_its_budget(page: Here, request: Request, name: str) -> Response:
    """Open the budget that the release will be charged to, for the unit that it protects."""
    case, form = lookup(page.chairs, name), await form_of(request)
    if not case.promised:
        return page.to(f"/chair/{name}/choices")
    if problem := await try_to_open(page, form, unit=case.promised["options"]["unit"]):
        return await _show_promise(page, case, status=422, problem=problem, typed=form)
    return page.to(f"/chair/{name}/promise")


@router.post("/{name}/release")
async def release(page: Here, request: Request, name: str) -> Response:
    """Make the release."""
    case, form = lookup(page.chairs, name), await form_of(request)
    before = await asyncio.to_thread(releases_so_far, page.ledger)
    # No await from here on: two requests make one release, and it is the one whose promise was read.
    if page.releasing(case):
        return page.to(f"/work/{case.releasing}")
    promised = case.promised
    read = promised.get("turn") == case.turn and form.get("promise") == str(case.turn) and form.get("read") == "yes"
    if not read:
        problem = Problem(
            "Read the promise first, and confirm it; it may have changed since, perhaps in another window"
        )
        if not promised:
            return await _show_choices(page, case, status=422, problem=problem)
        return await _show_promise(page, case, status=422, problem=problem)
    options = promised["options"] | {"ledger": page.ledger} | texts(form, ("dataset",))

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.results[job.id], case.promised = (
                job.result | {"made_with": options},
                {},
            )  # a promise is valid for one release
        else:
            what = {"quantity": promised["charged_as"], "unit": options["unit"]}
            charged = charges_since(page.ledger, before, spell=label, **what)
            if job.declares is None:  # otherwise the message says that nothing was charged
                job.message = ". ".join(filter(None, (job.message.removesuffix("."), charged)))
            begun = pending_view(page.ledger) if page.ledger else []
            case.unfinished |= {entry["release"] for entry in begun} - before

    task = Task(kind="release", folder=str(case.folder), options=options)
    here = f"/chair/{name}"
    job = page.make(task, here=here, back=f"{here}/promise", title="Releasing", then=then)
    case.releasing, job.turn = job.id, case.turn
    return await page.follow(job)


def unsaid(remarks: Iterable[str], inspected: dict[str, Any]) -> list[str]:
    """Return the remarks on a release that were not shown when its file was opened.

    A remark of the ledger may end with what was left out; it is another one.

    >>> unsaid(["left out: 2 bots", "1 odd id", "stated before: left out: 2 bots", "a.csv: 1 tie"],
    ...        {"left out": ["2 bots"], "notices": ["1 tie"], "problems": ["1 odd id"]})
    ['stated before: left out: 2 bots']
    """
    notices = tuple(inspected.get("notices", ()))
    told = {f"left out: {reason}" for reason in inspected.get("left out", ())} | {*inspected.get("problems", ())}
    return [remark for remark in remarks if remark not in told and not remark.endswith(notices)]


@router.get("/{name}/result/{made}")
async def result(page: Here, name: str, made: str, failed: str = "") -> Response:
    """Return the page of a release, or of those of all tracks; says why tables of it could not be drawn."""
    case = lookup(page.chairs, name)
    result = lookup(case.results, made)
    result = result | {"remarks": unsaid(result.get("remarks", ()), case.inspected)}
    if "groups" in result:
        return page.show("tracks.html", case=case, made=made, result=result)
    return _show_result(page, case, made, result, failed)


@router.get("/{name}/result/{made}/{track}")
async def result_of_track(page: Here, name: str, made: str, track: str) -> Response:
    """Return the page of the release of a track."""
    case = lookup(page.chairs, name)
    tracks = {group["folder"]: group for group in lookup(case.results, made).get("groups", ())}
    return _show_result(page, case, f"{made}/{track}", lookup(tracks, track))


def _show_result(page: Page, case: Case, made: str, result: dict[str, Any], failed: str = "") -> Response:
    """Return the page of a release of means, or of an answer about groups of reviewers."""
    if "answer" not in result:
        return result_page(page, case, made, result, failed=failed)
    return page.show("answered.html", case=case, made=made, result=result, picture=without_style(result["picture"]))
