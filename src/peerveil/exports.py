"""Synthetic exports: what the platforms' files look like, written from invented conferences. Nobody in them exists."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from peerveil.errors import InputError
from peerveil.simulate import Conference

_VENUE = "Example.org/2026/Conference"
_TEXT = 'A review, with "quotes", commas;\nand two lines.'
_WORDS = ("Reject", "Weak reject", "Borderline, leaning nowhere", "Weak accept", "Accept: good paper", "Award quality")


@dataclass(frozen=True, kw_only=True)
class Style:
    """How the text of an export is written.

    Attributes:
        separator: between the cells of a CSV.
        newline: at the end of a line of a CSV.
        mark: whether the text begins with a byte-order mark.
        packed: whether the file is packed with gzip.
        comma: whether scores have a decimal comma.
    """

    separator: str = ","
    newline: str = "\n"
    mark: bool = False
    packed: bool = False
    comma: bool = False

    def text(self, text: str) -> bytes:
        """A text as the bytes of a file."""
        data = text.encode("utf-8-sig" if self.mark else "utf-8")
        return gzip.compress(data, mtime=0) if self.packed else data

    def csv(self, rows: Iterable[Sequence[Any]]) -> bytes:
        """Rows as the bytes of a CSV."""
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self.separator, lineterminator=self.newline).writerows(rows)
        return self.text(buffer.getvalue())

    def score(self, score: float) -> str:
        """A score as it is written."""
        return f"{score:g}".replace(".", ",") if self.comma else f"{score:g}"


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who is who in an export: an entry a reviewer of the conference.

    Attributes:
        names: their names.
        emails: their addresses, no two alike but for case.
        members: for each reviewer the one who is responsible for their reviews: themselves, or a PC member.
    """

    names: Sequence[str]
    emails: Sequence[str]
    members: Sequence[int]

    @classmethod
    def invent(cls, conference: Conference) -> Cast:
        """Invented names; every seventh reviewer writes for the one before, unless both are on one paper."""
        count = int(conference.reviewer.max()) + 1
        papers = [set(conference.paper[conference.reviewer == j].tolist()) for j in range(count)]
        for_other = [j % 7 == 6 and not papers[j] & papers[j - 1] for j in range(count)]
        return cls(
            names=[f"Reviewer Number{j + 1}" for j in range(count)],
            emails=[f"reviewer-{j + 1:04d}@example.org" for j in range(count)],
            members=[j - other for j, other in enumerate(for_other)],
        )


def export(
    conference: Conference,
    kind: str,
    *,
    cast: Cast | None = None,
    style: Style = Style(),  # noqa: B008 - it cannot change
) -> tuple[str, bytes]:
    """A conference as a platform would export it: the usual name of such a file, and its bytes.

    Papers are numbered from 1. Besides the conference's reviews the file has what real ones have: metareviews, drafts
    and reviews without a score, where the platform exports such.

    Args:
        conference: the reviews.
        kind: one of :data:`KINDS`.
        cast: who is who; invented by default.
        style: how the text is written.

    >>> from peerveil.simulate import synthetic_conference
    >>> conference = synthetic_conference(reviewers=4, load=2, reviews_per_paper=2, rng=np.random.default_rng(0))
    >>> name, data = export(conference, "hotcrp")
    >>> name, data.decode().splitlines()[0]
    ('hotcrp-reviews.csv', 'paper,title,review,reviewername,email,Overall merit,Reviewer expertise,...
    """
    if kind not in KINDS:
        raise InputError(f"export must be one of {', '.join(KINDS)}, got {kind!r}")
    name, write = KINDS[kind]
    data = write(conference, cast or Cast.invent(conference), style)
    return f"{name}.gz" if style.packed and data.startswith(b"\x1f\x8b") else name, data


def _reviews(conference: Conference) -> list[tuple[int, int, float]]:
    """Paper, reviewer and score of each review, paper by paper, as platforms list them."""
    order = np.lexsort((conference.reviewer, conference.paper))
    columns = (conference.paper[order], conference.reviewer[order], conference.score[order])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _letters(conference: Conference) -> list[str]:
    """The letter that HotCRP gives each review on its paper."""
    letters, seen = [], dict.fromkeys(range(int(conference.paper.max()) + 1), 0)
    for paper, _, _ in _reviews(conference):
        letters.append(f"{paper + 1}{chr(65 + seen[paper] % 26) * (1 + seen[paper] // 26)}")
        seen[paper] += 1
    return letters


def _title(paper: int) -> str:
    return f'On "Subject" {paper + 1}, revisited'


def _table(conference: Conference, cast: Cast, style: Style) -> bytes:
    rows = [(p + 1, cast.emails[a], style.score(x)) for p, a, x in _reviews(conference)]
    return style.csv([("paper", "reviewer", "score"), *rows])


