"""What a chair or a researcher has said so far. It lives in memory and in the private folder, till the page ends."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerveil.errors import Argument, InputError

#: What a form may say about reading a file, by the names of options.
READING = (
    *("format", "paper", "reviewer", "score", "criteria", "missing_criteria"),
    *("symbols", "person", "ids", "review_name"),
)
LOADS = ("load", "loads", "reviewers")
PUBLIC = ("all", "file", "none")
CHOICES = ("quantity", "unit", "mechanism", "estimator", "region", "lone")


@dataclass(eq=False)
class Case:
    """One run through the page.

    Attributes:
        id: under which the page finds it.
        folder: where its files are.
        said: what was said, by the names of options.
        files: the names of its files, by their roles.
        demo: whether the conference is invented.
        inspected: what is in the file.
        planned: what each budget would buy.
        promised: what a release would promise, what was said for it (``said``), and in which turn (``turn``).
        results: what was made, by the ids of the work.
        releasing: the id of the last release that was begun.
        turn: how often something was said anew on which a promise rests.
    """

    id: str
    folder: Path
    said: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    demo: bool = False
    inspected: dict[str, Any] = field(default_factory=dict)
    planned: dict[str, Any] = field(default_factory=dict)
    promised: dict[str, Any] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    releasing: str = ""
    turn: int = 0

    def changed(self) -> int:
        """Something is said anew: what was promised before is void, in every window. Returns the turn that begins."""
        self.promised, self.turn = {}, self.turn + 1
        return self.turn

    def options(self) -> dict[str, Any]:
        """Everything that was said, with the files, as work takes it."""
        said = dict(self.said)
        said |= {role: name for role, name in self.files.items() if role != "public_file"}
        if said.get("public") == "file":
            if "public_file" not in self.files:
                raise InputError("choose the file of public scores, or say that all scores or none are public")
            name = self.files["public_file"]
            said["public"] = f"./{name}" if name in ("all", "none") else name  # a file, whatever it is called
        elif "public" in said:  # loads are stated for a file only
            said = {name: value for name, value in said.items() if name not in LOADS}
        return said


class Cases:
    """All of them."""

    def __init__(self) -> None:
        self._cases: dict[str, Case] = {}

    def new(self, folder: Path) -> Case:
        """A new one."""
        case = Case(secrets.token_hex(8), folder)
        self._cases[case.id] = case
        return case

    def __getitem__(self, name: str) -> Case:
        return self._cases[name]


def texts(form: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """What a form says under these names; an empty answer is none."""
    return {name: form[name].strip() for name in names if form.get(name, "").strip()}


def number(form: Mapping[str, str], name: str) -> float | None:
    """A number of a form.

    >>> number({"epsilon": " 0.5 "}, "epsilon")
    0.5
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(Argument(name), f" must be a number, got {text!r}")
    return found


def whole(form: Mapping[str, str], name: str) -> int | None:
    """A whole number of a form.

    >>> whole({"load": "4"}, "load")
    4
    """
    found = number(form, name)
    if found is not None and found != int(found):
        raise InputError(Argument(name), f" must be a whole number, got {form[name].strip()!r}")
    return None if found is None else int(found)


def said_of_loads(form: Mapping[str, str]) -> dict[str, Any]:
    """What a form says about loads."""
    said = {
        "load": whole(form, "load"),
        "reviewers": whole(form, "reviewers"),
        **texts(form, ("loads",)),
    }
    return {name: value for name, value in said.items() if value is not None}
