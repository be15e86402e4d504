"""Routes of a researcher: a noisy release is refined with public scores, and results are compared."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from peerveil.errors import InputError
from peerveil.web.cases import loads_of, number, texts
from peerveil.web.jobs import Job, State
from peerveil.web.labels import problem_words
from peerveil.web.page import Here, form_of, keep_file, lookup, need, result_page
from peerveil.web.work import Task

router = APIRouter(prefix="/researcher")

_NEEDED = {"noisy": "the noisy release (a file, or pasted numbers)", "public_file": "the file of public scores"}
_TEXTS = ("quantity", "words", "mechanism", "estimator", "region", "lone", "paper", "ratings", "law")

#: How many earlier results a chart compares with the new one.
_COMPARED = 5


@router.get("")
async def start(page: Here) -> Response:
    """Return the form for a new study."""
    return page.show("researcher.html", case=None)


@router.put("")
async def upload(page: Here, request: Request, role: str, name: str, study: str = "") -> Response:
    """Take a noisy release or a file of public scores."""
    if role not in _NEEDED:
        raise HTTPException(404, "there is no such file")
    case = lookup(page.studies, study) if study else page.new_case(page.studies)
    saved = await keep_file(request, page, case, role, name)
    return JSONResponse({"study": case.id, "name": saved})


@router.post("/refine")
async def refine(page: Here, request: Request) -> Response:
    """Refine the release, and compare the result with earlier ones."""
    form = await form_of(request)
    case = lookup(page.studies, form["study"]) if form.get("study") else None
    try:
        files = {} if case is None else case.files
        missing = [description for role, description in _NEEDED.items() if role not in files]
        need(not missing, f"give {' and '.join(missing)}")
        answers: dict[str, Any] = dict(texts(form, _TEXTS)) | loads_of(form)
        if answers.get("law") == "known":
            answers.pop("words", None)
            answers["noise_scale"] = number(form, "noise_scale")
            need(answers["noise_scale"] is not None, "give the scale of the noise, or say that it is not known")
    except InputError as error:
        return page.show("researcher.html", 422, case=case, problem=problem_words(error))
    assert case is not None  # noqa: S101 - it has files
    case.answers = answers
    title = f"{len(case.results) + 1}: {answers.get('estimator') or 'default'}, {answers.get('region') or 'tight'}"
    others = {
        earlier["called"]: str(page.result_folder(name) / "bundle")
        for name, earlier in list(case.results.items())[-_COMPARED:]
        if earlier["quantity"] == (answers.get("quantity") or earlier["quantity"])
    }

    def then(job: Job, state: State) -> None:
        if state == "done":
            case.results[job.id] = job.result | {"called": title}

    options = answers | {"noisy": case.files["noisy"], "public": case.files["public_file"], "called": title}
    task = Task(kind="refine", folder=str(case.folder), options=options, others=others)
    here = f"/researcher/{case.id}"
    return await page.follow(page.make(task, here=here, back=here, title="Refining", then=then))


@router.get("/{name}")
async def again(page: Here, name: str) -> Response:
    """Return the form of an earlier study."""
    return page.show("researcher.html", case=lookup(page.studies, name))


@router.get("/{name}/result/{made}")
async def result(page: Here, name: str, made: str) -> Response:
    """Return the page of a refined release."""
    return result_page(page, lookup(page.studies, name), made, study=True)
