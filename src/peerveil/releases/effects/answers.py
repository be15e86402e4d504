"""What the published answers to questions about groups of reviewers have in common: their facts and files."""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from peerveil.errors import InputError
from peerveil.privacy.claims import standard_claim
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.parts import Part, is_open
from peerveil.releases import documents
from peerveil.releases.signatures import SIGNATURE, release_file
from peerveil.releases.withdrawal import MARKS, warn_if_withdrawn
from peerveil.reporting.terms import About, Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.html_tables import table
from peerveil.support.version import rendered_with, software

#: The files of an answer.
FILES = ("release.json", "report.html")
OWN_FILES = (*FILES, SIGNATURE, *MARKS)

#: Said of a release that protects single reviews.
NOTE_REVIEW = "Which group each reviewer is in is not protected: the protected unit is a single review."

_CHARGE = re.compile(r"[0-9a-f]{16}")
_LONGEST = 200


class Asked(Protocol):
    """A question about groups of reviewers."""

    @property
    def by(self) -> str:
        """The attribute of reviewers that defines the groups."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The public number of reviewers of each group; ``None`` if these are not public."""

    @property
    def declared(self) -> str:
        """What is declared public about groups, in words."""

    @property
    def stated(self) -> tuple[str, ...]:
        """The same as single facts, for a ledger."""

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer(ABC):
    """A published answer to a question about groups of reviewers, which follows from noisy numbers.

    Attributes:
        question: what was asked.
        estimated: everything that follows from the noisy numbers.
        noisy: the noisy numbers.
        quantity: the weight of a review, e.g. ``"ratings"``.
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
    """

    question: Asked
    estimated: Any
    noisy: Any
    quantity: str
    guarantee: Guarantee
    mechanism: dict[str, Any]
    papers: int
    loads: Loads
    public: str
    record_digest: str
    notes: tuple[str, ...] = ()
    created: datetime
    software: str
    part: Part | None = None
    terms: Terms = field(default=Terms())
    charge: str | None = None
    rendered: dict[str, str] = field(default_factory=rendered_with)
    intact: bool = True

    #: The word by which its release.json is told from others.
    kind: ClassVar[str]

    #: As of a release of means: the version of its release.json, and the group of papers.
    schema = 2
    group = None

    def __post_init__(self) -> None:
        if self.charge is not None and not _CHARGE.fullmatch(self.charge):
            raise InputError("charge must consist of 16 hexadecimal digits")
        documents.check_plain(self.mechanism, "mechanism")

    @property
    @abstractmethod
    def charged_as(self) -> str:
        """What a ledger calls the release."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the report."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale of the noise, if it is that of such an answer."""

    @abstractmethod
    def sensitivity(self, weights: PublicWeights, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the numbers that were made private."""

    @abstractmethod
    def again(self, weights: PublicWeights, guarantee: Guarantee) -> Self:
        """Return the answer, recomputed from its noisy numbers and the public record."""

    @abstractmethod
    def numbers(self) -> list[float | None]:
        """Return all numbers that follow from the noisy ones."""

    @abstractmethod
    def noise_limits(self, weights: PublicWeights, rare: float) -> Iterator[tuple[str, float, float, float]]:
        """Yield names of noisy numbers, their values, and limits that are exceeded about once in ``rare`` times."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """Return the answer as names and sentences."""

    @abstractmethod
    def statements(self) -> tuple[str, ...]:
        """Return the sentences that the report states beside claim and notes."""

    @abstractmethod
    def html(self) -> str:
        """Return the report."""

    @abstractmethod
    def _own_document(self) -> dict[str, Any]:
        """Return the fields of release.json that answers of other kinds do not have."""

    @classmethod
    @abstractmethod
    def _own_fields(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of this kind from a valid release.json."""

    @property
    def citation(self) -> str:
        """How to cite the release."""
        return self.terms.cited(self.software, title=self.title, year=self.created.year)

    @property
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("papers", "loads", "part", "public")}
        return standard_claim(self.guarantee, group=None, **facts)

    def to_json(self) -> str:
        """Return the text of release.json."""
        claim = self.guarantee
        document: dict[str, Any] = {
            "schema_version": self.schema,
            "kind": self.kind,
            "created": self.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "software": self.software,
            "licence": self.terms.licence,
            "citation": self.citation,
            "about": self.terms.about.to_document(),
            "quantity": self.quantity,
            "question": self.question.to_document(),
            **self._own_document(),
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
        written = replace(self, rendered=rendered_with())
        (folder / "release.json").write_bytes(written.to_json().encode())
        (folder / "report.html").write_text(written.html(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the answer in a folder or a release.json; warns if it is marked as withdrawn."""
        name, document = documents.read_document(path)
        answer = cls.from_document(document, name=name)
        warn_if_withdrawn(release_file(path))
        return answer

    @classmethod
    def from_document(cls, document: object, *, name: str = "release.json") -> Self:
        """Return an answer from the parsed JSON of a release.json."""
        documents.validate(document, name, kind=cls.kind)
        return documents.interpreted(cls._from_valid, document, name)

    @classmethod
    def _from_valid(cls, document: dict[str, Any]) -> Self:
        record, claim = document["record"], document["guarantee"]
        for name in ("mechanism", "part", "claim"):
            documents.check_plain(document[name], name)
        words = ("promise", "not_protected", "human")
        return cls(
            **cls._own_fields(document),
            quantity=document["quantity"],
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

    def _repr_html_(self) -> str:
        return table(self.title, self.facts())


def record_facts(weights: PublicWeights) -> dict[str, Any]:
    """Return what an answer that is made now states about its public record."""
    return {
        "quantity": weights.quantity,
        "papers": weights.sizes().size,
        "loads": weights.loads,
        "record_digest": weights.digest(),
        "created": datetime.now(UTC).replace(microsecond=0),
        "software": software(),
        "part": weights.part,
    }


def sizes_words(groups: tuple[str, ...], sizes: tuple[int, ...]) -> str:
    """Return public sizes of groups in words.

    >>> sizes_words(("new", "old"), (700, 800))
    "700 reviewers are 'new' and 800 are 'old'"
    """
    first, *rest = (f"{size} are {group!r}" for group, size in zip(groups, sizes, strict=True))
    words = [first.replace(" are ", f" {'reviewer is' if sizes[0] == 1 else 'reviewers are'} ", 1), *rest]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def caveats(weights: PublicWeights, unit: Unit) -> tuple[str, ...]:
    """Return the notes that an answer with these public weights, for a protected unit, must have."""
    notes = [NOTE_REVIEW] if unit == "review" else []
    if is_open(weights.part):
        notes.append(
            f"How many of the {weights.part.whole.reviewers} reviewers have a review in this release is not public: "
            f"{weights.reviewers} is a guess from public data."
        )
    return tuple(notes)


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.9), percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * share:.4g} %"


def check_names(by: str, groups: tuple[str, ...]) -> None:
    """Refuse names of an attribute and its groups that cannot be published, and groups with the same name."""
    for text in (by, *groups):
        if not (isinstance(text, str) and text.strip() and text.isprintable() and len(text) <= _LONGEST):
            raise InputError(f"attribute and groups must be 1 to {_LONGEST} printable characters")
    if len(groups) < 2 or len(set(groups)) < len(groups):
        raise InputError("at least two different groups are needed")
