"""A small share of the spoilt files; the benchmark reads a hundred thousand."""

from __future__ import annotations

import pytest

from mutations import FORMATS, fuzz_apart


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_spoilt_files_are_read_or_refused(seed: int) -> None:
    found = fuzz_apart(FORMATS, 25, seed)
    assert [result["kind"] for result in found] == list(FORMATS)
    for result in found:
        assert not result["failures"]
        assert sum(result["outcomes"].values()) == 25
        assert result["outcomes"].get("refused", 0) > 0
