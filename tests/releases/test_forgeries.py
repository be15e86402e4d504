"""Forgeries are refused, none crashes the check, and every honest release is accepted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from cli.test_cli import Run, run
from forging import KINDS, TRACKS, Base, Forgery, bases, conference, forgeries, leaves, made, put
from frozen import releases_v1
from marks import mostly_slow
from peerveil.releases.documents import document_digest
from peerveil.releases.page_text import PageText
from peerveil.reporting.typography import unbroken

__all__ = ["run"]  # a fixture


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> list[Base]:
    return bases(tmp_path_factory.mktemp("honest"))


def accepted(chosen: list[Forgery], folder: Path) -> list[str]:
    """The names of the forgeries that are not refused."""
    names = []
    for number, forgery in enumerate(chosen):
        place = forgery.made(folder / str(number))
        if pv.verify(place, forgery.base.weights).verified:
            names.append(forgery.name)
        shutil.rmtree(place)
    return names


def test_the_honest_ones_are_accepted(honest: list[Base]) -> None:
    for base in honest:
        verification = pv.verify(base.folder, base.weights)
        assert verification, (base.name, verification.checks)


@pytest.mark.promise("P-README-3")
def test_there_are_many_forgeries_and_a_sample_is_refused(honest: list[Base], tmp_path: Path) -> None:
    every = [forgery for base in honest for forgery in forgeries(base)]
    assert len({forgery.name for forgery in every}) == len(every) >= 500
    assert not accepted(every[:: len(every) // 8], tmp_path)


@pytest.mark.promise("P-README-3")
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(KINDS) + 2 + len(TRACKS)))
def test_every_forgery_is_refused(honest: list[Base], number: int, tmp_path: Path) -> None:
    assert not accepted(list(forgeries(honest[number])), tmp_path)


@pytest.mark.parametrize("scipy", [None, "1.0.0"])
def test_what_this_version_states_cannot_be_left_out(honest: list[Base], scipy: str | None) -> None:
    """Not even if other versions of packages are claimed, whose results may differ slightly."""
    base = next(base for base in honest if base.name == "laplace of little noise, review")
    places = [("extension", key) for key in ("evidence", "shapes", "within", "tails", "chance")]
    for part, key in (*places, ("outlook", "public_rmse")):
        document = base.document
        document["rendered"] |= {} if scipy is None else {"scipy": scipy}
        del document[part][key]
        document["digest"] = document_digest(document)
        failed = pv.verify(pv.Release.from_document(document), base.weights).failed
        assert failed == (("document",) if part == "extension" else ("outlook",)), (key, failed)


def test_changing_any_noisy_entry_by_a_hundredth_is_refused_where_noise_is_small(honest: list[Base]) -> None:
    base = next(base for base in honest if base.name == "laplace of little noise, review")
    for place in range(base.weights.reviewers):
        document = base.document
        document["noisy"][place] *= 1.01
        document["digest"] = document_digest(document)
        assert not pv.verify(pv.Release.from_document(document), base.weights), place


def sample(kinds: list[str], times: int) -> Iterator[tuple[pv.Release, pv.PublicWeights, str]]:
    for seed in range(times):
        reviews = conference(int(np.random.default_rng(seed).integers(8, 40)), 100 + seed)
        for kind in kinds:
            yield *made(reviews, kind), kind


@pytest.mark.slow
def test_honest_releases_of_every_kind_verify() -> None:
    for release, weights, kind in sample(list(KINDS), 1):
        verification = pv.verify(release, weights)
        assert verification, (kind, verification.checks)


@pytest.mark.promise("P-README-3")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_honest_releases_verify(kind: str) -> None:
    for release, weights, _ in sample([kind], 200 // len(KINDS) + 1):
        verification = pv.verify(release, weights)
        assert verification, verification.checks


STATED = [
    ("report.html", "epsilon = ", "epsilon = 0.0"),
    ("report.html", "Not protected:", "Protected:"),
    ("report.html", "</main>", "<p>Expected error: 0.00017</p></main>"),
    ("report.html", '<td class="n">1</td>', '<td class="n">2</td>'),
    ("report.html", "</main>", "<script>1</script></main>"),
    ("report.html", "<main>", '<main onclick="x()">'),
    ("report.html", 'href="release.csv"', 'href="https://example.org"'),
    ("report.html", "data:text/csv;base64,cmFuay", "data:text/csv;base64,cmFuak"),
    ("figures/means.svg", "</svg>", "<text>Certified</text></svg>"),
    ("figures/shares.svg", 'aria-label="', 'aria-label="Certified. '),
    ("figures/bounds.svg", "</svg>", "<script>1</script></svg>"),
    ("release.csv", "\n1,", "\n1,1"),
    ("release.json", '"created": "', '"created": "2'),
    ("report.html", "</style>", "main{background:url(https://example.org/seen)}</style>"),
    ("report.html", "<style>", "<style>@IMPORT 'https://example.org/seen.css';"),
    ("report.html", "</style>", "main{background:\\75 rl(https://example.org/seen)}</style>"),
    ("report.html", "<main>", '<main><p style="background:url(//example.org/seen)">'),
    ("report.html", "<main>", '<main><img srcset="https://example.org/seen 1x">'),
    ("report.html", "<main>", '<main><video poster="https://example.org/seen"></video>'),
    ("report.html", "<main>", '<main><button formaction="https://example.org">Go</button>'),
    ("report.html", "<main>", '<main><a href="release.csv" ping="https://example.org/seen">Table</a>'),
    ("figures/means.svg", "</svg>", '<path d="M0 0" fill="url(https://example.org/seen#a)"/></svg>'),
    ("report.html", "<main>", "<main><!--><p onclick=x()></p>-->"),
    ("report.html", "<main>", '<main><a href="javascript:x()" href="release.csv">Table</a>'),
    ("figures/means.svg", "</svg>", "<style><img src=x onerror=x()></style></svg>"),
]

#: What a browser runs, loads or hides, though a plain parser reads it as text or as a harmless element.
DISGUISED = (
    "<svg><style><img src=x onerror=x()></style></svg>",
    "<svg><style>p{background:&#117;rl(https://example.org)}</style></svg>",
    "<svg><title><style><img src=x onerror=x()></title></svg>",
    '<noscript><p title="</noscript><img src=x onerror=x()>"></p></noscript>',
    '<noembed><p title="</noembed><img src=x onerror=x()>"></p></noembed>',
    '<xmp><p title="</xmp><img src=x onerror=x()>"></p></xmp>',
    "<!--><script>x()</script>-->",
    "<![CDATA[><script>x()</script>]]>",
    '<?xml-stylesheet href="https://example.org/x.css"?>',
    '<!DOCTYPE svg [<!ENTITY x "y">]>',
    "<h:script>x()</h:script>",
    '<a href="javascript:x()" href="release.csv">Table</a>',
    '<a href="/\\example.org">Table</a>',
    '<a href="/\t/example.org">Table</a>',
    "<plaintext>",
)


@pytest.mark.parametrize("html", DISGUISED)
def test_what_browsers_read_otherwise_is_active(html: str) -> None:
    assert PageText(f"<!doctype html><main><p>epsilon = 1</p>{html}</main>").active


def test_nothing_that_peerveil_writes_is_active(honest: list[Base]) -> None:
    written = [file for base in honest for file in base.folder.rglob("*") if file.suffix in (".html", ".svg")]
    assert len(written) >= 10
    for file in written:
        assert not PageText(file.read_text(encoding="utf-8")).active, file


class TestOtherVersions:
    """A release that version 0.1.0 wrote: rendering anew gives other text, so what is stated is compared."""

    @pytest.fixture
    def old(self, tmp_path: Path) -> tuple[Path, pv.PublicWeights]:
        frozen = next(one for one in releases_v1() if (one.folder / "report.html").is_file())
        return Path(shutil.copytree(frozen.folder, tmp_path / "old")), frozen.weights()

    def test_it_is_accepted_and_told(self, old: tuple[Path, pv.PublicWeights]) -> None:
        folder, weights = old
        verification = pv.verify(folder, weights)
        assert verification, verification.checks
        words = {check.name: check.found for check in verification.checks}
        assert all("other versions" in words[name] for name in ("release.csv", "report.html", "pictures"))

    @pytest.mark.parametrize(("file", "before", "after"), mostly_slow(STATED, 0, 4, 8, 11, 12, 13, 17))
    def test_what_it_states_cannot_be_changed(
        self, old: tuple[Path, pv.PublicWeights], file: str, before: str, after: str
    ) -> None:
        folder, weights = old
        text = (folder / file).read_text(encoding="utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after, 1), encoding="utf-8")
        assert not pv.verify(folder, weights)


def test_other_versions_of_packages_change_no_words(honest: list[Base], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest[0].folder, tmp_path / "out"))
    release = honest[0].release()
    release = replace(release, rendered=release.rendered | {"scipy": "1.0.0"})
    (folder / "release.json").write_text(release.to_json(), encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert release.verdict is not None
    verdict = unbroken(release.verdict.sentence)
    forged = (
        ("", "", "holds"),
        ("<style>", "<style>p{color:red}", "holds"),
        (verdict, "Informative.", "fails"),
        ("</main>", "<p>Certified.</p></main>", "fails"),
        ("</svg>", "<text>Certified</text></svg>", "fails"),
    )
    for before, after, expected in forged:
        assert before in page
        (folder / "report.html").write_text(page.replace(before, after, 1) if before else page, encoding="utf-8")
        checks = {check.name: check for check in pv.verify(folder, honest[0].weights).checks}
        assert checks["report.html"].result == expected, (after, checks["report.html"])


class TestFiles:
    def test_files_of_others_are_named_but_do_not_fail(self, honest: list[Base], tmp_path: Path) -> None:
        folder = Path(shutil.copytree(honest[0].folder, tmp_path / "out"))
        (folder / "README.txt").write_text("By the chairs.")
        verification = pv.verify(folder, honest[0].weights)
        check = next(check for check in verification.checks if check.name == "files")
        assert verification
        assert check.result == "not checked"
        assert "README.txt" in check.found

    def test_what_is_not_there_is_told(self, honest: list[Base], tmp_path: Path) -> None:
        folder = Path(shutil.copytree(honest[0].folder, tmp_path / "out"))
        (folder / "report.html").unlink()
        (folder / "figures" / "means.svg").unlink()
        checks = {check.name: check for check in pv.verify(folder, honest[0].weights).checks}
        assert checks["report.html"].found == "no such file in the folder"
        assert checks["report.html"].result == "not checked"
        assert checks["pictures"].result == "holds"
        assert "missing: figures/means.svg" in checks["pictures"].found

    def test_line_ends_of_other_systems_are_the_same_text(self, honest: list[Base], tmp_path: Path) -> None:
        folder = Path(shutil.copytree(honest[0].folder, tmp_path / "out"))
        for file in filter(Path.is_file, folder.rglob("*")):
            file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        assert pv.verify(folder, honest[0].weights)

    @pytest.mark.promise("P-FORMAT-9")
    @pytest.mark.parametrize(
        "environment",
        [
            {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"},
            pytest.param({"LC_ALL": "C", "LANG": "C"}, marks=pytest.mark.slow),
        ],
    )
    def test_rendering_depends_on_the_release_only(
        self, honest: list[Base], tmp_path: Path, environment: dict[str, str]
    ) -> None:
        code = "import sys, peerveil as pv; pv.Release.load(sys.argv[1]).save(sys.argv[2])"
        command = [sys.executable, "-c", code, str(honest[0].folder), str(tmp_path / "out")]
        subprocess.run(command, check=True, env=os.environ | environment)
        for file in filter(Path.is_file, honest[0].folder.rglob("*")):
            assert (tmp_path / "out" / file.relative_to(honest[0].folder)).read_bytes() == file.read_bytes(), file


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.sampled_from([10**400, -(10**400), 1e308, 5e-324, -0.0, 0.5, 1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["NaN", "\ud800", "\0", "x" * 5000, "9999-99-99T99:99:99Z", "sha256:" + "0" * 64]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) - 1}):
            yield from places(value[place], (*path, place))


EXTREMES = (1e300, -1e300, 1e-320, 10**400)


def extreme(base: Base) -> list[tuple[tuple[Any, ...], Any]]:
    """Every number of a release, by its place, with every extreme in its stead."""
    numbers = [path for path, value in leaves(base.document) if type(value) in (int, float)]
    return [(path, value) for path in numbers for value in EXTREMES]


def internal_errors(base: Base, chosen: list[tuple[tuple[Any, ...], Any]], folder: Path) -> list[tuple[Any, ...]]:
    """Which of the changes end in an error that nobody foresaw."""
    errors = []
    for path, value in chosen:
        document = base.document
        put(path, value)(document)
        document["digest"] = document_digest(document)
        (folder / "release.json").write_text(json.dumps(document), encoding="utf-8")
        checks = pv.verify(folder / "release.json", base.weights).checks
        errors += [(base.name, path, str(value)[:8]) for check in checks if "internal error" in check.found]
    return errors


class TestExtremeNumbers:
    def test_a_sample_of_them_and_those_that_went_wrong(self, honest: list[Base], tmp_path: Path) -> None:
        for base in honest:
            every = extreme(base)
            known = [one for one in every if one[0] in (("noisy", 0), ("mechanism", "scale"))]
            assert known
            assert not internal_errors(base, [*every[:: len(every) // 3], *known], tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", range(len(KINDS) + 2 + len(TRACKS)))
    def test_all_of_them(self, honest: list[Base], number: int, tmp_path: Path) -> None:
        assert not internal_errors(honest[number], extreme(honest[number]), tmp_path)

    def test_the_refusal_says_what_is_wrong(self, honest: list[Base], tmp_path: Path) -> None:
        for path, value, words in (
            (("noisy", 0), 1e300, "noisy holds a number that is too large"),
            (("mechanism", "scale"), 1e-320, "mechanism/scale is too small or too large"),
            (("guarantee", "epsilon"), 10**400, "epsilon is too large a number"),
        ):
            document = honest[0].document
            put(path, value)(document)
            (tmp_path / "release.json").write_text(json.dumps(document), encoding="utf-8")
            verification = pv.verify(tmp_path, honest[0].weights)
            assert verification.failed == ("schema",)
            assert words in verification.checks[0].found


class TestNothingCrashes:
    @given(data=st.data())
    @settings(max_examples=150)
    def test_whatever_stands_at_any_place(
        self, honest: list[Base], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        base = data.draw(st.sampled_from(honest), label="base")
        document = base.document
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from(list(places(document))), label="path")
            inner: Any = document
            for key in path[:-1]:
                inner = inner[key]
            if isinstance(inner, list) and data.draw(st.booleans()):
                del inner[path[-1]]
            else:
                inner[path[-1]] = data.draw(JUNK, label="value")
        if isinstance(document.get("digest"), str):
            document["digest"] = document_digest(document)
        place = tmp_path_factory.mktemp("junk") / "release.json"
        place.write_text(json.dumps(document), encoding="utf-8")
        with suppress(pv.FileError):
            pv.Release.load(place)
        verification = pv.verify(place, base.weights)
        assert {check.result for check in verification.checks} <= {"holds", "fails", "not checked"}

    @pytest.mark.parametrize(
        ("key", "value"), [("bins", 0.5), ("epsilon", 0.5), ("bins", "7"), ("scale", [1]), ("scale", None), ("x", 1)]
    )
    def test_parameters_that_no_mechanism_has(self, honest: list[Base], tmp_path: Path, key: str, value: Any) -> None:
        base = next(base for base in honest if base.name == "histogram")
        document = base.document
        document["mechanism"][key] = value
        document["digest"] = document_digest(document)
        (tmp_path / "release.json").write_text(json.dumps(document))
        assert pv.verify(tmp_path, base.weights).failed == ("schema",)
        with pytest.raises(pv.FileError, match="mechanism"):
            pv.Release.load(tmp_path)

    @pytest.mark.parametrize(
        "text", ["[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, "nul", "", '{"values": [NaN]}', "9" * 5000]
    )
    def test_what_is_no_json_is_unusable_input(self, run: Run, tmp_path: Path, text: str) -> None:
        (tmp_path / "release.json").write_text(text)
        (tmp_path / "public.csv").write_text("paper,ratings\np,6;8\n")
        shown = run("verify", str(tmp_path), "--public", str(tmp_path / "public.csv"))
        assert shown.code == 2, shown

    def test_a_check_that_fails_unexpectedly_fails(self, honest: list[Base], monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError("a private value")

        monkeypatch.setattr("peerveil.releases.checking.means.count_noise", broken)
        monkeypatch.setattr("peerveil.releases.checking.means._region", broken)
        base = next(base for base in honest if base.name == "histogram")
        found = pv.verify(base.release(), base.weights)
        assert set(found.failed) == {"noise", "region"}
        assert not any("private" in check.found for check in found.checks)
