"""The names of arguments in messages of the page: the labels of its forms."""

from __future__ import annotations

from peerveil.app.messages import explain, written
from peerveil.errors import Argument

#: Labels and legends of the forms, by the names of fields.
LABELS = {
    "author": "Authors",
    "bins": "Bins",
    "conference": "Conference",
    "contact": "Contact",
    "criteria": "Columns of criteria",
    "dataset": "Charge the budget of",
    "delta": "Delta",
    "encoding": "Encoding of the text",
    "epsilon": "Epsilon",
    "estimator": "Estimator",
    "format": "Format",
    "ids": "Reviewers' ids",
    "leave_out": "Leave out reviews with",
    "load": "Reviews per reviewer, if all have the same",
    "loads": "Counts, a range or a set",
    "licence": "Licence",
    "lone": "Miscalibration of a paper with a single review",
    "mapping": "A mapping",
    "mechanism": "Noise",
    "merge_names": "Ids that differ only in case, blanks or accents",
    "missing_criteria": "If a criterion is missing",
    "noise_scale": "Scale of the noise",
    "only": "Keep only reviews with",
    "paper": "Column of papers",
    "people": "People behind signatures",
    "person": "A subreviewer's review counts for",
    "public": "What is public",
    "quantity": "One number per reviewer",
    "region": "Region",
    "review_name": "Name of reviews on OpenReview",
    "reviewer": "Column of reviewers",
    "reviewers": "Number of reviewers",
    "score": "Column of scores",
    "score_scale": "The score scale",
    "sheet": "Sheet of the workbook",
    "symbols": "Letter scores, lowest first",
    "title": "Title",
    "unit": "What is protected",
    "url": "Address",
    "visible_column": "Everyone can see these columns",
    "words": "How it was made private, in the source's words",
    "year": "Year",
}

#: Titles of choices, by field and value.
CHOICES = {
    ("ids", "people"): "identify people across papers",
    ("lone", "zero"): "counts as zero",
    ("missing_criteria", "leave-out"): "leave the whole paper out",
    ("person", "member"): "the committee member",
    ("person", "subreviewer"): "the subreviewer",
    ("public", "all"): "All scores",
    ("public", "none"): "No scores",
}

#: Names of arguments without a field.
_OTHER = {
    "authors": LABELS["author"],
    "law": LABELS["noise_scale"],
    "epsilons": LABELS["epsilon"],
    "public_paper": "the name 'paper'",
    "public_ratings": "the name 'ratings'",
    "public_sheet": "a workbook that has no other sheet",
    "public_encoding": "a file in UTF-8",
}


def label(argument: Argument) -> str:
    """Return an argument by its label on the page, or by its name if it has none.

    >>> label(Argument("epsilon")), label(Argument("person", "member")), label(Argument("declare_kept", True))
    ('“Epsilon”', "“A subreviewer's review counts for”: the committee member", 'declare kept')
    """
    key, value = argument.key, argument.value
    words = f"“{LABELS[key]}”" if key in LABELS else _OTHER.get(key, key.replace("_", " "))
    if value is None or value is ... or isinstance(value, bool):
        return words
    text = written(value)
    return f"{words}: {CHOICES.get((key, text), text)}"


def problem_words(error: Exception) -> str:
    """Return the message that the page shows for an error."""
    return explain(error, label)[0]
