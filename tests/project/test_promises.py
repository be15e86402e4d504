"""Each promise of the documents is shown by a test, an exhaustion, an audit or a benchmark."""

from __future__ import annotations

from collections import Counter

import pytest

import promises
from promises import Evidence, Promise


def test_every_promise_stands_in_its_document() -> None:
    gone = [promise.name for promise in promises.promises() if not promise.stands()]
    assert not gone, "change the words in tests/promises.toml with those of the document, and look at what shows them"


def test_every_promise_is_shown_and_every_mark_is_of_a_promise() -> None:
    known, marked = {one.name for one in promises.promises()}, {one.promise for one in promises.evidence()}
    assert not sorted(known - marked), "promises that nothing shows"
    assert not sorted(marked - known), "marks of promises that nobody makes"
    assert len(known) > 100


def test_no_promise_is_listed_twice() -> None:
    names = Counter(one.name for one in promises.promises())
    words = Counter((one.document, one.words) for one in promises.promises())
    assert not [one for one, number in (names | words).items() if number > 1]


def test_the_page_lists_what_is_marked() -> None:
    assert promises.PAGE.read_text("utf-8") == promises.page(), "run `make numbers`"


def test_marks_are_found_as_they_are_written() -> None:
    text = """
@pytest.mark.slow
@pytest.mark.promise("P-A-1", "P-A-2", by="audit")
def test_one(): ...

class TestMore:
    @pytest.mark.promise("P-A-3")
    def test_two(self): ...
"""
    assert list(promises.marked(text, "f")) == [
        Evidence("P-A-1", "f", "test_one", "audit", slow=True),
        Evidence("P-A-2", "f", "test_one", "audit", slow=True),
        Evidence("P-A-3", "f", "test_two"),
    ]
    text = 'out.table("name", "Title", columns, promises=("P-B-1",))'
    assert list(promises.benchmarked(text, "g")) == [Evidence("P-B-1", "g", "name", "benchmark")]


def test_wrong_marks_and_promises_are_refused() -> None:
    with pytest.raises(ValueError, match="is not one of"):
        Evidence("P-A-1", "f", "test_one", "proof")
    with pytest.raises(ValueError, match="P-TOPIC-1"):
        Promise("A1", "README.md", "words")
    assert not Promise("P-A-1", "README.md", "words that nobody wrote").stands()
