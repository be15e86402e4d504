"""Conversion of the parts of a release to and from JSON, with validation."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import jsonschema
import numpy as np

from peerveil.errors import FileError, InputError, unexpected
from peerveil.inference.expected_error import ExpectedError
from peerveil.mechanisms import kind_of, mechanism_from
from peerveil.privacy.bins import Bins, NoisyCounts
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.joint_claims import Group, GroupClaim, SumCosts
from peerveil.privacy.neighbours import Neighbours
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats
from peerveil.releases.signatures import release_file
from peerveil.tables.opening import read_text

T = TypeVar("T")

#: The schema version that is written, and those that are read.
SCHEMA_VERSION = 2
SCHEMA_VERSIONS = (1, 2)

#: The greatest length of a key in a message, integer, and depth of nesting.
_SHOWN, _LARGEST, _DEEPEST = 40, 2**63 - 1, 32

#: The greatest number, and the range of noise scales, for which squares and quotients do not overflow.
_GREATEST, _SCALES = 1e153, (1e-150, 1e150)

#: The kinds of releases besides those of means, in words.
_OTHER_KINDS = {"effect": "the release of an effect", "crosstab": "a release by an attribute"}
_OTHER_KINDS |= {"correlation": "the release of a correlation"}

#: The widest accepted range of loads, to limit memory.
_WIDEST_RANGE = 1_000_000


def document_digest(document: dict[str, Any]) -> str:
    """Return the SHA-256 digest of a release.json, without its own digest.

    >>> document_digest({"quantity": "ratings", "digest": "whatever"})[:15]
    'sha256:5acf2362'
    """
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def parse_json(text: str, *, name: str = "release.json") -> Any:
    """Return the value of a JSON text; ``None`` if it is not JSON, as with NaN and infinity.

    Raises:
        FileError: if an object repeats a key, because programs differ in which of the values they take.

    >>> parse_json('{"epsilon": 0.1, "epsilon": 1.0}')
    Traceback (most recent call last):
    peerveil.errors.FileError: release.json: the key 'epsilon' occurs twice; it must occur once
    """
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except KeyError as error:  # raised by _object
        repeated = repr(error.args[0][:_SHOWN])
    except (ValueError, RecursionError):
        return None  # the error would contain the text
    raise FileError(f"the key {repeated} occurs twice; it must occur once", file=name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise KeyError(key)
        result[key] = value
    return result


def _no_constant(name: str) -> None:
    raise ValueError(name)


def vector_from(numbers: list[float], name: str) -> Floats:
    """Return a list of JSON numbers as a vector; too large ones are refused."""
    try:
        values = [float(number) for number in numbers]
    except OverflowError:
        values = [math.inf]
    if not all(abs(value) <= _GREATEST for value in values):
        raise InputError(f"{name} holds a number that is too large")
    return np.array(values, dtype=np.float64)


def float_or_none(text: str) -> float | None:
    """Return the number in a text; ``None`` if it holds none."""
    try:
        return float(text)
    except ValueError:
        return None


def check_plain(value: object, name: str, *, depth: int = 0) -> None:
    """Refuse too large numbers, too deep nesting and values that JSON cannot represent.

    >>> check_plain({"loads": [1, 2.5]}, "extension")
    >>> check_plain({"loads": [float("inf")]}, "extension")
    Traceback (most recent call last):
    peerveil.errors.InputError: extension/loads holds a number that is too large
    """
    if depth > _DEEPEST:
        raise InputError(f"{name[:_SHOWN]} is nested too deeply")
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for key, entry in value.items():
            check_plain(entry, f"{name}/{key[:_SHOWN]}", depth=depth + 1)
    elif isinstance(value, list):
        for entry in value:
            check_plain(entry, name, depth=depth + 1)
    elif isinstance(value, float | int) and not isinstance(value, bool):
        if not (math.isfinite(value) if isinstance(value, float) else abs(value) <= _LARGEST):
            raise InputError(f"{name} holds a number that is too large")
    elif value is not None and not isinstance(value, str | bool):
        raise InputError(f"{name} must consist of JSON objects, lists, strings, numbers, true, false and null")


def slack(values: Floats) -> float:
    """Return the rounding tolerance for numbers of this size."""
    return 1e-9 * max(1.0, float(np.abs(values).max()))


def time_from(text: str) -> datetime:
    """Return the time in a document."""
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    raise InputError("created is not a valid timestamp")


def outlook_document(outlook: ExpectedError | None, *, schema: int = SCHEMA_VERSION) -> dict[str, Any] | None:
    """Return expected error and credible bands as JSON."""
    if outlook is None:
        return None
    document = {name: getattr(outlook, name) for name in ("expected_rmse", "level", "assumption")}
    if outlook.public_rmse is not None and schema > 1:
        document["public_rmse"] = outlook.public_rmse
    return document | {"lower": outlook.lower.tolist(), "upper": outlook.upper.tolist()}


def outlook_from(stated: dict[str, Any] | None, reviewers: int) -> ExpectedError | None:
    """Return expected error and credible bands from JSON."""
    if stated is None:
        return None
    lower, upper = (vector_from(stated[key], f"outlook/{key}") for key in ("lower", "upper"))
    if lower.size != reviewers or upper.size != reviewers:
        raise InputError(f"outlook/lower and outlook/upper must have {reviewers} entries")
    public = stated.get("public_rmse")
    return ExpectedError(
        expected_rmse=float(vector_from([stated["expected_rmse"]], "outlook/expected_rmse")[0]),
        lower=lower,
        upper=upper,
        level=stated["level"],
        assumption=stated["assumption"],
        public_rmse=None if public is None else float(vector_from([public], "outlook/public_rmse")[0]),
    )


def histogram_from(stated: dict[str, Any] | None, noisy: Floats) -> NoisyCounts | None:
    """Return noisy counts from JSON, if the noisy vector follows from them."""
    if stated is None:
        return None
    low, high = (vector_from(stated[key], f"histogram/{key}") for key in ("low", "high"))
    inside, counts = stated["inside"], stated["counts"]
    if not len(counts) == len(inside) == low.size == high.size or len({len(row) for row in inside}) != 1:
        raise InputError("histogram/low, high, inside and counts must have one entry per bin")
    places = np.array([vector_from(row, "histogram/inside") for row in inside])
    bins = Bins(low, high, places)
    histogram = NoisyCounts(bins=bins, counts=np.array(counts, dtype=np.int64), outside=stated.get("outside"))
    if not np.allclose(histogram.vector(noisy.size), noisy, rtol=0, atol=slack(noisy)):
        raise InputError("noisy is not the vector that the histogram's counts imply; the file was changed")
    return histogram


def mechanism_from_document(stated: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a mechanism, if its parameters are valid."""
    if kind_of(stated["name"]) is not None and mechanism_from(stated) is None:
        raise InputError(f"mechanism does not describe {stated['name']} noise; the file was changed")
    for name in ("scale", "bound"):
        for described in (stated, stated.get("law")):
            size = described.get(name) if isinstance(described, dict) else None
            if isinstance(size, float | int) and not _SCALES[0] <= size <= _SCALES[1]:
                raise InputError(f"mechanism/{name} is too small or too large to draw noise")
    return stated


