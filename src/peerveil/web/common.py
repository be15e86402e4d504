"""Routes for everyone: start page, example, ledger, progress, and results."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from peerveil.app.ledger import ledger_name, ledger_view, pending_view, series_view
from peerveil.reporting.charts.look import DARK, dark_css
from peerveil.web.budgets import try_to_open
from peerveil.web.cases import STEP_OF
from peerveil.web.guard import REPORT_POLICY
from peerveil.web.jobs import Job
from peerveil.web.page import EXAMPLE, GONE, HERE, Here, Page, form_of, lookup
from peerveil.web.work import PACKED, Task

router = APIRouter()

#: How long the last page may take to load, in seconds.
_FAREWELL = 1.0

_NO_FILE = "there is no such file"
_RESULTS = {
    "report.html": "bundle/report.html",
    "pictures.json": "pictures.json",
}


@router.get("/")
async def home(page: Here) -> Response:
    """Return the start page."""
    return page.show("home.html", findings=_example_findings())


@cache
def _example_findings() -> list[str]:
    """Return what the example finds, as its report states it."""
    document = json.loads((EXAMPLE / "release.json").read_text(encoding="utf-8"))
    return [finding["sentence"] for finding in document["findings"]]


@router.get("/example")
async def example(page: Here) -> Response:
    """Return the report of the example, which is written when it is first asked for."""
    if page.example is None or page.example.state in ("failed", "cancelled"):
        task = Task(kind="example", folder=str(EXAMPLE), output=str(page.workspace.folder / "example"))
        page.example = page.jobs.start(task, title="Writing the example", ahead="/example/report.html", back="/")
    return await page.follow(page.example)


@router.get("/example/report.html")
async def example_report(page: Here) -> Response:
    """Return the written report of the example."""
    file = page.workspace.folder / "example" / "report.html"
    if not file.is_file():
        raise HTTPException(404, _NO_FILE)
    return FileResponse(file, headers={"content-security-policy": REPORT_POLICY})


@router.post("/quit")
async def end(page: Here) -> Response:
    """End the page, unless a release is being made."""
    if page.quit is None:
        raise HTTPException(404, GONE)
    if any(page.releasing(case) for case in page.chairs.values()):
        raise HTTPException(409, "a release is being made; wait until it is done, or cancel it, and quit then")
    asyncio.get_running_loop().call_later(_FAREWELL, page.quit)
    return page.show("ended.html")


@router.get("/glossary")
async def glossary(page: Here) -> Response:
    """Return the words of the page, explained."""
    return page.show("glossary.html")


@router.get("/ledger")
async def ledger(page: Here) -> Response:
    """Return all budgets and charges."""
    return await _show_ledger(page)


async def _show_ledger(page: Page, **values: Any) -> Response:
    if page.ledger is None:
        return page.show("ledger.html", accounts=None)
    accounts, history = await asyncio.to_thread(ledger_view, page.ledger)
    pending = await asyncio.to_thread(pending_view, page.ledger)
    series = await asyncio.to_thread(series_view, page.ledger)
    shown: dict[str, Any] = {"place": ledger_name(page.ledger), "remarks": page.remarks, "to_finish": _to_finish(page)}
    shown |= {"accounts": accounts, "history": history, "pending": pending, "series": series}
    shown["begun"] = [case for case in page.chairs.values() if case.promised]
    return page.show("ledger.html", **shown, **values)


def _to_finish(page: Page) -> dict[str, str]:
    """Return the address of the form that finishes an interrupted release, by its number."""
    return {
        number: f"/chair/{case.id}/{'promise' if case.promised else 'choices'}"
        for case in page.chairs.values()
        for number in case.unfinished
    }


@router.post("/ledger")
async def open_account(page: Here, request: Request) -> Response:
    """Open a budget, and create the ledger if there is none."""
    form = await form_of(request)
    if problem := await try_to_open(page, form, unit=form.get("unit", "")):
        return await _show_ledger(page, status=422, problem=problem, typed=form)
    return page.to("/ledger")


@router.get("/static/vega.js")
async def vega(page: Here) -> Response:
    """Return the script that draws interactive charts, which is written when the page starts."""
    file = page.workspace.folder / "vega.js"
    for _ in range(300):
        if file.is_file():
            return FileResponse(file, media_type="text/javascript")
        await asyncio.sleep(0.1)
    raise HTTPException(404, _NO_FILE)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a static file of the page, or the chart colours of the dark mode for its script or charts."""
    if name == "dark.json":
        return JSONResponse(DARK)
    if name == "pictures.css":
        return Response(dark_css(), media_type="text/css")
    files = {path.name: path for path in (HERE / "static").iterdir()}
    if name not in files:
        raise HTTPException(404, _NO_FILE)
    return FileResponse(files[name])


@router.get("/work/{name}")
async def work(page: Here, name: str) -> Response:
    """Return the progress of a job."""
    job = lookup(page.jobs, name)
    if job.state == "done":
        return page.to(job.ahead)
    if job.state == "failed" and job.back != "/":
        return page.to(f"{_form_of(job)}?failed={name}")
    return page.show("work.html", 200 if job.state == "running" else 422, job=job)


def _form_of(job: Job) -> str:
    """Return the address of the form that has the field because of which a job failed, or of the result it began at."""
    if "/result/" in job.back:
        return job.back
    steps, _, last = job.back.rpartition("/")
    return f"{steps}/{STEP_OF.get(job.about, last)}" if steps.startswith("/chair/") else job.back


@router.get("/work/{name}/state")
async def state(page: Here, name: str) -> Response:
    """Return the progress of a job as JSON."""
    job = lookup(page.jobs, name)
    return JSONResponse({"state": job.state, "step": job.step, "seconds": job.seconds})


@router.post("/work/{name}/cancel")
async def cancel(page: Here, name: str) -> Response:
    """Cancel a job."""
    job = lookup(page.jobs, name)
    page.jobs.cancel(name)
    await asyncio.to_thread(job.finished.wait, 10)
    return page.to(f"/work/{name}")


@router.get("/made/{name}/{file}")
async def made(page: Here, name: str, file: str) -> Response:
    """Return a file of a result: the zip file under any name, the report, or the charts."""
    lookup(page.jobs, name)
    return _result_file(page.result_folder(name), file)


@router.get("/made/{name}/{track}/{file}")
async def made_of_track(page: Here, name: str, track: str, file: str) -> Response:
    """Return a file of the release of a track."""
    lookup(page.jobs, name)
    folders = {path.name: path for path in page.result_folder(name).iterdir() if path.is_dir()}
    return _result_file(lookup(folders, track), file)


def _result_file(folder: Path, file: str) -> Response:
    path = folder / (PACKED if file.endswith(".zip") else _RESULTS.get(file, ""))
    if not path.is_file():
        raise HTTPException(404, _NO_FILE)
    headers = {"content-security-policy": REPORT_POLICY} if path.suffix == ".html" else None
    return FileResponse(path, headers=headers, filename=file if path.suffix == ".zip" else None)
