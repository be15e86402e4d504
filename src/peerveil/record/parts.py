"""Records that hold a part of a conference's reviews, and the public facts about the whole conference.

Neighbouring assignments are those of the whole conference. A kept review may have been exchanged for one that was left
out, so the set of reviewers with a kept review, and its size, depend on the private assignment. Proofs are in
docs/mathematics.md, "Parts of a conference".
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeGuard, get_args

from peerveil.errors import RecordError
from peerveil.record.loads import Loads, declare_loads

#: The source of the number of reviewers with a kept review. ``"follows"``: it follows from the public record of the
#: whole conference. ``"declared"``: it is declared public, with the loads among the kept reviews; neighbouring
#: assignments keep both. ``"open"``: it is not public; a histogram also counts the reviewers without a kept review.
KeptNumber = Literal["follows", "declared", "open"]

#: Treatment of reviews without a score. ``"absent"``: it is public that they have none; they stay reviews, but enter no
#: mean. ``"leave-out"``: their papers are left out.
MissingScore = Literal["refuse", "absent", "leave-out"]

#: Reasons for leaving reviews out, as stated in releases.
NO_CRITERION = "with their papers, for a missing criterion"
NO_SCORE = "with their papers, for a missing score"
ABSENT = "of all means, having no score, as everyone can see"
OTHER_PAPERS = "with the papers that are not part of this release"


def filtered(condition: str, *, kept: bool) -> str:
    """Return the reason for leaving reviews out by a condition on what everyone can see.

    ``kept`` tells whether reviews that satisfy the condition are kept, or left out.

    >>> LeftOut(papers=2, reviews=5, why=filtered("Decision=Withdrawn", kept=False)).words
    "5 reviews of 2 papers were left out by 'Decision=Withdrawn', which everyone can see"
    """
    return f"{_FILTERED[kept]}{condition}{_VISIBLE}"


_FILTERED, _VISIBLE = ("by '", "as not '"), "', which everyone can see"


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """The numbers of papers and reviews left out for one reason. It is public which reviews these are.

    >>> LeftOut(papers=1, reviews=3, why=NO_CRITERION).words
    '3 reviews of 1 paper were left out with their papers, for a missing criterion'
    """

    papers: int
    reviews: int
    why: str

    def __post_init__(self) -> None:
        if not 1 <= self.papers <= self.reviews or not self.why.isprintable() or not self.why.strip():
            raise RecordError(
                f"what was left out must be reviews of papers, for a reason; got {self.reviews} reviews of "
                f"{self.papers} papers"
            )

    @property
    def filtered(self) -> bool:
        """Whether a condition on what everyone can see is the reason."""
        return self.why.startswith(_FILTERED) and self.why.endswith(_VISIBLE)

    @property
    def words(self) -> str:
        """What was left out, in words."""
        reviews = "1 review" if self.reviews == 1 else f"{self.reviews} reviews"
        papers = "1 paper" if self.papers == 1 else f"{self.papers} papers"
        return f"{reviews} of {papers} {'was' if self.reviews == 1 else 'were'} left out {self.why}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """The public facts about the whole conference, if a record holds a part of its reviews.

    Attributes:
        whole: the loads of the whole conference.
        left_out: what the record leaves out, and why.
        number: the source of the number of reviewers with a kept review.

    >>> gone = LeftOut(papers=1, reviews=3, why=NO_CRITERION)
    >>> part = Part(whole=declare_loads(12, load=3), left_out=(gone,), number="follows")
    >>> part.following(papers=3)
    Loads(reviewers=4, reviews=9, sizes=(2, 3), counts=(3, 1))
    """

    whole: Loads
    left_out: tuple[LeftOut, ...]
    number: KeptNumber

    def __post_init__(self) -> None:
        if self.number not in get_args(KeptNumber):
            raise RecordError(f"number must be one of {', '.join(get_args(KeptNumber))}, got {self.number!r}")
        if not self.left_out or self.kept < 1:
            raise RecordError(
                f"a part of a conference leaves some of its {self.whole.reviews} reviews out and keeps some, got "
                f"{self.gone} left out"
            )

    @property
    def gone(self) -> int:
        """Number of reviews that were left out."""
        return sum(entry.reviews for entry in self.left_out)

    @property
    def kept(self) -> int:
        """Number of reviews that were kept."""
        return self.whole.reviews - self.gone

    # Theorem S13.
    def following(self, papers: int) -> Loads | None:
        """Return the loads among the kept reviews of ``papers`` papers if they follow from the whole conference's.

        No one has two reviews of a paper, so a reviewer loses at most one review for each paper affected.
        """
        whole, affected = self.whole, sum(entry.papers for entry in self.left_out)
        if min(whole.largest, papers) == 1:
            return declare_loads(self.kept, load=1)
        if whole.uniform and affected == 1:
            counts = {whole.largest: whole.reviewers - self.gone, whole.largest - 1: self.gone}
            return declare_loads(self.kept, loads=counts)
        least = whole.smallest - affected
        if least < 1:
            return None
        return declare_loads(self.kept, loads=(least, whole.largest), reviewers=whole.reviewers, papers=papers)

    def expected(self, papers: int, largest_paper: int) -> Loads:
        """Return a guess at the loads among the kept reviews, from a random assignment; for choosing bins only."""
        loads = self.whole
        counts = loads.counts or (loads.reviewers,)
        sizes = loads.sizes if loads.counts else (max(1, round(loads.reviews / loads.reviewers)),)
        none_kept = [math.prod(max(0, self.gone - i) / (loads.reviews - i) for i in range(size)) for size in sizes]
        number = sum(count * (1 - chance) for count, chance in zip(counts, none_kept, strict=True))
        return self.counted(round(number), papers, largest_paper)

    def counted(self, reviewers: int, papers: int, largest_paper: int) -> Loads:
        """Return the loads of a number of reviewers with a kept review, or of the nearest possible number.

        Args:
            reviewers: the number, perhaps estimated from noisy counts.
            papers: number of papers with a kept review.
            largest_paper: the largest number of kept reviews of a paper.
        """
        most = min(self.whole.largest, papers)
        least_number = max(largest_paper, math.ceil(self.kept / most))
        number = max(least_number, min(reviewers, self.whole.reviewers, self.kept))
        # The number is an estimate, so it does not rule out any load.
        return Loads(reviewers=number, reviews=self.kept, sizes=tuple(range(1, most + 1)), counts=None)

    def to_document(self) -> dict[str, Any]:
        """Return a JSON object."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists instead of tuples
        return document

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Part:
        """Return the part that :meth:`to_document` describes."""
        stated = document["whole"].items()
        whole: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in stated}
        left_out = tuple(LeftOut(**entry) for entry in document["left_out"])
        return cls(whole=Loads(**whole), left_out=left_out, number=document["number"])


def public_part(whole: Loads, left_out: tuple[LeftOut, ...], *, papers: int, largest_paper: int) -> tuple[Loads, Part]:
    """Return the loads of a part and the part itself, if nothing about the part is declared.

    If the loads do not follow from those of the whole conference, they are a guess, and the part is open. ``papers``
    and ``largest_paper`` are as in :meth:`Part.counted`.
    """
    part = Part(whole=whole, left_out=left_out, number="follows")
    following = part.following(papers)
    if following is not None:
        return following, part
    return part.expected(papers, largest_paper), replace(part, number="open")


def is_open(part: Part | None) -> TypeGuard[Part]:
    """Return whether a record is a part whose number of reviewers is not public."""
    return part is not None and part.number == "open"
