from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from marks import examples
from peerveil.private.noise import Prepared
from peerveil.record.public_record import Floats
from peerveil.releases.documents import release_schema
from peerveil.releases.noisy_files import read_noisy
from peerveil.releases.release import COLUMNS
from peerveil.reporting.terms import METHOD
from reference.theta import Assignment, assignments
from strategies import PAPERS, Case, cases, hidden_cases, hidden_variants

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WEIGHTS = pv.PublicWeights.from_rows([[1, 2]], load=1)


def small_reviews() -> pv.Reviews:
    papers = ["p", "p", "q", "q", "r", "r"]
    return pv.Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])


def refined() -> pv.Release:
    return pv.refine([1, 2], WEIGHTS)


def published(release: pv.Release, folder: Path, *, report: bool = True) -> dict[str, bytes]:
    """Every byte that a release writes, at a fixed time."""
    replace(release, created=THEN).save(folder, overwrite=True, report=report)
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


#: Drawing a report takes far longer than all the rest: one example in ten has one.
REPORTS = st.sampled_from([*[False] * 9, True])


def bytes_differ(
    case: Case,
    examples: Sequence[tuple[Assignment, Sequence[Sequence[float]]]],
    folder: Path,
    *,
    report: bool,
    scale: tuple[float, float] | None = None,
    **how: Any,
) -> bool:
    """Whether releases of assignments and scores differ in any byte although their noisy vectors are equal."""
    noisy = np.linspace(-1, 7, case.reviewers)
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]

    def fixed(_: Prepared, vector: Floats) -> Floats:
        assert vector.size == noisy.size
        return noisy.copy()

    seen = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prepared, "draw", fixed)
        for assignment, rows in examples:
            reviewers = [f"r{j}" for row in assignment for j in row]
            scores = [x for row in rows for x in row]
            order = np.argsort(reviewers, kind="stable")  # the rows of the file come in another order, too
            columns: Any = ([column[i] for i in order] for column in (papers, reviewers, scores))
            reviews = pv.Reviews.from_columns(*columns, scale=scale)
            made = pv.release(reviews, mechanism=pv.Laplace(epsilon=1.0), lone="zero", **how)
            seen.add(tuple(published(made, folder / "out", report=report).items()))
    return len(seen) > 1


