"""Promises of estimators about accuracy, and verdicts on releases against a guess from public data alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from peerveil.errors import InputError

#: What each estimator promises about accuracy.
PROMISES = {
    "projection": "never less accurate than the noise alone",
    "safe": "never less accurate than the noise alone",
    "bayes": "most accurate expected; not guaranteed",
}

#: A release is informative below the first ratio of expected errors, and adds nothing above the second. Realised errors
#: scatter around expected ones: of 83 simulated releases with a ratio below 0.6, 95 % had less than 0.75 of the guess's
#: error; of 127 above 0.9, 96 % had more (benchmarks/bench_verdicts.py).
INFORMATIVE, NOTHING = 0.6, 0.9


#: Above this ratio of errors, a release is less accurate than the guess from public data.
_MORE = 1.05

#: Public data tell nearly all if the error of a guess is at most this part of the range of possible numbers.
_NEARLY_ALL = 0.02


def short(error: float) -> str:
    """Return an error with two digits.

    >>> short(0.2), short(0.146), short(12.3)
    ('0.20', '0.15', '12')
    """
    return f"{error:#.2g}".rstrip(".")


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """Public facts that tell why a release adds nothing.

    Attributes:
        people: the number of reviewers in words.
        public: the error of a guess from public data alone.
        span: the range of numbers that public data allow; NaN if it is not known.
        unit: the unit of the numbers, with a blank before it; empty if they have none.
    """

    people: str
    public: float
    span: float = math.nan
    unit: str = ""

    def why(self, budget: str = "this budget") -> str:
        """Return why releases with a budget add nothing, and what would help.

        >>> print(Grounds(people="118 reviewers", public=0.34, span=9.0, unit=" points").why())
        With 118 reviewers, the noise of this budget leaves these numbers no better known than public data do (±0.34
        points). A larger budget, more reviewers (tracks or years together) or another quantity would tell more.
        >>> print(Grounds(people="118 reviewers", public=0.04, span=9.0, unit=" points").why())
        Public data already tell nearly all (to ±0.040 points). Another quantity, or a much larger budget, would tell
        more.
        """
        if not self.public:
            return "Public data determine these numbers. Only another quantity would tell more."
        error = f"±{short(self.public)}{self.unit}"
        if self.public <= _NEARLY_ALL * self.span:
            return (
                f"Public data already tell nearly all (to {error}). Another quantity, or a much larger budget, would "
                "tell more."
            )
        return (
            f"With {self.people}, the noise of {budget} leaves these numbers no better known than public data do "
            f"({error}). A larger budget, more reviewers (tracks or years together) or another quantity would tell "
            "more."
        )

    def why_released(self) -> str:
        """Return why a release with its noisy data adds nothing, and what would help.

        A guess can be nearer to the truth than a plan expects, which only noisy data can tell: then a release that was
        planned as informative adds nothing.

        >>> print(Grounds(people="300 reviewers", public=0.15, span=9.0, unit=" points").why_released())
        As far as the noisy data tell, that guess is within ±0.15 points, which no plan can know beforehand. A larger
        budget, more reviewers (tracks or years together) or another quantity would tell more.
        """
        if not self.public:
            return self.why()
        error = f"±{short(self.public)}{self.unit}"
        return (
            f"As far as the noisy data tell, that guess is within {error}, which no plan can know beforehand. A larger "
            "budget, more reviewers (tracks or years together) or another quantity would tell more."
        )


@dataclass(frozen=True)
class Verdict:
    """The verdict on a release against no release.

    Attributes:
        ratio: expected error of the release over that of a guess from public data alone.
        released: whether the release was made, and its noisy data were used.
        grounds: what tells why it adds nothing; ``None`` if that is not known.

    >>> Verdict.of(0.16, 0.40).word, Verdict.of(0.3, 0.40).word, Verdict.of(0.39, 0.40).word
    ('informative', 'adds some', 'adds nothing')
    >>> print(Verdict.of(0.16, 0.40).sentence)
    Informative; the expected error is 0.4 times that of a guess from public data alone.
    >>> Verdict.of(0.399, 0.40).sentence.partition("; ")[2]
    'the expected error is about the same as that of a guess from public data alone.'
    >>> Verdict.of(0.39, 0.40).advice, Verdict.of(0.39, 0.40, released=True).advice
    ('adds nothing: do not spend budget on this', 'adds nothing: public data alone tell these numbers as well')
    """

    ratio: float
    released: bool = False
    grounds: Grounds | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ratio) and self.ratio >= 0):
            raise InputError(f"ratio must be a finite number of at least 0, got {self.ratio}")

    @classmethod
    def of(cls, expected: float, public: float, *, released: bool = False, grounds: Grounds | None = None) -> Verdict:
        """Return the verdict for the expected errors of a release and of the guess; an exact guess leaves no gain."""
        return cls(expected / public if public else 1.0, released, grounds)

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return "informative" if self.ratio < INFORMATIVE else "adds some" if self.ratio <= NOTHING else "adds nothing"

    @property
    def advice(self) -> str:
        """The word, with what to do where a release is not worth its budget, or why it was not."""
        if self.ratio <= NOTHING:
            return self.word
        if not self.released:
            return f"{self.word}: do not spend budget on this"
        return f"{self.word}: public data alone tell these numbers {'as well' if self.ratio <= _MORE else 'better'}"

    @property
    def why(self) -> str:
        """Why the release adds nothing, and what would help; empty if it adds something, or that is not known."""
        if self.grounds is None or self.ratio <= NOTHING:
            return ""
        return self.grounds.why_released() if self.released else self.grounds.why()

    @property
    def sentence(self) -> str:
        """The advice with its reason, and what would help if the release adds nothing."""
        ratio = f"{self.ratio:.2g}"
        times = "about the same as" if ratio == "1" else f"{ratio} times"
        reason = f"the expected error is {times} that of a guess from public data alone."
        return " ".join(filter(None, (f"{self.advice[0].upper()}{self.advice[1:]}; {reason}", self.why)))

    def to_document(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        return {"word": self.word, "ratio": self.ratio, "sentence": self.sentence}
