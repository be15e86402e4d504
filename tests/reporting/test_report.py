from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from made_up import release
from marks import slow
from peerveil.privacy.guarantee import NOT_PROTECTED
from peerveil.quantities import QUANTITIES
from peerveil.releases import release as bundle
from peerveil.reporting import metadata, report
from peerveil.reporting.terms import Terms

#: Contents of the data files, where only their description matters.
DATA = {"release.json": b"{}", "release.csv": b""}

PEOPLE = ["Ada.Lovelace@x.org", "Bertrand Russell", "~Carl_Gauss1", "dora-d-4711"]


def page(made: pv.Release) -> str:
    return report.report_html(made, pictures=report.figures(made), table=made.to_csv())


def words(text: str) -> str:
    """What a reader reads."""
    bare = re.sub(r"<style>.*?</style>|<script.*?</script>|<svg.*?</svg>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", bare)))


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.promise("P-FORMAT-1")
def test_the_report_stands_alone() -> None:
    text = page(release(300))
    elements = Elements(text)
    assert not elements.open, "every element is closed"
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"link", "iframe", "object", "embed", "form", "base", "img", "foreignobject"}
    # The metadata are in a script element of a type that no browser runs.
    assert [attributes for tag, attributes in elements.found if tag == "script"] == [{"type": "application/ld+json"}]
    for tag, attributes in elements.found:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        for name in ("href", "src", "xlink:href", "action", "data"):
            target = attributes.get(name) or ""
            assert re.fullmatch(r"|#\w+|release\.csv|\w+\.json|figures/\w+\.svg|data:text/csv;base64,[\w+/=]+", target)
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "https://schema.org/"}
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


@pytest.mark.promise("P-CLAIM-4")
@pytest.mark.parametrize(
    "guarantee",
    [
        pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0),
        pv.Guarantee(kind="pure", unit="review", epsilon=0.1),
        pv.Guarantee(kind="pure", unit="reviewer", epsilon=0.0),
        pv.Guarantee(kind="zcdp", unit="reviewer", rho=0.05),
        pv.Guarantee(kind="tcdp", unit="reviewer", rho=0.5, omega=3.0, float_safe=False),
        pv.Guarantee(kind="approximate", unit="reviewer", epsilon=1.0, delta=1e-6),
        pv.Guarantee(kind="stated", statement="By the 2024 chairs."),
    ],
    ids=lambda guarantee: guarantee.summary,
)
def test_the_promise_is_told_as_it_is_and_no_stronger(guarantee: pv.Guarantee) -> None:
    made = release()
    object.__setattr__(made, "guarantee", guarantee)
    text = words(page(made))
    assert guarantee.summary in text
    assert guarantee.promise in text
    assert NOT_PROTECTED in text
    assert ("In symbols" in text) == (guarantee.kind != "stated")
    if guarantee.kind == "pure":
        assert "+ " not in text[text.index("Pr[") : text.index("for every set")]
    if guarantee.delta:
        assert f"+ {guarantee.delta!r}" in text[text.index("Pr[") : text.index("for every set")]
    assert ("D \N{GREEK SMALL LETTER ALPHA}" in text) == (guarantee.rho is not None)


def test_the_factor_in_symbols_is_not_rounded_down() -> None:
    made = release()
    object.__setattr__(made, "guarantee", pv.Guarantee(kind="zcdp", unit="reviewer", rho=0.0512345))
    text = page(made)
    shown = float(re.findall(r"e<sup>([\d.]+)</sup>", text)[0])
    assert made.guarantee.epsilon is not None
    assert made.guarantee.epsilon <= shown <= made.guarantee.epsilon * 1.001
    pure = release()
    object.__setattr__(pure, "guarantee", pv.Guarantee(kind="pure", unit="reviewer", epsilon=0.30000000000000004))
    assert "e<sup>0.30000000000000004</sup>" in page(pure)


