"""The published effect: the difference between two groups of reviewers, and its files."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peerveil.errors import InputError
from peerveil.inference.effects import LEVEL, Estimate, estimate
from peerveil.mechanisms import mechanism_from
from peerveil.privacy.claims import standard_claim
from peerveil.privacy.group_sums import GroupSums
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.quantities.base import words_of
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats
from peerveil.releases import documents
from peerveil.releases.signatures import SIGNATURE, release_file
from peerveil.releases.withdrawal import MARKS, warn_if_withdrawn
from peerveil.reporting.terms import About, Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.html_tables import table
from peerveil.support.version import rendered_with, software

#: The word by which a release.json of an effect is told from others.
KIND = "effect"

#: The files of an effect.
FILES = ("release.json", "report.html")
OWN_FILES = (*FILES, SIGNATURE, *MARKS)

#: Said of a release that protects single reviews.
NOTE_REVIEW = "Which group each reviewer is in is not protected: the protected unit is a single review."

_CHARGE = re.compile(r"[0-9a-f]{16}")
_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an effect compares.

    Attributes:
        by: the attribute of reviewers that defines the groups.
        groups: the values of the attribute for the two groups.
        others: whether reviewers may be in neither group.
        randomised: whether the groups were assigned at random, independently of papers.
        limits: the limits at which weights were clipped.
        icc: the stated intraclass correlation; ``None`` if it was learnt.
        level: the level of the interval.
    """

    by: str
    groups: tuple[str, str]
    others: bool = False
    randomised: bool = False
    limits: tuple[float, float]
    icc: float | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        for text in (self.by, *self.groups):
            if not (text.strip() and text.isprintable() and len(text) <= _LONGEST):
                raise InputError(f"attribute and groups must be 1 to {_LONGEST} printable characters")
        if len(self.groups) != 2 or self.groups[0] == self.groups[1]:
            raise InputError("an effect compares two different groups")

    def sums(self, weights: Any) -> GroupSums:
        """Return the numbers that are made private, for public weights."""
        return GroupSums(
            weights=weights, limits=self.limits, others=self.others, randomised=self.randomised, icc=self.icc
        )

    @property
    def declared(self) -> str:
        """What is declared public about groups, in words."""
        first, second = self.groups
        third = ", or anything else" if self.others else ""
        return f"that every reviewer's {self.by} is {first!r} or {second!r}{third}, and that both groups have reviews"

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Effect:
    """The difference between two groups of reviewers, as it is published, from :func:`peerveil.effect`.

    Attributes:
        question: what is compared.
        quantity: the weight of a review, e.g. ``"ratings"``.
        estimated: the estimate and its interval, with estimated sizes of the groups.
        noisy: the noisy numbers, from which the estimate follows.
        guarantee: the privacy claim.
        mechanism: name and parameters of the mechanism.
        papers: number of papers.
        loads: public information about loads.
        public: what was declared public, in words.
        record_digest: fingerprint of the public weights.
        notes: caveats.
        created: time of the release in UTC.
        software: name and version of the program.
        part: the whole conference, if the release covers a part of its reviews.
        terms: licence, citation, and what the release is about.
        charge: the ledger's number of the charge; ``None`` without a ledger.
        rendered: versions of Peerveil and of the packages that wrote the files.
        intact: whether the file it was read from matches its digest.

    >>> import numpy as np
    >>> from peerveil.mechanisms import Laplace
    >>> from peerveil.quantities.weights import PublicWeights
    >>> question = Question(by="arm", groups=("treated", "control"), limits=(0.0, 1.0), icc=0.2)
    >>> sums = question.sums(PublicWeights.from_rows([[0, 1]] * 800, load=4))
    >>> noise = Laplace(epsilon=1.0).settle(sums.sensitivity("reviewer")).mechanism
    >>> claim = noise.guarantee(sums.sensitivity("reviewer"), "reviewer")
    >>> noisy = np.array([80.0, 800.0]) * list(sums.units.values())
    >>> made = publish(noisy, sums, question, mechanism=noise.describe(), guarantee=claim, public="all scores")
    >>> made.groups, round(made.estimate, 2), made.low > 0
    (('treated', 'control'), 0.2, True)
    """

    question: Question
    quantity: str
    estimated: Estimate
    noisy: Floats
    guarantee: Guarantee
    mechanism: dict[str, Any]
    papers: int
    loads: Loads
    public: str
    record_digest: str
    notes: tuple[str, ...]
    created: datetime
    software: str
    part: Part | None = None
    terms: Terms = field(default=Terms())
    charge: str | None = None
    rendered: dict[str, str] = field(default_factory=rendered_with)
    intact: bool = True

    #: As of a release of means: the version of its release.json, and the group of papers.
    schema = 2
    group = None

    def __post_init__(self) -> None:
        if self.charge is not None and not _CHARGE.fullmatch(self.charge):
            raise InputError("charge must consist of 16 hexadecimal digits")
        documents.check_plain(self.mechanism, "mechanism")
        self.noisy.flags.writeable = False

    @property
    def estimate(self) -> float:
        """The difference of the mean weight: first group minus second."""
        return self.estimated.value

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.estimated.low

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.estimated.high

    @property
    def p_value(self) -> float | None:
        """The p-value of the randomisation test; ``None`` unless groups were randomised."""
        return self.estimated.p_value

    @property
    def groups(self) -> tuple[str, str]:
        """The two groups: the difference is that of the first from the second."""
        return self.question.groups

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release."""
        return charged_as(self.question, self.quantity)

    @property
    def title(self) -> str:
        """The title of the report."""
        first, second = self.groups
        return self.terms.about.title or f"{words_of(self.quantity).label} by {self.question.by}: {first} and {second}"

    @property
    def citation(self) -> str:
        """How to cite the release."""
        return self.terms.cited(self.software, title=self.title, year=self.created.year)

    @property
    def sentence(self) -> str:
        """The effect in words."""
        first, second = self.groups
        unit, interval = words_of(self.quantity).unit, f"{self.low:.2f} to {self.high:.2f}"
        way = "higher" if self.estimate >= 0 else "lower"
        seen = f"{abs(self.estimate):.2f}{unit} {way} on average than by {second!r}"
        sentence = f"{words_of(self.quantity).label} by {first!r} reviewers: {seen} "
        sentence += f"({percent(self.question.level)} interval of the difference: {interval})."
        if self.low <= 0 <= self.high:
            sentence += " The interval includes zero: this is no evidence of a difference."
        return sentence

    @property
    def meaning(self) -> str:
        """What the number means, and what it does not."""
        if self.question.randomised:
            cause = "Groups were assigned at random, so the difference is an effect of the assignment."
        else:
            cause = "Groups were not assigned at random: the difference need not be caused by what defines them."
        return (
            f"{cause} The interval covers both the noise that was added for privacy and the chance by which these "
            "reviewers, and not others, reviewed; it allows for how alike the reviews of one reviewer are."
        )

    @property
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("papers", "loads", "part", "public")}
        return standard_claim(self.guarantee, group=None, **facts)

    def facts(self) -> list[tuple[str, str]]:
        """Return the effect as names and sentences."""
        first, second = (f"{size:,.0f}" for size in self.estimated.sizes)
        test = "" if self.p_value is None else f"p = {self.p_value:.3g} (randomisation test)"
        facts = [
            ("effect", self.sentence),
            ("test", test),
            ("groups", f"about {first} reviews by {self.groups[0]!r}, {second} by {self.groups[1]!r} (noisy)"),
            ("meaning", self.meaning),
            ("claim", self.guarantee.summary),
            ("that is", self.guarantee.human),
            *(("note", note) for note in self.notes),
        ]
        return [(name, words) for name, words in facts if words]

    def to_json(self) -> str:
        """Return the text of release.json."""
        claim = self.guarantee
        document: dict[str, Any] = {
            "schema_version": self.schema,
            "kind": KIND,
            "created": self.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "software": self.software,
            "licence": self.terms.licence,
            "citation": self.citation,
            "about": self.terms.about.to_document(),
            "quantity": self.quantity,
            "question": self.question.to_document(),
            "effect": asdict(self.estimated) | {"sizes": list(self.estimated.sizes), "sentence": self.sentence},
            "record": {
                "papers": self.papers,
                "reviews": self.loads.reviews,
                "reviewers": self.loads.reviewers,
                "loads": documents.loads_document(self.loads),
                "public": self.public,
                "digest": self.record_digest,
            },
            "part": None if self.part is None else self.part.to_document(),
            "mechanism": self.mechanism,
            "guarantee": documents.claim_document(claim)
            | {"statement": claim.statement, "promise": claim.promise, "not_protected": claim.not_protected}
            | {"human": claim.human, "neighbours": claim.neighbours.to_document()},
            "claim": self.claim,
            "notes": list(self.notes),
            "charge": self.charge,
            "rendered": self.rendered,
            "noisy": self.noisy.tolist(),
        }
        document["digest"] = documents.document_digest(document)
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write release.json and report.html into a folder atomically, and return the folder."""
        with staged_folder(folder, own=OWN_FILES, overwrite=overwrite) as stage:
            self.write_into(stage)
        return Path(folder)

    def write_into(self, folder: Path) -> None:
        """Write the files into an existing folder."""
        from peerveil.releases.effects.page import effect_html  # noqa: PLC0415 - slow to load

        written = replace(self, rendered=rendered_with())
        (folder / "release.json").write_bytes(written.to_json().encode())
        (folder / "report.html").write_text(effect_html(written), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Effect:
        """Return the effect in a folder or a release.json; warns if it is marked as withdrawn."""
        name, document = documents.read_document(path)
        effect = cls.from_document(document, name=name)
        warn_if_withdrawn(release_file(path))
        return effect

    @classmethod
    def from_document(cls, document: object, *, name: str = "release.json") -> Effect:
        """Return an effect from the parsed JSON of a release.json."""
        documents.validate(document, name, kind=KIND)
        return documents.interpreted(cls._from_valid, document, name)

    @classmethod
    def _from_valid(cls, document: dict[str, Any]) -> Effect:
        record, claim, stated = document["record"], document["guarantee"], document["effect"]
        for name in ("mechanism", "part", "claim"):
            documents.check_plain(document[name], name)
        question = document["question"]
        numbers = {key: float(documents.vector_from([stated[key]], key)[0]) for key in ("value", "low", "high")}
        words = ("promise", "not_protected", "human")
        return cls(
            question=Question(
                **question | {"groups": tuple(question["groups"]), "limits": tuple(map(float, question["limits"]))}
            ),
            quantity=document["quantity"],
            estimated=Estimate(
                **numbers,
                sizes=tuple(documents.vector_from(stated["sizes"], "sizes").tolist()),
                p_value=stated["p_value"],
            ),
            noisy=documents.vector_from(document["noisy"], "noisy"),
            guarantee=documents.claim_from({key: claim[key] for key in claim if key not in words}),
            mechanism=documents.mechanism_from_document(document["mechanism"]),
            papers=record["papers"],
            loads=documents.loads_from(record),
            public=record["public"],
            record_digest=record["digest"],
            notes=tuple(document["notes"]),
            created=documents.time_from(document["created"]),
            software=document["software"],
            part=None if document["part"] is None else Part.from_document(document["part"]),
            terms=Terms(
                licence=document["licence"],
                citation=document["citation"],
                about=About.from_document(document["about"]),
            ),
            charge=document["charge"],
            rendered=document["rendered"],
            intact=document["digest"] == documents.document_digest(document),
        )

    def __repr__(self) -> str:
        difference = f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"
        return f"Effect({self.quantity} by {self.question.by}: {difference}; {self.guarantee.summary})"

    def _repr_html_(self) -> str:
        return table(self.title, self.facts())


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.9), percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * share:.4g} %"


