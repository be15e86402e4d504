"""Effects and tables by an attribute in several tracks: files, charges, what verify accepts, and what is refused."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.private.charging import Spending
from peerveil.private.effects import prepare_effect
from peerveil.private.grouped.tracks import TrackAnswers, prepare_tracks
from private.test_effects import files
from releases.test_effect import conference

__all__ = ["run"]  # a fixture

TRACKS = {f"p{p:04d}": ("systems", "theory", "vision")[p % 3] for p in range(120)}


def released(kind: str, epsilon: float = 1.0, **other: Any) -> TrackAnswers[Any]:
    asked: dict[str, Any] = {"by": "arm", "public": "all", "epsilon": epsilon} | other
    with warnings.catch_warnings(action="ignore"):
        if kind == "effect":
            return pv.effect_groups(conference(), TRACKS, compare=("treated", "control"), **asked)
        return pv.release_by_groups(conference(), TRACKS, values=("treated", "control"), **asked)


def weights_of(track: str) -> pv.PublicWeights:
    part = conference().only([paper for paper, name in TRACKS.items() if name == track])
    return pv.weigh(part.public("all", declare_kept=True))


@pytest.mark.parametrize("kind", ["effect", pytest.param("crosstab", marks=pytest.mark.slow)])
def test_each_track_is_written_read_and_verified(kind: str, tmp_path: Path) -> None:
    made = released(kind)
    assert sorted(made.answers) == ["systems", "theory", "vision"]
    assert made.guarantee.epsilon is not None
    assert 1.0 < made.guarantee.epsilon <= 3.0
    for track, answer in made.answers.items():
        answer.save(tmp_path / track)
        again = type(answer).load(tmp_path / track)
        assert again.group == answer.group
        assert again.to_json() == answer.to_json()
        assert answer.group.together == made.guarantee
        assert answer.charged_as.endswith("in 3 groups")
        assert pv.verify(tmp_path / track, weights_of(track))


@pytest.mark.promise("P-TRACKS-3")
@pytest.mark.parametrize("kind", ["effect", "crosstab"])
def test_joint_claims_that_do_not_follow_are_refused(kind: str) -> None:
    answer = released(kind, 30.0).answers["theory"]
    weights, group = weights_of("theory"), answer.group
    assert pv.verify(answer, weights)
    weaker = replace(group.together, epsilon=group.together.epsilon / 2)
    first = group.claims[0]
    halved = replace(first.claim, epsilon=first.claim.epsilon / 2)
    sums = first.sums and replace(first.sums, exchange=first.sums.exchange / 2, square=first.sums.square / 2)
    scale = first.scale and 2 * first.scale
    cheap = replace(first, claim=halved, sums=sums, scale=scale)
    forged = [
        replace(answer, group=replace(group, together=weaker)),
        replace(answer, notes=answer.notes[:-1]),
        replace(answer, notes=(*answer.notes[:-1], replace(group, together=weaker).note)),
        replace(answer, group=replace(group, claims=(cheap,) * 3)),
        replace(answer, group=None),
        replace(answer, public=answer.public.replace(", in each group of papers", "")),
    ]
    for one in forged:
        assert not pv.verify(one, weights)
    assert not pv.verify(answer, weights_of("systems"))


@pytest.mark.promise("P-EFFECT-5")
def test_all_tracks_are_charged_once_and_finished_without_another_charge(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    book = pv.Ledger.create(place)
    book.open("conf", unit="reviewer", epsilon=5.0)
    made = released("effect", ledger=place)
    assert len(book.history("conf")) == 1
    asked: dict[str, Any] = {"by": "arm", "compare": ("treated", "control"), "public": "all"}
    ready = prepare_tracks(prepare_effect, conference(), TRACKS, mechanism=pv.Laplace(epsilon=0.1), **asked)
    cost = made.guarantee.epsilon or 0.0
    assert ready.quotes(place, None)[0].left == pytest.approx(5.0 - cost)
    with warnings.catch_warnings(action="ignore"):
        with Spending(place) as first:
            one = ready.draw(first, None)
        with Spending(place) as second:
            other = ready.draw(second, None)
    assert len(book.history("conf")) == 2
    assert [a.to_json() for a in one.answers.values()] == [
        replace(b, created=a.created).to_json()
        for a, b in zip(one.answers.values(), other.answers.values(), strict=True)
    ]
    with pytest.raises(pv.BudgetError):
        released("crosstab", 4.0, ledger=place)


def test_what_does_not_go_with_tracks_is_refused() -> None:
    with pytest.raises(pv.InputError, match=r"^group .systems.: sizes go with whole conferences"):
        released("crosstab", sizes=(45, 45))
    with pytest.raises(pv.RecordError, match="in no group of groups"):
        pv.effect_groups(conference(), {}, by="arm", compare=("treated", "control"), public="all", epsilon=1.0)


def test_the_command_line_releases_tracks(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, conference())
    (tmp_path / "tracks.csv").write_text("paper,track\n" + "".join(f"{p},{t}\n" for p, t in TRACKS.items()))
    what = ["reviews.csv", "--attributes", "reviewers.csv", "--by", "arm", "--public", "all", "--score-scale", "1,10"]
    what += ["--epsilon", "1", "--groups", "tracks.csv"]
    dry = run("effect", *what, "--compare", "treated,control", "--dry-run")
    assert dry.code == 0, dry.err
    assert "claim of all" in dry.out
    made = run("effect", *what, "--compare", "treated,control", "-o", "effects", "--json")
    assert made.code == 0, made.err
    assert [group["group"] for group in json.loads(made.out)["groups"]] == ["systems", "theory", "vision"]
    table = run("release", *what, "--values", "treated,control", "-o", "tables")
    assert table.code == 0, table.err
    checked = ["--public", "public.csv", "--score-scale", "1,10", "--groups", "tracks.csv"]
    for folder in ("effects/theory", "tables/vision"):
        assert run("verify", folder, *checked).code == 0
    for arguments, message in (
        (["effect", *what, "--compare", "treated,control", "--plan"], "--dry-run"),
        (["release", *what, "--values", "treated,control", "--no-shared-reviewers", "-o", "new"], "shows in both"),
    ):
        refused = run(*arguments)
        assert refused.code == 2
        assert message in refused.err
    assert not (tmp_path / "new").exists()
