"""The published result and its files."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.expected_error import ASSUMPTION, ASSUMPTION_HIDDEN
from peerveil.inference.findings import Finding
from peerveil.inference.pooling import UsedPrior, check_evidence, check_shapes
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.mechanisms import kind_of
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.claims import standard_claim
from peerveil.privacy.joint_claims import Group
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats
from peerveil.releases import documents, words_v1
from peerveil.releases.documents import SCHEMA_VERSION, SCHEMA_VERSIONS
from peerveil.releases.documents import release_schema as release_schema  # noqa: PLC0414 - documented here by 0.1
from peerveil.releases.signatures import SIGNATURE, release_file
from peerveil.releases.withdrawal import MARKS, warn_if_withdrawn
from peerveil.reporting.published import CHANCE_RANKS, CROISSANT, FIGURES, Published, thinned
from peerveil.reporting.published import COLUMNS as COLUMNS  # noqa: PLC0414 - named here by version 0.1
from peerveil.reporting.terms import About, Terms
from peerveil.support.atomic_files import staged_folder
from peerveil.support.frames import Backend, csv_text, make_frame
from peerveil.support.html_tables import table
from peerveil.support.version import rendered_with

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The files of a release: data, and the report with its charts.
DATA_FILES = ("release.json", "release.csv")
REPORT_FILES = ("report.html", CROISSANT, *FIGURES)
FILES = (*DATA_FILES, *REPORT_FILES)

#: The files that a release's folder may contain: its own, and optionally a signature and a mark of withdrawal.
OWN_FILES = (*FILES, SIGNATURE, *MARKS)

_CHARGE = re.compile(r"[0-9a-f]{16}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")

#: The vectors of a release.
_VECTORS = ("values", "noisy", "lower", "upper")

#: The additions to release.json that are fields of a release.
_EXTENDED = ("about", "chance", "evidence", "within", "shapes", "tails", "prior", "series")

#: The fields of a guarantee that follow from the others.
_WORDS = ("promise", "not_protected", "human")


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Published):
    """Everything that is published: estimates, noisy vector, privacy claim and provenance.

    It contains no identity, and nothing computed from the true vector other than through the mechanism.

    Attributes:
        quantity: the averaged quantity, e.g. ``"ratings"``.
        values: the released means in ascending order.
        noisy: the noisy vector before refinement.
        histogram: the noisy counts behind the noisy vector; ``None`` if noise was added to the vector itself.
        lower: proven lower bound of each entry, from public data alone.
        upper: proven upper bound of each entry.
        guarantee: the privacy claim.
        mechanism: name and parameters of the mechanism.
        region: name of the region.
        estimator: name of the estimator.
        outlook: expected error, credible bands and their assumption; ``None`` if the noise distribution is unknown.
        findings: what the release says about reviewers, in numbers with intervals and in sentences; free of privacy
            cost. Empty if the noise distribution is unknown, or in a file of an earlier version.
        chance: the expected means if reviews were dealt to reviewers at random, at up to 101 evenly spread ranks with
            both ends; ``None`` where scores are hidden, the noise distribution is unknown, and in earlier versions.
        papers: number of papers.
        loads: public information about loads.
        public: what was declared public, in words.
        record_digest: fingerprint of the public weights.
        gap: duality gap of the projection, its certificate.
        notes: caveats.
        created: time of the release in UTC.
        software: name and version of the program.
        group: the group of papers; ``None`` for all papers.
        part: the whole conference, if the release covers a part of its reviews.
        terms: licence, citation, and what the release is about.
        charge: the ledger's number of the charge, 16 hexadecimal digits; ``None`` without a ledger.
        evidence: the log-likelihood of the noisy data at each leniency and discrepancy of the model, relative to the
            greatest, by which :func:`peerveil.pool` pools releases; ``None`` if the noise distribution is unknown, and
            in earlier versions.
        within: how far reviewers disagree within papers, relative to all scores, by which :func:`peerveil.pool` tells
            whether years are alike; ``None`` where that is not public or says nothing, and in earlier versions.
        shapes: the same as ``evidence`` for other shapes of leniency; ``None`` where these are not told apart.
        tails: skewness and kurtosis of opinions within papers, which tell such shapes; ``None`` where not public.
        prior: the pooled prior that the estimates rest on; ``None`` for the usual one.
        series: what the series of conferences that count this release promise to a person; none without a ledger.
        extension: additions of later versions to release.json.
        rendered: versions of Peerveil and of the packages that wrote the files.
        schema: version of release.json: 1 if the release was read or refined from such a file. Its claim is then in
            the words of that version.
        intact: whether the file it was read from matches its digest.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2)
    >>> release = pv.refine([1.3, -0.2], weights, mechanism=pv.Laplace(scale=1.0))
    >>> release.estimator, bool(0.3 <= release.values[0] <= 0.35)        # [0.3, 0.7] and [0.35, 0.65] are possible
    ('safe', True)
    >>> release.outlook.expected_rmse < 0.05
    True
    """

    gap: float
    group: Group | None = None
    charge: str | None = None
    evidence: Floats | None = None
    within: Within | None = None
    shapes: Floats | None = None
    tails: Tails | None = None
    prior: UsedPrior | None = None
    extension: dict[str, Any] = field(default_factory=dict)
    rendered: dict[str, str] = field(default_factory=rendered_with)
    schema: int = SCHEMA_VERSION
    intact: bool = True

    def __post_init__(self) -> None:
        if self.schema not in SCHEMA_VERSIONS:
            raise InputError(f"schema must be one of {', '.join(map(str, SCHEMA_VERSIONS))}, got {self.schema}")
        about = self.terms.about.to_document()
        later = (self.charge, self.part, self.chance, self.extension or None, self.findings or None, about or None)
        newest = (self.evidence, self.within, self.shapes, self.tails, self.prior, self.series or None)
        if self.schema == 1 and any(each is not None for each in (*later, *newest)):
            raise InputError("a release of schema 1 has no charge, part, extension or findings; leave them out")
        if self.chance is not None and self.chance.size != thinned(self.values.size, CHANCE_RANKS).size:
            raise InputError(f"chance must have one mean for each of up to {CHANCE_RANKS} evenly spread ranks")
        if self.group is not None and (self.schema == 1) != (self.group.together is None):
            raise InputError("a release of a group must state the joint claim of all groups, except in schema 1")
        if self.charge is not None and not _CHARGE.fullmatch(self.charge):
            raise InputError("charge must consist of 16 hexadecimal digits")
        if not all(_VERSION.fullmatch(word) for pair in self.rendered.items() for word in pair):
            raise InputError("rendered must contain package names and their versions")
        for name in ("mechanism", "extension"):
            documents.check_plain(getattr(self, name), name)
        for vector in (*(getattr(self, name) for name in _VECTORS), self.chance):
            if vector is not None:
                vector.flags.writeable = False

    @property
    def perturbed(self) -> Floats | NoisyCounts:
        """The noisy data: counts if noise was added to counts, otherwise the noisy vector."""
        return self.noisy if self.histogram is None else self.histogram

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return self.values.size

    @property
    def venue(self) -> str:
        """Conference, year and group of papers, as far as stated."""
        return self.terms.about.venue_of(None if self.group is None else self.group.name)

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release; the releases of groups of papers share one charge."""
        return self.quantity if self.group is None else f"{self.quantity} in {self.group.groups} groups"

    @property
    def human(self) -> str:
        """The privacy claim in one sentence for a reviewer; empty if the release does not state it."""
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
        """The privacy claim in standard terms, as release.json states it; ``None`` if it does not."""
        if self.schema == 1:
            return None
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("papers", "loads", "part", "group", "public")}
        return standard_claim(self.guarantee, **facts)

    def to_json(self) -> str:
        """Return the text of release.json."""
        loads = self.loads
        document: dict[str, Any] = {
            "schema_version": self.schema,
            "created": self.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "software": self.software,
            "licence": self.terms.licence,
            "citation": self.citation,
            "quantity": self.quantity,
            "record": {
                "papers": self.papers,
                "reviews": loads.reviews,
                "reviewers": loads.reviewers,
                "loads": documents.loads_document(loads),
                "public": self.public,
                "digest": self.record_digest,
            },
            "group": documents.group_document(self.group),
            "mechanism": self.mechanism,
            "guarantee": {
                **documents.claim_document(self.guarantee),
                "statement": self.guarantee.statement,
                "promise": self.promise,
                "not_protected": self.not_protected,
            },
            "region": self.region,
            "estimator": self.estimator,
            "certificate": {"gap": self.gap},
            "outlook": documents.outlook_document(self.outlook, schema=self.schema),
            "notes": list(self.notes),
            "histogram": None if self.histogram is None else self.histogram.to_document(),
            **{name: getattr(self, name).tolist() for name in _VECTORS},
        }
        if self.schema > 1:
            document["guarantee"] |= {"human": self.human, "neighbours": self.guarantee.neighbours.to_document()}
            document |= {"charge": self.charge, "rendered": self.rendered}
            document["part"] = None if self.part is None else self.part.to_document()
            document |= {"claim": self.claim, "extension": self._extended()}
        if self.findings:
            document["findings"] = [finding.to_document() for finding in self.findings]
        document["digest"] = documents.document_digest(document)
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def _extended(self) -> dict[str, Any]:
        """The additions to release.json."""
        about = self.terms.about.to_document()
        chance = {} if self.chance is None else {"chance": self.chance.tolist()}
        grids = {"evidence": self.evidence, "shapes": self.shapes}
        evidence = {name: each.tolist() for name, each in grids.items() if each is not None}
        kept = {name: getattr(self, name) for name in ("within", "tails", "prior")}
        stated = {name: each.to_document() for name, each in kept.items() if each is not None}
        series = {"series": [claim.to_document() for claim in self.series]} if self.series else {}
        return self.extension | ({"about": about} if about else {}) | chance | evidence | stated | series

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False, report: bool = True) -> Path:
        """Write the release's files into a folder atomically, and return the folder.

        A release read from a file of schema 1 is written with the same release.json, byte for byte.

        Args:
            folder: the folder to create; it must not contain files.
            overwrite: replace a folder that contains a release, including its signature.
            report: also write report.html and its charts; leave them out to write many small releases faster.
        """
        with staged_folder(folder, own=OWN_FILES, overwrite=overwrite) as stage:
            self.write_into(stage, report=report)
        return Path(folder)

    def write_into(self, folder: Path, *, report: bool = True) -> None:
        """Write the release's files into an existing folder."""
        document = self if self.schema == 1 else replace(self, rendered=rendered_with())
        files = {"release.json": document.to_json().encode(), "release.csv": self.to_csv().encode()}
        for name, contents in files.items():
            (folder / name).write_bytes(contents)
        if report:
            from peerveil.reporting.report import write_report  # noqa: PLC0415 - slow to load

            write_report(self, folder, files=files)

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return one row per reviewer as a frame of polars, pandas or pyarrow, with the columns of release.csv.

        >>> import peerveil as pv
        >>> weights = pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2)
        >>> pv.refine([1.3, -0.2], weights).to_frame()["rank"].to_list()
        [1, 2]
        """
        return make_frame(self._columns(), backend)

    def plot(self, kind: str = "means") -> Plot:
        """Return a chart of the report: ``"means"``, ``"shares"``, ``"refinement"`` or ``"bounds"``.

        Notebooks display it, and its method ``save`` writes it as SVG or PNG.
        """
        from peerveil.reporting.plots import release_plot  # noqa: PLC0415 - slow to load

        return release_plot(self, kind)

    def __repr__(self) -> str:
        unknown = "none" if self.determined else "not known"
        error = unknown if self.outlook is None else f"{self.outlook.expected_rmse:.3g}"
        claim = self.guarantee.summary
        return f"Release({self.quantity} of {self.reviewers} reviewers; {claim}; expected error {error})"

    def _repr_html_(self) -> str:
        rows = [
            *(("finding", finding.sentence) for finding in self.findings),
            ("reviewers", self.reviewers),
            ("papers", self.papers),
            ("loads", self.loads.describe()),
            ("public", self.public),
            ("claim", self.guarantee.summary),
            *(("series", claim.summary) for claim in self.series),
            ("estimator", self.estimator),
            ("expected error", self.error_summary),
            *([("verdict", self.verdict.sentence)] if self.verdict else []),
            *(("note", note) for note in self.notes),
        ]
        if self.group is not None:
            rows.insert(0, ("group", self.group.name))
        return table(f"Release: {self.quantity}", rows, below=self.plot("shares")._repr_html_())

    def to_csv(self) -> str:
        """Return the text of release.csv."""
        return csv_text(COLUMNS, zip(*self._columns().values(), strict=True))

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of release.csv; bands are ``None`` if they are not known."""
        vectors = [getattr(self, name).tolist() for name in _VECTORS]
        bands = (self.outlook.lower, self.outlook.upper) if self.outlook else ()
        vectors += [v.tolist() for v in bands] or [[None] * self.reviewers] * 2
        return dict(zip(COLUMNS, (list(range(1, self.reviewers + 1)), *vectors), strict=True))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Return the release in a folder or a release.json; warns if it is marked as withdrawn (``WithdrawalWarning``).

        Raises:
            FileError: if the file is missing, is not JSON, repeats a key, or violates its schema.
        """
        name, document = documents.read_document(path)
        release = cls.from_document(document, name=name)
        warn_if_withdrawn(release_file(path))
        return release

    @classmethod
    def from_document(cls, document: object, *, name: str = "release.json") -> Release:
        """Return a release from the parsed JSON of a release.json."""
        documents.validate(document, name, documents.schema_version(document, name))
        return documents.interpreted(cls._from_valid, document, name)

    @classmethod
    def _from_valid(cls, document: dict[str, Any]) -> Release:
        """A release from a document that follows the schema, after the checks that a schema cannot express."""
        record, claim, extension = document["record"], document["guarantee"], document.get("extension", {})
        for name in ("mechanism", "part", "claim", "extension"):  # not restricted by the schema
            documents.check_plain(document.get(name), name)
        vectors: dict[str, Any] = {key: documents.vector_from(document[key], key) for key in _VECTORS}
        if any(vector.size != record["reviewers"] for vector in vectors.values()):
            raise InputError(f"values, noisy, lower and upper must have {record['reviewers']} entries")
        if (np.diff(vectors["values"]) < -documents.slack(vectors["values"])).any():
            raise InputError("values must be in ascending order")
        histogram = documents.histogram_from(document["histogram"], vectors["noisy"])
        kind = kind_of(document["mechanism"]["name"])
        if (histogram is None) == (kind is not None and kind.on_counts):
            raise InputError(
                "histogram must be present exactly if the mechanism adds noise to counts; the file was changed"
            )
        release = cls(
            **vectors,
            schema=document["schema_version"],
            charge=document.get("charge"),  # absent in schema 1, as are the next three
            part=None if (part := document.get("part")) is None else Part.from_document(part),
            extension={key: value for key, value in extension.items() if key not in _EXTENDED},
            chance=None
            if "chance" not in extension
            else documents.vector_from(extension["chance"], "extension/chance"),
            evidence=None
            if "evidence" not in extension
            else check_evidence(extension["evidence"], "extension/evidence"),
            within=None if "within" not in extension else Within(*extension["within"]),
            shapes=None if "shapes" not in extension else check_shapes(extension["shapes"], "extension/shapes"),
            tails=None if "tails" not in extension else Tails(*extension["tails"]),
            prior=None if "prior" not in extension else UsedPrior(**extension["prior"]),
            series=tuple(map(SeriesClaim.from_document, extension.get("series", ()))),
            rendered=document.get("rendered", {}),
            histogram=histogram,
            **{name: document[name] for name in ("quantity", "region", "estimator", "software")},
            guarantee=documents.claim_from({key: claim[key] for key in claim if key not in _WORDS}),
            mechanism=documents.mechanism_from_document(document["mechanism"]),
            outlook=documents.outlook_from(document["outlook"], record["reviewers"]),
            findings=tuple(Finding.from_document(each, document["quantity"]) for each in document.get("findings", ())),
            papers=record["papers"],
            loads=documents.loads_from(record),
            public=record["public"],
            record_digest=record["digest"],
            gap=float(documents.vector_from([document["certificate"]["gap"]], "certificate/gap")[0]),
            notes=tuple(document["notes"]),
            created=documents.time_from(document["created"]),
            group=documents.group_from(document["group"]),
            terms=Terms(
                licence=document["licence"],
                citation=document["citation"],
                about=About.from_document(extension.get("about", {})),
            ),
            intact=document["digest"] == documents.document_digest(document),
        )
        release._check_words(document)
        return release

    def _check_words(self, document: dict[str, Any]) -> None:
        """Refuse words that do not follow from the numbers."""
        claim, outlook = document["guarantee"], document["outlook"]
        ours, v1 = (ASSUMPTION, ASSUMPTION + ASSUMPTION_HIDDEN), (words_v1.ASSUMPTION, words_v1.ASSUMPTION_HIDDEN)
        matches = {
            "guarantee/promise": claim["promise"] == self.promise,
            "guarantee/not_protected": claim["not_protected"] == self.not_protected,
            "guarantee/human": claim.get("human", "") == self.human,
            "claim": document.get("claim") == self.claim,
            "outlook/assumption": outlook is None or outlook["assumption"] in (v1 if self.schema == 1 else ours),
        }
        for name, same in matches.items():
            if not same:
                raise InputError(f"{name} is not what the numbers of the release imply; the file was changed")
