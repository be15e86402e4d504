"""A release: what is published, and its files."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.errors import FileError, InputError, unexpected
from peerveil.inference.expected_error import ASSUMPTION, ASSUMPTION_HIDDEN, ExpectedError
from peerveil.mechanisms import kind_of
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.claims import standard_claim
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.joint_claims import Group
from peerveil.privacy.neighbours import Neighbours
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats
from peerveil.releases import words_v1
from peerveil.releases.documents import (
    SCHEMA_VERSION,
    SCHEMA_VERSIONS,
    check_plain,
    claim_document,
    document_digest,
    group_document,
    group_from,
    histogram_from,
    loads_document,
    loads_from,
    mechanism_from_document,
    outlook_document,
    outlook_from,
    parse_json,
    part_from,
    schema_version,
    slack,
    time_from,
    validate,
    vector_from,
)
from peerveil.releases.documents import release_schema as release_schema  # noqa: PLC0414 - documented here by 0.1
from peerveil.releases.signatures import SIGNATURE
from peerveil.releases.terms import Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.html_tables import table
from peerveil.support.version import rendered_with
from peerveil.tables.opening import file_to_read, read_text

#: The files a release consists of: the data, and what people read.
DATA_FILES = ("release.json", "release.csv")
REPORT_FILES = (
    "report.html",
    "figures/means.svg",
    "figures/shares.svg",
    "figures/refinement.svg",
    "figures/bounds.svg",
)
FILES = (*DATA_FILES, *REPORT_FILES)

#: What a release's folder may hold: its files, and the signature of release.json, which its chair may add.
OWN_FILES = (*FILES, SIGNATURE)

#: The columns of release.csv, in order, and what they hold.
COLUMNS = {
    "rank": "1 for the smallest mean",
    "value": "the released estimate of the mean of that rank",
    "noisy": "the private vector before refinement",
    "lower": "what public data alone proves the true mean of that rank to be at least",
    "upper": "what public data alone proves the true mean of that rank to be at most",
    "band_lower": "lower end of the credible band of the true mean; empty if it is not known",
    "band_upper": "upper end of that band",
}


_CHARGE = re.compile(r"[0-9a-f]{16}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Everything that is published: estimates, noisy vector, claim, and how they came about.

    It holds no identity and nothing computed from the true vector other than through the mechanism.

    Attributes:
        quantity: what the means are of, e.g. ``"ratings"``.
        values: the released sorted means.
        noisy: the private vector they were refined from.
        histogram: the private counts that the noisy vector comes from; ``None`` where noise is on the vector itself.
        lower: what public data alone proves each entry to be at least.
        upper: what public data alone proves each entry to be at most.
        guarantee: the privacy claim.
        mechanism: name and parameters of the mechanism.
        region: name of the region.
        estimator: name of the estimator.
        outlook: expected error and bands, and on what they rest; ``None`` where the law of the noise is not known.
        papers: number of papers.
        loads: what is public about loads.
        public: what was stated to be public, in words.
        record_digest: fingerprint of the public weights that were used.
        gap: certificate of the projection.
        notes: caveats.
        created: when, in UTC.
        software: what made it.
        group: which group of papers it is of; ``None`` for all of them.
        part: the whole conference, where the release is of a part of its reviews; ``None`` where it is of all.
        terms: under which licence it is published, and how to cite it.
        charge: the number under which a ledger was charged for it, 16 hexadecimal digits; ``None`` where none was.
        extension: what later versions add to release.json.
        rendered: the versions of Peerveil and of the packages that wrote its files; those here, before it is written.
        schema: the version of release.json that it is written as: 1 if it was read from such a file, or refined from
            what was; its claim is then in the words of that version.
        intact: whether the file it was read from has the digest of its contents.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2)
    >>> release = pv.refine([1.3, -0.2], weights, mechanism=pv.Laplace(scale=1.0))
    >>> release.estimator, bool(0.3 <= release.values[0] <= 0.35)        # [0.3, 0.7] and [0.35, 0.65] are possible
    ('safe', True)
    >>> release.outlook.expected_rmse < 0.05
    True
    """

    quantity: str
    values: Floats
    noisy: Floats
    lower: Floats
    upper: Floats
    guarantee: Guarantee
    mechanism: dict[str, Any]
    region: str
    estimator: str
    outlook: ExpectedError | None
    papers: int
    loads: Loads
    public: str
    record_digest: str
    gap: float
    notes: tuple[str, ...]
    created: datetime
    software: str
    histogram: NoisyCounts | None = None
    group: Group | None = None
    part: Part | None = None
    terms: Terms = field(default=Terms())
    charge: str | None = None
    extension: dict[str, Any] = field(default_factory=dict)
    rendered: dict[str, str] = field(default_factory=rendered_with)
    schema: int = SCHEMA_VERSION
    intact: bool = True

    def __post_init__(self) -> None:
        if self.schema not in SCHEMA_VERSIONS:
            raise InputError(f"schema must be one of {', '.join(map(str, SCHEMA_VERSIONS))}, got {self.schema}")
        if self.schema == 1 and (self.charge is not None or self.part is not None or self.extension):
            raise InputError("a release of schema 1 has no charge, part or extension; leave them out")
        if self.group is not None and (self.schema == 1) != (self.group.together is None):
            raise InputError("a release of a group states what all groups claim together, except in schema 1")
        if self.charge is not None and not _CHARGE.fullmatch(self.charge):
            raise InputError("charge must be a number of 16 hexadecimal digits")
        if not all(_VERSION.fullmatch(word) for pair in self.rendered.items() for word in pair):
            raise InputError("rendered must hold names of packages and their versions")
        for name in ("mechanism", "extension"):
            check_plain(getattr(self, name), name)
        for vector in (self.values, self.noisy, self.lower, self.upper):
            vector.flags.writeable = False

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return self.values.size

    @property
    def human(self) -> str:
        """The privacy claim in one sentence for a reviewer; empty where a release does not state it."""
        return "" if self.schema == 1 else self.guarantee.human

    @property
    def promise(self) -> str:
        """The privacy claim in words, as release.json and the report state it."""
        return words_v1.promise(self.guarantee) if self.schema == 1 else self.guarantee.promise

    @property
    def not_protected(self) -> str:
        """What the claim does not cover, in words, as release.json and the report state it."""
        return words_v1.NOT_PROTECTED if self.schema == 1 else self.guarantee.not_protected

    @property
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms, as release.json states it; ``None`` where it does not."""
        if self.schema == 1:
            return None
        return standard_claim(
            self.guarantee,
            papers=self.papers,
            loads=self.loads,
            part=self.part,
            group=self.group,
            public=self.public,
        )

    def to_json(self) -> str:
        """The text of release.json."""
        document = self._document()
        document["digest"] = document_digest(document)
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def _document(self) -> dict[str, Any]:
        loads, related = self.loads, self.guarantee.neighbours.to_document()
        added: dict[str, Any] = {
            "charge": self.charge,
            "rendered": self.rendered,
            "part": None if self.part is None else self.part.to_document(),
            "claim": self.claim,
            "extension": self.extension,
        }
        return {
            "schema_version": self.schema,
            "created": self.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "software": self.software,
            "licence": self.terms.licence,
            "citation": self.terms.cited(self.software),
            "quantity": self.quantity,
            "record": {
                "papers": self.papers,
                "reviews": loads.reviews,
                "reviewers": loads.reviewers,
                "loads": loads_document(loads),
                "public": self.public,
                "digest": self.record_digest,
            },
            "group": group_document(self.group),
            "mechanism": self.mechanism,
            "guarantee": {
                **claim_document(self.guarantee),
                "statement": self.guarantee.statement,
                "promise": self.promise,
                "not_protected": self.not_protected,
                **({} if self.schema == 1 else {"human": self.human, "neighbours": related}),
            },
            "region": self.region,
            "estimator": self.estimator,
            "certificate": {"gap": self.gap},
            "outlook": outlook_document(self.outlook),
            "notes": list(self.notes),
            "histogram": None if self.histogram is None else self.histogram.to_document(),
            "values": self.values.tolist(),
            "noisy": self.noisy.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            **({} if self.schema == 1 else added),
        }

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False, report: bool = True) -> Path:
        """Write the release's files into a folder, whole or not at all; returns the folder.

        release.json states the versions that write it here. A release that was read from a file of schema 1 is written
        as it was: the same release.json, byte for byte.

        Args:
            folder: where to; must not hold files already.
            overwrite: replace a folder that holds a release. Its signature, if it has one, is removed with it.
            report: write report.html and its figures, too; without them many small releases are written faster.
        """
        with staged_folder(folder, own=OWN_FILES, overwrite=overwrite) as stage:
            self.write_into(stage, report=report)
        return Path(folder)

    def write_into(self, folder: Path, *, report: bool = True) -> None:
        """Write the release's files into an existing folder."""
        table = self.to_csv()
        document = self if self.schema == 1 else replace(self, rendered=rendered_with())
        (folder / "release.json").write_text(document.to_json(), encoding="utf-8")
        (folder / "release.csv").write_text(table, encoding="utf-8", newline="")
        if report:
            from peerveil.reporting.report import write_report  # noqa: PLC0415 - drawing loads much; only who draws needs it

            write_report(self, folder, table=table)

    def _repr_html_(self) -> str:
        from peerveil.reporting.charts import cumulative, to_svg  # noqa: PLC0415 - drawing loads much; only who draws needs it

        picture = base64.b64encode(to_svg(cumulative(self)).encode()).decode()  # as a file, so its style stays its own
        rows = [
            ("reviewers", self.reviewers),
            ("papers", self.papers),
            ("loads", self.loads.describe()),
            ("public", self.public),
            ("claim", self.guarantee.summary),
            ("estimator", self.estimator),
            ("expected error", "not known" if self.outlook is None else self.outlook.summary),
            *(("note", note) for note in self.notes),
        ]
        if self.group is not None:
            rows.insert(0, ("group", self.group.name))
        image = f'<img alt="How the released means are distributed" src="data:image/svg+xml;base64,{picture}">'
        return table(f"Release: {self.quantity}", rows, below=image)

    def to_csv(self) -> str:
        """The text of release.csv."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        vectors = [v.tolist() for v in (self.values, self.noisy, self.lower, self.upper)]
        bands = (self.outlook.lower, self.outlook.upper) if self.outlook else ()
        vectors += [v.tolist() for v in bands] or [[""] * self.reviewers] * 2
        writer.writerows(zip(range(1, self.reviewers + 1), *vectors, strict=True))
        return text.getvalue()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release from its folder or from its release.json.

        Raises:
            FileError: if it is not there, not JSON, has a key twice, is of an unknown schema version, or not as the
                schema says.
        """
        place = file_to_read(path)
        name, text = read_text(place / "release.json" if place.is_dir() else place)
        document = parse_json(text, name=name)
        if document is None:
            raise FileError("is not JSON; a release.json written by Peerveil is needed", file=name)
        return cls.from_document(document, name=name)

    @classmethod
    def from_document(cls, document: object, *, name: str = "release.json") -> Release:
        """A release from the parsed JSON of a release.json."""
        validate(document, name, schema_version(document, name))
        assert isinstance(document, dict)  # noqa: S101 - the schema says so
        problem = ""
        try:
            return cls._from_valid(document)
        except InputError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever a file holds, it is refused with the file's name
            problem = f"cannot be understood: {unexpected(error)}"
        raise FileError(problem, file=name)

    @classmethod
    def _from_valid(cls, document: dict[str, Any]) -> Release:
        """A release from a document that follows the schema; what the schema cannot say is checked here."""
        record, claim = document["record"], document["guarantee"]
        for name in (
            "mechanism",
            "part",
            "claim",
            "extension",
        ):  # what the schema leaves open, before it is gone through
            check_plain(document.get(name), name)
        vectors = {key: vector_from(document[key], key) for key in ("values", "noisy", "lower", "upper")}
        if any(vector.size != record["reviewers"] for vector in vectors.values()):
            raise InputError(f"values, noisy, lower and upper must have {record['reviewers']} entries")
        if (np.diff(vectors["values"]) < -slack(vectors["values"])).any():
            raise InputError("values must ascend, as they are in order of rank")
        worded = ("promise", "not_protected", "human", "neighbours")
        guarantee = Guarantee(
            **{key: claim[key] for key in claim if key not in worded},
            neighbours=Neighbours(**claim.get("neighbours", {})),
        )
        histogram = histogram_from(document["histogram"], vectors["noisy"])
        kind = kind_of(document["mechanism"]["name"])
        if (histogram is None) == (kind is not None and kind.on_counts):
            raise InputError("a release has a histogram exactly if its mechanism is one; the file was changed")
        release = cls(
            **vectors,
            schema=document["schema_version"],
            charge=document.get("charge"),  # not in schema 1, nor the three that follow
            part=part_from(document.get("part")),
            extension=document.get("extension", {}),
            rendered=document.get("rendered", {}),
            histogram=histogram,
            quantity=document["quantity"],
            guarantee=guarantee,
            mechanism=mechanism_from_document(document["mechanism"]),
            region=document["region"],
            estimator=document["estimator"],
            outlook=outlook_from(document["outlook"], record["reviewers"]),
            papers=record["papers"],
            loads=loads_from(record),
            public=record["public"],
            record_digest=record["digest"],
            gap=float(vector_from([document["certificate"]["gap"]], "certificate/gap")[0]),
            notes=tuple(document["notes"]),
            created=time_from(document["created"]),
            software=document["software"],
            group=group_from(document["group"]),
            terms=Terms(licence=document["licence"], citation=document["citation"]),
            intact=document["digest"] == document_digest(document),
        )
        release._check_words(document)
        return release

    def _check_words(self, document: dict[str, Any]) -> None:
        """Refuse words that do not follow from the numbers beside them."""
        claim, outlook = document["guarantee"], document["outlook"]
        if claim["promise"] != self.promise:
            raise InputError("guarantee/promise is not what its kind, unit and epsilon promise; the file was changed")
        if claim["not_protected"] != self.not_protected:
            raise InputError("guarantee/not_protected is not what such a release states; the file was changed")
        if claim.get("human", self.guarantee.human) != self.guarantee.human:
            raise InputError("guarantee/human is not what its numbers come to; the file was changed")
        if document.get("claim") != self.claim:
            raise InputError("claim is not what its guarantee comes to in standard terms; the file was changed")
        known = (
            (words_v1.ASSUMPTION, words_v1.ASSUMPTION_HIDDEN)
            if self.schema == 1
            else (ASSUMPTION, ASSUMPTION + ASSUMPTION_HIDDEN)
        )
        if outlook is not None and outlook["assumption"] not in known:
            raise InputError("outlook/assumption is not what such a release assumes; the file was changed")
