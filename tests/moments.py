"""Runs the command line in processes to which something happens at a chosen moment: a signal, or a full disk.

Everything is imported once; each run is a fork of this process. A moment is a call of the operating system or of
SQLite, or a call or return of a function that has to do with writing and charging.
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

from forks import SLOW

#: What can happen: signals, writes that fail as on a full disk, and writes that the system itself refuses.
HAPPENINGS = ("SIGKILL", "SIGINT", "SIGTERM", "full disk", "file size limit")

#: Modules whose calls and returns are moments.
_MODULES = (
    "support/atomic_files",
    "support/staging",
    "releases/release",
    "app/release",
    "cli",
    "private/journal",
    "private/charging",
    "private/release",
    "private/tracks",
)

#: Calls of the operating system that are moments.
_CALLS = (
    *("open", "close", "read", "pread", "write", "pwrite", "fsync", "flock", "chmod", "scandir"),
    *("link", "unlink", "remove", "rename", "replace", "mkdir", "rmdir"),
)


class Ended(NamedTuple):
    """How a run ended: its exit code (negative: a signal ended it), what it said, and how many moments it had."""

    code: int
    said: str
    moments: int


class Runner:
    """Runs commands, each in a process of its own."""

    def __init__(self) -> None:
        self._process = Popen([sys.executable, __file__], stdin=PIPE, stdout=PIPE, text=True)

    def run(self, folder: Path, command: list[str], happening: str = "", moment: int = -1) -> Ended:
        """Run a command in a folder; at the given moment, let something happen to it. At 0, moments are counted."""
        job = {"folder": str(folder), "command": command, "happening": happening, "moment": moment}
        job["environment"] = {name: os.environ[name] for name in os.environ if name.startswith(("PEERVEIL_", "XDG_"))}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process that all runs come from."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def running() -> Iterator[Runner]:
    """A runner that is closed in the end."""
    runner = Runner()
    try:
        yield runner
    finally:
        runner.close()


class _Watch:
    """Counts moments, and lets something happen at one of them."""

    def __init__(self, happening: str, moment: int) -> None:
        self.happening, self.moment = happening, moment
        self.seen = 0
        self.within = False
        self.full = False

    def __call__(self, frame: Any, event: str, called: Any) -> None:
        name = frame.f_code.co_filename
        if event in ("call", "return") and frame.f_code.co_name == "_run" and name.endswith("peerveil/cli/__init__.py"):
            self.within = event == "call"
        if self.within and _counts(name, event, called):
            self.seen += 1
            if self.seen == self.moment:
                self._happen()

    def _happen(self) -> None:
        if self.happening.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, self.happening))
        elif self.happening == "full disk":
            self.full = True
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    def install(self) -> None:
        """Let writes fail once the disk is full."""
        self._replace(os, "write", lambda *given: given[0] > 2)
        self._replace(os, "pwrite", lambda *_: True)
        self._replace(os, "mkdir", lambda *_: True)
        self._replace(io, "open", lambda _, mode="r", *__: any(letter in mode for letter in "wxa+"))
        from sqlalchemy.engine.default import DefaultDialect

        commit: Any = DefaultDialect.do_commit

        def do_commit(dialect: Any, connection: Any) -> None:
            if self.full and connection.total_changes:
                raise sqlite3.OperationalError("database or disk is full")
            commit(dialect, connection)

        DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]

    def _replace(self, module: Any, name: str, writes: Any) -> None:
        real = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            if self.full and writes(*given):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*given, **named)

        setattr(module, name, call)


def _counts(name: str, event: str, called: Any) -> bool:
    if event in ("c_call", "c_return"):
        if name.startswith("<frozen importlib"):
            return False
        if type(getattr(called, "__self__", None)).__module__ == "sqlite3":
            return True
        return getattr(called, "__module__", "") in ("posix", "fcntl") and called.__name__ in _CALLS
    if event not in ("call", "return") or "/peerveil/" not in name:
        return False
    return name.rpartition("/peerveil/")[2].startswith(_MODULES)


def _child(job: dict[str, Any], said: int, told: int) -> None:
    """What a forked process does."""
    import peerveil.app.release
    import peerveil.cli.show
    import peerveil.private.ledger  # noqa: F401
    from peerveil.cli import main

    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    sys.argv = ["peerveil", *job["command"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    watch = _Watch(job["happening"], job["moment"])
    watch.install()
    code = 0
    with os.fdopen(said, "w") as words, redirect_stdout(words), redirect_stderr(words):
        if watch.moment >= 0:  # counting takes most of the time
            sys.setprofile(watch)
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            sys.setprofile(None)
            watch.full = False
            with suppress(OSError):
                words.flush()
    os.write(told, str(watch.seen).encode())
    os._exit(code)


def _serve() -> None:
    for name in SLOW:
        import_module(name)

    for line in sys.stdin:
        job = json.loads(line)
        said, told = os.pipe(), os.pipe()
        if not (process := os.fork()):
            try:
                os.close(said[0])
                _child(job, said[1], told[1])
            finally:
                os._exit(99)
        os.close(said[1])
        os.close(told[1])
        with os.fdopen(said[0]) as words, os.fdopen(told[0]) as count:
            text, seen = words.read(), count.read()
        _, status = os.waitpid(process, 0)
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), text, int(seen or 0)]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
