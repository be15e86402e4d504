"""The answers of a chair or a researcher so far, kept in memory until the page ends."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerveil.errors import Argument, InputError

#: The reading options of a form.
READING = (
    *("format", "sheet", "encoding", "paper", "reviewer", "score", "criteria", "missing_criteria"),
    *("symbols", "person", "ids", "review_name", "only", "leave_out", "visible_column", "merge_names"),
)
LOADS = ("load", "loads", "reviewers")
PUBLIC = ("all", "file", "none")
TRACKS = ("tracks", "group_column", "no_shared_reviewers")
GROUPS = ("question", "by", "values", "others", "randomised", "limits", "sizes")
CHOICES = (
    *("quantity", "statistic", "share", "weight", "unit", "mechanism", "declare_kept", "estimator", "region", "lone"),
    *("licence", "citation"),
    *(*TRACKS, *GROUPS),
)
ABOUT = ("title", "conference", "author", "contact", "url")

#: The step of a chair that has a field; all other fields are those of the choices.
STEP_OF = {
    **dict.fromkeys((*READING, "score_scale", "people", "mapping"), "file"),
    **dict.fromkeys((*LOADS, "public", "public_file"), "public"),
    **dict.fromkeys((*CHOICES, *ABOUT, "groups", "attributes", "prior", "year", "epsilon", "delta", "bins"), "choices"),
    "dataset": "promise",
}

#: Options that do not go with a question about groups of reviewers, which has a mechanism of its own.
_NOT_WITH = {
    "shares": ("delta", "estimator", "region"),
    "difference": ("statistic", "share", "weight", "mechanism", "declare_kept", "bins", "delta", "estimator", "region"),
}


@dataclass(eq=False)
class Case:
    """One run of a user through the page.

    Attributes:
        folder: the folder of its files.
        answers: the user's answers, by option name.
        files: the names of its files by role.
        demo: whether the conference is synthetic.
        inspected: facts about the file of reviews.
        seen: whether such facts were shown.
        sheets: the sheets of its workbook, if there are several; ``None`` until somebody looks.
        headings: the headings of its table; ``None`` until somebody looks, or after an answer has changed.
        attributes: the headings of its table of reviewers.
        planned: the plan for a release, with its ``options``.
        promised: what the release will state, with its ``options`` and ``turn``.
        results: what was released or refined, by job id.
        drawn: what was drawn from results, by job id.
        releasing: the job id of the last release.
        unfinished: the numbers of its releases that were charged and are not written.
        origin: the name of the uploaded file of a release, as its owner knows it.
        releases: the titles of releases to compare or to pool, by their folders.
        pooled: the names of the earlier releases whose prior is used.
        turn: how often an answer that the promise depends on was changed.
        id: the id of the case in addresses.
    """

    folder: Path
    answers: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    demo: bool = False
    inspected: dict[str, Any] = field(default_factory=dict)
    seen: bool = False
    sheets: tuple[str, ...] | None = None
    headings: tuple[str, ...] | None = None
    attributes: tuple[str, ...] = ()
    planned: dict[str, Any] = field(default_factory=dict)
    promised: dict[str, Any] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    drawn: dict[str, dict[str, Any]] = field(default_factory=dict)
    releasing: str = ""
    unfinished: set[str] = field(default_factory=set)
    origin: str = ""
    releases: dict[str, str] = field(default_factory=dict)
    pooled: str = ""
    turn: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def published(self) -> bool:
        """Whether the noisy vector is that of a release, which states its quantity, noise and loads itself."""
        return (self.folder / self.files.get("noisy", "") / "release.json").is_file()

    @property
    def named(self) -> str:
        """What downloads are named after: the conference and its year if these are stated, otherwise the file."""
        if self.answers.get("conference"):
            return " ".join(str(self.answers[name]) for name in ("conference", "year") if self.answers.get(name))
        return "synthetic conference" if self.demo else Path(self.origin or self.files.get("file", "")).stem

    def has(self, needed: str) -> bool:
        """Return whether the file has what a quantity needs, such as criteria."""
        return needed != "criteria" or any(fact.startswith("criterion ") for fact in self.inspected)

    def changed(self) -> None:
        """Begin a new turn, after an answer has changed: earlier promises are void, in every window."""
        self.promised, self.turn = {}, self.turn + 1

    def reading(self) -> dict[str, Any]:
        """Return the answers and files on how to read the reviews, as the options of a task."""
        answers = {name: self.answers[name] for name in (*READING, "score_scale") if name in self.answers}
        return answers | {role: self.files[role] for role in ("file", "people", "mapping") if role in self.files}

    def options(self) -> dict[str, Any]:
        """Return all answers and files, as the options of a task."""
        answers = {name: value for name, value in self.answers.items() if name not in (*TRACKS, *GROUPS)}
        options = answers | self.reading() | self._prior() | self._tracks() | self._question()
        if options.get("declare_kept"):
            options["declare_kept"] = options["declare_kept"] == "yes"
        if options.get("author"):
            options["author"] = [options["author"]]
        if options.get("public") == "file":
            if "public_file" not in self.files:
                raise InputError("Give ", Argument("public_file"), ", or say that all scores or none are public")
            name = self.files["public_file"]
            options["public"] = f"./{name}" if name in ("all", "none") else name  # a file with one of these names
        elif "public" in options:  # loads are stated for a file only
            options = {name: value for name, value in options.items() if name not in LOADS}
        return options

    def _prior(self) -> dict[str, str]:
        """Return the option of the prior that earlier releases give, if there are some."""
        if "prior" not in self.files:
            return {}
        if question := self.answers.get("question"):
            raise InputError(Argument("prior"), " does not go with ", Argument("question", question))
        return {"prior": self.files["prior"]}

    def _tracks(self) -> dict[str, Any]:
        """Return the options on tracks: where they are named, if there is to be one release for each."""
        chosen = self.answers.get("tracks")
        if not chosen:
            return {}
        name, given = ("groups", self.files) if chosen == "file" else ("group_column", self.answers)
        if not given.get(name):
            raise InputError("Give ", Argument(name), ", or choose all papers together")
        return {name: given[name], "no_shared_reviewers": self.answers.get("no_shared_reviewers") == "yes"}

    def _question(self) -> dict[str, Any]:
        """Return the options of a question about groups of reviewers, if there is one."""
        question = self.answers.get("question")
        if not question:
            return {}
        if question not in _NOT_WITH:
            raise InputError("Choose one of ", Argument("question"))
        for name, given in (("attributes", self.files), ("by", self.answers), ("values", self.answers)):
            if not given.get(name):
                raise InputError("Give ", Argument(name), ", or choose all reviewers together")
        apart = ("no_shared_reviewers",) if self.answers.get("tracks") else ()
        for name in (*_NOT_WITH[question], *apart):
            if self.answers.get(name):
                raise InputError(Argument(name), " does not go with ", Argument("question", question))
        asked = {"question": question, "attributes": self.files["attributes"], "by": self.answers["by"]}
        asked |= {name: self.answers.get(name) == "yes" for name in ("others", "randomised")}
        groups = {"values": self.answers["values"], "compare": self.answers["values"]}
        return asked | groups | {name: self.answers.get(name, "") for name in ("limits", "sizes")}


def texts(form: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the answers of a form that are not empty."""
    return {name: form[name].strip() for name in names if form.get(name, "").strip()}


