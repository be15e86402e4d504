"""Code in processes of its own that start quickly: forks of one process that has loaded what is slow to load."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from subprocess import PIPE, Popen
from types import ModuleType

#: Modules that are slow to load and start no threads, which a fork would not survive: not Polars, nor what loads it.
SLOW = ("altair", "clarabel", "jsonschema", "rich.console", "scipy.integrate", "scipy.optimize", "sqlalchemy")


class Python:
    """Runs code as ``python -W error -c`` does."""

    def __init__(self) -> None:
        self._process = Popen([sys.executable, __file__], stdin=PIPE, stdout=PIPE, text=True)

    def run(self, code: str, folder: Path) -> tuple[int, str]:
        """Run code in a folder; its exit status, and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([code, str(folder), dict(os.environ)]) + "\n")
        self._process.stdin.flush()
        status, printed = json.loads(self._process.stdout.readline())
        return status, printed

    def close(self) -> None:
        """End the process that all others come from."""
        self._process.communicate()


@contextmanager
def python() -> Iterator[Python]:
    """A runner that is closed in the end."""
    runner = Python()
    try:
        yield runner
    finally:
        runner.close()


def _child(code: str, folder: str, environment: dict[str, str], output: int) -> None:
    for place in (1, 2):
        os.dup2(output, place)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    warnings.simplefilter("error")
    main = sys.modules["__main__"] = ModuleType("__main__")
    try:
        exec(compile(code, "<string>", "exec"), main.__dict__)  # noqa: S102 - the code of a test
    except BaseException:  # noqa: BLE001 - it is told by the exit status
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def _serve() -> None:
    for name in SLOW:
        import_module(name)
    for line in sys.stdin:
        code, folder, environment = json.loads(line)
        told, output = os.pipe()
        if not (process := os.fork()):
            _child(code, folder, environment, output)
        os.close(output)
        with os.fdopen(told, errors="replace") as printed:
            text = printed.read()
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(json.dumps([status, text]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
