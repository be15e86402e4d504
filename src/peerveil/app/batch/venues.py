"""The venues of a batch: from a TOML file whose keys are the options of `peerveil release`, or from a folder."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from peerveil.app.messages import Spelling
from peerveil.app.options import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions, changed, filled
from peerveil.app.parsing import mechanism_or_auto, release_arguments
from peerveil.app.reading import check_public_stated, public_of, read_reviews
from peerveil.app.requests import ReleaseRequest
from peerveil.errors import FileError, InputError
from peerveil.private.batch.run import Outcome, Venue, check_venue_name
from peerveil.private.reviews import Reviews
from peerveil.record.public_record import PublicRecord
from peerveil.tables.opening import file_to_read

_GROUPS = (ReleaseOptions, NoiseOptions, LoadsOptions, ReadingOptions)
_KEYS = {field.name for group in _GROUPS for field in fields(group)}
_FLAGS = ("accept_float_noise", "declare_kept")
_PATHS = ("file", "mapping", "people")
_NUMBERS = ("epsilon", "delta", "rho", "omega", "noise_scale", "noise_bound", "load", "reviewers", "bins")
_BUDGET = ("epsilon", "delta", "rho", "omega")


def _venue_of(name: str, request: ReleaseRequest, budget: Mapping[str, float] | None) -> Venue:
    """The venue of a batch that a request describes."""
    check_public_stated(request.what)
    stated = changed(request)
    report = not stated.pop("no_report", False)
    del stated["output"]

    def read() -> tuple[Reviews, str | PublicRecord]:
        reviews = read_reviews(request.file, request.reading)
        return reviews, public_of(reviews, request.what, request.loads, request.reading)

    return Venue(
        name=name,
        read=read,
        mechanism=mechanism_or_auto(request.noise),
        dataset=request.what.dataset,
        budget=budget or {},
        report=report,
        settings=_absolute(stated) | ({"budget": dict(budget)} if budget else {}),
        **release_arguments(request.what),
    )


def _absolute(said: dict[str, Any]) -> dict[str, Any]:
    """The same with whole paths: a batch may be taken up again from another folder."""
    places = {key for key in said if key in _PATHS or (key == "public" and said[key] not in ("all", "none"))}
    return said | {key: os.path.abspath(said[key]) for key in places}  # noqa: PTH100 - links are left as they are


def venues_in_folder(folder: Path, common: Mapping[str, Any], spell: Spelling) -> list[Venue | Outcome]:
    """A venue for each file, named by it; hidden files are passed over."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"there is no file in {folder}")
    return _named([(_stem(path), {**common, "file": str(path)}) for path in files], spell)


def _stem(path: Path) -> str:
    return path.name.split(".", 1)[0]


def venues_from_toml(file: str, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    """The venues of a TOML file, and the ledger it names."""
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


def _from_document(document: dict[str, Any], place: Path, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    unknown = document.keys() - {"ledger", "defaults", "venue"}
    tables, common = document.get("venue"), document.get("defaults", {})
    if unknown or not isinstance(tables, list) or not isinstance(common, dict) or not tables:
        what = f"{min(unknown)!r} is not known here" if unknown else "there is no venue"
        raise FileError(f"{what}; it holds a ledger, [defaults], and a [[venue]] for each venue", file=place.name)
    ledger = document.get("ledger")
    if ledger is not None and not isinstance(ledger, str):
        raise FileError("ledger must be a file or the address of a database", file=place.name)
    if ledger is not None and "://" not in ledger:
        ledger = os.fspath(place.parent / Path(ledger).expanduser())
    given = [_table(number, table, common, place.parent) for number, table in enumerate(tables, 1)]
    return _named(given, spell), ledger


def _table(number: int, table: Any, common: dict[str, Any], folder: Path) -> tuple[str, dict[str, Any] | str]:
    """A venue's name and what is said about it; or what is wrong with it."""
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(name, str):
        return f"venue {number}", "it needs a name, in quotes"
    said = {key.replace("-", "_"): value for key, value in {**common, **table}.items() if key != "name"}
    for key in _PATHS:
        if isinstance(said.get(key), str):
            said[key] = os.fspath(folder / Path(said[key]).expanduser())
    if isinstance(said.get("public"), str) and said["public"] not in ("all", "none", ""):
        said["public"] = os.fspath(folder / Path(said["public"]).expanduser())
    return name, said


def _named(given: Sequence[tuple[str, Mapping[str, Any] | str]], spell: Spelling) -> list[Venue | Outcome]:
    """The venues; those with something wrong as outcomes."""
    found: list[Venue | Outcome] = []
    seen: set[str] = set()
    for name, said in given:
        try:
            found.append(_venue(name, said, seen))
            seen.add(name.casefold())
        except InputError as error:
            found.append(Outcome(name=name, status="failed", reason=error.spelled(spell)))
    return found


def _venue(name: str, said: Mapping[str, Any] | str, others: set[str]) -> Venue:
    if isinstance(said, str):
        raise InputError(said)
    if check_venue_name(name).casefold() in others:
        raise InputError("another venue has this name; each needs one of its own")
    left = dict(said)
    file, budget, no_report = left.pop("file", None), left.pop("budget", None), left.pop("no_report", False)
    if not isinstance(file, str):
        raise InputError("it needs a file of reviews (file)")
    if budget is not None and not (isinstance(budget, dict) and budget.keys() <= set(_BUDGET)):
        raise InputError("budget must be a table such as { epsilon = 3 }, with epsilon, delta, rho or omega")
    if not isinstance(no_report, bool):
        raise InputError(f"no-report must be true or false, got {no_report!r}")
    for key in left:
        if key not in _KEYS:
            close = difflib.get_close_matches(key, [*_KEYS, "no_report"], n=1)
            hint = f"; do you mean {close[0].replace('_', '-')}?" if close else ""
            raise InputError(f"{key.replace('_', '-')!r} is no option of a release{hint}")
    values = {key: _option(key, value) for key, value in left.items()}
    request = filled(ReleaseRequest, values | {"file": file, "output": name, "no_report": no_report})
    return _venue_of(name, request, budget)


def _option(name: str, value: Any) -> Any:
    """A value as the command line has it: lists with commas, counts as 'load:count'."""
    key = name.replace("_", "-")
    if isinstance(value, list):
        value = ",".join(map(str, value))
    elif isinstance(value, dict):
        value = ",".join(f"{size}:{count}" for size, count in value.items())
    if name in _FLAGS:
        if isinstance(value, bool):
            return value
        raise InputError(f"{key} must be true or false, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{key} must be a text or a number, got {type(value).__name__}")
    if name in _NUMBERS:
        if isinstance(value, str):
            raise InputError(f"{key} must be a number, got {value!r}")
        return value
    return str(value)
