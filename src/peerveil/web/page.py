"""What all routes of the page share: its state, its templates, and waiting for work."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import jinja2
from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from peerveil.app.options import format_labels
from peerveil.errors import InputError, Part
from peerveil.mechanisms import OWN
from peerveil.quantities import statistics
from peerveil.quantities.base import registered
from peerveil.reporting.charts.look import dark_css
from peerveil.reporting.typography import unbroken_page
from peerveil.web.cases import Case
from peerveil.web.jobs import Job, Jobs, State
from peerveil.web.labels import described
from peerveil.web.work import Task
from peerveil.web.workspace import Workspace, file_name, safe_name

HERE = Path(__file__).parent

#: The folder of the example: the release of a synthetic conference.
EXAMPLE = HERE / "example"

#: How long to wait for a job before its progress is shown, in seconds.
_PATIENCE = 1.5

#: Parsing very many fields would block other requests.
_MOST_FIELDS = 200

#: The steps of a chair, by address.
STEPS = (("file", "The file"), ("public", "What is public"), ("choices", "What to release"), ("promise", "The promise"))

GONE = "this page does not exist; peerveil may have been restarted"

T = TypeVar("T")


@dataclass
class Page:
    """The state of the page while it runs.

    Attributes:
        ledger: the path or URL of the ledger, if there is one.
        remarks: remarks on the ledger from when the page was started.
        at: the prefix of all addresses.
        workspace: the private folder.
        jobs: all jobs.
        chairs: the cases of chairs by id.
        studies: the cases of researchers by id.
        example: the job that writes the report of the example.
        quit: ends the page, if a button for it is shown.
    """

    ledger: str | None = None
    remarks: tuple[str, ...] = ()
    at: str = ""
    workspace: Workspace = field(default_factory=Workspace)
    jobs: Jobs = field(default_factory=Jobs)
    chairs: dict[str, Case] = field(default_factory=dict)
    studies: dict[str, Case] = field(default_factory=dict)
    example: Job | None = None
    quit: Callable[[], None] | None = None

    def new_case(self, cases: dict[str, Case]) -> Case:
        """Return a new case with its own folder, added to ``cases``."""
        case = Case(self.workspace.new())
        cases[case.id] = case
        return case

    def releasing(self, case: Case) -> bool:
        """Return whether a release of a case is being made."""
        return case.releasing in self.jobs and self.jobs[case.releasing].state == "running"

    def result_folder(self, name: str) -> Path:
        """Return the folder to which a job writes its result."""
        return self.workspace.folder / f"made-{name}"

    def own_file(self, case: Case, name: str) -> Path:
        """Return the place of a file that the page writes for a case, where no upload can have the same name."""
        return self.workspace.folder / f"{case.id}-{name}"

    def make(self, task: Task, *, here: str, back: str, title: str, then: Callable[[Job, State], None]) -> Job:
        """Start a job that writes a release; its result is shown below the address ``here``."""
        name = secrets.token_hex(8)
        task = replace(task, output=str(self.result_folder(name)))
        return self.jobs.start(task, title=title, ahead=f"{here}/result/{name}", back=back, name=name, then=then)

    @cached_property
    def _templates(self) -> jinja2.Environment:
        """The templates; values are escaped, never markup."""
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True)
        environment.globals |= {"steps": STEPS, "at": self.at, "quantities": registered, "formats": format_labels}
        environment.globals |= {"statistics": statistic_choices}
        environment.globals |= {"described": described, "file_name": file_name, "can_quit": self.quit is not None}
        environment.globals |= {"noise_choices": noise_choices, "region_choices": region_choices}
        environment.filters["plain"] = lambda value: str(value).removesuffix(".0")
        environment.filters["number"] = lambda value: f"{value:,}" if isinstance(value, int) else value
        return environment

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return the response of a template."""
        text = self._templates.get_template(template).render(**({"problem": None, "typed": {}} | values))
        return HTMLResponse(unbroken_page(text), status_code=status)

    def to(self, address: str) -> Response:
        """Return a redirection to another address of the page."""
        return RedirectResponse(self.at + address, status_code=303)

    def failed(self, name: str) -> dict[str, Any]:
        """Return what a form shows of a job that failed: the problem, and the status of the response."""
        job = self.jobs.get(name)
        problem = None if job is None else job.problem
        return {"problem": problem, "failed": name, "status": 200 if problem is None else 422}

    async def follow(self, job: Job) -> Response:
        """Return a redirection to the result of a job if it is quick, otherwise to its progress."""
        await asyncio.to_thread(job.finished.wait, _PATIENCE)
        return self.to(job.ahead if job.state == "done" else f"/work/{job.id}")

    def close(self) -> None:
        """Cancel all jobs and remove the private folder."""
        self.jobs.close()
        self.workspace.remove()


