"""The page without a server: requests to its application, and work that is done at once."""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from peerveil.web.app import create_app
from peerveil.web.guard import Secrets
from peerveil.web.jobs import Job, Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task

KEYS = Secrets(32 * "t", 32 * "s", 16 * "p")
PORT = 8737
HOST = f"127.0.0.1:{PORT}"

REVIEWS = "paper,reviewer,score\n" + "".join(
    f"p{i},r{(i * 3 + j) % 8},{(i + 2 * j) % 9 + 1}\n" for i in range(12) for j in range(2)
)


@dataclass
class Answer:
    """The response of an application; ``reached`` if it is the one behind the guard."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reached: bool = False


async def answered(
    app: Any, method: str, address: str, body: bytes = b"", *, kind: str = "http", **headers: str | None
) -> Answer:
    """What an application answers to a request."""
    answer, sent = Answer(), False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.sleep(3600)  # it stays until it has its answer
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        answer.body += message.get("body", b"")

    path, _, query = address.partition("?")
    given = {"host": HOST} | headers
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items() if v is not None],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    await app(scope, receive, send)
    return answer


class AtOnce(Jobs):
    """Work that is done as soon as it is asked for, with results that are given here; tasks are kept."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.waiting: list[Any] = []
        self.hold = False

    def start(self, task: Task, *, title: str, ahead: str, back: str, name: str | None = None, then: Any = None) -> Job:
        self.tasks.append(task)
        job = Job(name or f"job{len(self.tasks)}", title, ahead, back)
        self[job.id] = job
        results: dict[str, dict[str, Any]] = {
            "inspect": {"facts": {"content": "private reviews", "reviewers": 8}},
            "promise": {"summary": f"epsilon = {task.options.get('epsilon')}", "promise": "words"},
            "plan": {"answer": ["The plan."], "others": [], "assumption": "", "svg": ""},
        }

        def finish() -> None:
            job.result = results.get(task.kind, {})
            if then is not None:
                then(job, "done")
            job.state = "done"
            job.finished.set()

        if self.hold:
            self.waiting.append(finish)
        else:
            finish()
        return job

    def close(self) -> None:
        pass

    def released(self) -> list[dict[str, Any]]:
        """The options of each release."""
        return [task.options for task in self.tasks if task.kind == "release"]


class Chair:
    """A chair at the page, past the guard."""

    def __init__(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: str | None = None, reviews: str = REVIEWS
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.setattr("peerveil.web.page._PATIENCE", 0)
        self.jobs = AtOnce()
        self.page = Page(ledger=ledger, jobs=self.jobs, at=KEYS.at)
        self.app = create_app(self.page)
        assert self.put("/chair?name=reviews.csv", reviews).status == 200
        (self.case,) = self.page.chairs.values()
        self.here = f"/chair/{self.case.id}"
        self.post("/file", lowest="1", highest="10")
        self.post("/public", public="all")

    def ask(self, method: str, address: str, body: str = "") -> Answer:
        return asyncio.run(answered(self.app, method, KEYS.at + address, body.encode()))

    def put(self, address: str, body: str) -> Answer:
        return self.ask("PUT", address, body)

    def post(self, step: str, **form: str) -> Answer:
        return self.ask("POST", self.here + step, urlencode(form))

    def choose(self, epsilon: str, step: str = "/choices") -> int:
        return self.post(step, quantity="ratings", unit="reviewer", mechanism="laplace", epsilon=epsilon).status

    def read(self) -> str:
        """The turn of the promise that the page now shows."""
        shown = self.ask("GET", f"{self.here}/promise")
        turn = re.search(r'name="promise" value="(\d+)"', shown.body.decode())
        return turn[1] if shown.status == 200 and turn else "none"

    def release(self, promise: str) -> int:
        return self.post("/release", read="yes", promise=promise).status
