"""Comparison of printed JSON documents with their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pytest

from peerveil.app import schemas


def check_document(document: object, kind: str) -> None:
    """Fail unless a document fits its schema and has no field that the schema does not describe."""
    _validator(kind).validate(json.loads(json.dumps(document)))


@cache
def _validator(kind: str) -> Any:
    return jsonschema.Draft202012Validator(_closed(schemas.schema(kind)))


def _closed(schema: Any) -> Any:
    """A schema that admits no fields but those it lists: a field that is printed must be documented."""
    if isinstance(schema, dict):
        more = {"additionalProperties": False} if "properties" in schema else {}
        return more | {key: _closed(value) for key, value in schema.items()}
    return [_closed(value) for value in schema] if isinstance(schema, list) else schema


def check_all_printed(monkeypatch: pytest.MonkeyPatch, seen: Callable[[str], object] = lambda _: None) -> None:
    """Compare every document that commands print from now on; ``seen`` is called with its kind."""
    from peerveil.cli import show

    usual = show.print_json

    def checked(document: object, kind: str, **options: Any) -> None:
        check_document(document, kind)
        seen(kind)
        usual(document, kind, **options)

    monkeypatch.setattr(show, "print_json", checked)