def region_choices() -> list[tuple[str, str]]:
    """Return value and label of each region; the default one is the empty answer, and the hull takes too long here."""
    from peerveil.regions import REGIONS  # noqa: PLC0415 - loads NumPy

    others = [name for name in reversed(REGIONS) if name not in ("tight", "hull")]
    return [("", "tight"), *((name, "chain: the paper's" if name == "chain" else name) for name in others)]


def statistic_choices() -> list[tuple[str, str]]:
    """Return the names and labels of the reviewer statistics; the mean is the empty answer."""
    listed = [(statistic.name, f"{statistic.name}: {statistic.meaning}") for statistic in statistics.registered()]
    others = [(name, label) for name, label in listed if name != "mean"]
    return [("", "mean, as above"), *others, ("agreement", "agreement: mean distance from co-reviewers")]


def noise_choices(*, to_refine: bool = False) -> list[tuple[str, str]]:
    """Return the names and labels of the mechanisms for a release, or for a vector to refine."""
    kinds = [kind for kind in OWN.values() if kind.float_safe]
    if not to_refine:
        return [("", "chosen from public data"), *((kind.name, kind.label) for kind in kinds)]
    return [(kind.name, kind.title) for kind in kinds if not kind.on_counts and "scale" in kind.parameters()]


def page_of(request: Request) -> Page:
    """Return the page of a request."""
    page: Page = request.app.state.page
    return page


#: The page, as a parameter of a route.
Here = Annotated[Page, Depends(page_of)]


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form; several choices in a menu of columns are separated by commas."""
    body = (await request.body()).decode("utf-8", errors="replace")
    try:
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputError("the form has too many fields") from None
    form = dict(fields)
    if "criteria" in form:
        form["criteria"] = ",".join(value for name, value in fields if name == "criteria" and value.strip())
    return form


def lookup(entries: Mapping[str, T], name: str) -> T:
    """Return an entry by name, or respond that the page does not exist."""
    if name not in entries:
        raise HTTPException(404, GONE)
    return entries[name]


async def keep_file(request: Request, page: Page, case: Case, role: str, name: str) -> str:
    """Save an upload as a file of a case; return its name. Files do not change while a release of them is made."""

    def check() -> None:
        need(not page.releasing(case), "a release of these files is being made; wait until it is done")

    check()
    # Errors name the file as its owner does; it gets its own folder only if another file has the same name.
    taken = {other for part, other in case.files.items() if part != role}
    folder = case.folder / role if safe_name(name) in taken else case.folder
    folder.mkdir(exist_ok=True)
    saved = await page.workspace.save(folder, name, request.stream(), check)
    case.files[role] = str(saved.relative_to(case.folder))
    return saved.name


def need(value: object, *message: Part) -> None:
    """Raise an error if an answer is missing."""
    if not value:
        raise InputError(*message)


def without_style(svg: str) -> str:
    """Return a chart without its inline style, which the content security policy forbids."""
    return svg.replace(f"<style>{dark_css()}</style>", "", 1)


def result_page(
    page: Page, case: Case, name: str, result: dict[str, Any], *, study: bool = False, failed: str = ""
) -> Response:
    """Return the page of a result: charts, facts and downloads.

    ``name`` is that of its folder, ``failed`` that of a job which was to go on from this result.
    """
    folder = page.result_folder(name)
    files = {path.stem: path for path in (folder / "bundle" / "figures").glob("*.svg")}
    if (folder / "comparison.svg").is_file():
        files["comparison"] = folder / "comparison.svg"
    pictures = {stem: without_style(path.read_text(encoding="utf-8")) for stem, path in files.items()}
    shown: dict[str, Any] = {"case": case, "made": name, "result": result, "pictures": pictures, "study": study}
    return page.show("result.html", **shown, **page.failed(failed))
