"""The page as an application, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from peerveil.app.messages import explain
from peerveil.errors import PeerveilError
from peerveil.web import chair, common, researcher, tables
from peerveil.web.guard import TooLarge
from peerveil.web.labels import Problem, label
from peerveil.web.page import GONE, Page, page_of
from peerveil.web.work import Task


def create_app(page: Page) -> FastAPI:
    """Return the application of a page, which is closed when the application ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        folder = page.workspace.folder
        task = Task(kind="warm", folder=str(folder), output=str(folder / "vega.js"))
        page.jobs.start(task, title="Preparing charts", ahead="/", back="/")
        yield
        await asyncio.to_thread(page.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.page = page
    for part in (common, tables, chair, researcher):
        app.include_router(part.router, prefix=page.at)
    for kind in (TooLarge, RequestValidationError, HTTPException, PeerveilError, Exception):
        app.add_exception_handler(kind, _problem)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    """Return the page that explains an error."""
    match error:
        case TooLarge():
            status, message = 413, "the request is too large"
        case RequestValidationError():
            status, message = 404, GONE
        case HTTPException():
            status, message = error.status_code, GONE if error.detail == "Not Found" else str(error.detail)
        case _:
            message, code = explain(error, label)
            status = (422 if code == 2 else 409) if isinstance(error, PeerveilError) else 500
    return page_of(request).show("problem.html", status, problem=Problem(message))
