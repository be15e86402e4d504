"""The words of reports and charts, one file per language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


def say(key: str, **fields: object) -> str:
    """Return the words of a key such as ``"chart.released"``, with its fields filled in.

    >>> say("chart.released"), say("title.proven_width", proven="3.1")
    ('released', 'Public data alone proves a range 3.1 wide on average')
    """
    section, _, name = key.partition(".")
    return _words()[section][name].format(**fields)


@cache
def _words(language: str = "en") -> dict[str, dict[str, str]]:
    text = files("peerveil.reporting.words").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
