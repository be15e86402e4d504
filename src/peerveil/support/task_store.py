"""Results of finished tasks on disk, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from peerveil.errors import write_failure


class TaskStore:
    """Results of finished tasks, one atomically written file each, found by function, seed, index and task."""

    def __init__(self, folder: Path, function: Callable[..., Any], seed: int) -> None:
        self._folder = folder
        self._key = f"{function.__module__}.{function.__qualname__} {seed}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(f"{folder} cannot be made to keep results in ({error.strerror})", error) from None

    def _file(self, index: int, task: object) -> Path:
        name = hashlib.sha256(f"{self._key} {index} {task!r}".encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"

    def load(self, tasks: Sequence[Any]) -> dict[int, Any]:
        """Return the results that are there, by index."""
        results = {}
        for index, task in enumerate(tasks):
            with suppress(OSError, ValueError):  # missing or damaged: run the task
                results[index] = json.loads(self._file(index, task).read_text(encoding="utf-8"))
        return results

    def save(self, index: int, task: object, result: object) -> None:
        """Keep the result of a task."""
        file = self._file(index, task)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(result), encoding="utf-8")
        part.replace(file)
