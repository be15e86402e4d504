"""OpenReview: a JSON dump of notes from either version of its API, with the groups that resolve signatures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from peerveil.errors import Argument, FileError
from peerveil.private.readers.gathering import DELETED, METAREVIEWS, Gathering, address
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.headings import SCORE_NAMES
from peerveil.tables.json_files import Element, elements
from peerveil.tables.opening import Opening, Readable, Source, guarded, open_source
from peerveil.tables.reading import read_table
from peerveil.tables.sniffing import Look

label = "OpenReview"

SCORES = (*SCORE_NAMES, "overall recommendation", "overall assessment", "evaluation")
ARRAYS = ("groups", "profiles", "notes")

_ANONYMOUS = re.compile(r".*/(?:Submission|Paper)\d+/.+|.*/(?:Anon)?Reviewer_?\w+\s*", re.IGNORECASE | re.DOTALL)
_OTHER_REPLIES = "other replies, such as comments and decisions"
_MIXED = "some reviewers go by a profile, others by an address: if they may be the same people, bring profiles"


def recognise(look: Look) -> str:
    """Return which of OpenReview's members the objects have."""
    if look.kind == "json":
        for names in (("signatures", "invitations"), ("signatures", "invitation"), ("groups", "members")):
            if set(names) <= set(look.first):
                return f"its objects have OpenReview's {' and '.join(names)}"
    return ""


def extract(source: Source, choices: Choices) -> Extract:
    """Return the reviews of a dump, each with the person behind its signature."""
    return from_elements(elements(source, under=ARRAYS), source.name, choices)


def from_elements(dump: Iterable[Element], name: str, choices: Choices) -> Extract:
    """Return the reviews among notes, groups and profiles."""
    people, notes = _People(), _Notes(name, choices)
    for line, key, value in dump:
        if not isinstance(value, dict):
            raise FileError("is not a JSON object; OpenReview has one object per note", file=name, line=line)
        if key == "profiles":
            people.profile(value)
        elif key == "groups" or (not key and isinstance(value.get("members"), list)):
            people.group(value)
            if notes.learn(value) and notes.gathering.rows:
                raise FileError(
                    "the venue's group, which names its reviews and ratings, follows its notes; put groups first, or "
                    "name them with ",
                    Argument("review_name", ...),
                    " and ",
                    Argument("score", ...),
                    file=name,
                    line=line,
                )
        else:
            notes.take(line, value)
    if choices.people is not None:
        people.join(choices.people)
    return notes.extract(people)


class _People:
    """The people behind signatures."""

    def __init__(self) -> None:
        self.member: dict[str, str] = {}
        self.canonical: dict[str, str] = {}

    def group(self, group: dict[str, Any]) -> None:
        members = _list(group.get("members"))
        if isinstance(group.get("id"), str) and members and isinstance(members[0], str):
            self.member[group["id"]] = members[0]

    def profile(self, profile: dict[str, Any]) -> None:
        content = _object(profile.get("content"))
        names = (_object(name).get("username") for name in _list(field_value(content.get("names"))))
        for alias in (profile.get("id"), *names, *_list(field_value(content.get("emails")))):
            if isinstance(alias, str) and isinstance(profile.get("id"), str):
                self.canonical[address(alias)] = profile["id"]

    def join(self, readable: Readable) -> None:
        """Add the people in a file of groups, or in a table of signatures and people."""
        source = open_source(readable, Opening(optional=False))
        if source.look.kind == "json":
            for _, key, value in guarded(lambda: list(elements(source, under=ARRAYS)), source.name):
                if key == "profiles":
                    self.profile(_object(value))
                elif "members" in _object(value):
                    self.group(value)
                else:
                    self.member |= {name: who for name, who in _object(value).items() if isinstance(who, str)}
            return
        table = read_table(source)
        signature = table.find("signature", ("signature", "signatures", "id", "group"), remedy="call it 'signature'")
        names = ("person", "profile", "member", "members", "reviewer", "email")
        person = table.find("person", names, remedy="call it 'profile'")
        self.member |= zip(table.text(signature), table.text(person), strict=True)

    def behind(self, signature: str) -> str | None:
        """Return the person behind a signature; ``None`` if it is anonymous and unknown."""
        person = self.member.get(signature, signature)
        if _ANONYMOUS.fullmatch(person):
            return None
        plain = str(address(person))
        return self.canonical.get(plain, plain)


