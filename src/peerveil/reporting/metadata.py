"""Machine-readable descriptions of a release: BibTeX, schema.org (JSON-LD) and Croissant, from published data alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peerveil.reporting.published import COLUMNS, Published
from peerveil.reporting.terms import Terms
from peerveil.reporting.words import quantity_words, reviewers, say, say_of

#: Licences with an address of their own; SPDX describes the others that it lists.
_LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
    "PDDL-1.0": "https://opendatacommons.org/licenses/pddl/1-0/",
}

_SCHEMA, _CROISSANT = "https://schema.org/", "http://mlcommons.org/croissant/"

#: The media types of the data files.
_KINDS = {"release.csv": "text/csv", "release.json": "application/json"}

#: What BibTeX would take for a command.
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {character: f"\\{character}" for character in "&%$#_{}"}


def licence_address(licence: str | None) -> str | None:
    """Return the address of a licence, if it is one or is known.

    >>> licence_address("CC-BY-4.0"), licence_address("as agreed")
    ('https://creativecommons.org/licenses/by/4.0/', None)
    """
    if licence is not None and re.fullmatch(r"https?://[^\s<>\"']+", licence):
        return licence
    return _LICENCES.get(licence or "")


@dataclass(frozen=True, kw_only=True)
class Described:
    """What descriptions of a release of any kind state.

    Attributes:
        title: its title.
        words: what it holds, in a few sentences.
        note: the same in short, for a citation.
        claim: its privacy claim in short.
        citation: how to cite it.
        terms: licence, and what it is about.
        venue: conference, year and group of papers.
        created: time of the release.
        record_digest: fingerprint of its public record.
    """

    title: str
    words: str
    note: str
    claim: str
    citation: str
    terms: Terms
    venue: str
    created: datetime
    record_digest: str


def bibtex(release: Published) -> str:
    """Return the citation of a release as a BibTeX entry; its key is made of conference, year and public record.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2, quantity="ratings")
    >>> release = pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
    >>> print(bibtex(release).splitlines()[1])
      title = {{How the reviewers rate}},
    """
    return bibtex_entry(_described(release))


def bibtex_entry(release: Described) -> str:
    """Return the citation of a release of any kind as a BibTeX entry."""
    about = release.terms.about
    year = about.year or release.created.year
    name = re.sub(r"[^a-z0-9]+", "", (about.conference or "peerveil").lower()) or "peerveil"
    facts = {
        "author": " and ".join(_tex_name(author) for author in about.authors),
        "title": f"{{{_tex(release.title)}}}",
        "organization": _tex(about.conference or ""),
        "year": str(year),
        "howpublished": _tex(say("metadata.howpublished", claim=release.claim)),
        "url": about.url or "",
        "note": _tex(release.note),
    }
    lines = [f"  {field} = {{{value}}}," for field, value in facts.items() if value]
    return "\n".join([f"@misc{{{name}{year}-{release.record_digest[7:15]},", *lines, "}"])


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


def _tex_name(name: str) -> str:
    """A name, in braces if BibTeX would take it for several."""
    return f"{{{_tex(name)}}}" if " and " in name else _tex(name)


def dataset(release: Published) -> str:
    """Return the schema.org description of a release as JSON, safe within HTML."""
    told = say_of(release.quantity)
    variables = {name: told(f"column.{name}") for name in COLUMNS}
    return dataset_of(_described(release), variables, ("release.csv", "release.json"))


def dataset_of(release: Described, variables: Mapping[str, str], files: Sequence[str]) -> str:
    """Return the schema.org description of a release of any kind, given its variables in words, and its files."""
    document = {
        "@context": _SCHEMA,
        "@type": "Dataset",
        **_common(release),
        "variableMeasured": [
            {"@type": "PropertyValue", "name": name, "description": words} for name, words in variables.items()
        ],
        "measurementTechnique": say("metadata.technique"),
        "distribution": [
            {
                "@type": "DataDownload",
                "name": name,
                "contentUrl": _place(release.terms.about.url, name),
                "encodingFormat": _KINDS[name],
            }
            for name in files
        ],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def croissant(release: Published, files: Mapping[str, bytes]) -> str:
    """Return the Croissant 1.0 description of a release, given the contents of its release.json and release.csv."""
    told = say_of(release.quantity)
    fields = {name: ("sc:Integer" if name == "rank" else "sc:Float", told(f"column.{name}")) for name in COLUMNS}
    return croissant_of(_described(release), fields, files, rows="ranks", words=say("metadata.csv"), key="rank")


def croissant_of(
    release: Described,
    fields: Mapping[str, tuple[str, str]],
    files: Mapping[str, bytes],
    *,
    rows: str,
    words: str,
    key: str | None = None,
) -> str:
    """Return the Croissant 1.0 description of a release of any kind.

    Args:
        release: what it is.
        fields: the columns of its release.csv, each with its type and what it means.
        files: the contents of its release.csv and release.json.
        rows: the name of the rows of release.csv.
        words: what a row is.
        key: the column that tells rows apart, if a single one does.
    """
    told = {"release.csv": words, "release.json": say("metadata.json")}
    document = {
        "@context": {"@language": say("report.language"), **_CONTEXT},
        "@type": "sc:Dataset",
        "conformsTo": f"{_CROISSANT}1.0",
        **_common(release),
        "citeAs": bibtex_entry(release),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "description": told[name],
                "contentUrl": name,  # beside this file, so that a copy of the folder can be read anywhere
                "contentSize": f"{len(files[name])} B",
                "encodingFormat": _KINDS[name],
                "sha256": hashlib.sha256(files[name]).hexdigest(),
            }
            for name in told
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": rows,
                "name": rows,
                "description": words,
                **({} if key is None else {"key": {"@id": f"{rows}/{key}"}}),
                "field": [_field(rows, name, *described) for name, described in fields.items()],
            }
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _field(rows: str, name: str, kind: str, words: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{rows}/{name}",
        "name": name,
        "description": words,
        "dataType": kind,
        "source": {"fileObject": {"@id": "release.csv"}, "extract": {"column": name}},
    }


def _described(release: Published) -> Described:
    """What descriptions of a release of means state."""
    measured, people = quantity_words(release.quantity), reviewers(release.values.size)
    words = say_of(release.quantity)(
        "metadata.description" if measured.number == "mean" else "metadata.description_other",
        quantity=release.quantity,
        meaning=measured.meaning,
        reviewers=people,
        claim=release.guarantee.summary,
        human=release.human,
    )
    return Described(
        title=release.title,
        words=words.strip(),
        note=say("metadata.note", quantity=release.quantity, reviewers=people, software=release.software),
        claim=release.guarantee.summary,
        citation=release.citation,
        terms=release.terms,
        venue=release.venue,
        created=release.created,
        record_digest=release.record_digest,
    )


def _common(release: Described) -> dict[str, Any]:
    """What both descriptions state of a release."""
    about = release.terms.about
    creators = [{"@type": "Person", "name": author} for author in about.authors]
    stated = {
        "name": f"{release.title} \N{EN DASH} {release.venue}" if release.venue else release.title,
        "description": release.words,
        "url": about.url,
        "license": licence_address(release.terms.licence) or release.terms.licence,
        "creator": creators or ([{"@type": "Organization", "name": about.conference}] if about.conference else None),
        "citation": release.citation,
        "keywords": say("metadata.keywords").split(", "),
        "datePublished": release.created.strftime("%Y-%m-%d"),
        "dateCreated": release.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": "1.0.0",
        "inLanguage": say("report.language"),
        "isAccessibleForFree": True,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _place(url: str | None, name: str) -> str:
    """The address of a file, in the folder of the release's address if it is one."""
    return f"{url}{name}" if url is not None and url.endswith("/") else name


#: The JSON-LD context that Croissant 1.0 prescribes.
_CONTEXT = {
    "@vocab": _SCHEMA,
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": _CROISSANT,
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": _SCHEMA,
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
