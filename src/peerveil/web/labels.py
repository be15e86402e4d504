"""How messages on the page spell arguments: by the labels of its forms."""

from __future__ import annotations

from peerveil.app.messages import explain, written
from peerveil.errors import Argument

#: Labels and legends of the forms, by the names of fields.
LABELS = {
    "bins": "Bins",
    "criteria": "Columns of criteria",
    "dataset": "Charge the budget of",
    "delta": "Delta",
    "epsilon": "Epsilon",
    "estimator": "Estimator",
    "format": "Format",
    "ids": "Reviewers' ids",
    "load": "Everyone writes this many",
    "loads": "Counts, a range or a set",
    "lone": "Miscalibration of a paper's only review",
    "mapping": "A mapping",
    "mechanism": "Noise",
    "missing_criteria": "Where a criterion is missing",
    "noise_scale": "Its scale",
    "paper": "Column of papers",
    "people": "Who is behind which signature",
    "person": "A subreviewer's review counts to",
    "public": "What is public",
    "quantity": "One number for each reviewer",
    "region": "Region",
    "review_name": "What OpenReview calls a review",
    "reviewer": "Column of reviewers",
    "reviewers": "Number of reviewers",
    "score": "Column of scores",
    "score_scale": "The score scale",
    "symbols": "Letters, the lowest first",
    "unit": "What one promise covers",
    "words": "How it was made private, in the source's words",
}

#: Titles of choices, by field and value.
CHOICES = {
    ("ids", "people"): "stand for people across papers",
    ("lone", "zero"): "counts as zero",
    ("missing_criteria", "leave-out"): "leave the whole paper out",
    ("person", "member"): "the committee member",
    ("person", "subreviewer"): "the subreviewer",
    ("public", "all"): "All scores",
    ("public", "none"): "No scores",
}

#: Words for arguments that have no field of their own.
_OTHER = {
    "law": LABELS["noise_scale"],
    "epsilons": LABELS["epsilon"],
    "public_paper": "the name 'paper'",
    "public_ratings": "the name 'ratings'",
}


def label(argument: Argument) -> str:
    """An argument by its label on the page, or in plain words if it has none.

    >>> label(Argument("epsilon")), label(Argument("person", "member")), label(Argument("declare_kept", True))
    ('“Epsilon”', "“A subreviewer's review counts to”: the committee member", 'declare kept')
    """
    key, value = argument.key, argument.value
    words = f"“{LABELS[key]}”" if key in LABELS else _OTHER.get(key, key.replace("_", " "))
    if value is None or value is ... or isinstance(value, bool):
        return words
    text = written(value)
    return f"{words}: {CHOICES.get((key, text), text)}"


def problem_words(error: Exception) -> str:
    """The message to show for an error on the page."""
    return explain(error, label)[0]