def _hotcrp_reviews(conference: Conference, cast: Cast, style: Style) -> bytes:
    header = (
        "paper",
        "title",
        "review",
        "reviewername",
        "email",
        "Overall merit",
        "Reviewer expertise",
        "Comments\nfor PC",
    )
    rows = [
        (p + 1, _title(p), letter, cast.names[a], cast.emails[a], style.score(x), 3, _TEXT)
        for (p, a, x), letter in zip(_reviews(conference), _letters(conference), strict=True)
    ]
    without = (10**6, "A paper with an unfinished review", "1000000A", cast.names[0], cast.emails[0], "", "", "")
    return style.csv([header, *rows, without])


def _hotcrp_scores(conference: Conference, cast: Cast, style: Style) -> bytes:
    header = ("paper", "title", "decision", "review", "reviewername", "email", "OveMer", "RevExp")
    rows = [
        (
            p + 1,
            _title(p),
            "Accepted" if p % 3 else "Rejected",
            letter,
            cast.names[a],
            cast.emails[a],
            style.score(x),
            2,
        )
        for (p, a, x), letter in zip(_reviews(conference), _letters(conference), strict=True)
    ]
    return style.csv([header, *rows])


def _hotcrp_batch(conference: Conference, cast: Cast, style: Style) -> bytes:
    header = ("pid", "review", "email", "round", "submitted_at", "vtag", "status", "Overall merit", "Paper summary")
    rows = [
        (p + 1, letter, cast.emails[a], "R1", _TIMES[i % len(_TIMES)], i, "complete", style.score(x), _TEXT)
        for i, ((p, a, x), letter) in enumerate(zip(_reviews(conference), _letters(conference), strict=True))
    ]
    draft = (10**6, "1000000A", cast.emails[0], "R1", "", 0, "draft", "3", "")
    return style.csv([header, *rows, draft])


_TIMES = ("2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00", "2026-02-28T19:30:00-16:30", "1772366400")


def _hotcrp_objects(conference: Conference, cast: Cast) -> list[dict[str, Any]]:
    reviews: list[dict[str, Any]] = [
        {
            "object": "review",
            "pid": p + 1,
            "rid": i + 1,
            "ordinal": letter.lstrip("0123456789"),
            "rtype": 2,
            "round": "R1",
            "status": "complete",
            "reviewer": cast.names[a],
            "reviewer_email": cast.emails[a],
            "OveMer": x,
            "RevExp": False,
        }
        for i, ((p, a, x), letter) in enumerate(zip(_reviews(conference), _letters(conference), strict=True))
    ]
    base = reviews[0] | {"pid": 10**6}
    return [*reviews, base | {"rtype": 5}, base | {"status": "draft"}, base | {"OveMer": False}]


def _hotcrp_json(conference: Conference, cast: Cast, style: Style) -> bytes:
    return style.text(_json({"ok": True, "reviews": _hotcrp_objects(conference, cast)}))


def _hotcrp_rqc(conference: Conference, cast: Cast, style: Style) -> bytes:
    papers: dict[int, dict[str, Any]] = {}
    for review in _hotcrp_objects(conference, cast):
        paper = papers.setdefault(review["pid"], {"pid": review["pid"], "title": _title(review["pid"]), "reviews": []})
        paper["reviews"].append({key: value for key, value in review.items() if key != "pid"})
    return style.text(_json({"hotcrp_version": "3.1", "reviewform": {}, "papers": list(papers.values())}))


def _easychair_rows(conference: Conference, cast: Cast, style: Style) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for i, (p, a, x) in enumerate(_reviews(conference)):
        member = cast.members[a]
        first, _, last = cast.names[a].partition(" ") if member != a else ("", "", "")
        writer = (first, last, cast.emails[a], 5000 + a) if member != a else ("", "", "", "")
        for version in range(1, 2 + (i == 0)):  # the first review was changed once
            score = x if version == 1 + (i == 0) else x + 1
            scores = f"Overall evaluation: {style.score(score)}\nReviewer's confidence: 4"
            when = (f"2026-03-{1 + i % 28:02d}", f"{i % 24:02d}:30", "no")
            review = (len(rows) + 1, p + 1, member + 1, cast.names[member], i + 1, version, _TEXT, scores)
            rows.append((*review, style.score(score), *writer, *when))
    return rows


_EASYCHAIR = (
    *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
    *(
        "reviewer first name",
        "reviewer last name",
        "reviewer email",
        "reviewer person #",
        "date",
        "time",
        "attachment?",
    ),
)


