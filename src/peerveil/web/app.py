"""The page as an application; the guard stands before it."""

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
from peerveil.web import chair, common, researcher
from peerveil.web.guard import TooLarge
from peerveil.web.labels import label
from peerveil.web.page import GONE, Page, page_of
from peerveil.web.work import Task


def create_app(page: Page) -> FastAPI:
    """The page, with everything that it holds; both end together."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        folder = page.workspace.folder
        warming = Task(kind="warm", folder=str(folder), output=str(folder / "vega.js"))
        page.jobs.start(warming, title="Preparing pictures", ahead="/", back="/")
        yield
        await asyncio.to_thread(page.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    app.state.page = page
    for part in (common, chair, researcher):
        app.include_router(part.router, prefix=page.at)
    app.add_exception_handler(TooLarge, _too_large)
    app.add_exception_handler(PeerveilError, _explained)
    app.add_exception_handler(RequestValidationError, _gone)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _explained)
    return app


async def _explained(request: Request, error: Exception) -> Response:
    words, code = explain(error, label)
    refused = isinstance(error, PeerveilError)
    return page_of(request).show("problem.html", (422 if code == 2 else 409) if refused else 500, problem=words)


async def _too_large(request: Request, _error: Exception) -> Response:
    return page_of(request).show("problem.html", 413, problem="more was sent than can be taken")


async def _gone(request: Request, _error: Exception) -> Response:
    return page_of(request).show("problem.html", 404, problem=GONE)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is called for no other
    words = GONE if error.detail == "Not Found" else str(error.detail)
    return page_of(request).show("problem.html", error.status_code, problem=words)
