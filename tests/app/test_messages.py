"""Errors in the words of a front."""

from __future__ import annotations

import pytest

import peerveil as pv
from peerveil.app.messages import NOTHING_RELEASED, explain, renaming, written
from peerveil.cli.options import option
from peerveil.errors import Argument, FileError
from peerveil.web.labels import label

ERROR = pv.InputError(Argument("epsilon"), " must be > 0; or use ", Argument("lone", "zero"))


def test_each_front_spells_arguments_in_its_own_words() -> None:
    assert str(ERROR) == "epsilon must be > 0; or use lone='zero'"
    assert explain(ERROR, option) == ("--epsilon must be > 0; or use --lone zero", 2)
    words = "“Epsilon” must be > 0; or use “Miscalibration of a paper with a single review”: counts as zero"
    assert explain(ERROR, label) == (words, 2)


def test_text_that_may_hold_private_values_is_not_shown() -> None:
    for error in (KeyError("ann"), ValueError("ann gave 3"), OSError("ann's file")):
        words, code = explain(error, option)
        assert code == 1
        assert "ann" not in words
        assert NOTHING_RELEASED in words
    assert explain(OSError(28, "No space left"), option, consequence="") == ("No space left", 1)


def test_arguments_are_renamed_where_users_know_them_by_other_names() -> None:
    with pytest.raises(FileError) as caught, renaming(paper="public_paper"):
        raise FileError("say which with ", Argument("paper", ...), " and ", Argument("load", 3), file="paper.csv")
    assert caught.value.spelled(option) == "paper.csv: say which with --public-paper and --load 3"
    assert caught.value.spelled(label) == (
        "paper.csv: say which with the name 'paper' and “Reviews per reviewer, if all have the same”: 3"
    )


def test_the_inner_renaming_holds() -> None:
    with pytest.raises(pv.InputError) as caught, renaming(paper="other"), renaming(paper="public_paper"):
        raise pv.InputError(Argument("paper"), " is missing")
    assert caught.value.spelled(option) == "--public-paper is missing"


def test_values_are_written_as_users_write_them() -> None:
    assert written(pv.Histogram) == "histogram"
    assert option(Argument("loads", {4, 3})) == "--loads 3,4"
