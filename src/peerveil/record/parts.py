"""Records that hold a part of a conference's reviews: what is public of the whole, and what follows for the part.

Neighbouring assignments are those of the whole conference. A review that is kept may have been exchanged for one that
was left out, so who has a kept review at all, and how many, depends on the private assignment. Proofs are in
docs/mathematics.md, "Parts of a conference".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard, get_args

from peerveil.errors import RecordError
from peerveil.record.loads import Loads, declare_loads

#: How the number of reviewers with a kept review is known. ``"follows"``: from the public record of the whole
#: conference. ``"declared"``: it is declared public, with the loads among the kept reviews; neighbouring assignments
#: keep both. ``"open"``: it is not public; a histogram counts the reviewers without a kept review as well.
KeptNumber = Literal["follows", "declared", "open"]


#: What to do with reviews without a score. ``"absent"``: everyone can see that they have none; they stay reviews, but
#: enter no mean. ``"leave-out"``: their whole papers are left out.
MissingScore = Literal["refuse", "absent", "leave-out"]

#: Why reviews were left out, as releases say it.
NO_CRITERION = "with their papers, for a missing criterion"
NO_SCORE = "with their papers, for a missing score"
ABSENT = "of all means, having no score, as everyone can see"
OTHER_PAPERS = "with the papers that are not part of this release"


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Reviews that were left out for one reason. Which ones they are is public.

    Attributes:
        papers: how many papers they are of.
        reviews: how many they are.
        why: the reason, as it is published.

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
    def words(self) -> str:
        """What was left out, in words."""
        reviews = "1 review" if self.reviews == 1 else f"{self.reviews} reviews"
        papers = "1 paper" if self.papers == 1 else f"{self.papers} papers"
        return f"{reviews} of {papers} {'was' if self.reviews == 1 else 'were'} left out {self.why}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """The whole conference of whose reviews a record holds a part, as far as it is public.

    Attributes:
        whole: the loads of the whole conference.
        left_out: what the record leaves out, and why.
        number: how the number of reviewers with a kept review is known.

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
        return sum(one.reviews for one in self.left_out)

    @property
    def kept(self) -> int:
        """Number of reviews that were kept."""
        return self.whole.reviews - self.gone

    def following(self, papers: int) -> Loads | None:
        """The loads among the kept reviews, where they follow from the whole conference's; else ``None``.

        Args:
            papers: number of papers with a kept review.

        Nobody has two reviews of a paper, so a reviewer loses at most one review for each paper concerned.
        """
        whole, concerned = self.whole, sum(one.papers for one in self.left_out)
        if min(whole.largest, papers) == 1:
            return declare_loads(self.kept, load=1)
        if whole.uniform and concerned == 1:
            counts = {whole.largest: whole.reviewers - self.gone, whole.largest - 1: self.gone}
            return declare_loads(self.kept, loads=counts)
        least = whole.smallest - concerned
        if least < 1:
            return None
        return declare_loads(self.kept, loads=(least, whole.largest), reviewers=whole.reviewers, papers=papers)

    def expected(self, papers: int, largest_paper: int) -> Loads:
        """A guess at the loads among the kept reviews, as random dealing would make them: for choosing bins only."""
        loads, whole = self.whole, self.whole.reviews
        counts = (
            dict(zip(loads.sizes, loads.counts, strict=True))
            if loads.counts is not None
            else {max(1, round(whole / loads.reviewers)): loads.reviewers}
        )
        with_some = sum(count * (1 - _none_kept(size, self.gone, whole)) for size, count in counts.items())
        return self.counted(round(with_some), papers, largest_paper)

    def counted(self, reviewers: int, papers: int, largest_paper: int) -> Loads:
        """Loads of a number of reviewers with a kept review, or of the nearest number that the record allows.

        Args:
            reviewers: the number, perhaps estimated from noisy counts.
            papers: number of papers with a kept review.
            largest_paper: the most kept reviews that a paper has.
        """
        most = min(self.whole.largest, papers)
        least_number = max(largest_paper, math.ceil(self.kept / most))
        number = max(least_number, min(reviewers, self.whole.reviewers, self.kept))
        # What arithmetic on an estimate leaves possible is not known, so the range is not narrowed.
        return Loads(reviewers=number, reviews=self.kept, sizes=tuple(range(1, most + 1)), counts=None)

    def to_document(self) -> dict[str, Any]:
        """As JSON can hold it."""
        whole = self.whole
        return {
            "whole": {
                "reviewers": whole.reviewers,
                "reviews": whole.reviews,
                "sizes": list(whole.sizes),
                "counts": None if whole.counts is None else list(whole.counts),
            },
            "left_out": [{"papers": one.papers, "reviews": one.reviews, "why": one.why} for one in self.left_out],
            "number": self.number,
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Part:
        """From what :meth:`to_document` made."""
        whole = document["whole"]
        return cls(
            whole=Loads(
                reviewers=whole["reviewers"],
                reviews=whole["reviews"],
                sizes=tuple(whole["sizes"]),
                counts=None if whole["counts"] is None else tuple(whole["counts"]),
            ),
            left_out=tuple(LeftOut(**one) for one in document["left_out"]),
            number=document["number"],
        )


def public_part(whole: Loads, left_out: tuple[LeftOut, ...], *, papers: int, largest_paper: int) -> tuple[Loads, Part]:
    """What is public of a part if nothing is declared: its loads, where they follow, and of what it is a part.

    Where the loads do not follow, those that are returned are a guess, and the part is open.

    Args:
        whole: the loads of the whole conference.
        left_out: what was left out.
        papers: number of papers with a kept review.
        largest_paper: the most kept reviews that a paper has.
    """
    part = Part(whole=whole, left_out=left_out, number="follows")
    following = part.following(papers)
    if following is not None:
        return following, part
    return part.expected(papers, largest_paper), replace(part, number="open")


def is_open(part: Part | None) -> TypeGuard[Part]:
    """Whether a record is a part whose number of reviewers is not public."""
    return part is not None and part.number == "open"


def _none_kept(load: int, gone: int, reviews: int) -> float:
    """The probability that none of a reviewer's reviews is kept, if these are dealt at random."""
    return math.prod(max(0, gone - i) / (reviews - i) for i in range(load))
