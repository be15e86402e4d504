"""What the page promises is what the release then states, whatever the options are."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from marks import slow
from peerveil.app.batch.venues import venues_from_toml
from peerveil.app.ledger import Spending
from peerveil.app.options import NoiseOptions, changed, filled
from peerveil.app.parsing import mechanism_or_auto
from peerveil.app.release import placed, release
from peerveil.app.requests import ReleaseRequest
from peerveil.errors import OutputError, PeerveilError
from peerveil.private.batch.venue import Venue
from peerveil.releases.release import Release
from peerveil.web import work
from peerveil.web.labels import Problem
from peerveil.web.work import Task, request_of

ROWS = [(f"p{i}", f"r{(i * 3 + j) % 8}", (i + 2 * j) % 9 + 1, (i + j) % 5 + 1) for i in range(12) for j in range(2)]
LONE = ("q", "r1", 4, 3)

NOISE: tuple[dict[str, Any], ...] = (
    {"mechanism": "laplace", "epsilon": 1.0},
    {"mechanism": "histogram", "epsilon": 0.5, "bins": 4},
    {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6},
    {"mechanism": "sinh-normal", "rho": 1.0, "omega": 2.0},
    {"mechanism": "sinh-normal", "rho": 1.0, "omega": 2.0, "accept_float_noise": True},
    {"mechanism": "auto", "epsilon": 1.0, "rho": 1.0},
)
FILES: tuple[dict[str, Any], ...] = (
    {"file": "whole.csv", "public": "all"},
    {"file": "whole.csv", "public": "none", "score_scale": "1,10"},
    {"file": "whole.csv", "public": "none"},
    {"file": "whole.csv", "public": "public.csv", "load": 3},
    {"file": "lone.csv", "public": "all"},
    {"file": "gaps.csv", "public": "all", "missing_score": "leave-out"},
    {"file": "gaps.csv", "public": "all", "missing_score": "leave-out", "declare_kept": True},
)
WHAT: tuple[dict[str, Any], ...] = (
    {"quantity": "ratings", "unit": "reviewer"},
    {"quantity": "ratings", "unit": "review", "region": "envelope", "estimator": "projection"},
    {"quantity": "miscalibration", "unit": "review", "lone": "zero", "region": "chain", "estimator": "projection"},
    {"quantity": "miscalibration", "unit": "reviewer", "region": "hull"},
    {"quantity": "normalized", "unit": "reviewer", "criteria": "clarity", "region": "baseline"},
)
COMBINATIONS = [first | second | third for first, second, third in itertools.product(FILES, NOISE, WHAT)]
#: Every file with every noise, and each of them with every quantity.
SOME = [first | second | WHAT[(i + j) % 5] for i, first in enumerate(FILES) for j, second in enumerate(NOISE)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    heading = "paper,reviewer,score,clarity\n"
    rows = [",".join(map(str, row)) for row in ROWS]
    (tmp_path / "whole.csv").write_text(heading + "\n".join(rows))
    (tmp_path / "lone.csv").write_text(heading + "\n".join([*rows, ",".join(map(str, LONE))]))
    (tmp_path / "gaps.csv").write_text(heading + "\n".join([*rows, "z,r8,,3", "z,r9,5,3"]))
    shown = "\n".join(f"{paper},{score},{clarity}" for paper, _, score, clarity in ROWS)
    (tmp_path / "public.csv").write_text(f"paper,score,clarity\n{shown}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def released(task: Task) -> Release | str:
    """The release that the page would make, without its pictures; or why it is refused."""
    request = request_of(ReleaseRequest, task)
    try:
        with Spending(None) as spending:
            made = release(request, spending, step=lambda _: None, write=lambda *_: None).release
    except PeerveilError as error:
        return Problem.of(error).words
    assert isinstance(made, Release)
    return made


@pytest.mark.parametrize("combinations", [slow(SOME), slow(COMBINATIONS)], ids=["some", "all"])
def test_the_promise_of_the_page_is_what_the_release_states(folder: Path, combinations: list[dict[str, Any]]) -> None:
    refused: list[str] = []
    for number, said in enumerate(combinations):
        task = Task(kind="promise", folder=str(folder), options=said, output=str(folder / f"made-{number}"))
        state, promised = work._outcome(task, lambda _: None)
        made = released(task)
        if isinstance(made, str):
            assert (state, promised.words) == ("failed", made), said
            refused.append(made)
            continue
        assert state == "done", (said, promised)
        assert promised["summary"] == made.guarantee.summary, said
        assert promised["promise"] == made.promise, said
        assert promised["not_protected"] == made.not_protected, said
        name, scale = made.mechanism["name"], made.mechanism.get("scale") or 0.0
        assert isinstance(scale, float)
        assert promised["counted"] == (name == "histogram"), said
        if name in ("laplace", "gaussian"):
            assert promised["reviewers"] == made.reviewers, said
            deviation = scale * (2**0.5 if name == "laplace" else 1)
            assert promised["noise"] == (f"{deviation:.3g}" if scale else None), said
    assert 10 <= len(refused) <= len(combinations) - 10, "many of both kinds are tried"
    for words in ("floating point", "Reviewers with a kept review", "The score scale", "auto", "hull", "single review"):
        assert any(words in one for one in refused), words


def test_options_are_filled_from_what_was_said_and_back() -> None:
    said = {"file": "a.csv", "output": "out", "epsilon": 1.0, "public": "all", "load": 4, "no_report": True}
    request = filled(ReleaseRequest, said | {"nothing": 3})
    assert (request.noise.epsilon, request.what.public, request.loads.load) == (1.0, "all", 4)
    assert changed(request) == said


@pytest.mark.parametrize(
    ("noise", "name"),
    [
        ({"epsilon": 1.0}, "auto"),
        ({"epsilon": 1.0, "delta": 1e-6}, "auto"),
        ({"noise_scale": 1.0}, "laplace"),
        ({"epsilon": 1.0, "bins": 9}, "histogram"),
        ({"rho": 0.1}, "gaussian"),
        ({"rho": 1.0, "omega": 2.0}, "sinh-normal"),
    ],
)
def test_noise_without_a_name_gets_the_mechanism_that_takes_it(noise: dict[str, Any], name: str) -> None:
    assert mechanism_or_auto(NoiseOptions(**noise)).name == name


@pytest.mark.parametrize("noise", [{}, {"delta": 1e-6}, {"noise_scale": 1.0, "rho": 0.1}, {"bins": 9}])
def test_noise_without_a_budget_or_of_no_mechanism_is_refused(noise: dict[str, Any]) -> None:
    with pytest.raises(PeerveilError):
        mechanism_or_auto(NoiseOptions(**noise))


@pytest.mark.parametrize(
    ("file", "folder"),
    [("reviews.csv", "reviews-release"), ("a/b/conf.2026.csv.gz", "conf.2026-release"), ("x", "x-release")],
)
def test_the_default_folder_is_named_after_the_file(
    file: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    request = filled(ReleaseRequest, {"file": file, "epsilon": 1.0, "public": "all", "overwrite": True})
    assert placed(request).output == folder
    (tmp_path / folder).symlink_to("nowhere")
    with pytest.raises(OutputError, match="already exists; name another output folder with output="):
        placed(request)


def test_a_venue_of_a_batch_can_declare_the_kept_loads(folder: Path) -> None:
    (folder / "venues.toml").write_text(
        '[[venue]]\nname = "x"\nfile = "gaps.csv"\npublic = "all"\nepsilon = 1\n'
        'missing-score = "leave-out"\ndeclare-kept = true\n'
    )
    (venue,), ledger = venues_from_toml("venues.toml", str)
    assert ledger is None
    assert isinstance(venue, Venue)
    assert venue.declare_kept
    assert venue.ready().weights.reviewers == 8
