"""A mechanism that is registered here is found in every part of the program, which knows nothing of it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import peerveil as pv
from own_mechanism import Mixture, MixtureLaw, install, mixture_source
from peerveil.inference.noise_test import vector_noise
from peerveil.mechanisms import OWN, mechanism_from, register
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private import noise
from peerveil.private.audit import audit
from peerveil.private.audit.laws import noise_differs
from peerveil.releases.plan_files import write_plan
from peerveil.support.extensions import load_extensions
from peerveil.web.cases import Case
from peerveil.web.jobs import Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task

REVIEWS = "paper,reviewer,score\n" + "".join(
    f"p{paper},r{(paper + 3 * place) % 12},{1 + (7 * paper + 5 * place) % 9}\n"
    for paper in range(24)
    for place in range(3)
)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The mechanism is registered here, and by an extension in every process that the test starts."""
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension" / "own_noise.py").write_text("from own_mechanism import install\n\ninstall()\n")
    monkeypatch.syspath_prepend(tmp_path / "extension")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "extension"), *filter(None, sys.path)]))
    monkeypatch.setenv("PEERVEIL_EXTENSIONS", "own_noise")
    install()
    yield
    del OWN["mixture"], noise._DRAWS["mixture"]


@pytest.fixture
def reviews(tmp_path: Path) -> pv.Reviews:
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    return pv.read(tmp_path / "reviews.csv")


LAW = MixtureLaw(2.0)


def test_the_law_is_consistent_with_itself_and_its_draws() -> None:
    size = np.array([0.1, 1.0, 5.0, 20.0])
    tails = [2 * integrate.quad(lambda x: math.exp(LAW.log_density(np.array([x]))[0]), at, 200)[0] for at in size]
    assert np.exp(LAW.log_tail(size)) == pytest.approx(tails)
    second = integrate.quad(lambda x: 2 * x**2 * math.exp(LAW.log_density(np.array([x]))[0]), 0, 200)[0]
    assert LAW.deviation == pytest.approx(math.sqrt(second))
    seeded = np.abs(LAW.draw(np.random.default_rng(1), 20_000))
    within: Any = lambda size: -np.expm1(LAW.log_tail(size))  # noqa: E731
    assert stats.kstest(seeded, within).pvalue > 1e-6
    drawn = np.abs(mixture_source(LAW, 10_000).add([0.0] * 10_000))
    assert stats.kstest(drawn, within).pvalue > 1e-6


def test_the_defaults_of_a_law() -> None:
    limit, chance = LAW.limit(0.7)
    assert chance == pytest.approx(0.7)
    assert np.exp(LAW.log_tail(np.array([limit])))[0] == pytest.approx(0.3)
    grid = np.linspace(-50, 50, 20_001)
    ratios = [np.abs(LAW.log_density(grid) - LAW.log_density(grid - move)).max() for move in (0.5, 3.0)]
    loss = LAW.loss(np.array([0.5, 0.0, -3.0, 3.0]))
    assert loss.epsilon == pytest.approx(ratios[0] + 2 * ratios[1], rel=1e-3)
    assert loss.epsilon <= 6.5 / LAW.scale
    off, variance = np.array([[0.3, -2.0]]), np.array([[0.5, 2.0]])
    value, gradient, _ = LAW.expected(off, variance)
    points = np.random.default_rng(2).normal(off, np.sqrt(variance), (200_000, 2))
    assert value[0] == pytest.approx(LAW.log_density(points).mean(axis=0).sum(), abs=0.02)
    slopes = (LAW.log_density(points + 1e-4) - LAW.log_density(points - 1e-4)).mean(axis=0) / 2e-4
    assert gradient[0] == pytest.approx(slopes, abs=0.05)


@pytest.mark.parametrize(("factor", "small", "large"), [(1.0, False, False), (0.05, True, False), (20.0, False, True)])
def test_published_noise_is_tested_against_the_law(factor: float, small: bool, large: bool) -> None:
    drawn = factor * LAW.draw(np.random.default_rng(3), 200)
    check = vector_noise(drawn, np.zeros(200), np.zeros(200), LAW)
    assert (check.too_small, check.too_large) == (small, large)


def test_release_verify_and_report(reviews: pv.Reviews, tmp_path: Path) -> None:
    release = pv.release(reviews, public="all", mechanism=Mixture(epsilon=1.0))
    assert release.guarantee.epsilon == 1.0
    assert mechanism_from(release.mechanism) == Mixture(scale=release.mechanism["scale"])
    assert release.estimator == "safe"  # the law is known
    release.save(tmp_path / "out")
    assert Mixture.sentence in (tmp_path / "out" / "report.html").read_text()
    result = pv.verify(tmp_path / "out", pv.weigh(reviews.public("all")))
    assert result.verified, result
    assert {check.name: check.result for check in result.checks}["noise"] == "holds"
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    document["mechanism"]["scale"] /= 2
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged" / "release.json").write_text(json.dumps(document))
    assert "guarantee" in pv.verify(tmp_path / "forged", pv.weigh(reviews.public("all"))).failed


