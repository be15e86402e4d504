"""The venues of a batch: from a TOML or CSV file with options of `peerveil release`, or from a folder."""

from __future__ import annotations

import csv
import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from peerveil.app.messages import Spelling, written
from peerveil.app.options import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions, changed, filled
from peerveil.app.parsing import mechanism_or_auto, reading_of, release_arguments
from peerveil.app.reading import check_public_stated, public_of, read_reviews
from peerveil.app.requests import ReleaseRequest
from peerveil.errors import FileError, InputError
from peerveil.mechanisms import Laplace
from peerveil.private.batch.venue import Outcome, Venue, check_venue_name
from peerveil.private.reviews import Reviews
from peerveil.record.public_record import PublicRecord
from peerveil.tables.opening import file_to_read

_GROUPS = (ReleaseOptions, NoiseOptions, LoadsOptions, ReadingOptions)
_TYPES = {field.name: str(field.type) for group in _GROUPS for field in fields(group)} | {"no_report": "bool"}
_PATHS = ("file", "mapping", "people", "attributes", "committee", "prior")
_BUDGET = ("epsilon", "delta", "rho", "omega")


def venues_in_folder(folder: Path, common: Mapping[str, Any], spell: Spelling) -> list[Venue | Outcome]:
    """Return one venue per file, named after it; hidden files are ignored."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"there is no file in {folder}")
    return _checked([(path.name.split(".", 1)[0], {**common, "file": str(path)}) for path in files], spell)


def venues_from_toml(file: str, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    """Return the venues of a TOML file, and the ledger that it names."""
    place = file_to_read(file)
    try:
        document = tomllib.loads(place.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problem = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "not UTF-8"
    except OSError as error:
        problem = error.strerror or "cannot be read"
    else:
        return _from_document(document, place, spell)
    raise FileError(f"cannot be read as TOML: {problem}", file=file)


def venues_from_table(file: str, common: Mapping[str, Any], spell: Spelling) -> list[Venue | Outcome]:
    """Return the venues of a CSV file: one row each, with columns for name, file and further options of a release."""
    place = file_to_read(file)
    problem = "not UTF-8"
    with suppress(UnicodeDecodeError, csv.Error), place.open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle, strict=True))
        problem = "" if rows and {"name", "file"} <= rows[0].keys() else "it needs the columns name and file, and a row"
    if problem:
        raise FileError(f"cannot be read as a table of venues: {problem}", file=file)
    named = [_table(number, _cells(row), dict(common), place.parent) for number, row in enumerate(rows, 1)]
    return _checked(named, spell)


def _cells(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """Return the options in a row of a table, as a TOML file has them; empty cells are left out."""
    if None in row:
        return {}  # more cells than headings, so that it is not known which is which
    return {str(key): _value(str(key), cell) for key, cell in row.items() if cell}


def _value(key: str, cell: str) -> Any:
    name = key.replace("-", "_")
    kind = _TYPES.get(name, "float" if name == "budget" else "str")
    if kind == "bool":
        return {"true": True, "false": False}.get(cell.lower(), cell)
    if kind.startswith("list"):
        return cell.split(";")
    if not kind.startswith(("int", "float")):
        return cell
    with suppress(ValueError):
        number = float(cell)
        value = int(number) if kind.startswith("int") and number.is_integer() else number
        return {"epsilon": value} if name == "budget" else value
    return cell


def _from_document(document: dict[str, Any], place: Path, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    unknown = document.keys() - {"ledger", "defaults", "venue"}
    tables, common = document.get("venue"), document.get("defaults", {})
    if unknown or not isinstance(tables, list) or not isinstance(common, dict) or not tables:
        problem = f"{min(unknown)!r} is not a known key" if unknown else "there is no venue"
        raise FileError(f"{problem}; it holds a ledger, [defaults], and one [[venue]] per venue", file=place.name)
    ledger = document.get("ledger")
    if ledger is not None and not isinstance(ledger, str):
        raise FileError("ledger must be a file or the address of a database", file=place.name)
    if ledger is not None and "://" not in ledger:
        ledger = os.fspath(place.parent / Path(ledger).expanduser())
    named = [_table(number, table, common, place.parent) for number, table in enumerate(tables, 1)]
    return _checked(named, spell), ledger


def _table(number: int, table: Any, common: dict[str, Any], folder: Path) -> tuple[str, dict[str, Any] | None]:
    """Return the name of a venue and its options; ``None`` as options if it has no name."""
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(name, str):
        return f"venue {number}", None
    options = {key.replace("-", "_"): value for key, value in {**common, **table}.items() if key != "name"}
    return name, options | {key: os.fspath(folder / Path(options[key]).expanduser()) for key in _paths(options)}


def _paths(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the options that are paths."""
    public = () if options.get("public") in ("all", "none", "") else ("public",)
    return [key for key in (*_PATHS, *public) if isinstance(options.get(key), str)]


