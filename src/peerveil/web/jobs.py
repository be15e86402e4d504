"""Work in separate processes, so that the page stays responsive, shows progress, and work can be cancelled."""

from __future__ import annotations

import multiprocessing
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from peerveil.errors import PeerveilError
from peerveil.privacy.stated_facts import Statement
from peerveil.support.processes import starting_processes
from peerveil.web.labels import Problem
from peerveil.web.work import Task, main

#: How many jobs may run at once.
_MOST = 3

State = Literal["running", "done", "failed", "cancelled"]


@dataclass(eq=False)
class Job:
    """A job, as the page shows it.

    Attributes:
        id: the id of the job in addresses.
        title: its title.
        ahead: the address to go to if it succeeds.
        back: the address to go to if it does not.
        state: its state.
        step: the current step.
        message: why it failed, or what was charged before it was cancelled.
        about: the field concerned, if it failed because of one.
        declares: what may be declared for a data set, if it failed because that is not declared.
        turn: the turn of the case whose answers it was started with.
        result: its result.
    """

    id: str
    title: str
    ahead: str
    back: str
    state: State = "running"
    step: str = "Starting"
    message: str = ""
    about: str = ""
    declares: tuple[str, Statement] | None = None
    turn: int = 0
    result: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    worker: Worker | None = None

    @property
    def problem(self) -> Problem | None:
        """Why it failed; ``None`` if it did not."""
        return Problem(self.message, self.about, self.declares) if self.state == "failed" else None

    @property
    def seconds(self) -> int:
        """The time since it was started."""
        return int(time.monotonic() - self.started)


class Worker:
    """A process that waits for one task."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=main, args=(theirs,), daemon=True)
        with starting_processes():
            self.process.start()
        theirs.close()

    def end(self) -> None:
        """End the process at any point; its files are written atomically."""
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


class Jobs(dict[str, Job]):
    """All jobs of the page by id. A spare process is kept, so that a job starts at once."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._spare: Worker | None = Worker()
        self._closed = False

    def start(
        self,
        task: Task,
        *,
        title: str,
        ahead: str,
        back: str,
        name: str | None = None,
        then: Callable[[Job, State], None] | None = None,
    ) -> Job:
        """Start a job; ``then`` is called with its final state before the page shows it."""
        with self._lock:
            if sum(job.state == "running" for job in self.values()) >= _MOST:
                raise PeerveilError(f"{_MOST} jobs are running already; wait for one, or cancel it")
            job = Job(name or secrets.token_hex(8), title, ahead, back)
            self[job.id] = job
            worker, self._spare = self._spare or Worker(), None
        job.worker = worker
        threading.Thread(target=self._follow, args=(job, worker, task, then), daemon=True).start()
        return job

    def cancel(self, name: str) -> None:
        """Cancel a job if it is still running."""
        job = self[name]
        job.stopped = True
        if job.state == "running" and job.worker is not None:
            job.worker.process.terminate()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.end()
        for job in self.values():
            if job.state == "running" and job.worker is not None:
                job.worker.process.terminate()
                job.finished.wait(5)

    def _follow(self, job: Job, worker: Worker, task: Task, then: Callable[[Job, State], None] | None) -> None:
        state: State = "failed"
        job.message = "the job ended without a result, possibly for lack of memory. Nothing was released"
        try:
            worker.pipe.send(task)
            while (received := worker.pipe.recv())[0] == "step":
                job.step = received[1]
            if received[0] == "done":
                job.result, job.message, state = received[1], "", "done"
            else:
                problem: Problem = received[1]
                job.message, job.about, job.declares = problem.words, problem.field, problem.declares
        except (EOFError, OSError):
            pass  # the process has ended
        finally:
            worker.end()
            if job.stopped and state != "done":
                state, job.message = "cancelled", ""
            job.worker = None
            try:
                if then is not None:
                    then(job, state)
            finally:
                job.state = state
                job.finished.set()
            with self._lock:
                if self._spare is None and not self._closed:
                    self._spare = Worker()
