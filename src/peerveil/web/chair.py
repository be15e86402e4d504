"""Addresses of a chair: from a file to a release, a step an address."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from peerveil.app.ledger import charges_since, releases_so_far
from peerveil.errors import InputError
from peerveil.mechanisms import OWN
from peerveil.web.cases import CHOICES, LOADS, PUBLIC, READING, Case, number, said_of_loads, texts, whole
from peerveil.web.jobs import Job, State
from peerveil.web.labels import label, problem_words
from peerveil.web.page import Here, Page, form_of, found, keep_file, need, result_page, without_style
from peerveil.web.spending import ledger_view
from peerveil.web.work import Task

router = APIRouter(prefix="/chair")


def _case(page: Page, name: str) -> Case:
    case: Case = found(page.chairs, name)
    return case


def _inspect(page: Page, case: Case, kind: Literal["inspect", "demo"] = "inspect", ahead: str = "file") -> Job:
    def then(job: Job, state: State) -> None:
        if state == "done":
            case.inspected, case.promised, case.planned = job.result["facts"], {}, {}

    folder = case.folder
    task = Task(kind=kind, folder=str(folder), said=case.options(), output=str(folder / case.files["file"]))
    here = f"/chair/{case.id}"
    return page.jobs.start(task, title="Looking at the file", ahead=f"{here}/{ahead}", back=f"{here}/file", then=then)


@router.get("")
async def start(page: Here) -> Response:
    """The first step: a file."""
    return page.show("chair_start.html")


@router.put("")
async def upload(page: Here, request: Request, name: str) -> Response:
    """Take a file of reviews."""
    case = page.chairs.new(page.workspace.new())
    case.files["file"] = (await page.workspace.save(case.folder, name, request.stream())).name
    return JSONResponse({"next": f"{page.at}/work/{_inspect(page, case).id}"})


@router.post("/demo")
async def demo(page: Here) -> Response:
    """Invent a conference."""
    case = page.chairs.new(page.workspace.new())
    case.demo, case.files["file"] = True, "reviews.csv"
    case.said |= {"score_scale": "1,10", "criteria": "soundness,clarity,originality"}
    return await page.go(_inspect(page, case, "demo"))


@router.put("/{name}/files/{role}")
async def another(page: Here, request: Request, name: str, role: str, file: str) -> Response:
    """Take a file that goes with the reviews."""
    if role not in ("public_file", "people", "mapping"):
        raise HTTPException(404, "there is no such file")
    case = _case(page, name)
    case.changed()
    kept = await keep_file(request, page, case, role, file)
    case.changed()  # once more: something may have been promised meanwhile, of half a file
    return JSONResponse({"name": kept})


@router.get("/{name}/file")
async def seen(page: Here, name: str) -> Response:
    """What is in the file."""
    return page.show("chair_file.html", case=_case(page, name), here="file")


@router.post("/{name}/file")
async def reading(page: Here, request: Request, name: str) -> Response:
    """How to read the file; it is looked at again where that has changed."""
    case, form = _case(page, name), await form_of(request)
    ends = [form.get(end, "").strip() for end in ("lowest", "highest")]
    stated = texts(form, READING) | ({"score_scale": ",".join(ends)} if any(ends) else {})
    before = {key: value for key, value in case.said.items() if key in (*READING, "score_scale")}
    again = form.get("again") == "yes"
    if case.inspected and stated == before and not again:
        return page.to(f"/chair/{name}/public")
    case.said = {key: value for key, value in case.said.items() if key not in before} | stated
    case.inspected = {}
    case.changed()
    return await page.go(_inspect(page, case, ahead="file" if again else "public"))


@router.get("/{name}/public")
async def what_is_public(page: Here, name: str) -> Response:
    """What is public."""
    return page.show("chair_public.html", case=_case(page, name), here="public")


@router.post("/{name}/public")
async def public(page: Here, request: Request, name: str) -> Response:
    """Take what was stated to be public."""
    case, form = _case(page, name), await form_of(request)
    case.changed()
    try:
        kept = {key: value for key, value in case.said.items() if key not in (*LOADS, "public")}
        case.said = kept | said_of_loads(form) | texts(form, ("public",))
        need(case.said.get("public") in PUBLIC, "say what is public; nothing is assumed")
        case.options()
    except InputError as error:
        return page.show("chair_public.html", 422, case=case, here="public", problem=problem_words(error))
    case.planned = {}
    return page.to(f"/chair/{name}/choices")


@router.get("/{name}/choices")
async def choices(page: Here, name: str) -> Response:
    """What to release."""
    case = _case(page, name)
    picture = without_style(case.planned.get("svg", ""))
    return page.show("chair_choices.html", case=case, here="choices", picture=picture)


@router.post("/{name}/choices")
async def chosen(page: Here, request: Request, name: str) -> Response:
    """Take what to release, and work out what it would promise."""
    case, form = _case(page, name), await form_of(request)
    try:
        options = _chosen(case, form)
    except InputError as error:
        return page.show("chair_choices.html", 422, case=case, here="choices", problem=problem_words(error))
    turn = case.turn

    def then(job: Job, state: State) -> None:
        if state == "done" and case.turn == turn:  # else it is not what was last said
            case.promised = job.result | {"said": options, "turn": turn}

    task = Task(kind="promise", folder=str(case.folder), said=options)
    ahead, back = f"/chair/{name}/promise", f"/chair/{name}/choices"
    return await page.go(page.jobs.start(task, title="Working out the promise", ahead=ahead, back=back, then=then))


def _chosen(case: Case, form: Mapping[str, str]) -> dict[str, Any]:
    """Take what a form says about the release; returns everything that was said."""
    case.changed()
    numbers: dict[str, Any] = {key: number(form, key) for key in ("epsilon", "delta")}
    need(numbers["epsilon"] is not None, "give a budget (1 is a common choice)")
    case.said |= dict.fromkeys(CHOICES, "") | texts(form, CHOICES) | numbers | {"bins": whole(form, "bins")}
    parameters = OWN[case.said["mechanism"]].parameters() if case.said["mechanism"] in OWN else ()
    case.said |= {name: None for name in ("delta", "bins") if name not in parameters}
    need(case.said.get("public") in PUBLIC, "say what is public; nothing is assumed")
    return case.options()


@router.post("/{name}/plan")
async def plan(page: Here, request: Request, name: str) -> Response:
    """Say what each budget would buy, and take what is best for the one that is asked for."""
    case, form = _case(page, name), await form_of(request)
    try:
        options = _chosen(case, form)
    except InputError as error:
        return page.show("chair_choices.html", 422, case=case, here="choices", problem=problem_words(error))

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.planned = job.result
            case.said |= job.result["chosen"]
            case.changed()

    task = Task(kind="plan", folder=str(case.folder), said=options)
    here = f"/chair/{name}/choices"
    return await page.go(page.jobs.start(task, title="Planning", ahead=f"{here}#plan", back=here, then=then))


@router.get("/{name}/promise")
async def promise(page: Here, name: str) -> Response:
    """What is promised; the last look before a release."""
    case = _case(page, name)
    if not case.promised:
        return page.to(f"/chair/{name}/choices")
    accounts: list[dict[str, Any]] | None = None
    if page.ledger is not None:
        accounts, _ = await asyncio.to_thread(ledger_view, page.ledger)
    return page.show("chair_promise.html", case=case, here="promise", accounts=accounts)


@router.post("/{name}/release")
async def release(page: Here, request: Request, name: str) -> Response:
    """Release."""
    case, form = _case(page, name), await form_of(request)
    before = await asyncio.to_thread(releases_so_far, page.ledger)
    # From here on nothing is waited for: asked twice, it is made once, and what is made is what was read.
    if _releasing(page, case):
        return page.to(f"/work/{case.releasing}")
    promised = case.promised
    read = promised.get("turn") == case.turn and form.get("promise") == str(case.turn) and form.get("read") == "yes"
    need(read, "read the promise first, and say that you have; it may have changed since, perhaps in another window")
    said = promised["said"] | {"ledger": page.ledger} | texts(form, ("dataset",))

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.results[job.id], case.promised = job.result, {}  # another one is another promise
        else:
            charged = charges_since(page.ledger, before, quantity=said["quantity"], unit=said["unit"], spell=label)
            job.words = " ".join(filter(None, (job.words, charged)))

    task = Task(kind="release", folder=str(case.folder), said=said)
    here = f"/chair/{name}"
    job = page.make(task, here=here, back=f"{here}/promise", title="Releasing", then=then)
    case.releasing = job.id
    return await page.go(job)


def _releasing(page: Page, case: Case) -> bool:
    return case.releasing in page.jobs and page.jobs[case.releasing].state == "running"


@router.get("/{name}/result/{made}")
async def result(page: Here, name: str, made: str) -> Response:
    """What was released."""
    return result_page(page, _case(page, name), made, study=False)
