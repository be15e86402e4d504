"""Routes of a researcher: published releases are refined with public scores, verified and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from peerveil.errors import Argument, InputError
from peerveil.web.cases import Case, loads_of, number, scale_of, texts
from peerveil.web.jobs import Job, State
from peerveil.web.labels import Problem
from peerveil.web.page import Here, Page, form_of, lookup, need, result_page, without_style
from peerveil.web.published import sort_file
from peerveil.web.work import Task
from peerveil.web.workspace import safe_name

router = APIRouter()

_ROLES = ("noisy", "public_file", "release", "releases", "prior", "signed_by")
_READING = ("lone", "paper", "ratings", "criteria")
_REFINING = ("quantity", "words", "mechanism", "estimator", "region", "law", *_READING)

#: How many earlier results a chart compares with the new one, and how many releases at most.
_COMPARED, _MOST = 5, 6


@router.put("/researcher")
async def upload(page: Here, request: Request, role: str, name: str, study: str = "") -> Response:
    """Take a file of a researcher."""
    if role not in _ROLES:
        raise HTTPException(404, "there is no such file")
    case = lookup(page.studies, study) if study else page.new_case(page.studies)
    arriving = case.folder / "arriving"
    arriving.mkdir(exist_ok=True)
    file = await page.workspace.save(arriving, name, request.stream())
    first, several = (request.query_params.get(word) == "1" for word in ("first", "several"))
    role = await asyncio.to_thread(lambda: sort_file(case, file, name=name, role=role, first=first, several=several))
    if role == "noisy" and first:  # other files of a release say nothing about its name, nor does release.json
        case.origin = "" if safe_name(name) == "release.json" else safe_name(name)
    return JSONResponse({"study": case.id, "name": safe_name(name), "role": role, "published": case.published})


def _study(page: Page, form: dict[str, str]) -> Case:
    """Return the case of a form, or an empty one if no file was given yet."""
    return lookup(page.studies, form["study"]) if form.get("study") else page.new_case(page.studies)


def _reading(form: dict[str, str]) -> dict[str, str]:
    """Return the answers on how to read the public scores."""
    return texts(form, _READING) | scale_of(form)


def _kept(case: Case, made: dict[str, Any]) -> Callable[[Job, State], None]:
    """Return a function that stores the result of a job in its case, with how it was made."""

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.results[job.id] = job.result | made

    return then


@router.get("/researcher")
async def refine_form(page: Here) -> Response:
    """Return the form for a new study."""
    return page.show("researcher.html", case=None)


@router.get("/researcher/{name}")
async def refine_again(page: Here, name: str, failed: str = "") -> Response:
    """Return the form of an earlier study."""
    return page.show("researcher.html", case=lookup(page.studies, name), **page.failed(failed))


@router.post("/researcher/refine")
async def refine(page: Here, request: Request) -> Response:
    """Refine the release, and compare the result with earlier ones."""
    form = await form_of(request)
    case = _study(page, form)
    try:
        for role in ("noisy", "public_file"):
            need(role in case.files, "Give ", Argument(role), ": drop it here, or choose it")
        scale = {"noise_scale": number(form, "noise_scale")}
        case.answers = texts(form, _REFINING) | loads_of(form) | _reading(form) | scale
    except InputError as error:
        return page.show("researcher.html", 422, case=case, problem=Problem.of(error), typed=form)
    answers = case.answers
    others = {
        earlier["called"]: str(page.result_folder(name) / "bundle")
        for name, earlier in list(case.results.items())[-_COMPARED:]
        if earlier["quantity"] == (answers.get("quantity") or earlier["quantity"])
    }
    files = {"noisy": case.files["noisy"], "public": case.files["public_file"], "prior": case.files.get("prior", "")}
    options = answers | files | {"number": len(case.results) + 1}
    made_with = _reading(form) | {"public": case.files["public_file"]}
    task = Task(kind="refine", folder=str(case.folder), options=options, others=others)
    here = f"/researcher/{case.id}"
    job = page.make(task, here=here, back=here, title="Refining", then=_kept(case, {"made_with": made_with}))
    return await page.follow(job)


@router.get("/researcher/{name}/result/{made}")
async def refined(page: Here, name: str, made: str, failed: str = "") -> Response:
    """Return the page of a refined release; says why tables of it could not be drawn."""
    case = lookup(page.studies, name)
    return result_page(page, case, made, lookup(case.results, made), study=True, failed=failed)


@router.get("/verify")
async def verify_form(page: Here) -> Response:
    """Return the form for a release to check."""
    return page.show("verify.html", case=None)


@router.get("/verify/{name}")
async def verify_again(page: Here, name: str, failed: str = "") -> Response:
    """Return the form of an earlier check."""
    return page.show("verify.html", case=lookup(page.studies, name), **page.failed(failed))


@router.post("/verify")
async def verify(page: Here, request: Request) -> Response:
    """Check a release."""
    form = await form_of(request)
    case = _study(page, form)
    try:
        need("release" in case.files, "Give ", Argument("release"), ": its zip file, or at least its release.json")
        case.answers = _reading(form)
    except InputError as error:
        return page.show("verify.html", 422, case=case, problem=Problem.of(error), typed=form)
    files = {"release": case.files["release"], "public": case.files.get("public_file", "")}
    options = case.answers | files | {role: case.files.get(role, "") for role in ("signed_by", "prior")}
    task = Task(kind="verify", folder=str(case.folder), options=options)
    here = f"/verify/{case.id}"
    return await page.follow(page.make(task, here=here, back=here, title="Checking", then=_kept(case, {})))


@router.get("/verify/{name}/result/{made}")
async def verified(page: Here, name: str, made: str) -> Response:
    """Return the results of all checks."""
    case = lookup(page.studies, name)
    return page.show("verified.html", case=case, result=lookup(case.results, made))


@router.get("/compare")
async def compare_form(page: Here) -> Response:
    """Return the form for releases to compare."""
    return page.show("compare.html", case=None)


@router.get("/compare/{name}")
async def compare_again(page: Here, name: str, failed: str = "") -> Response:
    """Return the form with the releases so far."""
    return page.show("compare.html", case=lookup(page.studies, name), **page.failed(failed))


@router.post("/compare")
async def compare(page: Here, request: Request) -> Response:
    """Compare the chosen releases."""
    form = await form_of(request)
    case = _study(page, form)
    for folder in case.releases:
        case.releases[folder] = form.get(f"title-{folder}", "").strip() or case.releases[folder]
    chosen = {folder: title for folder, title in case.releases.items() if form.get(f"take-{folder}") == "yes"}
    try:
        need(2 <= len(chosen) <= _MOST, "Give two to six of ", Argument("releases"))
        need(len(set(chosen.values())) == len(chosen), "Give each of ", Argument("releases"), " a title of its own")
    except InputError as error:
        return page.show("compare.html", 422, case=case, problem=Problem.of(error), typed=form)
    others = {title: folder for folder, title in chosen.items()}
    task = Task(kind="compare", folder=str(case.folder), others=others)
    here = f"/compare/{case.id}"
    return await page.follow(page.make(task, here=here, back=here, title="Comparing", then=_kept(case, {})))


@router.get("/compare/{name}/result/{made}")
async def compared(page: Here, name: str, made: str) -> Response:
    """Return the comparison."""
    case = lookup(page.studies, name)
    result = lookup(case.results, made)
    return page.show("compared.html", case=case, result=result, picture=without_style(result["svg"]))