@pytest.mark.parametrize("quantity", [*QUANTITIES, "extremity"])
@pytest.mark.parametrize("known", [True, False])
def test_every_quantity_is_explained(quantity: str, known: bool) -> None:
    made = release(quantity=quantity, known=known)
    source = page(made)
    text = words(source)
    assert quantity in text
    assert ('<th scope="col">credible band' in source) == known
    for note in ("smallest", "half", "greatest", "cite", "release.csv"):
        assert note in text
    assert (made.outlook.assumption in text) if made.outlook else ("law is not known" in text)


def test_words_of_others_are_data_not_markup() -> None:
    hostile = '"><script>alert(1)</script>{{ 7 * 7 }}<img src=x onerror=y>'
    made = release(quantity=f"q{hostile}")
    hostile_about = pv.About(title=hostile, conference=hostile, authors=[hostile], contact=hostile)
    for name, value in (
        ("guarantee", pv.Guarantee(kind="stated", statement=hostile)),
        ("mechanism", {"name": "external", "words": hostile}),
        ("notes", (hostile,)),
        ("public", hostile),
        ("software", hostile),
        ("record_digest", hostile),
        ("region", hostile),
        ("estimator", hostile),
        ("terms", Terms(licence=hostile, citation=hostile, about=hostile_about)),
    ):
        object.__setattr__(made, name, value)
    text = page(made)
    tags = [tag for tag, _ in Elements(text).found]
    assert (tags.count("script"), tags.count("img")) == (1, 0), "the metadata only"
    assert words(text).count("{{ 7 * 7 }}") >= 12
    assert text.count("&lt;script&gt;") >= 12
    assert hostile in json.loads(metadata.dataset(made))["name"]
    assert json.loads(metadata.croissant(made, DATA))["creator"][0]["name"] == hostile


@pytest.mark.promise("P-KEPT-8", "P-FORMAT-10")
def test_no_identity_and_no_true_value_in_any_file(tmp_path: Path) -> None:
    """Scores whose means are told apart from everything else in sight."""
    rng = np.random.default_rng(8)
    papers = [f"p{i}" for i in range(12) for _ in range(2)]
    reviewers = [PEOPLE[(i + j * (1 + i % 3)) % 4] for i in range(12) for j in range(2)]
    scores = rng.uniform(1, 10, len(papers)).tolist()
    reviews = pv.Reviews.from_columns(papers, reviewers, scores)
    folder = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=0.5)).save(tmp_path / "out")
    means = {p: np.mean([s for s, r in zip(scores, reviewers, strict=True) if r == p]) for p in PEOPLE}
    assert all(len(f"{mean:.6g}") == 7 for mean in means.values()), "fewer digits occur by chance in other numbers"
    for file in filter(Path.is_file, folder.rglob("*")):
        text = file.read_text(encoding="utf-8")
        text += "".join(base64.b64decode(part).decode() for part in re.findall(r"base64,([\w+/=]+)", text))
        for person, mean in means.items():
            assert person not in text
            assert person.split("@")[0] not in text
            assert f"{mean:.6g}" not in text
            assert f"{mean:.9f}"[:8] not in text


def test_the_table_is_carried_where_it_is_short() -> None:
    short, long = release(), release(report._EMBEDDED + 1)
    carried = re.findall(r"data:text/csv;base64,([\w+/=]+)", page(short))
    rows = list(csv.reader(io.StringIO(base64.b64decode(carried[0]).decode())))
    assert rows[0] == list(bundle.COLUMNS)
    assert len(rows) == 21
    assert "base64," not in page(long)
    assert len(page(release(20_000))) < 200_000


@pytest.mark.promise("P-FORMAT-9")
def test_the_same_release_gives_the_same_report() -> None:
    assert page(release()) == page(release())


