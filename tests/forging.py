"""Small releases of every kind, and forgeries: folders that Peerveil would not write from the noisy data in them.

A forger knows how release.json is made: the digest is always written anew, and so is whatever else follows from a
change where that is easy to compute.
"""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import peerveil as pv
from peerveil.mechanisms import OwnMechanism, mechanism_from
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.joint_claims import Group
from peerveil.privacy.neighbours import Neighbours
from peerveil.releases.documents import document_digest
from peerveil.releases.refinement import assemble, law_of
from peerveil.reporting.report import FIGURES
from peerveil.simulation.conferences import synthetic_conference

CRITERIA = ("clarity", "soundness")

#: What a release is free to state: any other plausible value is as good, unless the release is signed.
FREE = {"created", "software", "licence", "citation", "rendered", "charge"}


@dataclass(frozen=True, kw_only=True)
class Base:
    """An honest release in a folder, and the public weights it is of."""

    name: str
    folder: Path
    weights: pv.PublicWeights

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "release.json").read_text(encoding="utf-8"))
        return document

    def release(self) -> pv.Release:
        return pv.Release.load(self.folder)


@dataclass(frozen=True, kw_only=True)
class Forgery:
    """What to do to a copy of a base's folder."""

    name: str
    base: Base
    forge: Callable[[Path], None]

    def made(self, folder: Path) -> Path:
        shutil.copytree(self.base.folder, folder)
        self.forge(folder)
        return folder


def conference(reviewers: int, seed: int) -> pv.Reviews:
    made = synthetic_conference(reviewers=reviewers, rng=np.random.default_rng(seed), criteria=CRITERIA)
    return pv.read(made.frame(), scale=made.scale, criteria=CRITERIA)


#: Every kind of release, by name: mechanism, and the other options.
KINDS: dict[str, tuple[OwnMechanism, dict[str, Any]]] = {
    "laplace": (pv.Laplace(epsilon=1.0), {}),
    "laplace of little noise, review": (pv.Laplace(scale=0.4), {"unit": "review", "licence": "CC-BY-4.0"}),
    "gaussian": (pv.Gaussian(epsilon=1.0, delta=1e-6), {"quantity": "miscalibration", "estimator": "projection"}),
    "gaussian of little noise": (pv.Gaussian(scale=0.3), {"region": "envelope", "estimator": "bayes"}),
    "sinh-normal": (pv.SinhNormal(rho=0.5, omega=20.0), {"accept_float_noise": True, "region": "chain"}),
    "histogram": (pv.Histogram(epsilon=1.0), {}),
    "histogram of little noise": (pv.Histogram(scale=0.8, bins=7), {"quantity": "miscalibration", "unit": "review"}),
    "hidden scores": (pv.Laplace(epsilon=2.0), {"public": "none"}),
    "criteria": (pv.Laplace(scale=0.5), {"quantity": "normalized"}),
    "part": (pv.Histogram(scale=0.7), {"part": True}),
    "part, its loads declared": (pv.Laplace(scale=0.6), {"part": True, "declare_kept": True}),
}


def made(reviews: pv.Reviews, kind: str) -> tuple[pv.Release, pv.PublicWeights]:
    """A release of a kind, with the weights it is of."""
    mechanism, options = KINDS[kind]
    options = {"public": "all"} | options
    if options.pop("part", False):  # of its papers but two, which reviewers of the others have reviewed as well
        reviews = reviews.only(reviews.papers[2:])
    release = pv.release(reviews, mechanism=mechanism, **options)
    record = reviews.public(options["public"], declare_kept=options.get("declare_kept", False))
    return release, pv.weigh(record, options.get("quantity", "ratings"))


def bases(folder: Path, *, report: bool = True) -> list[Base]:
    """One release of every kind; all but the first few without a report, as drawing takes long."""
    reviews = conference(14, 5)
    found = []
    for number, kind in enumerate(KINDS):
        release, weights = made(reviews, kind)
        place = release.save(folder / f"{number}", report=report and number in (0, 2, 5))
        found.append(Base(name=kind, folder=place, weights=weights))
    weights = pv.weigh(reviews.public("all"))
    rng = np.random.default_rng(8)
    vector = np.sort(rng.uniform(4, 7, weights.reviewers)) + rng.laplace(0, 0.5, weights.reviewers)
    known = pv.External(words="By the 2024 chairs.", law=pv.Laplace(scale=0.5))
    for name, source in (("refined", known), ("refined, law unknown", pv.External(words="By the 2025 chairs."))):
        place = pv.refine(vector, weights, mechanism=source).save(folder / name, report=False)
        found.append(Base(name=name, folder=place, weights=weights))
    return [*found, *(_track(folder / name, name) for name in TRACKS)]


