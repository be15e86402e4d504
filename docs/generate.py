"""Write the pages that follow from the code: command-line.md from the commands, api.md from the library's names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import typer.main

import peerveil as pv
from peerveil.cli import app

HERE = Path(__file__).parent
WRITTEN = "<!-- Written by docs/generate.py from the code: do not edit, run `make docs`. -->"


def cell(words: str) -> str:
    """Words for a cell of a table."""
    return " ".join(words.split()).replace("|", "\\|")


def signs(parameter: Any) -> str:
    """How an option is written, or an argument's name."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def default(parameter: Any) -> str:
    """An option's default, as it would be typed."""
    if parameter.required:
        return "required"
    given = parameter.default
    if given is None or isinstance(given, bool) or given == () or "Sentinel" in type(given).__name__:
        return ""
    return f"`{given}`"


def command_section(name: str, command: Any) -> list[str]:
    """One command: what it does, an example, its arguments and options."""
    example = re.sub(r"^Example:\s*", "", command.epilog or "")
    told = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    out = [f"## {name}", "", *(line for part in told for line in (part, ""))]
    if example:
        out += ["```sh", example, "```", ""]
    out += ["| | | default |", "|---|---|---|"]
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            out.append(f"| {signs(parameter)} | {cell(parameter.help or '')} | {default(parameter)} |")
    return [*out, ""]


def commands(group: Any, prefix: str = "peerveil") -> list[tuple[str, Any]]:
    """Every command, those of groups included, with its full name."""
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        whole = f"{prefix} {name}"
        found += commands(command, whole) if hasattr(command, "commands") else [(whole, command)]
    return found


def command_line() -> str:
    """The page of the command line."""
    group = typer.main.get_command(app)
    found = commands(group)
    out = [
        "# Command line",
        "",
        WRITTEN,
        "",
        str(group.help),
        "",
        "`peerveil COMMAND --help` says the same in a terminal. Results go to the standard output, all else to the",
        "standard error. The exit code is 0 if all went well.",
        "",
        *(f"- [`{name}`](#{name.replace(' ', '-')})" for name, _ in found),
        "",
    ]
    for name, command in found:
        out += command_section(name, command)
    return "\n".join(out)


def typed(annotation: Any) -> str:
    """An annotation as it is written in the code."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def argument(parameter: inspect.Parameter) -> str:
    """One argument with its type and its default."""
    out = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not parameter.empty:
        out += f": {typed(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        given = repr(parameter.default)
        out += f" = {'…' if given.startswith('<') else given}"  # made anew for each call
    return out


def signature(name: str, thing: Any) -> str:
    """How it is called, a line for each argument where one line would be long."""
    try:
        called = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    found: list[str] = []
    starred = False
    for parameter in called.parameters.values():
        if parameter.name == "self":
            continue
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            found.append("*")
            starred = True
        found.append(argument(parameter))
    end = "" if called.return_annotation in (called.empty, None, "None") else f" -> {typed(called.return_annotation)}"
    line = f"{name}({', '.join(found)}){end}"
    return line if len(line) <= 100 else "\n".join([f"{name}(", *(f"    {one}," for one in found), f"){end}"])


def prose(words: str) -> list[str]:
    """A docstring as Markdown: examples become blocks, cross-references become code."""
    words = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", words).replace("``", "`")
    out: list[str] = []
    inside = False
    for line in words.splitlines():
        starts = line.lstrip().startswith(">>>")
        if starts and not inside:
            out += ["```pycon"]
            inside = True
        elif inside and not line.strip():
            out += ["```"]
            inside = False
        if not inside and (heading := re.fullmatch(r"(Args|Attributes|Returns|Raises|Example|Examples|Yields):", line)):
            out += ["", f"**{heading[1]}**", ""]
        elif not inside and (item := re.fullmatch(r" {4}(\*{0,2}\w[\w, ]*): (.*)", line)):
            out += [f"- `{item[1]}`: {item[2]}"]
        elif not inside and line.startswith("        "):
            out += [f"  {line.strip()}"]
        else:
            out += [line.strip() if not inside else line]
    return [*out, "```"] if inside else out


def members(thing: Any) -> list[tuple[str, Any]]:
    """A class's own public methods and properties that say what they do."""
    return [
        (name, member)
        for name, member in vars(thing).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
        and inspect.getdoc(getattr(thing, name) if not isinstance(member, property) else member)
    ]


def api_section(name: str) -> list[str]:
    """One public name: how it is called, its docstring, and a class's methods."""
    thing = getattr(pv, name)
    out = [f"## {name}", ""]
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        out += ["```text", signature(name, thing), "```", ""]
    out += prose(inspect.getdoc(thing) or "")
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member_name, member in members(thing):
            said = inspect.getdoc(member) or ""
            if isinstance(member, property):
                called = member_name
            else:
                called = signature(member_name, getattr(thing, member_name))
            out += ["", f"### {name}.{member_name}", "", "```text", called, "```", "", *prose(said)]
    return [*out, ""]


def api() -> str:
    """The page of the library."""
    names = {
        "Functions": [name for name in pv.__all__ if inspect.isfunction(getattr(pv, name))],
        "Types": [name for name in pv.__all__ if dataclasses.is_dataclass(getattr(pv, name))],
        "Errors and warnings": [
            name
            for name in pv.__all__
            if inspect.isclass(getattr(pv, name)) and issubclass(getattr(pv, name), Exception)
        ],
    }
    rest = [name for name in pv.__all__ if not any(name in part for part in names.values())]
    names["Types"] = sorted(names["Types"] + rest)
    out = ["# API", "", WRITTEN, "", "Every public name of `import peerveil as pv`. Examples run in the tests.", ""]
    seen: set[str] = set()
    for kind, part in names.items():
        links = []
        for name in part:  # plan and Plan: a second heading of the same letters gets a number
            links.append(f"[`{name}`](#{name.lower()}{'-1' if name.lower() in seen else ''})")
            seen.add(name.lower())
        out += [f"{kind}: {', '.join(links)}.", ""]
    for part in names.values():
        for name in part:
            out += api_section(name)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out))


PAGES = {"command-line.md": command_line, "api.md": api}

if __name__ == "__main__":
    for file, write in PAGES.items():
        (HERE / file).write_text(write(), encoding="utf-8")