def claim_document(claim: Guarantee) -> dict[str, Any]:
    """Return the numbers of a claim as JSON."""
    names = ("kind", "unit", "epsilon", "delta", "rho", "omega", "float_safe")
    return {name: getattr(claim, name) for name in names}


def claim_from(stated: dict[str, Any]) -> Guarantee:
    """Return a claim from JSON; schema 1 does not describe neighbours."""
    return Guarantee(**stated | {"neighbours": Neighbours(**stated.get("neighbours", {}))})


def group_document(group: Group | None) -> dict[str, Any] | None:
    """Return a group of papers as JSON."""
    if group is None:
        return None
    document: dict[str, Any] = {"name": group.name, "groups": group.groups, "shared_reviewers": group.shared}
    if group.together is None:  # schema 1
        return document

    def written(claim: Guarantee) -> dict[str, Any]:
        return claim_document(claim) | {"neighbours": claim.neighbours.to_document()}

    def costs(each: GroupClaim) -> dict[str, Any]:
        return {} if each.sums is None else {"sums": asdict(each.sums)}

    claims = [
        {"claim": written(each.claim), "scale": each.scale, "moved": each.moved} | costs(each) for each in group.claims
    ]
    return document | {"claims": claims, "together": written(group.together)}


def group_from(stated: dict[str, Any] | None) -> Group | None:
    """Return a group of papers from JSON."""
    if stated is None:
        return None
    together = stated.get("together")  # absent in schema 1, as are the claims
    claims = (
        GroupClaim(**each | {"claim": claim_from(each["claim"])} | _sums_from(each))
        for each in stated.get("claims", ())
    )
    return Group(
        name=stated["name"],
        groups=stated["groups"],
        shared=stated["shared_reviewers"],
        claims=tuple(claims),
        together=None if together is None else claim_from(together),
    )