#: Releases of one track of several: mechanism, number of tracks, and whether reviewers may be in several.
TRACKS: dict[str, tuple[OwnMechanism, int, bool]] = {
    "track": (pv.Laplace(scale=0.7), 2, True),
    "track, normal noise": (pv.Gaussian(scale=0.9, delta=1e-5), 3, True),
    "track, counted": (pv.Histogram(scale=0.9), 5, True),
    "track with reviewers of its own": (pv.Laplace(scale=0.7), 2, False),
}


def _track(folder: Path, name: str) -> Base:
    mechanism, count, shared = TRACKS[name]
    reviews = conference(24, 6) if shared else _in_two_places(conference(24, 6))
    tracks = {paper: f"track {number % count}" for number, paper in enumerate(reviews.papers)}
    with warnings.catch_warnings(action="ignore", category=pv.GroupWarning):  # some are small
        made = pv.release_groups(reviews, tracks, public="all", mechanism=mechanism, shared=shared)
    part = reviews.only([paper for paper, its in tracks.items() if its == "track 1"])
    part = part if shared else replace(part, whole=None)
    place = made.releases["track 1"].save(folder, report=False)
    return Base(name=name, folder=place, weights=pv.weigh(part.public("all", declare_kept=shared)))


def _in_two_places(reviews: pv.Reviews) -> pv.Reviews:
    """A conference held twice, by other people: of the papers in order, every second one is of the second time."""
    papers = [f"{reviews.papers[p]} {time}" for time in "ab" for p in reviews.paper]
    people = [f"person {j} {time}" for time in "ab" for j in reviews.reviewer]
    return pv.Reviews.from_columns(papers, people, np.tile(reviews.score, 2), scale=reviews.scale)


def forgeries(base: Base) -> Iterator[Forgery]:
    """Every forgery of a base."""
    for name, change in (*_fields(base), *_claims(base), *_groups(base), *_noise(base)):
        yield Forgery(name=f"{base.name}: {name}", base=base, forge=_rewriting(change))
    for name, forge in (*_duplicates(base), *_beside(base)):
        yield Forgery(name=f"{base.name}: {name}", base=base, forge=forge)


Change = Callable[[dict[str, Any]], None]


def _rewriting(change: Change) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        file = folder / "release.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        before = copy.deepcopy(document)
        change(document)
        if document.get("digest") == before["digest"]:
            document["digest"] = document_digest(document)
        file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    return forge


# Fields: every leaf of the document, changed in value or in kind; every key left out.


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict) and value:
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) // 2, len(value) - 1}):
            yield from leaves(value[place], (*path, place))
    else:
        yield path, value


