"""Spelling: every word of the documents is in a dictionary or in docs/words.txt, and is spelt the British way."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from spellchecker import SpellChecker

ROOT = Path(__file__).parents[2]
LIST = ROOT / "docs" / "words.txt"
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")),
]
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # noqa: RUF001 - both apostrophes are met
#: The dictionary takes these; we write colour, neighbour, centre, recognise. A quantity is called normalized.
AMERICAN = re.compile(
    r"(colo|behavio|neighbo|favo|hono|labo)r(s|ed|ing|ly|able|hood)?|centers?|grays?|labeled|model(ed|ing)|catalogs?|"
    r"(?!normalized$|(re|cap)?siz|priz|seiz)\w+iz(e|es|ed|ing|ations?)"
)


def american(word: str) -> bool:
    return AMERICAN.fullmatch(word) is not None


def prose(path: Path) -> str:
    """A document's Markdown."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def words_of(markdown: str) -> set[str]:
    """The words of a text, in lower case: no code, no abbreviations in capitals, no names of types."""
    found = set()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        for child in token.children or []:
            if child.type == "text":
                for word in WORD.findall(child.content):
                    bare = re.sub(r"['’]s$", "", word)  # noqa: RUF001 - as above
                    if len(bare) > 2 and bare[1:] == bare[1:].lower():
                        found.add(bare.lower())
    return found


@cache
def dictionary() -> SpellChecker:
    return SpellChecker(language="en")


def own_words() -> list[str]:
    return [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def test_every_word_is_known() -> None:
    known = set(own_words())
    for path in DOCUMENTS:
        strange = sorted(dictionary().unknown(words_of(prose(path)) - known))
        assert not strange, f"{path.name}: misspelt, or missing in docs/words.txt: {', '.join(strange)}"


def test_spelling_is_british() -> None:
    for path in DOCUMENTS:
        strange = sorted(word for word in words_of(prose(path)) if american(word))
        assert not strange, f"{path.name}: {', '.join(strange)}"


def test_the_list_is_sorted_and_holds_only_what_is_needed() -> None:
    listed = own_words()
    assert listed == sorted(set(listed))
    assert not set(listed) - dictionary().unknown(listed), "the dictionary has these already"
    used = set().union(*(words_of(prose(path)) for path in DOCUMENTS))
    assert not set(listed) - used, "no document uses these"


def test_mistakes_are_found() -> None:
    found = words_of("A reveiwer's `cdoe` saw the **colur** of JSON in PublicRecord.\n\n```\nmisteak\n```\n")
    assert {"reveiwer", "colur"} <= dictionary().unknown(found)
    assert not found & {"cdoe", "misteak", "json", "publicrecord"}
    assert [word for word in ("color", "neighbors", "minimize", "centers", "optimization") if not american(word)] == []
    assert [
        word for word in ("colour", "minimise", "size", "prize", "normalized", "wise", "raising") if american(word)
    ] == []