def _easychair(conference: Conference, cast: Cast, style: Style) -> bytes:
    return style.csv([_EASYCHAIR, *_easychair_rows(conference, cast, style)])


def _easychair_bare(conference: Conference, cast: Cast, style: Style) -> bytes:
    return style.csv([(*row[:8], *row[9:]) for row in _easychair_rows(conference, cast, style)])


def _easychair_zip(conference: Conference, cast: Cast, style: Style) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (
            ("submission.csv", b"#,title\n1,A paper\n"),
            ("review.csv", _easychair(conference, cast, replace(style, packed=False))),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _cmt(conference: Conference, cast: Cast, style: Style) -> bytes:
    people = (
        "Paper ID",
        "Paper Title",
        "Reviewer Name",
        "Reviewer Email",
        "Reviewer Number",
        "Created",
        "Last Modified",
    )
    questions = ("Q1 (Comments\nto authors)", "Q2 (Overall\nrating)", "Q2 (Overall\nrating - Value)")
    header = (*people, *questions, "Q3 (Confidence)", "Q3 (Confidence - Value)")
    place: dict[int, int] = {}
    tracks: tuple[list[Sequence[Any]], ...] = ([], [])
    for p, a, x in _reviews(conference):
        place[p] = place.get(p, 0) + 1
        who = (p + 1, _title(p), cast.names[a], cast.emails[a], place[p], _CMT_TIME, _CMT_TIME)
        tracks[p % 2].append((*who, _TEXT, _WORDS[int(x) % 6], style.score(x), "Fairly sure", 4))
    tracks[0].append((10**6, "A paper", cast.names[0], cast.emails[0], 1, "", "", "Unfinished", "", "", "", ""))
    sheets = "".join(
        _sheet(f"Track {i}", [("Example Conference 2026",), (), header, *rows]) for i, rows in enumerate(tracks, 1)
    )
    namespaces = (
        'xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"'
    )
    return style.text(f'<?xml version="1.0"?>\n<Workbook {namespaces}>\n{sheets}</Workbook>\n')


_CMT_TIME = "3/1/2026 4:05:06 AM -08:00"


def _sheet(name: str, rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"<Worksheet ss:Name={quoteattr(name)}><Table>"]
    for row in rows:
        cells, gap = [], False
        for place, value in enumerate(row, 1):
            index = f' ss:Index="{place}"' if gap else ""
            kind = "Number" if isinstance(value, int | float) else "String"
            gap = value == ""  # an empty cell is left out, and the next one says where it stands
            text = escape(str(value), {"\n": "&#10;", "\r": "&#13;"})
            cells += [f'<Cell{index}><Data ss:Type="{kind}">{text}</Data></Cell>'] * (not gap)
        lines.append(f"<Row>{''.join(cells)}</Row>")
    return "\n".join([*lines, "</Table></Worksheet>", ""])


def _signature(paper: int, reviewer: int, part: str) -> str:
    letters = "".join(chr(65 + (1009 * paper + 9176 * reviewer) // 26**k % 26) for k in range(4))
    return f"{_VENUE}/{part}{paper + 1}/Reviewer_{letters}{reviewer}"


def _openreview(conference: Conference, cast: Cast, style: Style, *, version: int = 2) -> bytes:
    part, replies = ("Submission", "replies") if version == 2 else ("Paper", "directReplies")
    groups = [
        {
            "id": _VENUE,
            "members": [],
            "content": _content({"review_name": "Official_Review", "review_rating": "rating"}),
        }
    ]
    submissions: dict[int, dict[str, Any]] = {}
    for i, (p, a, x) in enumerate(_reviews(conference)):
        signature = _signature(p, a, part)
        groups.append({"id": signature, "members": [cast.emails[a]], "content": {}})
        forum = submissions.setdefault(
            p, _note(f"paper{p + 1}", p, "Submission", [_VENUE], version=version) | {"details": {replies: []}}
        )
        rating = x if version == 2 else f"{style.score(x)}: {_WORDS[int(x) % 6]}"
        content = {"rating": rating, "confidence": 4, "summary": _TEXT}
        review = _note(f"note{i + 1}", p, "Official_Review", [signature], content, version=version)
        forum["details"][replies].append(review)
    base: list[dict[str, Any]] = submissions[min(submissions)]["details"][replies]
    meta = _note(
        "meta", 0, "Meta_Review", [f"{_VENUE}/Paper1/Area_Chair_1"], {"recommendation": "Accept"}, version=version
    )
    base += [meta, base[0] | {"id": "gone", "ddate": 1}]
    return style.text(_json({"groups": groups, "notes": list(submissions.values())}))


def _note(
    name: str, paper: int, kind: str, signatures: list[str], content: dict[str, Any] | None = None, *, version: int
) -> dict[str, Any]:
    part = "Submission" if version == 2 else "Paper"
    invitation = f"{_VENUE}/{part}{paper + 1}/-/{kind}"
    return {
        "id": name,
        "forum": f"paper{paper + 1}",
        "replyto": None if kind == "Submission" else f"paper{paper + 1}",
        "signatures": signatures,
        "readers": ["everyone"],
        "tcdate": 1_772_366_400_000,
        **({"invitations": [invitation, f"{_VENUE}/-/Edit"]} if version == 2 else {"invitation": invitation}),
        "content": _content(content or {"title": _title(paper)})
        if version == 2
        else content or {"title": _title(paper)},
    }


def _content(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in fields.items()}


def _openreview_1(conference: Conference, cast: Cast, style: Style) -> bytes:
    return _openreview(conference, cast, style, version=1)


def _by_paper(conference: Conference) -> dict[int, list[float]]:
    papers: dict[int, list[float]] = {}
    for p, _, x in _reviews(conference):
        papers.setdefault(p, []).append(x)
    return papers


def _public(conference: Conference, cast: Cast, style: Style) -> bytes:
    rows = [(p + 1, ";".join(map(style.score, scores))) for p, scores in _by_paper(conference).items()]
    return style.csv([("paper", "ratings"), *rows])


def _public_tsv(conference: Conference, cast: Cast, style: Style) -> bytes:
    papers = _by_paper(conference)
    most = max(map(len, papers.values()))
    rows = [
        (p + 1, *map(style.score, scores), *[""] * (most - len(scores)), "Accept" if p % 3 else "Reject")
        for p, scores in papers.items()
    ]
    return replace(style, separator="\t").csv([("paper_id", *range(most), "decision"), *rows])


def _public_lists(conference: Conference, cast: Cast, style: Style) -> bytes:
    rows = [(p + 1, _title(p), str(scores), "Poster") for p, scores in _by_paper(conference).items()]
    return style.csv([("id", "title", "ratings", "decision"), *rows])


def _paperlists(conference: Conference, cast: Cast, style: Style) -> bytes:
    papers: list[dict[str, Any]] = [
        {"id": str(p + 1), "title": _title(p), "status": "Poster", "rating": ";".join(map(style.score, scores)),
         "confidence": ";".join("4" for _ in scores), "rating_avg": [float(np.mean(scores)), 0.5]}
        for p, scores in _by_paper(conference).items()
    ]  # fmt: skip
    return style.text(_json([*papers, {"id": "1000000", "title": "Desk rejected", "status": "Withdraw", "rating": ""}]))


def _peerread(conference: Conference, cast: Cast, style: Style) -> bytes:
    papers = []
    for p, scores in _by_paper(conference).items():
        reviews: list[dict[str, Any]] = [
            {"RECOMMENDATION": style.score(x), "CLARITY": "3", "comments": _TEXT} for x in scores
        ]
        reviews += [{"RECOMMENDATION": "5", "is_meta_review": True, "comments": ""}, {"comments": "Without a score"}]
        papers.append({"id": str(p + 1), "title": _title(p), "reviews": reviews})
    return style.text(_json(papers))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


#: The exports there are: the usual name of each file, and what writes it.
KINDS: dict[str, tuple[str, Callable[[Conference, Cast, Style], bytes]]] = {
    "table": ("reviews.csv", _table),
    "openreview": ("openreview-notes.json", _openreview),
    "openreview-v1": ("openreview-v1-notes.json", _openreview_1),
    "hotcrp": ("hotcrp-reviews.csv", _hotcrp_reviews),
    "hotcrp-scores": ("hotcrp-scores.csv", _hotcrp_scores),
    "hotcrp-batch": ("hotcrp-batch.csv", _hotcrp_batch),
    "hotcrp-json": ("hotcrp-reviews.json", _hotcrp_json),
    "hotcrp-rqc": ("hotcrp-rqc.json", _hotcrp_rqc),
    "easychair": ("easychair-review.csv", _easychair),
    "easychair-bare": ("easychair-bare.csv", _easychair_bare),
    "easychair-zip": ("easychair.zip", _easychair_zip),
    "cmt": ("cmt-reviews.xls", _cmt),
    "public": ("public.csv", _public),
    "public-tsv": ("public.tsv", _public_tsv),
    "public-lists": ("public-lists.csv", _public_lists),
    "paperlists": ("paperlists.json", _paperlists),
    "peerread": ("peerread.json", _peerread),
}

#: Those of them that hold private reviews; the others hold public scores.
PRIVATE = tuple(
    kind for kind in KINDS if kind not in ("public", "public-tsv", "public-lists", "paperlists", "peerread")
)