def put(path: tuple[Any, ...], value: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def _without(key: str, inside: str | None = None) -> Change:
    def change(document: dict[str, Any]) -> None:
        del (document if inside is None else document[inside])[key]

    return change


def _changed(value: Any) -> list[Any]:
    """Other values for a leaf, each of which makes the document another one."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, value + 0.5, True]
    if isinstance(value, float):
        return [value + max(0.01 * abs(value), 1e-3), 1e300, str(value)]
    if isinstance(value, str):
        return [f"{value} ", value[:-1] or "?", 7]
    return ["?", 0]


def _fields(base: Base) -> Iterator[tuple[str, Change]]:
    document = base.document
    for path, value in leaves(document):
        if path[0] in FREE or path in (("group", "name"), ("certificate", "gap")) or path[0] == "notes":
            continue
        if path[:2] == ("group", "claims") and path[-1] == "hidden":
            continue  # whether another group has hidden scores changes nothing, unless all have
        if path[0] == "noisy" and document["histogram"] is None and not _matters(base, path[1]):
            continue
        for number, other in enumerate(_changed(value)):
            yield f"{'/'.join(map(str, path))} {number}", put(path, other)
    for key in document:
        yield f"without {key}", _without(key)
    for key in document["guarantee"]:
        yield f"without guarantee/{key}", _without(key, "guarantee")
    for key in document.get("extension", {}):
        yield f"without extension/{key}", _without(key, "extension")
    yield "a field more", put(("approved_by",), "everyone")
    yield "an addition more", put(("extension", "approved"), True)
    yield "a parameter more", put(("mechanism", "approved"), True)
    yield "a gap", put(("certificate", "gap"), 1.0)
    yield "an empty note", put(("notes",), ["", *document["notes"]])
    for key, other in (
        ("created", "2999-01-01T00:00:00Z"),
        ("created", "2026-02-30T00:00:00Z"),
        ("software", "another program 1.0"),
        ("software", "peerveil"),
        ("licence", ""),
        ("citation", "two\nlines"),
    ):
        yield f"{key} {other[:12]!r}", put((key,), other)


def _matters(base: Base, place: int) -> bool:
    """Whether a change of a noisy entry by a hundredth changes what is computed from it, beyond round-off."""
    release = base.release()
    noisy = release.noisy.copy()
    noisy[place] += max(0.01 * abs(noisy[place]), 1e-3)
    again = assemble(
        noisy,
        base.weights,
        mechanism=release.mechanism,
        guarantee=release.guarantee,
        public=release.public,
        bounds=pv.region(base.weights, release.region),
        estimator=release.estimator,
    )
    spread = release.upper[-1] - release.lower[0]
    moved = [np.abs(again.values - release.values).max()]
    if release.outlook is not None and again.outlook is not None:
        moved += [np.abs(getattr(again.outlook, k) - getattr(release.outlook, k)).max() for k in ("lower", "upper")]
        moved.append(abs(again.outlook.expected_rmse - release.outlook.expected_rmse))
    return bool(max(moved) > 1e-8 * spread)


# Claims: stronger or other ones, with the words that belong to them.


def _restate(**changes: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        release = pv.Release.from_document(document)
        worded = json.loads(replace(release, guarantee=replace(release.guarantee, **changes)).to_json())
        document |= {key: worded[key] for key in ("guarantee", "claim")}

    return change


def _claims(base: Base) -> Iterator[tuple[str, Change]]:
    claim, mechanism = base.document["guarantee"], base.document["mechanism"]
    if claim["kind"] == "stated":
        yield "another statement", _restate(statement="Nothing leaks.")
        yield "a claim of its own", _restate(kind="pure", unit="reviewer", epsilon=0.1, delta=0.0, statement="")
        return
    yield "another unit", _restate(unit="review" if claim["unit"] == "reviewer" else "reviewer")
    yield (
        "words for numbers",
        _restate(
            kind="stated", statement="As private as can be.", unit=None, epsilon=None, delta=None, rho=None, omega=None
        ),
    )
    for factor in (0.5, 0.999, 1.001, 2.0):
        if claim["kind"] == "pure":
            yield f"epsilon times {factor}", _restate(epsilon=claim["epsilon"] * factor)
        else:
            yield f"rho times {factor}", _restate(rho=claim["rho"] * factor, epsilon=None)
        yield f"scale times {factor}", put(("mechanism", "scale"), mechanism["scale"] * factor)
    for key in ("promise", "not_protected"):
        said = claim[key]
        yield f"{key} without a sentence", put(("guarantee", key), said.partition(". ")[2] or "Nothing.")
        yield f"{key} without a not", put(("guarantee", key), said.replace("Not ", "", 1).replace("only ", "", 1))


# Groups: what all of them claim together, stated in numbers and in the note alike, but not what their claims come to.


def _regrouped(change: Callable[[Group, Guarantee], Group], *, notes: bool = True) -> Change:
    def rewrite(document: dict[str, Any]) -> None:
        release = pv.Release.from_document(document)
        assert release.group is not None
        assert release.group.together is not None
        group = change(release.group, release.group.together)
        said = tuple(group.note if note == release.group.note else note for note in release.notes)
        document |= json.loads(replace(release, group=group, notes=said if notes else release.notes).to_json())

    return rewrite


def _claim_all(factor: float) -> Callable[[Group, Guarantee], Group]:
    """All groups together claim another multiple."""

    def change(group: Group, together: Guarantee) -> Group:
        return replace(group, together=times(together, factor))

    return change


def _claim_one(place: int, factor: float) -> Callable[[Group, Guarantee], Group]:
    """One group claims another multiple, with noise that pays for it; what all claim stays as it is."""

    def change(group: Group, _: Guarantee) -> Group:
        one = group.claims[place]
        scale = None if one.scale is None else one.scale / factor
        other = replace(one, claim=times(one.claim, factor), scale=scale)
        return replace(group, claims=(*group.claims[:place], other, *group.claims[place + 1 :]))

    return change


def times(claim: Guarantee, factor: float) -> Guarantee:
    if claim.kind == "pure":
        return replace(claim, epsilon=factor * (claim.epsilon or 0.0))
    return replace(claim, rho=factor * (claim.rho or 0.0), epsilon=None)


def _groups(base: Base) -> Iterator[tuple[str, Change]]:
    group = base.release().group
    if group is None:
        return
    for factor in (0.5, 0.999, 1.001, 2.0):
        yield f"all groups claim {factor} times as much", _regrouped(_claim_all(factor))
    for place in range(group.groups):
        yield f"group {place} claims twice as much", _regrouped(_claim_one(place, 2.0))
        if group.shared:  # else the largest claim counts, and others may be anything below it
            yield f"group {place} claims half as much", _regrouped(_claim_one(place, 0.5))
    if group.shared:
        yield "one group less", _regrouped(lambda g, _: replace(g, groups=g.groups - 1, claims=g.claims[1:]))
        more = (*group.claims, group.claims[0])
        yield "one group more", _regrouped(lambda g, _: replace(g, groups=g.groups + 1, claims=more))
    yield "other sharing", _regrouped(lambda g, _: replace(g, shared=not g.shared))
    yield "other sharing, in the old note", _regrouped(lambda g, _: replace(g, shared=not g.shared), notes=False)
    own = Neighbours(part=group.shared, declared=group.shared, apart=group.shared)
    yield "all groups about others", _regrouped(lambda g, t: replace(g, together=replace(t, neighbours=own)))
    yield "itself about others", _restate(neighbours=own)
    yield "no note on the groups", lambda d: d["notes"].remove(group.note)
    yield "the note twice", lambda d: d["notes"].append(group.note)
    yield "another note", lambda d: d["notes"].append(group.note.replace("together, ", "together, less than "))


# Noise: releases made in every other way as ours are, with noise of another size than they state.


def _noise(base: Base) -> Iterator[tuple[str, Change]]:
    release = base.release()
    law = law_of(release.mechanism)
    if law is None:
        return
    for factor in (0.0, 0.01, 100.0, 1000.0):
        if release.histogram is not None and factor < 1:
            continue
        entries = release.noisy if release.histogram is None else release.histogram.counts
        noise = law.draw(np.random.default_rng(1), entries.size)
        if factor < 1 and not _tells_little(base, release):
            continue
        yield f"noise times {factor}", _noised(base, release, factor * noise)


def _tells_little(base: Base, release: pv.Release) -> bool:
    """Whether the bounds are narrow beside the noise: only then can noise be told to be too small."""
    law = law_of(release.mechanism)
    assert law is not None
    lower, upper = pv.region(base.weights, release.region).implied()
    return bool((upper - lower).mean() < 0.6 * law.deviation)


def _noised(base: Base, release: pv.Release, noise: Any) -> Change:
    bounds = pv.region(base.weights, release.region)
    middle = pv.project((bounds.lower + bounds.upper) / 2, bounds).values
    noisy: Any = None
    if release.histogram is None:
        noisy = middle + noise
    else:
        bins = release.histogram.bins
        noisy = NoisyCounts(bins=bins, counts=bins.counts(middle) + noise.astype(np.int64))
    known = mechanism_from(release.mechanism)
    assert known is not None
    forged = assemble(
        noisy,
        base.weights,
        mechanism=known,
        guarantee=release.guarantee,
        public=release.public,
        bounds=bounds,
        estimator=release.estimator,
        notes=release.notes,
    )
    text = replace(forged, group=release.group, terms=release.terms).to_json()

    def change(document: dict[str, Any]) -> None:
        document.clear()
        document |= json.loads(text)

    return change


# Duplicate keys: one program reads the first, another the last.


def _duplicates(base: Base) -> Iterator[tuple[str, Callable[[Path], None]]]:
    text = (base.folder / "release.json").read_text(encoding="utf-8")
    for key in ("epsilon", "values", "promise", "kind", "scale", "name", "reviewers", "digest", "noisy", "licence"):
        mark = f'"{key}": '
        if mark in text:
            for first in (True, False):
                yield f"{key} twice, {'first' if first else 'last'}", _twice(mark, first=first)


def _twice(mark: str, *, first: bool) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        file = folder / "release.json"
        text = file.read_text(encoding="utf-8")
        start = text.index(mark)
        value, length = json.JSONDecoder().raw_decode(text[start + len(mark) :])
        end = start + len(mark) + length
        other = f"{mark}{json.dumps(0.01 if isinstance(value, float) else value)}"
        pair = [other, text[start:end]] if first else [text[start:end], other]
        file.write_text(text[:start] + ", ".join(pair) + text[end:], encoding="utf-8")

    return forge


# Files beside release.json.


def _edit(name: str, *pairs: tuple[str, str]) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        file = folder / name
        text = file.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, (name, old)
            text = text.replace(old, new, 1)
        file.write_text(text, encoding="utf-8")

    return forge


def _put(name: str, contents: bytes) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        (folder / name).write_bytes(contents)

    return forge


def _exchange(one: str, other: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        held = (folder / one).read_bytes()
        (folder / one).write_bytes((folder / other).read_bytes())
        (folder / other).write_bytes(held)

    return forge


def _beside(base: Base) -> Iterator[tuple[str, Callable[[Path], None]]]:
    rows = (base.folder / "release.csv").read_text(encoding="utf-8").splitlines()
    yield "table: a cell", _edit("release.csv", (rows[3].split(",")[1], "5.125"))
    yield "table: a header", _edit("release.csv", ("rank,value", "rank,values"))
    yield "table: two rows exchanged", _edit("release.csv", (f"{rows[2]}\n{rows[3]}", f"{rows[3]}\n{rows[2]}"))
    yield "table: a row less", _edit("release.csv", (f"{rows[-1]}\n", ""))
    yield "table: a row more", _edit("release.csv", (f"{rows[-1]}\n", f"{rows[-1]}\n{rows[-1]}\n"))
    yield "table: a column more", _edit("release.csv", ("\n", ",name\n"))
    yield "table: other spelling of a number", _edit("release.csv", ("\n1,", "\n1.0,"))
    yield "table: empty", _put("release.csv", b"")
    yield "table: no text", _put("release.csv", b"\xff\xfe\x00rank")
    if not (base.folder / "report.html").exists():
        return
    claim = base.release().guarantee
    yield "report: epsilon", _edit("report.html", (claim.summary, claim.summary.replace(" = ", " = 0.0", 1)))
    yield "report: promise", _edit("report.html", ("Knowledge that ties", "No knowledge that ties"))
    yield "report: limits", _edit("report.html", ("Not protected:", "Protected:"))
    yield "report: title", _edit("report.html", ("<h1>", "<h1>Certified. "))
    yield "report: reviewers", _edit("report.html", ("<dd>14</dd>", "<dd>1,400</dd>"))
    yield "report: a cell", _edit("report.html", ('data-label="rank">14</td>', 'data-label="rank">15</td>'))
    yield "report: a script", _edit("report.html", ("</main>", "<script>fetch('//example.org')</script></main>"))
    yield "report: hidden words", _edit("report.html", ("</main>", '<p style="opacity:0">x</p></main>'))
    yield "report: a comment", _edit("report.html", ("</main>", "<!-- x --></main>"))
    yield "report: a picture inside", _edit("report.html", ('<path d="M', '<path d="M1'))
    yield "report: the table inside", _edit("report.html", ("data:text/csv;base64,cmF", "data:text/csv;base64,cmG"))
    yield "report: a link", _edit("report.html", ('href="release.csv"', 'href="https://example.org/release.csv"'))
    yield "report: empty", _put("report.html", b"")
    yield "report: no text", _put("report.html", b"\xff\xfe\xfd")
    yield "report: endless", _put("report.html", b" " * 3_000_000)
    yield "report: metadata", _edit("report.html", ('"@type": "Dataset"', '"@type": "Certificate"'))
    yield "report: a script of another type", _edit("report.html", ('"application/ld+json"', '"module"'))
    yield "description: a checksum", _edit("croissant.json", ('"sha256": "', '"sha256": "0'))
    yield "description: a name", _edit("croissant.json", ('"name": "', '"name": "Certified. '))
    yield "description: empty", _put("croissant.json", b"")
    for name in FIGURES:
        yield f"{name}: a line", _edit(name, ('<path d="M', '<path d="M1'))
        yield f"{name}: a word", _edit(name, ("</text>", "!</text>"))
        yield f"{name}: its description", _edit(name, ('aria-label="', 'aria-label="Certified. '))
        yield f"{name}: empty", _put(name, b"")
        yield f"{name}: a script", _edit(name, ("</svg>", "<script>1</script></svg>"))
    yield "two pictures exchanged", _exchange(*FIGURES[:2])
