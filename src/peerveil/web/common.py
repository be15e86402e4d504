"""Addresses that everyone uses: the beginning, the ledger, progress, and what was made."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, JSONResponse, Response

from peerveil.reporting.charts.look import DARK, dark_css
from peerveil.web.guard import REPORT_POLICY
from peerveil.web.jobs import Job
from peerveil.web.page import HERE, Here, found
from peerveil.web.spending import ledger_view

router = APIRouter()

_NO_FILE = "there is no such file"


@router.get("/")
async def home(page: Here) -> Response:
    """The beginning."""
    return page.show("home.html")


@router.get("/ledger")
async def ledger(page: Here) -> Response:
    """Every budget, and every charge."""
    if page.ledger is None:
        return page.show("ledger.html", accounts=None, history=None)
    accounts, history = await asyncio.to_thread(ledger_view, page.ledger)
    return page.show("ledger.html", accounts=accounts, history=history)


@router.get("/static/vega.js")
async def vega(page: Here) -> Response:
    """The program that draws pictures which answer to the mouse; it is made when the page starts."""
    file = page.workspace.folder / "vega.js"
    for _ in range(300):
        if file.is_file():
            return FileResponse(file, media_type="text/javascript")
        await asyncio.sleep(0.1)
    raise HTTPException(404, _NO_FILE)


@router.get("/static/dark.json")
async def dark() -> Response:
    """The colours of pictures on dark backgrounds."""
    return JSONResponse(DARK)


@router.get("/static/pictures.css")
async def pictures_style() -> Response:
    """The same for pictures that stand in the page."""
    return Response(dark_css(), media_type="text/css")


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A file of the page itself."""
    known = {path.name: path for path in (HERE / "static").iterdir()}
    if name not in known:
        raise HTTPException(404, _NO_FILE)
    return FileResponse(known[name])


@router.get("/work/{name}")
async def work(page: Here, name: str) -> Response:
    """How far some work has come."""
    job: Job = found(page.jobs, name)
    if job.state == "done":
        return page.to(job.ahead)
    return page.show("work.html", 200 if job.state == "running" else 422, job=job)


@router.get("/work/{name}/state")
async def state(page: Here, name: str) -> Response:
    """The same for a program."""
    job: Job = found(page.jobs, name)
    return JSONResponse({"state": job.state, "step": job.step, "seconds": job.seconds})


@router.post("/work/{name}/cancel")
async def cancel(page: Here, name: str) -> Response:
    """End some work."""
    job: Job = found(page.jobs, name)
    page.jobs.cancel(name)
    await asyncio.to_thread(job.finished.wait, 10)
    return page.to(f"/work/{name}")


@router.get("/made/{name}/{file}")
async def made(page: Here, name: str, file: str) -> Response:
    """What work has made: the bundle, its report, and the pictures for the page."""
    found(page.jobs, name)
    folder = page.made(name)
    if file == "peerveil-release.zip" and (folder / "bundle.zip").is_file():
        return FileResponse(folder / "bundle.zip", media_type="application/zip", filename=file)
    if file == "report.html" and (folder / "bundle" / file).is_file():
        return FileResponse(folder / "bundle" / file, headers={"content-security-policy": REPORT_POLICY})
    if file == "pictures.json" and (folder / file).is_file():
        return FileResponse(folder / file, media_type="application/json")
    raise HTTPException(404, _NO_FILE)