@pytest.mark.promise("P-PUBLIC-4", "P-FORMAT-10", "P-README-1")
@given(case=cases(most_reviews=7).filter(lambda case: case.reviewers > 1), report=REPORTS)
@examples(12)
def test_nothing_but_the_noisy_vector_depends_on_the_assignment(
    case: Case, report: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    listed = list(assignments(case.rows, case.loads))
    examples = [(assignment, case.rows) for assignment in (listed[0], listed[-1], listed[len(listed) // 2])]
    for quantity in ("ratings", "miscalibration"):
        assert not bytes_differ(case, examples, folder, report=report, public="all", quantity=quantity)


@pytest.mark.promise("P-PUBLIC-2")
@pytest.mark.slow
@given(pair=hidden_cases().filter(lambda pair: pair[0].reviewers > 1), report=REPORTS)
@examples(12)
def test_hidden_scores_shape_nothing_but_the_noisy_vector(
    pair: tuple[Case, list[list[bool]]], report: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    case, hidden = pair
    folder = tmp_path_factory.mktemp("hidden")
    listed = list(assignments(case.rows, case.loads))
    variants = list(hidden_variants(case.rows, hidden, [1, 2, 3]))
    rows = [[None if h else x for x, h in zip(r, f, strict=True)] for r, f in zip(case.rows, hidden, strict=True)]
    names = PAPERS[: len(case.rows)]
    record = pv.PublicRecord.from_rows(rows, papers=names, loads=case.stated(), scale=(1, 3))
    examples = [(listed[0], variants[0]), (listed[-1], variants[-1])]
    for public, quantity in ((record, "ratings"), (record, "miscalibration"), ("none", "ratings")):
        how: dict[str, Any] = {"public": public, "quantity": quantity, "scale": (1, 3)}
        assert not bytes_differ(case, examples, folder, report=report, **how)


@pytest.mark.parametrize("unit", ["reviewer", "review"])
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
def test_a_release_goes_all_the_way(unit: str, quantity: str, tmp_path: Path) -> None:
    made = pv.release(
        small_reviews(), public="all", quantity=quantity, mechanism=pv.Laplace(epsilon=0.7), unit=unit, region="chain"
    )
    assert made.guarantee.epsilon == 0.7
    assert made.guarantee.unit == unit
    assert made.estimator == "safe"
    assert made.outlook is not None
    assert made.values.sum() == pytest.approx(15 if quantity == "ratings" else 0, abs=1e-8)
    made.save(tmp_path / "out")
    again = pv.Release.load(tmp_path / "out")
    assert again.to_json() == made.to_json()
    lines = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert [float(cell) for cell in lines[1].split(",")] == [
        1,
        *(v[0] for v in (made.values, made.noisy, made.lower, made.upper, made.outlook.lower, made.outlook.upper)),
    ]


def test_the_papers_setting_is_repeated_by_scale() -> None:
    made = pv.release(small_reviews(), public="all", mechanism=pv.Laplace(scale=1.0))
    assert made.mechanism == {"name": "laplace", "epsilon": None, "scale": 1.0}
    assert made.guarantee.epsilon == pytest.approx(2 * 5 * (1 - 1 / 2))  # 2R (1 - 1/l) over a scale of 1


@pytest.mark.promise("P-README-6", "P-PUBLIC-4")
def test_what_is_public_must_be_stated() -> None:
    reviews = small_reviews()
    with pytest.raises(pv.InputError, match="which scores are public must be stated"):
        pv.release(reviews, mechanism=pv.Laplace(epsilon=1.0))
    with pytest.raises(pv.InputError, match=r"which scores are public must be stated.*got 'some'"):
        pv.release(reviews, public="some", mechanism=pv.Laplace(epsilon=1.0))
    with pytest.raises(pv.InputError, match="6 scores are hidden: state the scale"):
        pv.release(reviews, public="none", mechanism=pv.Laplace(epsilon=1.0))


@pytest.mark.promise("P-PUBLIC-3")
def test_a_public_record_is_checked_against_the_reviews() -> None:
    reviews, mechanism = small_reviews(), pv.Laplace(epsilon=1.0)
    names = ["p", "q", "r"]
    rows = [[3, 5], [4, 4], [8, 6]]
    good = pv.PublicRecord.from_rows(rows, papers=names, loads=(1, 3), reviewers=3)
    made = pv.release(reviews, public=good, mechanism=mechanism)
    assert made.loads.counts is None
    # From the stated range of loads, 1 to 3, not from the file: R (1 + (b-2)/a).
    assert made.mechanism["scale"] == pytest.approx((8 - 3) * (1 + (3 - 2) / 1))
    wrong = {
        "other scores": pv.PublicRecord.from_rows([[3, 5], [4, 4], [8, 7]], papers=names, load=2),
        "other numbers of scores": pv.PublicRecord.from_rows([[3, 5], [4], [8, 6, 6]], papers=names, load=2),
        "1 papers of the public record": pv.PublicRecord.from_rows(rows, papers=["p", "q", "x"], load=2),
        "1 papers of the private record": pv.PublicRecord.from_rows(rows[:2], papers=names[:2], load=2),
        "states 6 reviewers": pv.PublicRecord.from_rows(rows, papers=names, load=1),
        "2 papers have other scores": pv.PublicRecord.from_rows(
            [[3, 5], [None, 9], [7, None]], papers=names, load=2, scale=(1, 10)
        ),
        "states loads": pv.PublicRecord.from_rows(rows, papers=names, loads={1: 1, 2: 1, 3: 1}),
    }
    for message, record in wrong.items():
        with pytest.raises(pv.RecordError, match=message):
            pv.release(reviews, public=record, mechanism=mechanism)


def test_messages_about_a_record_hold_no_address() -> None:
    swapped = pv.Reviews.from_columns(["ann@x.org", "bob@x.org"], ["p", "q"], [3, 5])
    record = pv.PublicRecord.from_rows([[3], [5]], papers=["p", "q"], load=1)
    with pytest.raises(pv.RecordError) as caught:
        swapped.public(record)
    assert "@" not in str(caught.value)


def test_one_reviewer_cannot_be_hidden_but_has_a_region() -> None:
    alone = pv.Reviews.from_columns(["p", "q"], ["ann", "ann"], [3, 5])
    with pytest.raises(pv.InputError, match="one reviewer only"):
        pv.release(alone, public="all", mechanism=pv.Laplace(epsilon=1.0))
    region = pv.region(pv.weigh(alone.public("all")), "chain")
    assert region.lower.tolist() == region.upper.tolist() == [4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "paper"}, "unit must be 'reviewer' or 'review', got 'paper'"),
        ({"region": "cube"}, "region must be one of"),
        ({"estimator": "magic"}, "estimator must be one of"),
        ({"quantity": "mood"}, "quantity must be one of"),
        ({"mechanism": pv.External(words="by others")}, "is for refine"),
    ],
)
def test_unknown_choices_are_refused_before_noise_is_drawn(
    options: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
    chosen = {"public": "all", "mechanism": pv.Laplace(epsilon=1.0)} | options
    with pytest.raises(pv.InputError, match=message):
        pv.release(small_reviews(), **chosen)  # type: ignore[call-overload]


@pytest.mark.promise("P-PROTECTED-2")
@pytest.mark.parametrize(
    ("papers", "people", "scores", "exact"),
    [("ppq", "abc", [3, 5, 1], [1, 3, 5]), ("ppqq", "abbc", [4, 4, 4, 4], [4, 4, 4])],
    ids=["one review each", "equal scores"],
)
def test_where_the_record_decides_everything_the_release_is_exact(
    papers: str, people: str, scores: list[float], exact: list[float]
) -> None:
    reviews = pv.Reviews.from_columns([*papers], [*people], scores)
    made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    assert made.values.tolist() == made.noisy.tolist() == exact
    assert made.guarantee.epsilon == 0
    assert "the same for every assignment" in made.guarantee.promise


@pytest.mark.promise("P-MECH-2")
def test_refining_carries_words_and_adds_none() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    made = pv.refine([9.0, -9.0], weights, mechanism=pv.External(words="Stated by the 2024 chairs."))
    assert made.guarantee.epsilon is None
    assert made.guarantee.summary == "as stated by the source: Stated by the 2024 chairs."
    assert "Stated by the 2024 chairs." in made.to_json()
    assert "scale 2" in pv.refine([9, -9], weights, mechanism=pv.Laplace(scale=2.0)).guarantee.promise


def test_refining_a_release_carries_its_claim(tmp_path: Path) -> None:
    reviews = small_reviews()
    made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=0.5), region="baseline")
    made.save(tmp_path / "out")
    weights = pv.weigh(reviews.public("all"))
    again = pv.refine(pv.Release.load(tmp_path / "out"), weights)
    assert (again.guarantee, again.mechanism, again.public) == (made.guarantee, made.mechanism, made.public)
    assert again.noisy.tolist() == made.noisy.tolist()
    assert (made.region, again.region) == ("baseline", "tight")
    with pytest.raises(pv.InputError, match="the release is of ratings, the weights are of miscalibration"):
        pv.refine(made, pv.weigh(reviews.public("all"), "miscalibration"))
    other = pv.PublicRecord.from_rows([[3, 5], [4, 4], [8, 7]], load=2)
    with pytest.raises(pv.InputError, match="not the one this release was made from"):
        pv.refine(made, pv.weigh(other))
    with pytest.raises(pv.InputError, match="the release states its mechanism"):
        pv.refine(made, weights, mechanism=pv.Laplace(scale=1.0))


@pytest.mark.promise("P-KEPT-2")
def test_reviews_forget_names_and_never_show_scores() -> None:
    reviews = pv.Reviews.from_columns(["p", "p"], ["secret-ann", "secret-bob"], [3.125, 5.25])
    shown = f"{reviews!r} {reviews} {vars(reviews)}"
    assert "secret" not in shown
    assert "3.125" not in f"{reviews!r} {reviews}"


def test_reviews_that_cannot_be() -> None:
    for papers, reviewers, scores, message in (
        ("pp", "aa", [1.0, 2.0], "two reviews of one paper"),
        ("p", "a", [float("nan")], "1 of 1 reviews have no score"),
        ("p", "a", [float("inf")], "finite"),
        ("p", "ab", [1.0], "one entry per review"),
    ):
        with pytest.raises(pv.RecordError, match=message):
            pv.Reviews.from_columns(list(papers), list(reviewers), scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [1, "secret-ann"]}, "entry 2 of scores is not a number"),
        ({"scores": [1, None]}, "entry 2 of scores is not a number"),
        ({"scores": [1, [2, 3]]}, "entry 2 of scores is not a number"),
        ({"scores": [1, 10**400]}, "entry 2 of scores is not a number"),
        ({"reviewers": ["secret-ann", None]}, "entry 2 of reviewers is neither text nor a number"),
        ({"reviewers": [["secret-ann"], "b"]}, "entry 1 of reviewers is neither text nor a number"),
        ({"reviewers": ["a", float("nan")]}, "entry 2 of reviewers is neither text nor a number"),
        ({"papers": [{"secret-p": 1}, "q"]}, "entry 1 of papers is neither text nor a number"),
    ],
)
def test_columns_that_are_none_are_pointed_at_not_shown(change: dict[str, list[object]], message: str) -> None:
    columns: dict[str, list[object]] = {"papers": ["p", "q"], "reviewers": ["a", "b"], "scores": [1, 2]}
    with pytest.raises(pv.RecordError, match=message) as caught:
        pv.Reviews.from_columns(**(columns | change))  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_papers_that_only_the_private_record_has_are_counted_not_named() -> None:
    reviews = pv.Reviews.from_columns(["secret-title", "q", "r"], ["a", "b", "c"], [3, 5, 4])
    record = pv.PublicRecord.from_rows([[5], [4]], papers=["q", "r"], load=1)
    with pytest.raises(pv.RecordError, match="1 papers of the private record") as caught:
        reviews.public(record)
    assert "secret" not in str(caught.value)