def number(form: Mapping[str, str], name: str) -> float | None:
    """Return a number of a form; ``None`` if it is left empty.

    >>> number({"epsilon": " 0.5 "}, "epsilon")
    0.5
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(Argument(name), f" must be a number, got {text!r}")
    return value


def whole(form: Mapping[str, str], name: str) -> int | None:
    """Return a whole number of a form; ``None`` if it is left empty.

    >>> whole({"load": "4"}, "load")
    4
    """
    value = number(form, name)
    if value is not None and value != int(value):
        raise InputError(Argument(name), f" must be a whole number, got {form[name].strip()!r}")
    return None if value is None else int(value)


def scale_of(form: Mapping[str, str]) -> dict[str, str]:
    """Return the score scale of a form as an option; nothing if both ends are left empty.

    >>> scale_of({"lowest": "1", "highest": " 10"})
    {'score_scale': '1,10'}
    """
    ends = [form.get(end, "").strip() for end in ("lowest", "highest")]
    if not any(ends):
        return {}
    try:
        if all(math.isfinite(float(end)) for end in ends):
            return {"score_scale": ",".join(ends)}
    except ValueError:
        pass
    stated = f" must be two numbers, the lowest and the highest possible score; got {ends[0]!r} and {ends[1]!r}"
    raise InputError(Argument("score_scale"), stated)


def loads_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the answers of a form about loads."""
    numbers = {name: value for name in ("load", "reviewers") if (value := whole(form, name)) is not None}
    return numbers | texts(form, ("loads",))