def test_a_release_is_written_with_its_report_or_without(tmp_path: Path) -> None:
    made = release()
    folder = made.save(tmp_path / "with")
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == set(bundle.FILES)
    assert set(report.FIGURES) | {"report.html", "croissant.json"} == set(bundle.REPORT_FILES)
    made.save(tmp_path / "with", overwrite=True, report=False)
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == set(bundle.DATA_FILES)
    made.save(tmp_path / "with", overwrite=True)
    assert pv.Release.load(folder).values.tolist() == made.values.tolist()
    for name in report.FIGURES:
        assert (folder / name).read_text(encoding="utf-8").startswith('<svg role="img"')


ABOUT = pv.About(
    title="Our reviewers & their scores",
    conference="Conf",
    year=2026,
    authors=["Ada Lovelace", "Turing, Alan"],
    contact="chairs@conf.example.org",
    url="https://conf.example.org/reviews/",
)


def described(made: pv.Release) -> pv.Release:
    return replace(made, terms=Terms(licence="CC-BY-4.0", about=ABOUT))


def test_the_report_says_whose_it_is_and_how_to_cite_it() -> None:
    made = described(release(300))
    source = page(made)
    text = words(source)
    for word in ("Our reviewers & their scores", "Conf 2026", "By Ada Lovelace, Turing, Alan", "CC-BY-4.0"):
        assert word in text
    links = {attributes.get("href") for tag, attributes in Elements(source).found if tag == "a"}
    assert {ABOUT.url, "mailto:chairs@conf.example.org", "https://creativecommons.org/licenses/by/4.0/"} <= links
    assert made.citation in text
    assert made.citation.startswith("Ada Lovelace and Turing, Alan (2026): Our reviewers & their scores. Conf.")
    assert "title = {{Our reviewers \\& their scores}}" in text
    assert "author = {Ada Lovelace and Turing, Alan}" in text
    assert "not stated" in words(page(release())), "a licence that is missing is missed"
    assert replace(made, terms=Terms(citation="As we say.", about=ABOUT)).citation == "As we say."


def test_the_headline_is_what_was_found_then_the_promise_then_the_numbers() -> None:
    weights = pv.PublicWeights.from_rows(np.random.default_rng(1).integers(1, 11, (40, 3)).tolist(), load=3)
    made = pv.refine(np.linspace(2, 9, 40), weights, mechanism=pv.Laplace(scale=0.5))
    text = words(page(made))
    order = [made.findings[0].sentence, made.guarantee.summary, "Verdict:", "Results", "The same in numbers"]
    order += ["Privacy guarantee", made.promise, "Method", "limits", "How to cite", "Downloads"]
    places = [text.index(word) if word != "limits" else text.index("How to read it") for word in order]
    assert places == sorted(places)


def test_metadata_state_the_release() -> None:
    made = described(release(300))
    found = json.loads(metadata.dataset(made))
    assert (found["@type"], found["name"]) == ("Dataset", "Our reviewers & their scores \N{EN DASH} Conf 2026")
    assert found["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert [person["name"] for person in found["creator"]] == list(ABOUT.authors)
    assert found["datePublished"] == "2026-01-31"
    assert [part["name"] for part in found["variableMeasured"]] == list(bundle.COLUMNS)
    assert {part["contentUrl"] for part in found["distribution"]} == {
        f"{ABOUT.url}release.csv",
        f"{ABOUT.url}release.json",
    }
    assert made.guarantee.summary in found["description"]
    assert 50 <= len(found["description"]) <= 5000, "what search engines ask for"
    embedded = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page(made), flags=re.DOTALL)
    assert [json.loads(text) for text in embedded] == [found]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, which mlcroissant uses