def charged_as(question: Question, quantity: str) -> str:
    """Return what a ledger calls the release of an effect."""
    return f"effect of {question.by} on {quantity}"


def publish(
    noisy: Floats,
    sums: GroupSums,
    question: Question,
    *,
    mechanism: dict[str, Any],
    guarantee: Guarantee,
    public: str,
    notes: tuple[str, ...] = (),
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
    charge: str | None = None,
) -> Effect:
    """Return the effect that follows from noisy numbers and the public record."""
    weights = sums.weights
    return Effect(
        question=question,
        quantity=weights.quantity,
        estimated=estimate(sums, noisy, noise_law(mechanism).scale, level=question.level),
        noisy=noisy,
        guarantee=guarantee,
        mechanism=mechanism,
        papers=weights.sizes().size,
        loads=weights.loads,
        public=public,
        record_digest=weights.digest(),
        notes=notes,
        created=datetime.now(UTC).replace(microsecond=0),
        software=software(),
        part=weights.part,
        terms=terms,
        charge=charge,
    )


def noise_law(mechanism: dict[str, Any]) -> LaplaceLaw:
    """Return the law of the noise of an effect, which is Laplace."""
    known = mechanism_from(mechanism)
    law = None if known is None or known.stated is None else known.stated.law
    if not isinstance(law, LaplaceLaw):
        raise InputError("an effect has Laplace noise of a stated scale")
    return law
