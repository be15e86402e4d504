"""What the published answers to questions about groups of reviewers have in common: their facts and files."""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from peerveil.errors import Argument, InputError
from peerveil.privacy.claims import Conference, standard_claim
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, GroupClaim, joint_quantity
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.parts import Part, is_open
from peerveil.releases import documents
from peerveil.releases.checking.document import check_public
from peerveil.releases.checking.results import RefusedError
from peerveil.releases.signatures import SIGNATURE, release_file
from peerveil.releases.withdrawal import MARKS, warn_if_withdrawn
from peerveil.reporting.published import CROISSANT
from peerveil.reporting.terms import About, Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.html_tables import table
from peerveil.support.version import rendered_with, software

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The files of an answer.
FILES = ("release.json", "release.csv", "report.html", CROISSANT)
OWN_FILES = (*FILES, SIGNATURE, *MARKS)

#: Said of a release that protects single reviews.
NOTE_REVIEW = "Which group each reviewer is in is not protected: the protected unit is a single review."

#: Said of what is public, in a release of a group of papers.
IN_GROUPS = ", in each group of papers"

_CHARGE = re.compile(r"[0-9a-f]{16}")
_LONGEST = 200


#: The public weights of a release, or of both of its conferences.
Weights = PublicWeights | tuple[PublicWeights, PublicWeights]


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
        group: the group of papers; ``None`` for all papers.
        series: what the series of conferences that count this release promise to a person; none without a ledger.
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
    group: Group | None = None
    series: tuple[SeriesClaim, ...] = ()

    #: The word by which its release.json is told from others.
    kind: ClassVar[str]

    #: As of a release of means: the version of its release.json.
    schema = 2

    def __post_init__(self) -> None:
        if self.charge is not None and not _CHARGE.fullmatch(self.charge):
            raise InputError("charge must consist of 16 hexadecimal digits")
        documents.check_plain(self.mechanism, "mechanism")

    @property
    @abstractmethod
    def charged_as(self) -> str:
        """What a ledger calls the release."""

    @property
    def venue(self) -> str:
        """Conference, year and group of papers, as far as stated."""
        return self.terms.about.venue_of(None if self.group is None else self.group.name)

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the report."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale of the noise, if it is that of such an answer."""

    @abstractmethod
    def sensitivity(self, weights: Any, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the numbers that were made private."""

    def group_claim(self, weights: Any) -> GroupClaim:
        """Return its claim with what determines the joint claim of several groups of papers."""
        raise RefusedError("it is not released by groups of papers")

    def charged_jointly(self, what: str) -> str:
        """Return what a ledger calls the release, or that of all groups of papers, given what it calls one."""
        return what if self.group is None else joint_quantity(what, self.group.groups)

    def of_group(self, group: Group) -> Self:
        """Return the release as that of one of several groups of papers, which were released together."""
        public = public_in_groups(self.public, self.question.declared)
        return replace(self, group=group, public=public, notes=(*self.notes, group.note))

    def of_series(self, series: Sequence[SeriesClaim]) -> Self:
        """Return the release with what the series that count it promise."""
        return replace(self, series=tuple(series), notes=(*self.notes, *(claim.note for claim in series)))

    @abstractmethod
    def again(self, weights: Any, guarantee: Guarantee) -> Self:
        """Return the answer, recomputed from its noisy numbers and the public record."""

    @abstractmethod
    def numbers(self) -> list[float | None]:
        """Return all numbers that follow from the noisy ones."""

    @abstractmethod
    def noise_limits(self, weights: Any, rare: float) -> Iterator[tuple[str, float, float, float]]:
        """Yield names of noisy numbers, their values, and limits that are exceeded about once in ``rare`` times."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """Return the answer as names and sentences."""

    @abstractmethod
    def statements(self) -> tuple[str, ...]:
        """Return the sentences that the report states beside claim and notes."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of release.csv, as names and values."""

    @abstractmethod
    def html(self) -> str:
        """Return the report."""

    @abstractmethod
    def _chart(self) -> Any:
        """Return the chart of the report."""

    def plot(self) -> Plot:
        """Return the chart of the report; notebooks display it, ``.save("chart.png")`` writes it."""
        from peerveil.reporting.charts import to_svg  # noqa: PLC0415 - slow to load
        from peerveil.reporting.plots import Plot  # noqa: PLC0415 - slow to load

        return Plot(to_svg(self._chart()))

    def data_files(self) -> dict[str, str]:
        """Return the texts of release.json, release.csv and croissant.json."""
        from peerveil.reporting.answer_page import answer_croissant, answer_csv  # noqa: PLC0415 - slow to load

        files = {"release.json": self.to_json(), "release.csv": answer_csv(self)}
        contents = {name: text.encode() for name, text in files.items()}
        return files | {CROISSANT: answer_croissant(self, contents, columns=f"{self.kind}_column")}

    @abstractmethod
    def _own_document(self) -> dict[str, Any]:
        """Return the fields of release.json that answers of other kinds do not have."""

    @classmethod
    @abstractmethod
    def _own_fields(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of this kind from a valid release.json."""

    def adopted(self, given: Any) -> Any:
        """Return the given weights, with what the answer states about the whole conference."""
        return adopted_weights(self, given)

    def check_record(self, weights: Any) -> str:
        """Return that weights are those of the public record of this answer, in words; refuses others."""
        return check_weights(self, weights, self.quantity)

    def check_public(self, weights: Any) -> None:
        """Refuse words on what is public that do not fit question and record."""
        if not self.public.endswith(groups := f"; {self.question.declared}"):
            raise RefusedError("record/public does not declare the groups")
        words = self.public.removesuffix(groups)
        if self.group is not None and not words.endswith(IN_GROUPS):
            raise RefusedError("record/public does not say that it is so in each group of papers")
        words = words.removesuffix("" if self.group is None else IN_GROUPS)
        check_public(words, self.quantity, hidden=weights.hidden_span > 0)

    def neighbours(self, weights: Any, unit: Unit) -> Neighbours:
        """Return the neighbour relation of the claim for a unit."""
        return Neighbours.of(
            weights.part,
            hidden=weights.hidden_span > 0,
            attributes=unit == "reviewer",
            sizes=self.question.sizes is not None,
        )

    def caveats(self, weights: Any, unit: Unit) -> tuple[str, ...]:
        """Return the notes that the answer must have."""
        return caveats(weights, unit)

    @property
    def citation(self) -> str:
        """How to cite the release."""
        return self.terms.cited(self.software, title=self.title, year=self.created.year)

    @property
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("papers", "loads", "part", "public")}
        return standard_claim(self.guarantee, group=self.group, **facts)

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
            "record": record_document(self),
            "part": None if self.part is None else self.part.to_document(),
            **({} if self.group is None else {"group": documents.group_document(self.group)}),
            "mechanism": self.mechanism,
            "guarantee": documents.claim_document(claim)
            | {"statement": claim.statement, "promise": claim.promise, "not_protected": claim.not_protected}
            | {"human": claim.human, "neighbours": claim.neighbours.to_document()},
            "claim": self.claim,
            "notes": list(self.notes),
            "charge": self.charge,
            **({"series": [claim.to_document() for claim in self.series]} if self.series else {}),
            "rendered": self.rendered,
        }
        document["digest"] = documents.document_digest(document)
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write its files into a folder atomically, and return the folder."""
        with staged_folder(folder, own=OWN_FILES, overwrite=overwrite) as stage:
            self.write_into(stage)
        return Path(folder)

    def write_into(self, folder: Path) -> None:
        """Write the files into an existing folder."""
        written = replace(self, rendered=rendered_with())
        for name, text in written.data_files().items():
            (folder / name).write_bytes(text.encode())
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
            group=documents.group_from(document.get("group")),
            series=tuple(map(SeriesClaim.from_document, document.get("series", ()))),
        )

    def _repr_html_(self) -> str:
        return table(self.title, self.facts())


class Stated(Conference, Protocol):
    """What is stated about a public record."""

    @property
    def record_digest(self) -> str:
        """Fingerprint of the public weights."""


def record_document(stated: Stated) -> dict[str, Any]:
    """Return what is stated about a public record as JSON."""
    return {
        "papers": stated.papers,
        "reviews": stated.loads.reviews,
        "reviewers": stated.loads.reviewers,
        "loads": documents.loads_document(stated.loads),
        "public": stated.public,
        "digest": stated.record_digest,
    }


def adopted_weights(stated: Stated, weights: PublicWeights) -> PublicWeights:
    """Return weights with what is stated about the whole conference."""
    if not isinstance(weights, PublicWeights):
        raise RefusedError("the release is of one conference, and the public weights of two were given")
    if weights.part is None and stated.part is not None:
        weights = replace(weights, loads=stated.loads, part=stated.part)
    return weights.expected() if weights.open else weights  # whose loads are a guess that follows from the record


def check_weights(stated: Stated, weights: PublicWeights, quantity: str) -> str:
    """Return that weights are those of the stated record, in words; refuses others."""
    if weights.quantity != quantity:
        raise RefusedError(f"the release is of {quantity}, the weights are of {weights.quantity}")
    if weights.part != stated.part or weights.loads != stated.loads:
        raise RefusedError("the public record has other loads, or covers another part of the conference")
    if weights.sizes().size != stated.papers or weights.digest() != stated.record_digest:
        raise RefusedError(
            "the public record is not the one this release was made from, or was read with other options"
        )
    return (
        f"{stated.papers} papers, {stated.loads.reviews} reviews, {stated.loads.reviewers} reviewers; the same digest"
    )


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


def public_in_groups(public: str, declared: str) -> str:
    """Return what is stated to be public of each of several groups of papers, given that of a single release.

    >>> public_in_groups("all scores; that two arms exist", "that two arms exist")
    'all scores, in each group of papers; that two arms exist'
    """
    return f"{public.removesuffix(f'; {declared}')}{IN_GROUPS}; {declared}"


def check_names(by: str, groups: tuple[str, ...], stated: str) -> None:
    """Refuse names of an attribute and its groups that cannot be published, and groups with the same name.

    ``stated`` is the argument that names the groups.
    """
    for text in (by, *groups):
        if not (isinstance(text, str) and text.strip() and text.isprintable() and len(text) <= _LONGEST):
            raise InputError(f"attribute and groups must be 1 to {_LONGEST} printable characters")
    if len(groups) < 2 or len(set(groups)) < len(groups):
        raise InputError("at least two different groups are needed (", Argument(stated, ...), ")")