def test_a_plan_compares_it(reviews: pv.Reviews, tmp_path: Path) -> None:
    plan = pv.plan(reviews.public("all"), epsilons=[1.0], draws=2, workers=1)
    (row, *_) = [choice for choice in plan.choices if choice.mechanism == "mixture"]
    assert row.make() == Mixture(epsilon=1.0)
    write_plan(plan, tmp_path)
    assert "mixture" in (tmp_path / "plan.svg").read_text()


def test_the_audit_holds_its_noise_against_its_law() -> None:
    assert audit(Mixture(epsilon=1.0), draws=400, case="one-load", workers=1).passed
    honest = noise._DRAWS["mixture"]
    noise._DRAWS["mixture"] = lambda law, length: honest(MixtureLaw(law.scale / 4), length)._replace(loss=lambda _: 0.0)
    found = audit(Mixture(epsilon=1.0), draws=400, case="one-load", workers=1)
    assert found.worst.noise == "smaller"
    drawn = LAW.draw(np.random.default_rng(1), 4000)
    assert [noise_differs(LAW, factor * drawn, 1e-6) for factor in (0.5, 1.0, 2.0)] == ["smaller", "", "larger"]


def peerveil(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "peerveil", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line(reviews: pv.Reviews, tmp_path: Path) -> None:
    words = ("--public", "all", "--mechanism", "mixture", "--epsilon", "1")
    peerveil(tmp_path, "release", "reviews.csv", *words, "--no-report", "-o", "out")
    assert pv.Release.load(tmp_path / "out").mechanism["name"] == "mixture"
    assert pv.verify(tmp_path / "out", pv.weigh(reviews.public("all"))).verified


@pytest.mark.slow
def test_the_page(reviews: pv.Reviews, tmp_path: Path) -> None:
    jobs = Jobs()
    page = Page(jobs=jobs)
    try:
        case = Case(tmp_path)
        shown = bytes(page.show("chair_choices.html", case=case, here="choices", picture="").body).decode()
        assert f'<option value="mixture" >{Mixture.label}</option>' in shown
        said: dict[str, Any] = {"file": "reviews.csv", "public": "all", "quantity": "ratings", "unit": "reviewer"}
        said |= {"mechanism": "mixture", "epsilon": 1.0}
        task = Task(kind="release", folder=str(tmp_path), options=said, output=str(tmp_path / "made"))
        job = jobs.start(task, title="Releasing", ahead="", back="")
        assert job.finished.wait(600)
        assert job.state == "done", job.message
        assert pv.Release.load(tmp_path / "made" / "bundle").mechanism["name"] == "mixture"
    finally:
        page.close()


def test_setting_an_entry_of_the_registry_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="register"):
        OWN["mixture"] = Mixture
    assert mechanism_from({"name": "mixture", "scale": 2.0}) == Mixture(scale=2.0)


def test_an_extension_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEERVEIL_EXTENSIONS", "json, nowhere_to_be_found")
    with pytest.raises(
        pv.InputError, match="PEERVEIL_EXTENSIONS must name modules that can be imported, got 'nowhere_"
    ):
        load_extensions()


def test_noise_without_a_draw_is_refused_before_anything_is_spent(reviews: pv.Reviews) -> None:
    draw = noise._DRAWS.pop("mixture")
    try:
        with pytest.raises(pv.InputError, match="mechanism must be one whose noise Peerveil draws"):
            pv.release(reviews, public="all", mechanism=Mixture(epsilon=1.0))
    finally:
        noise._DRAWS["mixture"] = draw


def test_the_claim_covers_the_law(reviews: pv.Reviews) -> None:
    bound = sensitivity(pv.weigh(reviews.public("all")), "reviewer")
    settled = Mixture(epsilon=0.7).settle(bound)
    assert settled.guarantee(bound, "reviewer").epsilon == pytest.approx(0.7)
    assert settled.law.loss(np.array([bound.l1])).epsilon <= 0.7
    assert settled.widened(2.0).law.deviation == pytest.approx(2 * settled.law.deviation)


def test_names_of_mechanisms_are_taken_once() -> None:
    class Impostor(pv.Laplace):
        pass

    with pytest.raises(pv.InputError, match="'laplace' is a mechanism already"):
        register(Impostor)
    with pytest.raises(pv.InputError, match="noise of 'laplace' is drawn already"):
        noise.draws(Impostor)(lambda _law, _length: noise.Source(list))
    assert OWN["laplace"] is pv.Laplace
