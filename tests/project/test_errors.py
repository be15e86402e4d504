"""The tree of exceptions, and that messages carry arguments as data."""

from __future__ import annotations

import ast
import errno
import importlib
import inspect
import pickle
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

import peerveil
from peerveil import errors
from peerveil.cli import app
from peerveil.cli.options import option
from peerveil.errors import Argument, FileError, InputError, OutputError, PeerveilError, WriteError
from peerveil.private.batch.folders import open_folders
from peerveil.reporting.sweep_files import sweep_folder
from peerveil.support.atomic_files import replace_file, write_new
from peerveil.support.task_store import TaskStore
from peerveil.web.labels import LABELS, PHRASES

SOURCE = Path(errors.__file__).parent
CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, Exception) and not value.__name__.startswith("_")
]
#: Exceptions that steer one module or front and never reach a caller.
INTERNAL = {"RefusedError", "Stopped", "TooLarge"}


def drawn_tree() -> dict[str, str]:
    """Each class of the tree in the docstring, with its parent."""
    parents, path = {}, [""]
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)(\w+(?:Error|Warning))\b", line):
            depth = len(found[1]) // 4
            path = [*path[: depth + 1], found[2]]
            parents[found[2]] = path[depth]
    return parents


def test_the_docstring_draws_the_whole_tree() -> None:
    parents = {one.__name__: one.__bases__[0].__name__.replace("_Message", "") for one in CLASSES}
    assert drawn_tree() == parents


def test_every_exception_that_callers_see_is_in_the_tree() -> None:
    elsewhere = set()
    for module in pkgutil.walk_packages([str(SOURCE)], "peerveil."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                raised = inspect.isclass(value) and issubclass(value, BaseException)
                if raised and value.__module__.startswith("peerveil.") and value.__module__ != "peerveil.errors":
                    elsewhere.add(name)
    assert {name for name in elsewhere if not name.startswith("_")} == INTERNAL


@pytest.mark.parametrize("kind", CLASSES)
def test_exceptions_cross_processes(kind: type[PeerveilError]) -> None:
    parts = ("give them zero {} (", Argument("lone", "zero"), "), or say ", Argument("scale", ..., of="noise"))
    place = {"file": "reviews.csv", "line": 3, "column": "score"} if kind is FileError else {}
    error = kind(*parts, **place)
    error.add_note("charged")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is kind
    assert vars(again) == vars(error)
    assert again.arguments == (parts[1], parts[3])
    assert str(again) == str(error)
    assert str(error).endswith("give them zero {} (lone='zero'), or say scale=")


def test_a_full_disk_is_no_error_of_the_caller() -> None:
    assert not issubclass(WriteError, ValueError)
    assert (WriteError.exit_code, OutputError.exit_code) == (1, 2)
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        assert type(errors.write_failure("full", OSError(number, "no"))) is WriteError
    for number in (errno.EACCES, errno.ENOTDIR, errno.EROFS):
        assert type(errors.write_failure("elsewhere", OSError(number, "no"))) is OutputError


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, WriteError), (errno.EACCES, OutputError)])
def test_whatever_writes_files_tells_a_full_disk_from_a_bad_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[PeerveilError]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "cannot")

    for method in ("mkdir", "write_text", "write_bytes"):
        monkeypatch.setattr(Path, method, refuse)
    writers: list[Callable[[], object]] = [
        lambda: open_folders(tmp_path / "batch"),
        lambda: sweep_folder(tmp_path / "sweep", {}),
        lambda: write_new(tmp_path / "file", "text"),
        lambda: replace_file(tmp_path / "table.csv", lambda stage: stage.write_text("text")),
        lambda: TaskStore(tmp_path / "tasks", print, 1),
    ]
    for write in writers:
        with pytest.raises(PeerveilError, match="cannot") as caught:
            write()
        assert type(caught.value) is kind


def test_python_spells_values_as_it_takes_them() -> None:
    assert str(Argument("mechanism", peerveil.Histogram)) == "mechanism=Histogram(…)"
    assert str(Argument("loads", {3: 2})) == "loads={3: 2}"
    assert str(Argument("shared", False)) == "shared=False"


def test_arguments_are_renamed_with_their_values() -> None:
    error = FileError("no column; say which with ", Argument("ratings", "x"), file="ratings.csv")
    error.rename(ratings="score", paper="public_paper")
    assert str(error) == "ratings.csv: no column; say which with score='x'"


def test_warnings_carry_arguments_too() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(errors.GroupWarning("few; say ", Argument("shared", False)), stacklevel=1)
    assert caught[0].category is errors.GroupWarning
    assert errors.spelled(caught[0].message, option) == "few; say --no-shared-reviewers"


def messages() -> Iterator[tuple[str, ast.Call]]:
    """Each call in the source that makes an exception of the tree or an argument, with its place."""
    names = {one.__name__ for one in CLASSES} | {"Argument"}
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", node


def test_no_message_spells_an_argument_itself() -> None:
    """Neither as Python does nor, where both fronts come by, as the command line does."""
    python = re.compile(r"(?<![\w./?])[a-z_]+=(?![=\w])")
    for place, call in messages():
        texts = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert not any(python.search(text) for text in texts), place
        if not place.startswith(("cli/commands", "cli/tracks", "web/serving", "private/ledger")):
            assert not any(re.search(r"(?<!\w)--[a-z]", text) for text in texts), place


def phrases(node: ast.AST) -> list[ast.Call]:
    """The phrases that are made in some source."""
    calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Phrase"]


def test_the_page_has_its_own_words_for_every_phrase() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py")]
    names = {call.args[0] for tree in trees for call in phrases(tree)}
    literal = {name.value for name in names if isinstance(name, ast.Constant)}
    assert len(names) - 1 == sum(isinstance(name, ast.Constant) for name in names)  # one is the kind of a fact
    assert literal | {"added_attributes", "added_parts", "added_scores"} == set(PHRASES)
    for words in PHRASES.values():
        assert not re.search(r"peerveil|--|`|/", words), words


def test_commands_in_messages_of_the_ledger_are_phrases() -> None:
    """So that the page can name another remedy; who joins a series is on the command line."""
    for place, call in messages():
        if place.startswith("private/"):
            told = {inner for phrase in phrases(call) for inner in ast.walk(phrase)}
            texts = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and n not in told]
            assert not any("`peerveil" in str(text) or "the ledger at" in str(text) for text in texts), place


def test_every_argument_is_an_option_or_has_none() -> None:
    def options(command: object) -> Iterator[str]:
        for parameter in getattr(command, "params", ()):
            yield from (*parameter.opts, *parameter.secondary_opts)
        for inner in getattr(command, "commands", {}).values():
            yield from options(inner)

    known = set(options(typer.main.get_command(app)))
    seen = 0
    for place, call in messages():
        if isinstance(call.func, ast.Name) and call.func.id == "Argument" and isinstance(call.args[0], ast.Constant):
            of = next((word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)), "")
            value = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else None
            if place.startswith("web/"):  # the page names its own fields
                assert call.args[0].value in LABELS, place
                continue
            words = option(Argument(str(call.args[0].value), value, str(of))).split()[0]
            of_the_page = place.startswith("web/")  # whose fields have names of their own
            assert words in known or not words.startswith("-") or of_the_page, f"{place}: {words}"
            seen += 1
    assert seen > 100


def test_input_errors_are_value_errors_and_nothing_else_is() -> None:
    assert {one for one in CLASSES if issubclass(one, ValueError)} == {
        one for one in CLASSES if issubclass(one, InputError)
    }
