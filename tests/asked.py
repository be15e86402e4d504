"""The page without a server: requests to its application, and work that is done at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from peerveil.web.guard import Secrets
from peerveil.web.jobs import Job, Jobs
from peerveil.web.work import Task

KEYS = Secrets(32 * "t", 32 * "s", 16 * "p")
PORT = 8737
HOST = f"127.0.0.1:{PORT}"


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
            "plan": {"chosen": {"mechanism": "histogram"}, "for": [], "sentences": [], "svg": ""},
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
