"""Problems in the page's words: arguments are named by the labels of its forms, and each problem knows its field."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from peerveil.app.messages import NOTHING_RELEASED, explain, written
from peerveil.errors import Argument, BudgetError, PeerveilError, Phrase
from peerveil.mechanisms import OWN
from peerveil.privacy.stated_facts import Statement

#: Labels and legends of the forms, by the names of fields.
LABELS = {
    "attributes": "The table of reviewers",
    "author": "Authors",
    "bins": "Bins",
    "by": "Column of groups",
    "citation": "How to cite",
    "conference": "Conference",
    "contact": "Contact",
    "criteria": "Columns of criteria",
    "dataset": "Charge the budget of",
    "declare_kept": "Reviewers with a kept review",
    "delta": "Delta",
    "encoding": "Encoding of the text",
    "epsilon": "Epsilon",
    "estimator": "Estimator",
    "format": "Format",
    "group_column": "Column of tracks",
    "groups": "The table of tracks",
    "ids": "Reviewers' ids",
    "leave_out": "Leave out reviews with",
    "load": "Reviews per reviewer, if all have the same",
    "limits": "Limits of scores",
    "loads": "Counts, a range or a set",
    "licence": "Licence",
    "lone": "Miscalibration of a paper with a single review",
    "mapping": "A mapping",
    "mechanism": "Noise",
    "merge_names": "Ids that differ only in case, blanks or accents",
    "missing_criteria": "If a criterion is missing",
    "no_shared_reviewers": "Reviewers and tracks",
    "noise_scale": "Scale of the noise",
    "noisy": "The noisy release",
    "only": "Keep only reviews with",
    "others": "Other reviewers",
    "paper": "Column of papers",
    "people": "People behind signatures",
    "person": "A subreviewer's review counts for",
    "prior": "Earlier releases of this conference",
    "public": "What is public",
    "public_file": "The file of public scores",
    "quantity": "One number per reviewer",
    "question": "Groups of reviewers",
    "randomised": "How groups were made",
    "ratings": "Column of public scores",
    "region": "Region",
    "release": "The release",
    "releases": "The releases",
    "review_name": "Name of reviews on OpenReview",
    "reviewer": "Column of reviewers",
    "reviewers": "Number of reviewers",
    "score": "Column of scores",
    "score_scale": "The score scale",
    "share": "Share of reviews with",
    "sheet": "Sheet of the workbook",
    "signed_by": "Keys of its signers",
    "sizes": "Size of each group",
    "statistic": "Statistic of each reviewer",
    "symbols": "Letter scores, lowest first",
    "title": "Title",
    "tracks": "One release or several",
    "unit": "What is protected",
    "url": "Address",
    "values": "The groups",
    "visible_column": "Everyone can see these columns",
    "weight": "Column instead of the score",
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
    ("question", "difference"): "The difference of two groups",
    ("question", "shares"): "Each group for itself",
}

#: What each check of a release is about.
CHECKS = {
    "schema": "release.json has the right format",
    "digest": "release.json was not changed since it was written",
    "prior": "The prior pooled from earlier releases is the one that is named",
    "record": "The public scores are those of the release",
    "guarantee": "The privacy claim follows from noise and public scores",
    "series": "The release fits the budgets of the series that count it",
    "groups": "The claim of the group follows from that of all groups",
    "bins": "The bins were chosen from public data",
    "region": "The proven bounds follow from public scores",
    "noise": "The noise has the size that is stated",
    "values": "The released numbers follow from the noisy ones",
    "certificate": "The numbers are the nearest possible ones",
    "outlook": "Expected error and bands can be recomputed",
    "findings": "The findings follow from the release",
    "notes": "The notes follow from the release",
    "document": "Nothing else in release.json differs",
    "release.csv": "The table agrees with release.json",
    "report.html": "The report agrees with release.json",
    "pictures": "The charts agree with release.json",
    "croissant.json": "The metadata agree with release.json",
    "files": "The folder contains nothing else",
    "signature": "The release is signed by a known key",
    "withdrawal": "The release was not withdrawn",
}

#: Names of arguments without a field.
_OTHER = {
    "authors": LABELS["author"],
    "compare": f"“{LABELS['values']}”",
    "law": LABELS["noise_scale"],
    "shared": f"“{LABELS['no_shared_reviewers']}”",
    "epsilons": LABELS["epsilon"],
    "public_paper": "the name 'paper'",
    "public_ratings": "the name 'ratings'",
    "public_sheet": "a workbook that has no other sheet",
    "public_encoding": "a file in UTF-8",
}

#: What the page says for phrases that name a command or a path elsewhere.
PHRASES = {
    "added_attributes": f"who belongs to which group of reviewers, or how many (“{LABELS['question']}”)",
    "added_parts": f"how many reviewers each track (“{LABELS['tracks']}”) or the papers that are kept have",
    "added_scores": f"other scores that everyone can see, or another scale of hidden ones (“{LABELS['public']}”)",
    "declare": "declare it for the data set with the button below",
    "holds_no_ledger": "the ledger is empty or was replaced by something else; put it back, and start the page again",
    "kept_in": "on this computer",
    "ledger_check": "a check of the ledger on the command line",
    "ledger_join": "on the command line",
    "ledger_place": "the ledger",
    "no_ledger": "there is no ledger where this page keeps it; put it back, or open a budget on the page “Ledger”",
}

#: The fields of arguments that have another name.
_FIELDS = {
    "added_attributes": "question",
    "added_parts": "tracks",
    "added_scores": "public",
    "authors": "author",
    "compare": "values",
    "law": "noise_scale",
    "shared": "no_shared_reviewers",
    "epsilons": "epsilon",
    "public_paper": "public_file",
    "public_ratings": "public_file",
}

#: A part of a conference, its division into groups, or a public record, named by its digest.
_DIGEST = re.compile(r"\bthe (part|division|record) (?:sha256:)?[0-9a-f]{8,64}\b")


@dataclass(frozen=True)
class Problem:
    """A problem as the page shows it.

    Attributes:
        words: the message.
        field: the name of the field concerned; empty if there is none.
        declares: a data set, and a statement that was public all along if the user declares it for this data set.
        title: its heading.
    """

    words: str
    field: str = ""
    declares: tuple[str, Statement] | None = dataclasses.field(default=None, repr=False)
    title: str = dataclasses.field(default="That did not work", repr=False)

    @classmethod
    def of(cls, error: Exception, *, consequence: str = NOTHING_RELEASED) -> Problem:
        """Return the problem of an error; ``consequence`` as in :func:`peerveil.app.messages.explain`.

        >>> from peerveil.errors import InputError
        >>> Problem.of(InputError(Argument("epsilon"), " must be > 0"))
        Problem(words='“Epsilon” must be > 0', field='epsilon')
        """
        words, _ = explain(error, label, consequence=consequence)
        arguments = error.arguments if isinstance(error, PeerveilError) else ()
        fields = (_FIELDS.get(argument.key, argument.key) for argument in arguments)
        otherwise = "epsilon" if isinstance(error, BudgetError) else ""
        concerned = next((field for field in fields if field in LABELS), otherwise)
        return cls(words, concerned, error.declares if isinstance(error, BudgetError) else None)


def described(statement: Statement) -> str:
    """Return what is to be declared in words, without the digests that tell parts, divisions and records apart.

    >>> described(Statement(public="all", invariants=("how many reviewers have the part 18b670b5",)))
    'all scores are public; also declared: how many reviewers have this part'
    """
    return _DIGEST.sub(r"this \1", statement.describe())


def label(argument: Argument) -> str:
    """Return an argument by its label on the page, or by its name if it has none.

    >>> label(Argument("epsilon")), label(Argument("person", "member")), label(Argument("declare_kept", True))
    ('“Epsilon”', "“A subreviewer's review counts for”: the committee member", '“Reviewers with a kept review”')
    """
    if isinstance(argument, Phrase):
        return PHRASES[argument.name]
    key, value = argument.key, argument.value
    words = f"“{LABELS[key]}”" if key in LABELS else _OTHER.get(key, key.replace("_", " "))
    if value is None or value is ... or isinstance(value, bool):
        return words
    text = written(value)
    if key == "mechanism" and text in OWN:
        return f"{words}: {OWN[text].label.partition(':')[0]}"
    return f"{words}: {CHOICES.get((key, text), text)}"
