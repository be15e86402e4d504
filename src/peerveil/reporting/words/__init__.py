"""The words of reports, charts and metadata, one file per language.

Another language needs another file, with the sections of en.toml. Quantities, mechanisms and estimators describe
themselves in English; the sections ``quantity``, ``number``, ``mechanism`` and ``accuracy`` of a file replace their
words. What release.json states in words, such as the claim and the findings, is quoted as it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

from peerveil.quantities.base import Words, words_of


def say(key: str, **fields: object) -> str:
    """Return the words of a key such as ``"chart.released"``, with its fields filled in.

    >>> say("chart.released"), say("title.proven_width", proven="3.1", unit=" points")
    ('released', 'Public data alone proves a range 3.1 points wide on average')
    """
    section, _, name = key.partition(".")
    words: str = _words()[section][name]
    return words.format(**fields)


def say_or(section: str, name: str, default: str) -> str:
    """Return the words of a name in a section; the default if the language has none.

    >>> say_or("mechanism", "laplace", "Laplace noise was added")
    'Laplace noise was added'
    """
    words: str = _words().get(section, {}).get(name, default)
    return words


def quantity_words(name: str) -> Words:
    """Return the words of a quantity, in the language of the report.

    >>> quantity_words("ratings").title
    'How the reviewers rate'
    """
    return replace(words_of(name), **_words().get("quantity", {}).get(name, {}))


def say_of(quantity: str) -> Callable[..., str]:
    """Return :func:`say` with the words for the numbers of a quantity's release, such as means or spreads.

    >>> say_of("spread of ratings")("title.histogram"), say_of("ratings")("report.expected_error", summary="none")
    ('Reviewers by their released spread', 'Expected error of a mean: none.')
    """
    words = quantity_words(quantity)
    several = f"{words.numbers[:1].upper()}{words.numbers[1:]}"
    english = {"mean": words.number, "a_mean": words.a_number, "means": words.numbers, "Means": several}
    return partial(say, **english | _words().get("number", {}).get(words.number, {}))


def reviewers(number: int) -> str:
    """Return a number of reviewers in words.

    >>> reviewers(12345), reviewers(1)
    ('12,345 reviewers', '1 reviewer')
    """
    return say("count.reviewer" if number == 1 else "count.reviewers", number=f"{number:,}")


@cache
def _words(language: str = "en") -> dict[str, Any]:
    text = files("peerveil.reporting.words").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
