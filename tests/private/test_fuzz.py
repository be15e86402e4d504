"""A small share of the spoilt files; the benchmark reads a hundred thousand."""

from __future__ import annotations

import pytest

from marks import slow
from mutations import FORMATS, fuzz_apart


@pytest.mark.parametrize(("seed", "files"), [slow(0, 25), slow(1, 25)])
def test_spoilt_files_are_read_or_refused(seed: int, files: int) -> None:
    found = fuzz_apart(FORMATS, files, seed)
    assert [result["kind"] for result in found] == list(FORMATS)
    for result in found:
        assert not result["failures"]
        assert sum(result["outcomes"].values()) == files
        assert result["outcomes"].get("refused", 0) > 0