def _sums_from(stated: dict[str, Any]) -> dict[str, Any]:
    """The costs of an effect's numbers in a group, if they are stated."""
    return {"sums": SumCosts(**stated["sums"])} if "sums" in stated else {}


def loads_document(loads: Loads) -> dict[str, Any]:
    """Return the public loads as JSON."""
    if loads.counts is not None:
        return {"counts": {str(size): count for size, count in zip(loads.sizes, loads.counts, strict=True)}}
    if loads.sizes == tuple(range(loads.smallest, loads.largest + 1)):
        return {"range": [loads.smallest, loads.largest]}
    return {"sizes": list(loads.sizes)}


def loads_from(record: dict[str, Any]) -> Loads:
    """Return the public loads from the JSON of a record."""
    stated: dict[str, Any] = record["loads"]
    counts: tuple[int, ...] | None = None
    if "counts" in stated:
        pairs = sorted((int(size), count) for size, count in stated["counts"].items())
        sizes, counts = tuple(size for size, _ in pairs), tuple(count for _, count in pairs)
    elif "range" in stated:
        least, most = stated["range"][0], min(stated["range"][1], record["reviews"])
        if most - least > _WIDEST_RANGE:
            raise InputError(f"record/loads/range must span at most {_WIDEST_RANGE} loads")
        sizes = tuple(range(least, most + 1))
    else:
        sizes = tuple(stated["sizes"])
    return Loads(reviewers=record["reviewers"], reviews=record["reviews"], sizes=sizes, counts=counts)


@cache
def release_schema(version: int = SCHEMA_VERSION, kind: str = "release") -> dict[str, Any]:
    """Return the JSON schema of a version of release.json, of means, or of another kind such as an ``"effect"``.

    >>> release_schema()["title"], release_schema(1)["properties"]["schema_version"]
    ('Peerveil release', {'const': 1})
    """
    text = files("peerveil.releases").joinpath(f"schemas/{kind}-{version}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def read_document(path: str | os.PathLike[str]) -> tuple[str, Any]:
    """Return the name and the parsed JSON of a release.json, given itself or its folder."""
    name, text = read_text(release_file(path))
    document = parse_json(text, name=name)
    if document is None:
        raise FileError("is not JSON; a release.json written by Peerveil is needed", file=name)
    return name, document


def interpreted(make: Callable[[dict[str, Any]], T], document: object, name: str) -> T:
    """Return what a function makes of a document that follows its schema; any failure is an error with its name.

    >>> interpreted(lambda document: document["a"], {"a": 1}, "release.json")
    1
    """
    assert isinstance(document, dict)  # noqa: S101 - validated
    problem = ""
    try:
        return make(document)
    except InputError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - any bad file must give an error with its name
        problem = f"cannot be interpreted: {unexpected(error)}"
    raise FileError(problem, file=name)


def schema_version(document: object, name: str) -> int:
    """Return the schema version of a release of means, if it is supported."""
    if isinstance(document, dict) and (words := _OTHER_KINDS.get(str(document.get("kind")))):
        raise FileError(f"is {words}, not of means; verify, sign and withdraw read it", file=name)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if type(version) is int and version in SCHEMA_VERSIONS:
        return version
    got = version if isinstance(version, int) and abs(version) < 10**4 else "none"
    known = " or ".join(map(str, SCHEMA_VERSIONS))
    raise FileError(f"schema_version must be {known}, got {got}; read it with the Peerveil that wrote it", file=name)


def validate(document: object, name: str, version: int = SCHEMA_VERSION, *, kind: str = "release") -> None:
    """Refuse a document that violates the schema; the message gives the place and never the value."""
    validator = jsonschema.Draft202012Validator(release_schema(version, kind))
    for error in validator.iter_errors(document):
        where = "/".join(map(str, error.absolute_path)) or "the document"
        raise FileError(f"{where} violates the schema of version {version}: {error.validator}", file=name)
