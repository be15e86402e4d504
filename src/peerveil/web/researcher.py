"""Addresses of a researcher: a noisy release and a public record, refined and compared."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from peerveil.errors import InputError
from peerveil.web.cases import Case, number, said_of_loads, texts
from peerveil.web.jobs import Job, State
from peerveil.web.labels import problem_words
from peerveil.web.page import Here, Page, form_of, found, keep_file, need, result_page
from peerveil.web.work import Task

router = APIRouter(prefix="/researcher")

_NEEDED = {"noisy": "the noisy release (a file, or pasted numbers)", "public_file": "the file of public scores"}
_TEXTS = ("quantity", "words", "mechanism", "estimator", "region", "lone", "paper", "ratings", "law")

#: How many results are compared in one picture, with the new one.
_COMPARED = 5


def _study(page: Page, name: str) -> Case:
    case: Case = found(page.studies, name)
    return case


@router.get("")
async def start(page: Here) -> Response:
    """What to refine."""
    return page.show("researcher.html", case=None)


@router.put("")
async def upload(page: Here, request: Request, role: str, name: str, study: str = "") -> Response:
    """Take a noisy release or a public record."""
    if role not in _NEEDED:
        raise HTTPException(404, "there is no such file")
    case = _study(page, study) if study else page.studies.new(page.workspace.new())
    saved = await keep_file(request, page, case, role, name)
    return JSONResponse({"study": case.id, "name": saved})


@router.post("/refine")
async def refine(page: Here, request: Request) -> Response:
    """Refine, and compare with what was refined before."""
    form = await form_of(request)
    case = _study(page, form["study"]) if form.get("study") else None
    try:
        files = {} if case is None else case.files
        lacking = [words for role, words in _NEEDED.items() if role not in files]
        need(not lacking, f"give {' and '.join(lacking)}")
        said = _said(form)
    except InputError as error:
        return page.show("researcher.html", 422, case=case, problem=problem_words(error))
    assert case is not None  # noqa: S101 - it has files
    case.said = said
    called = f"{len(case.results) + 1}: {said.get('estimator') or 'default'}, {said.get('region') or 'tight'}"
    others = {
        one["called"]: str(page.made(made) / "bundle")
        for made, one in list(case.results.items())[-_COMPARED:]
        if one["quantity"] == (said.get("quantity") or one["quantity"])
    }

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.results[job.id] = job.result | {"called": called}

    options = said | {"noisy": case.files["noisy"], "public": case.files["public_file"], "called": called}
    task = Task(kind="refine", folder=str(case.folder), said=options, others=others)
    here = f"/researcher/{case.id}"
    return await page.go(page.make(task, here=here, back=here, title="Refining", then=then))


def _said(form: dict[str, str]) -> dict[str, Any]:
    """What a form says, by the names of options."""
    said: dict[str, Any] = dict(texts(form, _TEXTS)) | said_of_loads(form)
    if said.get("law") == "known":
        said.pop("words", None)
        said["noise_scale"] = number(form, "noise_scale")
        need(said["noise_scale"] is not None, "give the scale of the noise, or say that it is not known")
    return said


@router.get("/{name}")
async def again(page: Here, name: str) -> Response:
    """The same files in another way."""
    return page.show("researcher.html", case=_study(page, name))


@router.get("/{name}/result/{made}")
async def result(page: Here, name: str, made: str) -> Response:
    """What was refined."""
    return result_page(page, _study(page, name), made, study=True)
