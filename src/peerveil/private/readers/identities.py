"""Detection of reviewer ids that do not identify people: assigned anew for each paper, or several for one person.

A release protects all reviews of one id. If a person had another id on every paper, only single reviews would be
protected, and the claim of the release would be wrong.
"""

from __future__ import annotations

import re

import numpy as np

from peerveil.errors import Argument
from peerveil.private.readers.gathering import address
from peerveil.private.readers.protocol import Choices
from peerveil.record.committees import Committee, merged_id
from peerveil.tables.table import Names, Table

#: With fewer reviews, no id may occur twice by chance.
ENOUGH = 10
#: At most one in so many anonymous names occurs twice.
RARELY = 10
#: With fewer papers, a small committee may have reviewed all of them.
MANY = 20

#: Errors show so many lines.
_SHOWN = 10

_OF_A_PAPER = re.compile(r"/(?:Submission|Paper)\d+/", re.IGNORECASE)
_ANONYMOUS = re.compile(r"(?:.*/)?(?:Anon)?Reviewer_?[A-Za-z0-9]{1,5}", re.IGNORECASE)
_ORDINAL = re.compile(r"(?i:(?:anon(?:ymous)?[\s_-]*)?(?:reviewer|referee|review|rev|r)[\s_#-]*|#\s*)?(\d{1,3}|[A-Z])")

_REMEDY = (
    "use an export with addresses or profiles, or a file that maps ids to people (",
    Argument("people", ...),
    "). If these ids do identify the same people on every paper, state that with ",
    Argument("ids", "people"),
)


def plain_id(name: str, *, merge: bool) -> str:
    """Return an id up to the case of an e-mail address, or with ``merge`` up to case, blanks and accents of any id.

    >>> plain_id("Ann@X.org", merge=False), plain_id("Ann  Lée ", merge=False), plain_id("Ann  Lée ", merge=True)
    ('ann@x.org', 'Ann  Lée ', 'annlee')
    """
    return merged_id(name) if merge else str(address(name))


def same_people(reviewers: Names, *, merge: bool) -> tuple[Names, tuple[str, ...]]:
    """Return the reviewers with equal plain ids as one, and what the user should know about it: counts, no names.

    Addresses that differ in case are one person, as on every platform. Other ids that differ in case, blanks or accents
    only are one person on request.
    """
    addressed = _merged(reviewers, merge=False)
    merged = _merged(reviewers, merge=True)
    same, alike = (len(reviewers.values) - len(addressed.values), len(addressed.values) - len(merged.values))
    notices = []
    if same:
        notices.append(
            f"{same} addresses that differ from another only in case were taken for the same people"
            if same > 1
            else "1 address that differs from another only in case was taken for the same person"
        )
    if alike and merge:
        notices.append(
            f"{alike} ids that differ from another only in case, blanks or accents were merged with it"
            if alike > 1
            else "1 id that differs from another only in case, blanks or accents was merged with it"
        )
    elif alike:
        notices.append(
            f"{alike} {'reviewers have' if alike > 1 else 'reviewer has'} the id of another but for case, blanks or "
            "accents: if they are the same people, merge them (--merge-names)"
        )
    return merged if merge else addressed, tuple(notices)


def check_listed(committee: Committee, people: Names, reviews: Table, column: str) -> None:
    """Refuse reviewers who are not on a public list, by number and line.

    Neighbouring assignments have the same reviewers, so a refusal tells nothing about who wrote which review.
    """
    missing = [code for code, name in enumerate(people.values) if not committee.names(name)]
    if len(missing) == len(people.values):
        raise reviews.error(
            "no reviewer is on the list of the committee (",
            Argument("committee", ...),
            "); its ids must be those of the reviews",
            column=column,
        )
    if missing:
        lines = [reviews.lines[int(np.flatnonzero(people.codes == code)[0])] for code in missing[:_SHOWN]]
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise reviews.error(
            f"{len(missing)} of {len(people.values)} reviewers are not on the list of the committee (first reviews in "
            f"lines {', '.join(map(str, sorted(lines)))}{more}); add them to it if it is public that they review, or "
            "leave the list out (",
            Argument("committee", ...),
            ")",
            column=column,
        )


def _merged(reviewers: Names, *, merge: bool) -> Names:
    """Return the reviewers by their plain ids."""
    plain = [plain_id(name, merge=merge) for name in reviewers.values]
    values = tuple(sorted(set(plain)))
    if values == reviewers.values:
        return reviewers
    place = {name: code for code, name in enumerate(values)}
    return Names(values, np.array([place[name] for name in plain], dtype=np.uint32)[reviewers.codes])


def check_ids(table: Table, column: str, papers: Names, reviewers: Names, choices: Choices) -> None:
    """Refuse ids that are assigned anew for each paper."""
    if choices.ids is None and (problem := _problem(papers, reviewers)):
        raise table.error(f"{problem}; ", *_REMEDY, column=column)


def _problem(papers: Names, reviewers: Names) -> str:
    ids = reviewers.values
    if any("/" in name and _OF_A_PAPER.search(name) for name in ids):
        return "reviewers have anonymous signatures, which differ from paper to paper"
    if len(papers.values) < 2:
        return ""
    if len(ids) == reviewers.codes.size:
        return _never_twice(papers, reviewers)
    twice = int(np.count_nonzero(np.bincount(reviewers.codes) > 1))
    if twice * RARELY < len(ids) and all(map(_ANONYMOUS.fullmatch, ids)):  # short names repeat by chance
        return "reviewers have anonymous names, hardly any of which occurs on two papers"
    if _numbered(papers, reviewers):
        return "reviewers are numbered on each paper, so that number 1 is somebody else on the next"
    return ""


def _never_twice(papers: Names, reviewers: Names) -> str:
    """Return the problem with ids none of which occurs twice, if there is one."""
    ids, count = reviewers.values, len(reviewers.values)
    if all(map(_ANONYMOUS.fullmatch, ids)):
        return "reviewers have anonymous names, none of which occurs on two papers"
    codes = zip(reviewers.codes.tolist(), papers.codes.tolist(), strict=True)
    pairs = ((ids[reviewer], papers.values[paper]) for reviewer, paper in codes)
    if all(name != paper and name.startswith(paper) and not name[len(paper)].isdigit() for name, paper in pairs):
        return "reviewers are called after the paper, so that nobody occurs on two papers"
    if count >= ENOUGH and not any("@" in name or name.startswith("~") for name in ids):
        return f"none of {count} reviewers occurs on two papers, so their ids may not stand for people"
    return ""


def _numbered(papers: Names, reviewers: Names) -> bool:
    """Return whether the ids on each paper are consecutive numbers or letters, or few numbers on many papers."""
    matches = [_ORDINAL.fullmatch(name) for name in reviewers.values]
    texts = ["" if match is None else match[1] for match in matches]
    number = np.array([int(text) if text.isdigit() else ord(text) - 64 if text else -1 for text in texts])
    others = [name for name, match in zip(reviewers.values, matches, strict=True) if match is None]
    if 2 * len(others) >= number.size or any("@" in name or name.startswith("~") for name in others):
        return False
    numbered = number[reviewers.codes] >= 0  # others may be chairs or metareviewers
    above = int(number.max()) + 1
    pairs = papers.codes[numbered] * np.int64(above) + number[reviewers.codes[numbered]]
    paper, of_paper = np.divmod(np.unique(pairs), above)
    _, last, counts = np.unique(paper[::-1], return_index=True, return_counts=True)
    if counts.size >= MANY and number.max() <= counts.max() + 2:
        return True
    return bool((of_paper[::-1][last] == counts).all() and of_paper.min() >= 1)