class TestFiles:
    def test_documents_follow_the_published_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(release_schema())
        for loads in ({1: 2, 2: 1}, (1, 3), {1, 2, 3}):
            weights = pv.PublicWeights.from_rows([[1, 2], [3, 4]], loads=loads, reviewers=3)
            document = json.loads(pv.refine([1, 2, 3], weights).to_json())
            jsonschema.validate(document, release_schema())
            assert pv.Release.from_document(document).loads == weights.loads
        assert set(release_schema()["properties"]) == set(document) | {
            "findings"
        }  # which so few reviewers have none of

    def test_times_are_utc(self) -> None:
        made = replace(pv.refine([1.0], pv.PublicWeights.from_rows([[1]], load=1)), created=THEN)
        assert '"created": "2026-01-02T03:04:05Z"' in made.to_json()
        assert pv.Release.from_document(json.loads(made.to_json())).created == THEN

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"schema_version": 99}, "schema_version must be 1 or 2, got 99"),
            ({"values": [1, "2"]}, "values/1 violates the schema"),
            ({"values": [1]}, "must have 2 entries"),
            ({"more": 1}, "violates the schema"),
            ({"licence": ""}, "release.json: licence must be"),
            ({"citation": None}, "citation violates the schema"),
            ({"values": [2, 1]}, "release.json: values must be in ascending order"),
            ({"noisy": [1, 10**400]}, "release.json: noisy holds a number that is too large"),
            ({"noisy": [1, float("nan")]}, "release.json: is not JSON"),
            ({"noisy": [1, float("-inf")]}, "release.json: is not JSON"),
            ({"created": "2026-13-45T99:99:99Z"}, "release.json: created is not a valid timestamp"),
            ({"schema_version": "ann@x.org"}, "schema_version must be 1 or 2, got none"),
            ({"guarantee": {"promise": "Nobody will ever know."}}, "release.json: guarantee/promise is not what"),
            ({"guarantee": {"kind": "pure", "unit": None, "epsilon": 1}}, "release.json: unit must be"),
            ({"record": {"reviews": 3}}, "release.json: .* but the record has"),
            ({"guarantee": {"not_protected": "Nothing."}}, "release.json: guarantee/not_protected is not what"),
            ({"schema_version": True}, "schema_version must be 1 or 2, got True"),
            ({"schema_version": 1}, "the document violates the schema of version 1"),
            ({"charge": "12"}, "charge violates the schema"),
            ({"charge": 12}, "charge violates the schema"),
            ({"charge": "0123456789abcdef\n"}, "release.json: charge must consist of 16 hexadecimal digits"),
            ({"rendered": {"peerveil": 2}}, "rendered/peerveil violates the schema"),
            ({"rendered": {"jinja2": "3\n"}}, "release.json: rendered must contain package names"),
            ({"rendered": []}, "rendered violates the schema"),
            ({"part": []}, "part violates the schema"),
            ({"claim": {"unit": "none"}}, "release.json: claim is not what"),
            ({"extension": None}, "extension violates the schema"),
            ({"extension": {"more": [10**400]}}, "release.json: extension/more holds a number that is too large"),
            ({"mechanism": {"scale": 10**400}}, "release.json: mechanism/scale holds a number that is too large"),
        ],
    )
    def test_documents_that_are_no_release(self, change: dict[str, object], message: str, tmp_path: Path) -> None:
        document = json.loads(refined().to_json())
        for key, value in change.items():
            document[key] = (document[key] or {}) | value if isinstance(value, dict) else value
        (tmp_path / "release.json").write_text(json.dumps(document))
        with pytest.raises(pv.FileError, match=message) as caught:
            pv.Release.load(tmp_path)
        assert caught.value.__context__ is None

    def test_numbers_beyond_all_bounds_are_refused(self, tmp_path: Path) -> None:
        document = json.loads(refined().to_json())
        document["certificate"]["gap"] = "beyond"
        (tmp_path / "release.json").write_text(json.dumps(document).replace('"beyond"', "1e999"))
        with pytest.raises(pv.FileError, match=r"release.json: certificate/gap holds a number that is too large"):
            pv.Release.load(tmp_path)

    @pytest.mark.promise("P-FORMAT-3")
    def test_what_schema_2_adds_is_kept(self, tmp_path: Path) -> None:
        made = refined()
        assert (made.charge, made.part, made.extension, made.schema) == (None, None, {}, 2)
        assert made.rendered == {"peerveil": pv.__version__} | {
            name: metadata.version(name) for name in ("altair", "vl-convert-python", "jinja2", "numpy", "scipy")
        }
        added: dict[str, Any] = {"charge": "0123456789abcdef", "extension": {"a": [1.5, "b"]}}
        replace(made, **added).save(tmp_path / "one", report=False)
        document = json.loads((tmp_path / "one" / "release.json").read_text())
        assert {key: document[key] for key in added} == added
        jsonschema.validate(document, release_schema())
        loaded = pv.Release.load(tmp_path / "one")
        assert loaded.intact
        assert {key: getattr(loaded, key) for key in added} == added
        loaded.save(tmp_path / "two", report=False)
        assert (tmp_path / "two" / "release.json").read_bytes() == (tmp_path / "one" / "release.json").read_bytes()

    def test_the_versions_that_write_are_stated(self, tmp_path: Path) -> None:
        made = refined()
        elsewhere = replace(made, rendered={"peerveil": "0.9.1", "numpy": "9.0"})
        (tmp_path / "release.json").write_text(elsewhere.to_json())
        loaded = pv.Release.load(tmp_path)
        assert loaded.rendered == {"peerveil": "0.9.1", "numpy": "9.0"}
        loaded.save(tmp_path / "again", report=False)
        assert pv.Release.load(tmp_path / "again").rendered == made.rendered

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("schema", 3, "schema must be one of 1, 2, got 3"),
            ("charge", "A" * 16, "charge must consist of 16 hexadecimal digits"),
            ("extension", {"a": {1, 2}}, "extension/a must consist of JSON objects"),
            ("extension", {"a": {1: 2}}, "extension/a must consist of JSON objects"),
            ("extension", {"a": float("inf")}, "extension/a holds a number that is too large"),
            ("rendered", {"peerveil": "0.2 beta"}, "rendered must contain package names"),
        ],
    )
    def test_what_no_document_can_hold_is_refused(self, field: str, value: object, message: str) -> None:
        made = refined()
        with pytest.raises(pv.InputError, match=message):
            replace(made, **{field: value})  # type: ignore[arg-type]

    @pytest.mark.promise("P-FORMAT-2")
    def test_a_key_that_occurs_twice_is_refused_by_all_who_read(self, tmp_path: Path) -> None:
        text = refined().to_json()
        for line in ('"region": "tight"', '"gap": 0.0', '"kind": "stated"'):
            assert line in text
            key = line.split('"')[1]
            (tmp_path / "release.json").write_text(text.replace(line, f"{line}, {line}", 1))
            for read in (pv.Release.load, read_noisy):
                with pytest.raises(pv.FileError, match=f"release.json: the key '{key}' occurs twice") as caught:
                    read(tmp_path / "release.json")
                assert caught.value.__context__ is None
            checked = pv.verify(tmp_path, WEIGHTS)
            assert checked.failed == ("schema",)
            assert f"the key '{key}' occurs twice" in checked.checks[0].found

    @pytest.mark.parametrize("place", ["mechanism", "claim", "extension"])
    @pytest.mark.parametrize("depth", [40, 900])
    def test_what_is_nested_too_deeply_is_refused(self, place: str, depth: int, tmp_path: Path) -> None:
        document = json.loads(refined().to_json())
        document[place] = (document[place] or {}) | {"deep": "deep"}
        text = json.dumps(document).replace('"deep": "deep"', f'"deep": {"[" * depth}{"]" * depth}')
        (tmp_path / "release.json").write_text(text)
        with pytest.raises(pv.FileError, match=f"{place}/deep is nested too deeply"):
            pv.Release.load(tmp_path)
        assert pv.verify(tmp_path, WEIGHTS).failed == ("schema",)

    def test_no_release_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(pv.FileError, match="cannot be read"):
            pv.Release.load(tmp_path / "absent")
        (tmp_path / "release.json").write_text("{")
        with pytest.raises(pv.FileError, match="is not JSON"):
            pv.Release.load(tmp_path / "release.json")

    @pytest.mark.promise("P-KEPT-10")
    def test_files_of_a_release_are_written_atomically(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = refined()
        made.save(tmp_path / "out")
        before = published(made, tmp_path / "out")
        with pytest.raises(pv.OutputError, match="already holds files"):
            made.save(tmp_path / "out")

        def fails(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pv.Release, "to_json", fails)
        with pytest.raises(pv.WriteError, match="No space left"):
            made.save(tmp_path / "out", overwrite=True)
        with pytest.raises(pv.WriteError, match="No space left"):
            made.save(tmp_path / "new")
        monkeypatch.undo()
        assert published(made, tmp_path / "out") == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["out"]

    def test_places_that_cannot_be_written(self, tmp_path: Path) -> None:
        made = refined()
        (tmp_path / "file").write_text("")
        for place, message in (("file", "is a file"), ("file/below", "cannot be written")):
            with pytest.raises(pv.OutputError, match=message):
                made.save(tmp_path / place)


class TestTerms:
    def test_licence_and_citation_are_the_chairs(self, tmp_path: Path) -> None:
        reviews = small_reviews()
        plain = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
        document = json.loads(plain.to_json())
        assert document["licence"] is None
        assert document["citation"] == f"Made with {plain.software}, {METHOD}."
        stated = pv.release(
            reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), licence="CC-BY-4.0", citation="The chairs, 2026."
        )
        again = pv.Release.load(stated.save(tmp_path / "out"))
        assert (again.terms.licence, again.terms.citation) == ("CC-BY-4.0", "The chairs, 2026.")
        assert again.to_json() == stated.to_json()
        refined = pv.refine(again, pv.weigh(reviews.public("all")), region="baseline")
        assert refined.terms == again.terms

    def test_terms_that_say_nothing_are_refused_before_noise_is_drawn(self) -> None:
        for wrong in ("", "  ", "two\nlines", "x" * 2001):
            with pytest.raises(pv.InputError, match="licence must be"):
                pv.release(small_reviews(), public="all", mechanism=pv.Laplace(epsilon=1.0), licence=wrong)


