"""Pooling of releases: what is pooled and refused, the prior's file, and releases that rest on it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from inference.test_pooling import around, certain, pooled
from peerveil.inference.family import CORRELATIONS
from peerveil.inference.pooling import SHAPE, PooledPrior
from peerveil.inference.pooling.opinions import Within
from peerveil.releases.documents import document_digest
from peerveil.reporting.terms import About, Terms
from peerveil.simulation.worlds import world

__all__ = ["run"]  # a fixture


def conference(year: int, reviewers: int = 40) -> pv.Reviews:
    made = world("family", reviewers=reviewers, loads=4, seed=year)
    papers, people = ([str(each) for each in column.tolist()] for column in (made.paper, made.reviewer))
    return pv.Reviews.from_columns(papers, people, made.score.tolist(), scale=made.scale)


def released(year: int, scale: float = 3.0, **options: Any) -> pv.Release:
    about = About(conference="Conf", year=year)
    mechanism = pv.Histogram(scale=scale)
    made: pv.Release = pv.release(conference(year), public="all", mechanism=mechanism, about=about, **options)
    return made


def weights_of(year: int, quantity: str = "ratings") -> pv.PublicWeights:
    return pv.weigh(conference(year).public("all"), quantity)


@pytest.fixture(scope="module")
def years() -> dict[int, pv.Release]:
    return {year: released(year) for year in (2023, 2024, 2025)}


@pytest.fixture(scope="module")
def prior(years: dict[int, pv.Release]) -> PooledPrior:
    return pv.pool(years.values())


def test_a_prior_holds_each_conference_once(years: dict[int, pv.Release]) -> None:
    again = replace(released(2024, scale=0.5), terms=Terms(about=About(title="less noise")))
    for order in ([*years.values(), again], [again, *years.values()]):
        prior = pv.pool(order)
        assert sorted(each.name for each in prior.releases) == ["Conf 2023", "Conf 2025", "less noise"]
    assert prior.releases[0].evidence.tolist() == again.evidence.tolist()  # type: ignore[union-attr]
    alone = pv.pool([years[2024], years[2024]])
    assert len(alone.releases) == 1
    assert "2 conferences" in repr(pv.pool([years[2023], years[2024]]))


def test_one_release_pools_with_a_caution(years: dict[int, pv.Release]) -> None:
    alone, all_ = pv.pool([years[2023]]), pv.pool(years.values())
    assert "In a year like this" in alone.sentence
    assert "how much years differ is assumed" in alone.sentence
    assert "assumed" not in all_.sentence


@pytest.mark.promise("P-YEARS-5")
def test_other_mechanisms_and_scales_pool_and_other_quantities_do_not(years: dict[int, pv.Release]) -> None:
    weights = weights_of(2024)
    noisy = np.sort(np.random.default_rng(1).normal(5.5, 1.0, weights.reviewers))
    laplace = pv.refine(noisy, weights, mechanism=pv.Laplace(scale=0.5))
    tenfold = pv.weigh(pv.PublicRecord.from_rows(np.array(weights.rows_low()) * 10, load=4))
    scaled = pv.refine(noisy * 10, tenfold, mechanism=pv.Laplace(scale=5.0))
    assert scaled.evidence is not None
    assert laplace.evidence is not None
    # Leniency is relative to the spread of scores: the same release on another scale says the same.
    typical = [pv.pool([each]).chances.sum(axis=(0, 2)) @ CORRELATIONS for each in (scaled, laplace)]
    assert typical[0] == pytest.approx(typical[1], abs=0.03)
    assert len(pv.pool([years[2023], laplace, scaled]).releases) == 3
    other = released(2024, quantity="miscalibration")
    with pytest.raises(pv.InputError, match=r"releases of miscalibration and of ratings cannot be pooled"):
        pv.pool([years[2023], other])
    unknown = pv.refine(noisy, weights)
    with pytest.raises(pv.InputError, match="does not hold what pooling needs"):
        pv.pool([unknown])
    with pytest.raises(pv.InputError, match="was changed after it was written"):
        pv.pool([replace(years[2023], intact=False)])
    with pytest.raises(pv.InputError, match="at least one"):
        pv.pool([])


def test_evidence_is_kept_in_the_file_and_checked(years: dict[int, pv.Release], tmp_path: Path) -> None:
    release, weights = years[2023], weights_of(2023)
    folder = release.save(tmp_path / "2023", report=False)
    read = pv.Release.load(folder)
    assert read.evidence is not None
    assert read.evidence.shape == SHAPE
    assert read.evidence.tolist() == release.evidence.tolist()  # type: ignore[union-attr]
    assert pv.verify(folder, weights).verified
    less = replace(release, evidence=None), replace(release, within=None), replace(release, tails=None)
    for left_out in less:  # pooling would learn less from it
        assert pv.verify(left_out, weights).failed == ("document",)
    assert pv.verify(replace(release, within=Within(0.5, 0.1)), weights).failed == ("document",)
    evidence = read.evidence.copy()
    evidence[7, 1] -= 0.01
    assert pv.verify(replace(release, evidence=evidence), weights).failed == ("document",)


def test_the_file_of_a_prior_says_the_same(prior: PooledPrior, tmp_path: Path) -> None:
    place = prior.save(tmp_path / "prior.json")
    read = pv.read_prior(place)
    assert read.digest == prior.digest
    assert read.chances.tolist() == prior.chances.tolist()
    assert "Conf 2024" in prior._repr_html_()
    with pytest.raises(pv.InputError, match=r"written as \.json"):
        prior.save(tmp_path / "prior.txt")
    with pytest.raises(pv.OutputError, match="already exists"):
        prior.save(place)


Change = Callable[[dict[str, Any]], None]


def _set(*path: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        *inner, last, value = path
        for key in inner:
            document = document[key]
        document[last] = value

    return change


def _as_texts(document: dict[str, Any], key: str, *, digits: str = "0123456789", false: bool = False) -> None:
    """Put texts, or false for 0, in the place of numbers that they would be read as."""

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return [text(each) for each in value]
        return (value or False) if false else str(value).translate(str.maketrans("0123456789", digits))

    document[key] = text(document[key])


HOSTILE: dict[str, Change] = {
    "another kind": _set("kind", "release"),
    "another model": _set("model", 1),
    "one key more": _set("more", 1),
    "no releases": _set("releases", []),
    "releases of another type": _set("releases", 7),
    "too many releases": lambda document: document.update(releases=document["releases"] * 40),
    "a release twice": lambda document: document.update(releases=document["releases"][:1] * 2),
    "evidence above the greatest": _set("releases", 0, "evidence", 0, 0, 3.0),
    "evidence below the least": _set("releases", 0, "evidence", 0, 0, -1e9),
    "evidence that overflows": _set("releases", 0, "evidence", 0, 0, 10**400),
    "evidence as text": _set("releases", 0, "evidence", 0, 0, "x"),
    "numbers as texts": lambda document: _as_texts(document["releases"][0], "evidence"),
    "other digits": lambda document: _as_texts(document["releases"][0], "evidence", digits="٠١٢٣٤٥٦٧٨٩"),
    "shapes as texts": lambda document: _as_texts(document["releases"][0], "shapes"),
    "false for 0": lambda document: _as_texts(document["releases"][0], "evidence", false=True),
    "probabilities as texts": lambda document: _as_texts(document, "chances"),
    "a model that is no whole number": _set("model", 2.0),
    "tails without error": _set("releases", 0, "tails", [0.5, 5e-324, 0.0, 5e-324]),
    "a row less": lambda document: document["releases"][0]["evidence"].pop(),
    "a share below 0": _set("releases", 0, "within", [-1.0, 0.1]),
    "a share that is none": _set("releases", 0, "within", 0.5),
    "a share as text": _set("releases", 0, "within", ["x", 0.1]),
    "no evidence": lambda document: document["releases"][0].pop("evidence"),
    "a digest that is none": _set("releases", 0, "record", "sha256:7"),
    "a name with an escape": _set("releases", 0, "name", "\x1b[2J"),
    "a name that is none": _set("releases", 0, "name", 7),
    "other probabilities": _set("chances", 3, 0, 0.5),
    "probabilities of another shape": _set("chances", [1.0]),
    "other evidence": _set("releases", 0, "evidence", 14, 4, -1.0),
    "another quantity": _set("quantity", "miscalibration"),
    "a quantity that is none": _set("quantity", 7),
    "a quantity with an escape": _set("quantity", "\x1b[2J"),
    "another digest": _set("digest", f"sha256:{0:064x}"),
}


@pytest.mark.promise("P-FORMAT-8")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, prior: PooledPrior, tmp_path: Path) -> None:
    document = json.loads(json.dumps(prior.to_document()))
    HOSTILE[name](document)
    place = tmp_path / "prior.json"
    place.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(pv.FileError, match=r"prior\.json") as refused:
        pv.read_prior(place)
    assert "internal error" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "NaN", '{"kind": "prior", "kind": "prior"}', '{"kind": "prior"}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "prior.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(pv.FileError, match=r"prior\.json"):
        pv.read_prior(place)


@pytest.mark.promise("P-YEARS-4")
def test_a_release_names_its_prior_and_verifies_with_it(prior: PooledPrior, tmp_path: Path) -> None:
    release, weights = released(2026, prior=prior, estimator="bayes"), weights_of(2026)
    assert release.prior is not None
    assert release.prior.digest == prior.digest
    assert release.prior.releases == 3
    folder = release.save(tmp_path / "2026")
    assert pv.verify(folder, weights, prior=prior).verified
    assert "a prior pooled from 3 earlier releases" in (folder / "report.html").read_text(encoding="utf-8")
    without = pv.verify(folder, weights)
    assert without.failed == ("prior",), "otherwise any values would pass that name a prior which does not exist"
    unchecked = {check.name for check in without.checks if check.result == "not checked"}
    assert unchecked >= {"values", "certificate", "outlook", "findings", "notes"}
    assert pv.verify(folder, weights, prior=pooled(around(0.3), quantity="ratings")).failed[0] == "prior"
    usual = released(2026, estimator="bayes")
    checks = {check.name: check for check in pv.verify(usual, weights, prior=prior).checks}
    assert checks["prior"].result == "holds"
    assert "not used" in checks["prior"].found
    # Other values are refused with the prior, and numbers that the prior does not concern without it as well.
    assert not pv.verify(replace(release, values=release.values + 1e-3), weights, prior=prior).verified
    assert not pv.verify(replace(release, lower=release.lower - 1e-3), weights).verified
    refined = pv.refine(release, weights, estimator="bayes")
    assert refined.prior is None
    assert not any("pooled" in note for note in refined.notes)
    assert pv.refine(refined, weights, estimator="bayes", prior=prior).values.tolist() == release.values.tolist()


@pytest.mark.promise("P-YEARS-1")
def test_a_release_with_its_own_year_in_the_prior_is_as_without(years: dict[int, pv.Release]) -> None:
    weights, release = weights_of(2025), years[2025]
    whole, others = pv.pool(years.values()), pv.pool([years[2023], years[2024]])
    found = [pv.refine(release, weights, estimator="bayes", prior=prior) for prior in (whole, others)]
    assert found[0].values.tolist() == found[1].values.tolist()
    assert found[0].prior is not None
    assert found[0].prior.releases == 2
    assert found[0].prior.digest == whole.digest
    assert pv.verify(found[0], weights, prior=whole).verified


@pytest.mark.promise("P-YEARS-2")
def test_a_year_unlike_the_others_is_noticed_and_gets_the_usual_prior() -> None:
    weights = weights_of(2024)
    truth = np.sort(np.random.default_rng(4).normal(5.5, 1.4, weights.reviewers))
    usual = pv.refine(truth, weights, mechanism=pv.Laplace(scale=0.05), estimator="bayes")
    away = pooled(*[around(0.0, 0.02)] * 5, quantity="ratings")
    prior = replace(away, releases=tuple(replace(each, within=Within(1.5, 0.01)) for each in away.releases))
    with pytest.warns(pv.PriorWarning, match="public record is unlike those of a prior pooled from 5 earlier releases"):
        noticed = pv.refine(usual, weights, estimator="bayes", prior=prior)
    assert noticed.prior is not None
    assert noticed.prior.unlike
    assert noticed.values.tolist() == usual.values.tolist()
    assert any("unlike those" in note for note in noticed.notes)
    assert noticed.evidence is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pv.verify(noticed, weights, prior=prior).verified


def test_groups_of_papers_take_a_prior(prior: PooledPrior) -> None:
    reviews = conference(2026, reviewers=60)
    tracks = {paper: f"track {number % 2}" for number, paper in enumerate(reviews.papers)}
    made = pv.release_groups(reviews, tracks, public="all", mechanism=pv.Histogram(scale=3.0), prior=prior)
    for name, release in made.releases.items():
        assert release.prior is not None
        part = reviews.only([paper for paper, its in tracks.items() if its == name])
        weights = pv.weigh(part.public("all", declare_kept=True))
        assert pv.verify(release, weights, prior=prior).verified
        assert pv.verify(release, weights).failed == ("prior",)


def test_a_plan_rehearses_what_earlier_releases_imply() -> None:
    weights = weights_of(2024)
    narrow = pooled(*[around(0.0, 0.02)] * 30, quantity="ratings")
    arguments: dict[str, Any] = {"epsilons": [1.0], "mechanisms": ["laplace"], "draws": 1, "workers": 1}
    usual, planned = pv.plan(weights, **arguments), pv.plan(weights, **arguments, prior=narrow)
    # Of four equally likely leniencies, three are near none; the last stands for years that are unlike the others.
    assert planned.leniencies[2] < 0.1 < planned.leniencies[3] < usual.leniencies[3]
    assert "as earlier releases imply" in planned.assumption
    assert planned.best(1.0, guaranteed=False).rmse < usual.best(1.0, guaranteed=False).rmse
    promised = pv.promise(conference(2024), public="all", mechanism=pv.Laplace(epsilon=1.0), prior=narrow)
    assert promised.expected_rmse is not None


def test_the_commands_pool_release_and_verify(run: Run, years: dict[int, pv.Release], tmp_path: Path) -> None:
    for year, release in years.items():
        release.save(tmp_path / str(year), report=False)
    done = run("pool", "2023", "2024", "2025", "-o", "prior.json")
    assert done.code == 0, done.err
    assert "leniency explains about" in done.out
    assert done.out.endswith("Written: prior.json\n")
    reviews = conference(2026)
    people = [str(number) for number in reviews.reviewer.tolist()]
    rows = zip((reviews.papers[place] for place in reviews.paper.tolist()), people, reviews.score.tolist(), strict=True)
    lines = ["paper,reviewer,score", *(f"p{paper},r{reviewer},{score:g}" for paper, reviewer, score in rows)]
    (tmp_path / "reviews.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    public = [line.replace(",r" + line.split(",r")[1].split(",")[0], "") if ",r" in line else line for line in lines]
    public[0] = "paper,score"
    (tmp_path / "public.csv").write_text("\n".join(public) + "\n", encoding="utf-8")
    made = run(
        *("release", "reviews.csv", "--public", "all", "--mechanism", "histogram", "--epsilon", "1"),
        *("--prior", "prior.json", "--estimator", "bayes", "--score-scale", "1,10", "-o", "2026", "--no-report"),
    )
    assert made.code == 0, made.err
    for prior in ((), ("--prior", "prior.json")):
        checked = run("verify", "2026", "--public", "public.csv", *prior, "--json")
        assert (checked.code == 0) is bool(prior), checked.out + checked.err
        results = {check["name"]: check["result"] for check in json.loads(checked.out)["checks"]}
        assert results["values"] == ("holds" if prior else "not checked")
    refined = run(
        *("refine", "2026/release.json", "--public", "public.csv", "--prior", "prior.json", "-o", "again"),
        "--no-report",
    )
    assert refined.code == 0, refined.err
    assert pv.Release.load(tmp_path / "again").prior is not None
    unlike = pv.read_prior(tmp_path / "prior.json")
    strange = (replace(each, within=Within(1.9, 0.01)) for each in unlike.releases)
    replace(unlike, releases=tuple(strange)).save(tmp_path / "unlike.json")
    told = run(
        *("refine", "2026/release.json", "--public", "public.csv", "--prior", "unlike.json", "-o", "unlike"),
        "--no-report",
    )
    assert told.code == 0, told.err
    assert "note: Its public record is unlike those of a prior pooled from 3 earlier releases" in told.err
    toml = (
        '[[venue]]\nname = "one"\nfile = "reviews.csv"\npublic = "all"\nepsilon = 1\nmechanism = "histogram"\n'
        'score-scale = "1,10"\nprior = "prior.json"\n'
    )
    (tmp_path / "venues.toml").write_text(toml, encoding="utf-8")
    batch = run("batch", "venues.toml", "-o", "releases", "--no-report")
    assert batch.code == 0, batch.out + batch.err
    assert pv.Release.load(tmp_path / "releases" / "one").prior is not None
    (tmp_path / "venues.toml").write_text(toml.replace("prior.json", "unlike.json"), encoding="utf-8")
    batch = run("batch", "venues.toml", "-o", "others", "--no-report", "--json")
    assert batch.code == 0, batch.out + batch.err
    assert "unlike those of a prior" in batch.out
    refused = run("pool", "prior.json", "-o", "other.json")
    assert refused.code == 2


def test_hostile_evidence_in_a_release_is_refused(years: dict[int, pv.Release], tmp_path: Path) -> None:
    document = json.loads(years[2023].to_json())
    for path, value in (
        (("evidence",), certain(0, 0).tolist()[:-1]),
        (("evidence",), [[1.0] * 5] * 15),
        (("evidence",), [[-1.0] * 5] * 15),
        (("within",), [0.5]),
        (("within",), [0.5, -0.1]),
        (("tails",), [0.5, 1e-200, 0.0, 0.1]),
        (("prior",), {"digest": "sha256:7", "releases": 1, "unlike": False}),
        (("prior",), {"digest": f"sha256:{0:064x}", "releases": 0, "unlike": False}),
        (("prior",), {"digest": f"sha256:{0:064x}", "releases": 1, "unlike": 1}),
    ):
        forged = json.loads(json.dumps(document))
        forged["extension"][path[0]] = value
        forged["digest"] = document_digest(forged)
        with pytest.raises(pv.FileError):
            pv.Release.from_document(forged)
    # A prior that was not used cannot be claimed: the estimates would not follow from it.
    forged = json.loads(json.dumps(document))
    forged["extension"]["prior"] = {"digest": pooled(around(0.3)).digest, "releases": 1, "unlike": False}
    claimed = pv.Release.from_document(forged)
    assert not pv.verify(claimed, weights_of(2023), prior=pooled(around(0.3), quantity="ratings")).verified