@pytest.mark.parametrize("known", [slow(True), slow(False)])
def test_croissant_is_valid_and_leads_to_the_numbers(tmp_path: Path, known: bool) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    made = described(release(30, known=known))
    folder = made.save(tmp_path / "out")
    found = mlcroissant.Dataset(folder / "croissant.json")
    assert not found.metadata.issues.errors
    assert not found.metadata.issues.warnings
    rows = list(found.records("ranks"))
    assert [row["ranks/rank"] for row in rows] == list(range(1, 31))
    assert [row["ranks/value"] for row in rows] == made.values.tolist()
    stated = {
        part["name"]: part["sha256"] for part in json.loads((folder / "croissant.json").read_text())["distribution"]
    }
    for name in bundle.DATA_FILES:
        assert stated[name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_what_a_release_is_about_survives_its_file(tmp_path: Path) -> None:
    made = described(release(30))
    again = pv.Release.load(made.save(tmp_path / "out"))
    assert again.terms.about == ABOUT
    assert again.terms.licence == "CC-BY-4.0"
    assert again.citation == made.citation
    again.save(tmp_path / "again")
    for name in bundle.FILES:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"title": ""}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"authors": "Ada"}, "list of names"),
        ({"authors": ["Ada", " "]}, "authors"),
        ({"year": 26}, "year"),
        ({"year": True}, "year"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"url": "https://x.org/ y"}, "url"),
        ({"contact": 3}, "contact"),
    ],
)
def test_what_a_release_is_about_is_checked(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(pv.InputError, match=word):
        pv.About(**wrong)


def test_only_addresses_become_links() -> None:
    assert pv.About(contact="the chairs").contact_address is None
    assert pv.About(contact="javascript:alert(1)").contact_address is None
    assert pv.About(contact="https://conf.org/ask").contact_address == "https://conf.org/ask"
    assert pv.About(contact="a@b.org?subject=x").contact_address is None


TEMPLATES = Path(report.__file__).parent / "templates"


@pytest.mark.parametrize("name", sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html")))
def test_all_words_of_templates_are_in_the_file_of_words(name: str) -> None:
    """Nothing that a reader reads is written in a template, so that another language is another file."""
    template = (TEMPLATES / name).read_text(encoding="utf-8")
    marks = r"<style>.*?</style>|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<code>.*?</code>|<[^>]+>|&\w+;"
    bare = re.sub(marks, " ", template, flags=re.DOTALL)
    assert set(re.findall(r"[A-Za-z]{3,}", bare)) <= {"release", "csv", "json", "croissant"}


def test_the_report_of_a_track_names_it(tmp_path: Path) -> None:
    rows = [(f"p{i}", f"r{(3 * i + j) % 40}", float((i + 2 * j) % 9 + 1)) for i in range(80) for j in range(2)]
    papers, people, scores = (list(column) for column in zip(*rows, strict=True))
    reviews = pv.Reviews.from_columns(papers, people, scores, scale=(1, 9))
    tracks = {paper: "Theory" if int(paper[1:]) < 40 else "Systems" for paper in papers}
    about = pv.About(conference="Conf", year=2026)
    noise = pv.Histogram(epsilon=1.0, bins=3)
    made = pv.release_groups(reviews, tracks, public="all", mechanism=noise, about=about)
    for name in ("Theory", "Systems"):
        page = (made.releases[name].save(tmp_path / name) / "report.html").read_text("utf-8")
        assert f'<p class="venue">Conf 2026 · {name}</p>' in page
        assert f"Conf 2026 · {name}</title>" in page
        assert f"Conf 2026 · {name}" in json.loads((tmp_path / name / "croissant.json").read_text("utf-8"))["name"]


def test_a_release_that_public_data_determine_does_not_speak_of_noise(tmp_path: Path) -> None:
    papers = [f"p{i}" for i in range(20) for _ in range(3)]
    alike = pv.Reviews.from_columns(papers, [f"r{i % 10}" for i in range(60)], [4.0] * 60, scale=(1, 5))
    made = pv.release(alike, public="all", epsilon=1.0)
    text = words(page(made))
    assert "elsewhere" not in text
    assert "random noise" not in text
    assert "no noise was added" in text
    assert made.error_summary.startswith("none")
    assert "expected error none" in repr(made)
    folder = made.save(tmp_path / "out")
    assert pv.verify(folder, pv.weigh(alike.public("all"), "ratings")).verified
    external = pv.refine(made.values, pv.weigh(alike.public("all"), "ratings"))
    assert "elsewhere" in words(page(external))
    assert external.error_summary == "not known"
