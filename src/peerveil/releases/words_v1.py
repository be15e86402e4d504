"""The words of version 0.1.0, as release.json of schema 1 holds them. They never change.

A release states its promise in the words of the version that made it. Whoever reads a release of schema 1 checks it
against these words and shows them; today's words are in :mod:`peerveil.privacy.guarantee` and
:mod:`peerveil.inference.expected_error`.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from peerveil.privacy.guarantee import Guarantee, exact, factor
from peerveil.quantities.base import words_of

NOT_PROTECTED = (
    "Not protected: who has which load, the number of reviews of each paper, and the numbers of papers, reviews and "
    "reviewers. These are declared public, as are the scores stated to be public."
)

ASSUMPTION = (
    "Expected error and bands assume that the true assignment is like one drawn at random among the valid ones, with "
    "reviewers who differ in leniency by an unknown amount, and that the noise follows its stated law. They come from "
    "public data and the noisy vector alone."
)

#: Where scores are hidden.
ASSUMPTION_HIDDEN = (
    f"{ASSUMPTION} Scores that are not public are taken to be like those that are, on the whole higher or lower by an "
    "unknown amount; where none is public, they may be anywhere on the scale."
)

_NEIGHBOURS = {
    "reviewer": "differ only in that one reviewer's reviews were exchanged, one for one, with other reviewers'",
    "review": "differ only in that two reviewers exchanged one review each",
}

_NOT_FLOAT_SAFE = (
    " The noise was drawn in floating-point arithmetic, and this holds for ideal arithmetic: the last digits of the "
    "published numbers may reveal more."
)


def chart_words(level: float | None, quantity: str) -> set[str]:
    """Return the words in charts of 0.1 and 0.2 that later versions changed, for bands of a level.

    >>> {"likely (90 %)", "a reviewer's mean rating (points)"} <= chart_words(0.9, "ratings")
    True
    """
    words = words_of(quantity)
    bands = ("likely ({:g} %)", "{:g} % band of each mean", "{:g} % credible band")
    return {
        "How many have at most which mean",
        "Reviewers by their released mean",
        "Reviewers on either side of zero",
        "number of reviewers",
        "reviewers with at most this mean (%)",
        "rank of the reviewer (1 has the smallest mean)",
        "Before and after public data is used",
        "before: noisy",
        "after: released",
        "released",
        "noisy: from the first to the last decile of neighbouring ranks",
        "What is possible, likely and released",
        "possible by public data",
        words.axis,
        words.short_axis,
        *(words.sides or ()),
        *(() if level is None else (band.format(100 * level) for band in bands)),
    }


def refinement_label(reviewers: int, quantity: str) -> str:
    """Return the description of the chart of refinement in 0.1 and 0.2."""
    return (
        f"The noisy vector of {reviewers:,} reviewer{'s' * (reviewers != 1)} and the released one, by rank: {quantity}."
    )


def promise(claim: Guarantee) -> str:
    """A claim in the words of 0.1.0.

    >>> promise(Guarantee(kind="pure", unit="review", epsilon=1.0))
    "Take any two assignments that fit the public record and differ only in that two reviewers exchanged one review
    each. Whatever someone already knows, this release changes their odds between these two assignments by at most a
    factor e^1 = 2.72. Knowledge that ties many reviewers' assignments together can gain more."
    """
    if claim.kind == "stated":
        return (
            f"The noise was added elsewhere. Its source states: {claim.statement} Refining used public data and the "
            "noisy vector alone, which takes nothing away from that and adds nothing to it."
        )
    assert claim.unit is not None  # noqa: S101 - checked at construction
    assert claim.epsilon is not None  # noqa: S101 - checked at construction
    if (claim.epsilon if claim.kind == "pure" else claim.rho) == 0:
        return (
            "The public record alone determines what is released: it is the same for every assignment, so the "
            "release says nothing about who wrote which review."
        )
    if claim.kind == "pure":
        gain = (
            "Whatever someone already knows, this release changes their odds between these two assignments by at "
            f"most a factor e^{exact(claim.epsilon)} = {factor(claim.epsilon)}."
        )
    else:
        shown = f"{Decimal(repr(claim.epsilon)).normalize(Context(prec=4, rounding=ROUND_CEILING)):g}"
        gain = (
            "Between these two, whatever someone already knows, the probability of any conclusion from this "
            f"release rises from p to at most e^{shown} p + {exact(claim.delta)}, where e^{shown} = "
            f"{factor(float(shown))}."
        )
    return (
        f"Take any two assignments that fit the public record and {_NEIGHBOURS[claim.unit]}. {gain} Knowledge that "
        "ties many reviewers' assignments together can gain more." + ("" if claim.float_safe else _NOT_FLOAT_SAFE)
    )
