"""Routes of sampled tables: drawn from a release of a chair, or from one that a researcher refined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from peerveil.web.cases import Case
from peerveil.web.jobs import Job, State
from peerveil.web.page import Here, Page, lookup, without_style
from peerveil.web.work import Task

router = APIRouter()


@router.post("/chair/{name}/tables/{made}")
async def of_chair(page: Here, name: str, made: str) -> Response:
    """Draw tables from a release of a chair, with the public part of the reviews it was made from."""
    case = lookup(page.chairs, name)
    return await _draw(page, case, made, "chair", lookup(case.results, made)["made_with"])


@router.post("/researcher/{name}/tables/{made}")
async def of_researcher(page: Here, name: str, made: str) -> Response:
    """Draw tables from a refined release, with the public scores it was refined with."""
    case = lookup(page.studies, name)
    return await _draw(page, case, made, "researcher", lookup(case.results, made)["made_with"])


async def _draw(page: Page, case: Case, made: str, who: str, options: dict[str, Any]) -> Response:
    release = str(page.result_folder(made) / "bundle")
    task = Task(kind="tables", folder=str(case.folder), options=options | {"release": release})
    here, back = f"/{who}/{case.id}/tables", f"/{who}/{case.id}/result/{made}"

    def then(job: Job, state: State) -> None:
        if state == "done":
            of = case.results[made].get("venue") or case.named
            case.drawn[job.id] = job.result | {"back": back, "of": of}

    return await page.follow(page.make(task, here=here, back=back, title="Drawing tables", then=then))


@router.get("/chair/{name}/tables/result/{made}")
async def for_chair(page: Here, name: str, made: str) -> Response:
    """Return the page of a chair's tables."""
    return _shown(page, lookup(page.chairs, name), made)


@router.get("/researcher/{name}/tables/result/{made}")
async def for_researcher(page: Here, name: str, made: str) -> Response:
    """Return the page of a researcher's tables."""
    return _shown(page, lookup(page.studies, name), made)


def _shown(page: Page, case: Case, made: str) -> Response:
    result = lookup(case.drawn, made)
    picture = Path(page.result_folder(made), "bundle", "diagnostics.svg").read_text(encoding="utf-8")
    return page.show("tables.html", case=case, made=made, result=result, picture=without_style(picture))
