"""Questions in the terminal about the columns of a file, and the mapping that holds the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.app.inspect import columns_of, inspect, save_mapping
from peerveil.cli.options import option
from peerveil.cli.show import heading, out, typed
from peerveil.cli.working import working
from peerveil.errors import InputError, PeerveilError

if TYPE_CHECKING:
    from peerveil.app.options import ReadingOptions
    from peerveil.app.requests import InspectRequest
    from peerveil.private.inspection import Columns

_QUESTIONS = {
    "paper": "Which column says which paper a review is of?",
    "reviewer": "Which column says who wrote it? (better an id or an address than a name)",
    "score": "Which column holds the score?",
}


def ask(request: InspectRequest) -> tuple[ReadingOptions, dict[str, Any]]:
    """Return the options that the user gives in answer to questions, and the facts about the file as read with them."""
    columns = columns_of(request.file, request.reading)
    out.print(f"{request.file} has {len(columns.headings)} columns:", soft_wrap=True)
    for number, name in enumerate(columns.headings, 1):
        out.print(f"{number:4}  {heading(name)}")
    out.print("Answer with a number; Enter takes what is in brackets.\n")
    usual: dict[str, Any] = {role: name for role, name in columns.usual.items() if not _given(request, role)}
    reading = replace(request.reading, **usual)
    while True:
        reading = _answered(columns, reading)
        try:
            with working("Reading the file"):
                facts = inspect(replace(request, reading=reading))
        except PeerveilError as error:
            out.print(f"\nThis cannot be read: {error.spelled(option)}\n")
            if not _yes("Answer again?"):
                raise
        else:
            return reading, facts


def _given(request: InspectRequest, role: str) -> bool:
    return getattr(request.reading, role) is not None


def _answered(columns: Columns, reading: ReadingOptions) -> ReadingOptions:
    """Return the options of a reading, with the answers to all questions."""
    answers: dict[str, Any] = {
        role: _one(question, columns, getattr(reading, role)) for role, question in _QUESTIONS.items()
    }
    answers["symbols"] = _text("Letters as scores, from the lowest to the highest, such as D<C<B<A?", reading.symbols)
    answers["score_scale"] = _text("Lowest and highest possible score, such as 1,10?", reading.score_scale)
    answers["criteria"] = _several("Columns of criteria such as soundness? (1,2,…)", columns, reading.criteria)
    return replace(reading, **answers)


def _one(question: str, columns: Columns, default: str | None) -> str:
    """Return the column that answers a question."""
    while True:
        answer = _text(question, default)
        if answer is not None and answer == default:
            return answer
        if name := _column(answer or "", columns):
            return name
        out.print(f"Please answer with a number from 1 to {len(columns.headings)}.")


def _several(question: str, columns: Columns, default: str | None) -> str | None:
    """Return the columns that answer a question, separated by commas."""
    while True:
        answer = _text(question, default)
        if answer is None or answer == default:
            return answer
        names = [_column(part.strip(), columns) for part in answer.split(",")]
        if all(name and "," not in name for name in names):
            return ",".join(names)
        out.print("Please answer with numbers of columns whose names have no comma, such as 4,5.")


def _column(answer: str, columns: Columns) -> str:
    """Return the column of a number, or the one that the answer names; empty if there is none."""
    if answer.isdecimal() and 1 <= int(answer) <= len(columns.headings):
        return columns.headings[int(answer) - 1]
    return answer if answer in columns.headings else ""


def _text(question: str, default: str | None) -> str | None:
    """Return the answer to a question; Enter is the default."""
    shown = "none" if default is None else heading(default)
    try:
        return input(f"{question} [{shown}] ").strip() or default
    except EOFError:
        raise InputError("the answers ended early; this needs a terminal, or an answer per line") from None


def _yes(question: str) -> bool:
    return (_text(question, "yes") or "").lower() in ("y", "yes")


def offer_mapping(request: InspectRequest, reading: ReadingOptions) -> None:
    """Write the answers to a mapping if the user agrees, and print how it is used."""
    path = request.write_mapping or f"{Path(request.file).name.split('.')[0]}.toml"
    if _yes(f"Write these answers to {path}, to be used again?"):
        save_mapping(reading, path)
        out.print(f"Written. Use it with every command that reads the file: --mapping {path}", soft_wrap=True)
        out.print(f"  {typed('inspect', request.file, '--mapping', path)}", soft_wrap=True)
