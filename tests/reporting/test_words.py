"""All words of reports, charts and metadata are in one file: a made-up language puts every word in brackets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import peerveil as pv
from made_up import release
from peerveil.reporting import charts, words
from peerveil.reporting.metadata import bibtex, croissant
from peerveil.reporting.report import figures, report_html
from reporting.test_charts import PICTURES, dealt, with_counts

EXAMPLE = Path(pv.__file__).parent / "web" / "example" / "release.json"


def unnamed(made: pv.Release) -> pv.Release:
    """The release without what its chairs call it, which no language translates."""
    return replace(made, terms=replace(made.terms, about=pv.About(), licence=None))


RELEASES: dict[str, Callable[[], pv.Release]] = {
    "example": lambda: unnamed(pv.Release.load(EXAMPLE)),
    "vector": lambda: dealt(release(300)),
    "unknown": lambda: release(20, known=False),
    "difference": lambda: with_counts(dealt(release(50, "miscalibration"))),
}

#: What needs no translation: names in files and formulas, and keys of BibTeX.
NAMES = {
    "release",
    "csv",
    "json",
    "croissant",
    "sha256",
    "epsilon",
    "delta",
    "scale",
    "bins",
    "misc",
    "author",
    "title",
    "organization",
    "year",
    "howpublished",
    "url",
    "note",
    "ratings",
    "miscalibration",
    "histogram",
    "laplace",
    "tight",
    "safe",
    "bayes",
    "Pr",
    "peerveil",
}


def bracketed(text: str) -> str:
    """The words of a text in brackets, and its fields outside of them.

    >>> bracketed("{low} to {high}")
    '{low}⟦ to ⟧{high}'
    """
    parts = []
    for literal, field, spec, _ in Formatter().parse(text):
        parts.append(f"⟦{literal}⟧" if literal else "")
        parts.append("" if field is None else f"{{{field}{':' + spec if spec else ''}}}")
    return "".join(parts)


@pytest.fixture
def bracket_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report in a language that has every word of English in brackets."""
    english = words._words("en")
    made: dict[str, Any] = {
        section: {name: bracketed(text) for name, text in named.items()} for section, named in english.items()
    }
    made["report"]["language"] = "x-brackets"
    made["mechanism"] = dict.fromkeys(("laplace", "histogram"), "⟦noise⟧")
    made["accuracy"] = dict.fromkeys(("safe", "bayes"), "⟦accurate⟧")
    described = {"title": "⟦title⟧", "meaning": "⟦meaning⟧", "mean": "⟦mean⟧", "short_mean": "⟦mean⟧", "unit": ""}
    made["quantity"] = {
        "ratings": described,
        "miscalibration": described | {"sides": ("⟦below⟧", "⟦above⟧")},
    }
    made["number"] = {"mean": dict.fromkeys(("mean", "a_mean", "means", "Means"), "⟦mean⟧")}
    monkeypatch.setattr(words, "_words", lambda: made)


class Texts(HTMLParser):
    """The texts of a page, and of the attributes that readers see or hear."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.metadata: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.texts += [value for name, value in attrs if name in ("aria-label", "data-label", "alt") and value]

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.metadata.append(data)
        elif self._inside != "style":
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""


def stated(made: pv.Release) -> list[str]:
    """What a release states in words of its own, which a report quotes."""
    claim, outlook = made.claim, made.outlook
    found = [made.human, made.guarantee.summary, made.promise, made.not_protected, made.public, made.citation]
    found += [made.software, made.caution, made.loads.describe(), *made.notes]
    found += [text for finding in made.findings for text in (finding.sentence, finding.assumption)]
    if claim is not None:
        found += [claim["unit"], claim["domain"], *claim["invariants"], claim["neighbours"], claim["measure"]]
    if outlook is not None:
        found += [outlook.summary, outlook.assumption]
    if made.verdict is not None:
        found.append(made.verdict.sentence)
    return sorted(filter(None, found), key=len, reverse=True)


def english(text: str, quoted: list[str]) -> list[str]:
    """The words of a text outside of brackets that are neither quoted nor names."""
    flat = " ".join(text.split())
    for quote in quoted:
        flat = flat.replace(" ".join(quote.split()), " ")
    flat = re.sub(r"https?://\S+|T\d\d:\d\d:\d\dZ|\d{4}-[0-9a-f]{8}|[0-9a-f]{64}", " ", flat)
    return [word for word in re.findall(r"[A-Za-z0-9]{2,}", re.sub(r"⟦[^⟦⟧]*⟧", " ", flat)) if not is_name(word)]


def is_name(word: str) -> bool:
    return word in NAMES or not re.search(r"[A-Za-z]{2}", word)


def described(value: Any) -> Iterator[str]:
    """The names and descriptions in metadata."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("description", "measurementTechnique", "citeAs") and isinstance(part, str):
                yield part
            yield from described(part if key != "@context" else None)
    elif isinstance(value, list):
        for part in value:
            yield from described(part)