class _Notes:
    """The reviews among the notes and their replies."""

    def __init__(self, name: str, choices: Choices) -> None:
        self.choices = choices
        self.review_name = choices.review_name or "Official_Review"
        self.ratings: tuple[str, ...] = ()
        self.gathering = Gathering(name, "json", SCORES, choices)
        self.seen: set[str] = set()
        self.with_readers = self.everyone = 0
        self.open_papers: dict[str, bool] = {}

    def learn(self, group: dict[str, Any]) -> bool:
        """Take the names of reviews and ratings that the venue's group states; return whether any changed."""
        before = (self.review_name, self.ratings)
        content = _object(group.get("content"))
        name, rating = (field_value(content.get(f"review_{key}")) for key in ("name", "rating"))
        if isinstance(name, str) and self.choices.review_name is None:
            self.review_name = name
        if rating is not None and self.choices.score is None:
            self.ratings = tuple(part for part in _list(rating) or [rating] if isinstance(part, str))
        return (self.review_name, self.ratings) != before

    def take(self, line: int, note: dict[str, Any]) -> None:
        """Add the reviews among a note and its replies, and count the other replies."""
        details = _object(note.get("details"))
        replies = _list(details.get("replies")) or _list(details.get("directReplies"))
        for reply in (note, *map(_object, replies)):
            kind = _kind(reply)
            if kind == "Decision" or (reply is note and not note.get("replyto")):
                fields = _object(reply.get("content")).items()
                paper = reply.get("forum") or reply.get("id")
                self.gathering.describe(paper, {name: field_value(value) for name, value in fields})
            if kind == self.review_name:
                self._review(line, reply)
            elif reply is not note or note.get("replyto"):
                self.gathering.drop(METAREVIEWS if kind.endswith("Meta_Review") else _OTHER_REPLIES)

    def _review(self, line: int, note: dict[str, Any]) -> None:
        identity = note.get("id")
        if isinstance(identity, str):
            if identity in self.seen:
                self.gathering.drop("second copies of a note")
                return
            self.seen.add(identity)
        if note.get("ddate"):
            self.gathering.drop(DELETED)
            return
        signatures = _list(note.get("signatures"))
        if not signatures or not isinstance(signatures[0], str):
            raise FileError("a review has no signature", file=self.gathering.name, line=line, column="signatures")
        content = _object(note.get("content"))
        wants = self.ratings.__contains__ if self.ratings else self.gathering.wants
        fields = {name: field_value(value) for name, value in content.items() if wants(name)}
        graded = self.gathering.grades(content)
        grades = {name: field_value(value) for name, value in graded.items()}
        self.gathering.add(line, note.get("forum"), signatures[0], fields, grades)
        if isinstance(note.get("readers"), list):
            parts = (*(content[name] for name in fields), *graded.values())
            readers = [part.get("readers") for part in (note, *map(_object, parts))]
            visible = all(those is None or "everyone" in _list(those) for those in readers)
            self.with_readers += 1
            self.everyone += visible
            paper = str(note.get("forum"))
            self.open_papers[paper] = visible and self.open_papers.get(paper, True)

    def extract(self, people: _People) -> Extract:
        """Return the reviews, with people instead of signatures."""
        extracted = self.gathering.extract(shows=self._shows())
        table = extracted.table
        signatures = table.cells[extracted.reviewer]
        person = {signature: people.behind(signature) for signature in signatures.unique()}
        unknown = [row for row, signature in enumerate(signatures) if person[signature] is None]
        if unknown and self.choices.ids is None:
            raise table.error(
                f"{len(unknown)} of {len(signatures)} reviews have anonymous signatures, which differ from paper to "
                "paper and cannot be resolved; provide the venue's groups with their members (",
                Argument("people", ...),
                ")",
                row=unknown[0],
                column="signatures",
            )
        table = table.mapped(extracted.reviewer, lambda signature: person[signature] or signature)
        names = table.cells[extracted.reviewer].unique()
        profiles = any(name.startswith("~") for name in names)
        mixed = profiles and any("@" in name and not name.startswith("~") for name in names)
        return replace(extracted, table=table, problems=(_MIXED,) if mixed else ())

    def _shows(self) -> list[str]:
        if not self.with_readers:
            return ["the notes do not say who can read them, so the file does not show which scores are public"]
        what = "score and the criteria" if self.choices.criteria else "score"
        some = f"{self.everyone} of {self.with_readers} reviews"
        shows = [f"everyone can read the {what} of {some}, by OpenReview's readers"]
        if 0 < self.everyone < self.with_readers:
            papers = f"{sum(self.open_papers.values())} of {len(self.open_papers)} papers"
            shows.append(
                f"all scores of {papers} are among them; the others must be hidden ('?') in a file of public scores"
            )
        return shows


def _kind(note: dict[str, Any]) -> str:
    """Return the kind of a note, the end of its invitation's name."""
    invitations = _list(note.get("invitations"))
    invitation = invitations[0] if invitations else note.get("invitation")
    return invitation.rpartition("/")[2] if isinstance(invitation, str) else ""


def field_value(content: Any) -> Any:
    """Return the value of a content field, which version 2 of the API wraps in an object."""
    return content.get("value") if isinstance(content, dict) else content


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
