"""Work in processes of its own, so that the page answers meanwhile, shows progress, and work can be cancelled."""

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
from peerveil.support.parallel import starting_processes
from peerveil.web.work import Task, main

#: How much work may run at once.
_MOST = 3

State = Literal["running", "done", "failed", "cancelled"]


@dataclass(eq=False)
class Job:
    """A piece of work, as the page shows it.

    Attributes:
        id: under which the page finds it.
        title: what it is.
        ahead: the address to go to when it is done.
        back: the address to go to when it is not.
        state: how it stands.
        step: what is being done.
        words: why it failed, or what a cancelled one leaves behind.
        result: what it gave.
    """

    id: str
    title: str
    ahead: str
    back: str
    state: State = "running"
    step: str = "Starting"
    words: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    worker: Worker | None = None

    @property
    def seconds(self) -> int:
        """For how long it has been running."""
        return int(time.monotonic() - self.begun)


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
        """End the process, whatever it does; it writes nothing that a half would spoil."""
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


class Jobs:
    """All work of the page. A process is kept waiting, so that work begins at once."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._spare: Worker | None = Worker()
        self._closed = False

    def __getitem__(self, name: str) -> Job:
        return self._jobs[name]

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

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
        """Start some work.

        Args:
            task: what to do.
            title: what the page calls it.
            ahead: where to go when it is done.
            back: where to go when it is not.
            name: its id, where it has one already.
            then: called with how it ended, before anyone is told.
        """
        with self._lock:
            if sum(job.state == "running" for job in self._jobs.values()) >= _MOST:
                raise PeerveilError(f"{_MOST} pieces of work are running already; wait for one, or cancel it")
            job = Job(name or secrets.token_hex(8), title, ahead, back)
            self._jobs[job.id] = job
            worker, self._spare = self._spare or Worker(), None
        job.worker = worker
        threading.Thread(target=self._follow, args=(job, worker, task, then), daemon=True).start()
        return job

    def cancel(self, name: str) -> None:
        """End some work, if it still runs."""
        job = self._jobs[name]
        job.stopped = True
        if job.state == "running" and job.worker is not None:
            job.worker.process.terminate()

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._closed = True
            waiting, self._spare = self._spare, None
        if waiting is not None:
            waiting.end()
        for job in self._jobs.values():
            if job.state == "running" and job.worker is not None:
                job.worker.process.terminate()
                job.finished.wait(5)

    def _follow(self, job: Job, worker: Worker, task: Task, then: Callable[[Job, State], None] | None) -> None:
        state: State = "failed"
        job.words = "the work ended without an answer; perhaps there is too little memory. Nothing was released"
        try:
            worker.pipe.send(task)
            while True:
                kind, content = worker.pipe.recv()
                if kind == "step":
                    job.step = content
                    continue
                if kind == "done":
                    job.result, job.words, state = content, "", "done"
                else:
                    job.words = content
                break
        except (EOFError, OSError):
            pass  # the process is no more
        finally:
            worker.end()
            if job.stopped and state != "done":
                state, job.words = "cancelled", ""
            job.worker = None
            try:
                if then is not None:
                    then(job, state)
            finally:
                job.state = state
                job.finished.set()
            self._keep_one_waiting()

    def _keep_one_waiting(self) -> None:
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = Worker()
