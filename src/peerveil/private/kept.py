"""What a batch keeps of a venue while it goes on: its number in the ledger, its settings, its noisy vector."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerveil.errors import InputError


@dataclass(frozen=True)
class Kept:
    """What is kept of a venue, in a file that is written whole or not at all."""

    file: Path

    def noise(self, settings: dict[str, str]) -> dict[str, Any] | None:
        """The noisy vector that was drawn with these settings, if any was."""
        state = self._read()
        if state is None or state["noise"] is None:
            return None
        before = state["settings"]
        if changed := [key for key in {**before, **settings} if settings.get(key) != before.get(key)]:
            raise InputError(
                f"its noise was drawn with other settings ({', '.join(changed)}); go on with the same ones, or give "
                "the venue another name, which is charged anew"
            )
        noise: dict[str, Any] = state["noise"]
        return noise

    def number(self, settings: dict[str, str]) -> str:
        """The number to charge the venue under: the one that is kept, or a new one, which one run alone can set."""
        from peerveil.private.ledger import new_release_number  # noqa: PLC0415 - databases only where they are needed

        part = self._part({"release": new_release_number(), "settings": settings, "noise": None})
        try:
            os.link(part, self.file)  # fails where the file is there, unlike a renaming
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not self.file.exists():
                part.replace(self.file)
        part.unlink(missing_ok=True)
        state = self._read()
        assert state is not None  # noqa: S101 - it was written
        return str(state["release"])

    def write(self, state: dict[str, Any]) -> None:
        """Keep this instead."""
        self._part(state).replace(self.file)

    def _part(self, state: dict[str, Any]) -> Path:
        part = self.file.with_suffix(f".{os.getpid()}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as handle:
            json.dump(state, handle)
            handle.flush()
            os.fsync(handle.fileno())
        return part

    def _read(self) -> dict[str, Any] | None:
        try:
            state: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            state = {}
        if not isinstance(state, dict) or not {"release", "settings", "noise"} <= state.keys():
            raise InputError(f"{self.file} was changed, so it is not known what was drawn; give the venue another name")
        return state
