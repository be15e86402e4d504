"""What all addresses of the page share: what it holds, how it shows, how it waits for work."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

import jinja2
from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from peerveil.app.formats import format_labels
from peerveil.errors import InputError
from peerveil.mechanisms import OWN
from peerveil.quantities.base import registered
from peerveil.reporting.charts.look import dark_css
from peerveil.web.cases import Case, Cases
from peerveil.web.jobs import Job, Jobs, State
from peerveil.web.work import Task
from peerveil.web.workspace import Workspace, safe_name

HERE = Path(__file__).parent

#: Quick work is waited for so long, in seconds, before its progress is shown.
_PATIENCE = 1.5

#: A form of ours has far fewer fields; very many would keep others waiting.
_FIELDS = 200

#: The steps of a chair, by their addresses.
STEPS = (("file", "The file"), ("public", "What is public"), ("choices", "What to release"), ("promise", "The promise"))

GONE = "there is no such page; perhaps peerveil was started anew"


@dataclass
class Page:
    """Everything that the page holds while it runs.

    Attributes:
        ledger: the place of the ledger, if one is kept.
        at: what all of the page's addresses begin with.
        workspace: its private folder.
        jobs: work that is under way or done.
        chairs: what chairs are about to release.
        studies: what researchers refine.
    """

    ledger: str | None = None
    at: str = ""
    workspace: Workspace = field(default_factory=Workspace)
    jobs: Jobs = field(default_factory=Jobs)
    chairs: Cases = field(default_factory=Cases)
    studies: Cases = field(default_factory=Cases)

    def made(self, name: str) -> Path:
        """Where some work writes what it makes."""
        return self.workspace.folder / f"made-{name}"

    def make(self, task: Task, *, here: str, back: str, title: str, then: Callable[[Job, State], None]) -> Job:
        """Start work that makes a bundle; its result is shown below an address."""
        name = secrets.token_hex(8)
        task = replace(task, output=str(self.made(name)))
        return self.jobs.start(task, title=title, ahead=f"{here}/result/{name}", back=back, name=name, then=then)

    @cached_property
    def _templates(self) -> jinja2.Environment:
        """The page's templates; whatever they are given is text, never markup."""
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True)
        named = {"quantities": registered, "noise_choices": noise_choices, "formats": format_labels}
        environment.globals |= {"steps": STEPS, "at": self.at, **named}
        environment.filters["plain"] = lambda value: str(value).removesuffix(".0")
        return environment

    def show(self, template: str, status: int = 200, **given: Any) -> HTMLResponse:
        """A page."""
        text = self._templates.get_template(template).render(**({"problem": ""} | given))
        return HTMLResponse(text, status_code=status)

    def to(self, address: str) -> Response:
        """On to another page."""
        return RedirectResponse(self.at + address, status_code=303)

    async def go(self, job: Job) -> Response:
        """On to what some work gave, if it is quick; else to its progress."""
        await asyncio.to_thread(job.finished.wait, _PATIENCE)
        return self.to(job.ahead if job.state == "done" else f"/work/{job.id}")

    def close(self) -> None:
        """End all work and remove the private folder."""
        self.jobs.close()
        self.workspace.remove()


def noise_choices(*, to_refine: bool = False) -> list[tuple[str, str]]:
    """The mechanisms that the page offers, with their labels: for a release, or those of a vector to refine."""
    kinds = [kind for kind in OWN.values() if kind.float_safe]
    if not to_refine:
        return [(kind.name, kind.label) for kind in kinds]
    return [(kind.name, kind.title) for kind in kinds if not kind.on_counts and "scale" in kind.parameters()]


def page_of(request: Request) -> Page:
    """The page that is asked."""
    page: Page = request.app.state.page
    return page


#: How a function behind an address gets at the page.
Here = Annotated[Page, Depends(page_of)]


async def form_of(request: Request) -> dict[str, str]:
    """What a form says."""
    body = (await request.body()).decode("utf-8", errors="replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise InputError("the form has too many fields") from None


def found(things: Any, name: str) -> Any:
    """A thing by its name, if it is there."""
    try:
        return things[name]
    except KeyError:
        raise HTTPException(404, GONE) from None


async def keep_file(request: Request, page: Page, case: Case, role: str, name: str) -> str:
    """Save what is sent as a file of a case; returns its name."""
    # Beside the others, so that errors name it as its owner does; apart only where two have the same name.
    taken = {other for part, other in case.files.items() if part != role}
    held = case.folder / role if safe_name(name) in taken else case.folder
    held.mkdir(exist_ok=True)
    saved = await page.workspace.save(held, name, request.stream())
    case.files[role] = str(saved.relative_to(case.folder))
    return saved.name


def need(value: object, words: str) -> None:
    """Refuse an answer that is missing."""
    if not value:
        raise InputError(words)


def without_style(svg: str) -> str:
    """A picture to stand in the page, whose own style turns it dark; one within it would not be allowed."""
    return svg.replace(f"<style>{dark_css()}</style>", "", 1)


def result_page(page: Page, case: Case, made: str, *, study: bool) -> Response:
    """What was made: pictures, facts, and where to get it."""
    result: Mapping[str, Any] = found(case.results, made)
    folder = page.made(made)
    files = {path.stem: path for path in (folder / "bundle" / "figures").glob("*.svg")}
    if (folder / "comparison.svg").is_file():
        files["comparison"] = folder / "comparison.svg"
    pictures = {name: without_style(path.read_text(encoding="utf-8")) for name, path in files.items()}
    return page.show("result.html", case=case, made=made, result=result, pictures=pictures, study=study)