def _checked(named: Sequence[tuple[str, Mapping[str, Any] | None]], spell: Spelling) -> list[Venue | Outcome]:
    """Return the venues, with failed outcomes for invalid ones."""
    venues: list[Venue | Outcome] = []
    names: set[str] = set()
    for name, options in named:
        try:
            venues.append(_venue(name, options, names))
            names.add(name.casefold())
        except InputError as error:
            reason, kind = error.spelled(spell), type(error).__name__
            venues.append(Outcome(name=name, status="failed", reason=reason, error=kind))
    return venues


def _venue(name: str, options: Mapping[str, Any] | None, others: set[str]) -> Venue:
    if options is None:
        raise InputError("it needs a name, in quotes")
    if check_venue_name(name).casefold() in others:
        raise InputError("another venue has this name; names must be unique")
    options = dict(options)
    file, budget = options.pop("file", None), options.pop("budget", None)
    if not isinstance(file, str):
        raise InputError("it needs a file of reviews (file)")
    if budget is not None and not (isinstance(budget, dict) and budget.keys() <= set(_BUDGET)):
        raise InputError("budget must be a table such as { epsilon = 3 }, with epsilon, delta, rho or omega")
    values = {key: _option(key, value) for key, value in options.items()}
    request = filled(ReleaseRequest, values | {"file": file, "output": name})
    check_public_stated(request.what)
    settings = changed(request)
    del settings["output"]
    settings.pop("no_report", None)
    if settings.get("mechanism") == Laplace.name:  # not stated by earlier versions, whose default it was
        del settings["mechanism"]
    # Absolute paths: a batch may be resumed from another folder. Links are left as they are.
    settings |= {key: os.path.abspath(settings[key]) for key in _paths(settings)}  # noqa: PTH100

    arguments = release_arguments(request.what)
    reading = reading_of(request.reading, arguments["quantity"])

    def read() -> tuple[Reviews, str | PublicRecord]:
        reviews = read_reviews(request.file, reading)
        return reviews, public_of(reviews, request.what, request.loads, reading)

    return Venue(
        name=name,
        read=read,
        mechanism=mechanism_or_auto(request.noise),
        dataset=request.what.dataset,
        budget=budget or {},
        report=not request.no_report,
        settings=settings | ({"budget": dict(budget)} if budget else {}),
        **arguments,
    )


def _option(name: str, value: Any) -> Any:
    """Return a TOML value as the command line has it: lists separated by commas, counts as 'load:count'."""
    key = name.replace("_", "-")
    if name not in _TYPES:
        close = difflib.get_close_matches(name, _TYPES, n=1)
        hint = f"; do you mean {close[0].replace('_', '-')}?" if close else ""
        raise InputError(f"{key!r} is no option of a release{hint}")
    if _TYPES[name] == "bool":
        if not isinstance(value, bool):
            raise InputError(f"{key} must be true or false, got {value!r}")
        return value
    if _TYPES[name].startswith("list"):
        return _texts(key, value)
    if isinstance(value, list):
        value = ",".join(map(str, value))
    elif isinstance(value, dict):
        value = written(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{key} must be a text or a number, got {type(value).__name__}")
    if _TYPES[name].startswith("str"):
        return str(value)
    if isinstance(value, str):
        raise InputError(f"{key} must be a number, got {value!r}")
    return value


def _texts(key: str, value: Any) -> list[str]:
    """Return the texts of an option that can be repeated."""
    texts = [value] if isinstance(value, str) else value
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise InputError(f"{key} must be a text or a list of texts, got {value!r}")
    return texts