@pytest.mark.usefixtures("bracket_words")
@pytest.mark.parametrize("name", RELEASES)
def test_a_second_file_of_words_translates_the_report(name: str) -> None:
    made = RELEASES[name]()
    quoted = stated(made)
    page = Texts(report_html(made, pictures=figures(made), table=made.to_csv()))
    assert english(" ".join(page.texts), quoted) == []
    assert "".join(page.texts).count("⟦") > 80
    (metadata,) = (json.loads(text) for text in page.metadata if text.strip())
    assert metadata["inLanguage"] == "x-brackets"
    files_of = {"release.csv": b"", "release.json": b""}
    texts = [*described(metadata), *described(json.loads(croissant(made, files_of))), bibtex(made)]
    assert len(texts) > 15
    assert [english(text, quoted) for text in texts] == [[]] * len(texts)


@pytest.mark.usefixtures("bracket_words")
@pytest.mark.parametrize("name", ["comparison", "envelope", "error-against-epsilon"])
def test_a_second_file_of_words_translates_other_charts(name: str) -> None:
    texts = Texts(charts.to_svg(PICTURES[name]())).texts
    data = ["projection", "laplace", "histogram", "another", "safe", "baseline"]
    assert english(" ".join(texts), data) == []


def test_every_language_has_the_same_words_with_the_same_fields() -> None:
    def fields(text: str) -> set[str]:
        return {field for _, field, _, _ in Formatter().parse(text) if field}

    own = {"quantity", "mechanism", "accuracy"}
    first = words._words("en")
    languages = [Path(str(file)).stem for file in files(words).iterdir() if str(file).endswith(".toml")]
    assert "en" in languages
    for language in languages:
        other = words._words(language)
        assert set(other) - own == set(first)
        for section, named in first.items():
            assert {name: fields(text) for name, text in other[section].items()} == {
                name: fields(text) for name, text in named.items()
            }


def test_every_word_is_used() -> None:
    """A key that no code names is left over; keys made of parts are listed."""
    made_up = {"estimator", "column", "count", "accuracy", "effect_column", "crosstab_column", "correlation_column"}
    parts = "|".join(
        [
            r"title\.(half|tenth)_|title\.(vector|counts)$|description\.|metadata\.(csv|json)$",
            r"chart\.(axis_|tip_|solid$|dashed$|dotted$|mixed$|from$|to$|share$|mean$|mechanism$|estimator$)",
            r"report\.(half|smallest|greatest|exactly|almost)$",
        ]
    )
    folder = Path(words.__file__).parents[1]
    sources = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.suffix in (".py", ".html")]
    others = [*(folder.parent / "releases").glob("*/*.py"), folder.parent / "sampling" / "pictures.py"]
    sources += [path.read_text(encoding="utf-8") for path in others]
    text = "\n".join(sources)
    keys = [f"{section}.{name}" for section, named in words._words("en").items() for name in named]
    unused = [key for key in keys if f'"{key}"' not in text and key.split(".")[0] not in made_up]
    assert [key for key in unused if not re.match(parts, key)] == []
