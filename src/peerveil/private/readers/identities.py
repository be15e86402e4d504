"""Reviewers' ids that stand for nobody: names that platforms give anew on every paper.

A release protects what one id holds. If a person has another id on every paper, each of their reviews would be
protected as if it were all they wrote, and the promise of the release would be wrong.
"""

from __future__ import annotations

import re

import numpy as np

from peerveil.errors import Argument
from peerveil.private.readers.protocol import Choices
from peerveil.tables.table import Names, Table

#: With fewer reviews it may be chance that no id occurs twice.
ENOUGH = 10
#: Of anonymous names at most one in so many occurs twice.
RARELY = 10
#: With fewer papers a small committee may have reviewed everything.
MANY = 20

_OF_A_PAPER = re.compile(r"/(?:Submission|Paper)\d+/", re.IGNORECASE)
_ANONYMOUS = re.compile(r"(?:.*/)?(?:Anon)?Reviewer_?[A-Za-z0-9]{1,5}", re.IGNORECASE)
_ORDINAL = re.compile(r"(?i:(?:anon(?:ymous)?[\s_-]*)?(?:reviewer|referee|review|rev|r)[\s_#-]*|#\s*)?(\d{1,3}|[A-Z])")

_REMEDY = (
    "bring an export that tells who they are (addresses, profiles), or a file that joins them to people (",
    Argument("people", ...),
    "). If these ids do stand for the same people on every paper, say so with ",
    Argument("ids", "people"),
)


def check_ids(table: Table, column: str, papers: Names, reviewers: Names, choices: Choices) -> None:
    """Refuse ids that name reviewers anew on every paper."""
    if choices.ids is not None:
        return
    problem = _problem(papers, reviewers)
    if problem:
        raise table.error(f"{problem}; ", *_REMEDY, column=column)


def _problem(papers: Names, reviewers: Names) -> str:
    ids = reviewers.values
    if any("/" in name and _OF_A_PAPER.search(name) for name in ids):
        return "reviewers have anonymous signatures, which differ from paper to paper"
    if len(papers.values) < 2:
        return ""
    if len(ids) == reviewers.codes.size:
        return _never_twice(papers, reviewers)
    if _hardly_twice(reviewers):
        return "reviewers have anonymous names, hardly any of which occurs on two papers"
    if _numbered(papers, reviewers):
        return "reviewers are numbered on each paper, so that number 1 is somebody else on the next"
    return ""


def _never_twice(papers: Names, reviewers: Names) -> str:
    """What is wrong with ids none of which occurs twice."""
    ids, count = reviewers.values, len(reviewers.values)
    if all(map(_ANONYMOUS.fullmatch, ids)):
        return "reviewers have anonymous names, none of which occurs on two papers"
    pairs = zip(reviewers.codes.tolist(), papers.codes.tolist(), strict=True)
    if all(_starts_with(ids[reviewer], papers.values[paper]) for reviewer, paper in pairs):
        return "reviewers are called after the paper, so that nobody occurs on two papers"
    if count >= ENOUGH and not any("@" in name or name.startswith("~") for name in ids):
        return f"none of {count} reviewers occurs on two papers, so their ids may not stand for people"
    return ""


def _hardly_twice(reviewers: Names) -> bool:
    """Whether anonymous names occur twice by chance only: they are short, so that in many some are alike."""
    twice = int(np.count_nonzero(np.bincount(reviewers.codes) > 1))
    return twice * RARELY < len(reviewers.values) and all(map(_ANONYMOUS.fullmatch, reviewers.values))


def _starts_with(name: str, paper: str) -> bool:
    return name != paper and name.startswith(paper) and not name[len(paper)].isdigit()


def _numbered(papers: Names, reviewers: Names) -> bool:
    """Whether the ids on each paper are the numbers (or letters) from the first on, or few numbers on many papers."""
    matches = [_ORDINAL.fullmatch(name) for name in reviewers.values]
    number = np.array([-1 if match is None else _counted(match[1]) for match in matches])
    others = [name for name, match in zip(reviewers.values, matches, strict=True) if match is None]
    if 2 * len(others) >= number.size or any("@" in name or name.startswith("~") for name in others):
        return False
    held = number[reviewers.codes] >= 0  # a chair or a metareviewer may stand among them
    above = int(number.max()) + 1
    pairs = papers.codes[held] * np.int64(above) + number[reviewers.codes[held]]
    paper, of_paper = np.divmod(np.unique(pairs), above)
    _, last, counts = np.unique(paper[::-1], return_index=True, return_counts=True)
    if counts.size >= MANY and number.max() <= counts.max() + 2:
        return True
    return bool((of_paper[::-1][last] == counts).all() and of_paper.min() >= 1)


def _counted(text: str) -> int:
    return int(text) if text.isdigit() else ord(text) - 64