@pytest.mark.parametrize("argument", ["quantity", "mechanism", "public"])
def test_a_misplaced_argument_is_not_shown(argument: str) -> None:
    reviews = pv.Reviews.from_columns([*"ppqq"], ["ann", "bob", "bob", "ann"], [3, 5, 4, 4])
    given: dict[str, Any] = {"public": "all", "mechanism": pv.Laplace(epsilon=1.0)} | {argument: [["ann", 3]]}
    with pytest.raises(pv.InputError, match="got list") as caught:
        pv.release(reviews, **given)
    assert "ann" not in str(caught.value)
    assert "ann" not in repr(caught.value)


@pytest.mark.parametrize("bins", [None, 2, 10, 24])
def test_counts_of_a_conference_of_which_some_draws_fail_are_refined(bins: int | None) -> None:
    """Where everybody reviews every paper, some draws of hidden scores are given up, so laws rest on 39 or 40 draws."""
    reviews = pv.Reviews.from_columns(list("aaabbbccc"), list("xyz") * 3, [1, 1, 0, 1, 1, 0, 0, 0, 1], scale=(0, 1))
    release = pv.release(reviews, public="none", mechanism=pv.Histogram(epsilon=1.0, bins=bins))
    assert release.values.size == 3
    assert pv.verify(release, pv.weigh(reviews.public("none"))).verified


def test_dense_hidden_conferences_are_planned() -> None:
    reviews = pv.Reviews.from_columns(list("aaabbbccc"), list("xyz") * 3, [1, 1, 0, 1, 1, 0, 0, 0, 1], scale=(0, 1))
    assert pv.promise(reviews, public="none", epsilon=1.0).guarantee.epsilon == 1.0
