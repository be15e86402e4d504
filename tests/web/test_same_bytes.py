"""Page, command line and Python write the same bytes for the same choices."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from marks import slow
from peerveil.cli import main
from peerveil.record.public_files import write_public
from peerveil.releases.effects.answers import FILES as ANSWER_FILES
from peerveil.releases.effects.answers import Answer
from peerveil.releases.release import FILES, Release
from peerveil.web import work
from peerveil.web.cases import Case
from peerveil.web.earlier import add_earlier
from peerveil.web.work import Task
from repeatable import make_repeatable

ROWS = [(f"p{i}", f"r{(i * 3 + j) % 8}", (i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]
TRACK = {f"p{i}": ("Theory", "Systems & nets")[i % 2] for i in range(12)}

GROUP = {f"r{j}": ("senior", "junior")[j % 2] for j in range(8)}

#: Folders of earlier releases.
EARLIER = ("2024", "2025")

#: The releases by their folders; without tracks, the folder is that of the output.
Releases = dict[str, Release | Answer]


@dataclass(frozen=True)
class Choices:
    """The same choices in three ways: a call of the library, options of the command line, answers on the page."""

    python: Callable[[], Releases]
    options: str
    answers: dict[str, Any]
    command: str = "release"
    files: tuple[str, ...] = FILES


def whole(*, reading: dict[str, Any] | None = None, **how: Any) -> Releases:
    reviews = pv.read("reviews.csv", **{"scale": (1, 9)} | (reading or {}))
    return {"": pv.release(reviews, **{"public": "all"} | how)}


def hidden() -> Releases:
    reviews = pv.read("reviews.csv", scale=(1, 9))
    public = pv.read_public("public.csv", reviewers=8, loads=(1, 6), scale=(1, 9))
    return {"": pv.release(reviews, public=public, mechanism=pv.Histogram(epsilon=0.5, bins=4))}


def by_track(**how: Any) -> Releases:
    reviews = pv.read("reviews.csv", scale=(1, 9))
    made = pv.release_groups(reviews, TRACK, public="all", mechanism=pv.Laplace(epsilon=0.5), **how)
    return {name.replace(" & ", "-"): release for name, release in made.releases.items()}


def grouped() -> pv.Reviews:
    return pv.read("reviews.csv", scale=(1, 9), attributes="people.csv")


def by_seniority() -> Releases:
    groups = ("senior", "junior")
    how: dict[str, Any] = {"epsilon": 2.0, "bins": 3, "sizes": (4, 4)}
    return {"": pv.release_by(grouped(), by="seniority", values=groups, public="all", **how)}


def difference() -> Releases:
    how: dict[str, Any] = {"epsilon": 2.0, "others": True, "randomised": True, "limits": (2.0, 8.0)}
    return {"": pv.effect(grouped(), by="seniority", compare=("senior", "junior"), public="all", **how)}


def groups_by_track(kind: str) -> Releases:
    how: dict[str, Any] = {"by": "seniority", "public": "all", "epsilon": 2.0}
    if kind == "shares":
        made: pv.TrackAnswers[Any] = pv.release_by_groups(grouped(), TRACK, values=("senior", "junior"), bins=3, **how)
    else:
        made = pv.effect_groups(grouped(), TRACK, compare=("senior", "junior"), **how)
    return {name.replace(" & ", "-"): answer for name, answer in made.answers.items()}


def after_others() -> Releases:
    return whole(mechanism=pv.Histogram(epsilon=1.0, bins=4), estimator="bayes", prior=pv.pool(EARLIER))


CHOICES = {
    "earlier releases": Choices(
        after_others,
        "--mechanism histogram --epsilon 1 --bins 4 --estimator bayes --prior .pooled/prior.json",
        {"mechanism": "histogram", "epsilon": 1.0, "bins": 4, "estimator": "bayes", "prior": ".pooled/prior.json"},
    ),
    "a plan": Choices(lambda: whole(epsilon=1.0), "--epsilon 1", {"epsilon": 1.0}),
    "histogram": Choices(
        lambda: whole(mechanism=pv.Histogram(epsilon=0.5, bins=4), unit="review", estimator="bayes"),
        "--mechanism histogram --epsilon 0.5 --bins 4 --unit review --estimator bayes",
        {"mechanism": "histogram", "epsilon": 0.5, "bins": 4, "unit": "review", "estimator": "bayes"},
    ),
    "gaussian": Choices(
        lambda: whole(quantity="miscalibration", mechanism=pv.Gaussian(epsilon=1.0, delta=1e-6), region="envelope"),
        "--quantity miscalibration --mechanism gaussian --epsilon 1 --delta 1e-6 --region envelope",
        {"quantity": "miscalibration", "mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "region": "envelope"},
    ),
    "hidden scores": Choices(
        hidden,
        "--public public.csv --reviewers 8 --loads 1-6 --mechanism histogram --epsilon 0.5 --bins 4",
        {"public": "public.csv", "reviewers": 8, "loads": "1-6", "mechanism": "histogram", "epsilon": 0.5, "bins": 4},
    ),
    "no scores": Choices(
        lambda: whole(public="none", mechanism=pv.Laplace(epsilon=1.0)),
        "--public none --mechanism laplace --epsilon 1",
        {"public": "none", "mechanism": "laplace", "epsilon": 1.0},
    ),
    "a filter": Choices(
        lambda: whole(
            reading={"leave_out": "Decision=Withdrawn", "visible_column": "Decision=paper"},
            mechanism=pv.Histogram(epsilon=1.0),
        ),
        "--leave-out Decision=Withdrawn --visible-column Decision=paper --mechanism histogram --epsilon 1",
        {
            "leave_out": "Decision=Withdrawn",
            "visible_column": "Decision=paper",
            "mechanism": "histogram",
            "epsilon": 1.0,
        },
    ),
    "title and authors": Choices(
        lambda: whole(
            mechanism=pv.Laplace(epsilon=1.0),
            licence="CC-BY-4.0",
            about=pv.About(
                title="Our <reviewers>",
                conference="Conf",
                year=2026,
                authors=["Ada Lovelace", "Alan Turing"],
                contact="chair@conf.example",
                url="https://conf.example/",
            ),
        ),
        "--mechanism laplace --epsilon 1 --licence CC-BY-4.0 --title 'Our <reviewers>' --conference Conf --year 2026 "
        "--author 'Ada Lovelace' --author 'Alan Turing' --contact chair@conf.example --url https://conf.example/",
        {
            "mechanism": "laplace",
            "epsilon": 1.0,
            "licence": "CC-BY-4.0",
            "title": "Our <reviewers>",
            "conference": "Conf",
            "year": 2026,
            "author": ["Ada Lovelace; Alan Turing"],
            "contact": "chair@conf.example",
            "url": "https://conf.example/",
        },
    ),
    "a declared number": Choices(
        lambda: whole(
            reading={"leave_out": "Decision=Withdrawn", "visible_column": "Decision=paper"},
            mechanism=pv.Laplace(epsilon=1.0),
            declare_kept=True,
        ),
        "--leave-out Decision=Withdrawn --visible-column Decision=paper --mechanism laplace --epsilon 1 --declare-kept",
        {"leave_out": "Decision=Withdrawn", "visible_column": "Decision=paper", "declare_kept": True}
        | {"mechanism": "laplace", "epsilon": 1.0},
    ),
    "tracks by a column": Choices(
        by_track,
        "--mechanism laplace --epsilon 0.5 --group-column Track",
        {"mechanism": "laplace", "epsilon": 0.5, "group_column": "Track"},
    ),
    "titled tracks by a table": Choices(
        lambda: by_track(licence="CC0-1.0", citation="Cite us.", about=pv.About(conference="Conf", authors=["A", "B"])),
        "--mechanism laplace --epsilon 0.5 --groups tracks.csv --licence CC0-1.0 --citation 'Cite us.' "
        "--conference Conf --author A --author B",
        {"mechanism": "laplace", "epsilon": 0.5, "groups": "tracks.csv", "licence": "CC0-1.0"}
        | {"citation": "Cite us.", "conference": "Conf", "author": ["A; B"]},
    ),
    "another column": Choices(
        lambda: whole(reading={"score": "confidence"}, quantity="column confidence", mechanism=pv.Laplace(epsilon=1.0)),
        "--weight confidence --mechanism laplace --epsilon 1",
        {"weight": "confidence", "mechanism": "laplace", "epsilon": 1.0},
    ),
    "groups of reviewers": Choices(
        by_seniority,
        "--by seniority --values senior,junior --attributes people.csv --epsilon 2 --bins 3 --sizes 4,4",
        {"question": "shares", "by": "seniority", "values": "senior,junior", "attributes": "people.csv"}
        | {"epsilon": 2.0, "bins": 3, "sizes": "4,4"},
        files=ANSWER_FILES,
    ),
    "a difference of groups": Choices(
        difference,
        "--by seniority --compare senior,junior --attributes people.csv --epsilon 2 --others --randomised --limits 2,8",
        {"question": "difference", "by": "seniority", "compare": "senior,junior", "attributes": "people.csv"}
        | {"epsilon": 2.0, "others": True, "randomised": True, "limits": "2,8"},
        command="effect",
        files=ANSWER_FILES,
    ),
    "groups in tracks": Choices(
        lambda: groups_by_track("shares"),
        "--by seniority --values senior,junior --attributes people.csv --epsilon 2 --bins 3 --groups tracks.csv",
        {"question": "shares", "by": "seniority", "values": "senior,junior", "attributes": "people.csv"}
        | {"epsilon": 2.0, "bins": 3, "groups": "tracks.csv", "no_shared_reviewers": False},
        files=ANSWER_FILES,
    ),
    "a difference in tracks": Choices(
        lambda: groups_by_track("difference"),
        "--by seniority --compare senior,junior --attributes people.csv --epsilon 2 --group-column Track",
        {"question": "difference", "by": "seniority", "compare": "senior,junior", "attributes": "people.csv"}
        | {"epsilon": 2.0, "group_column": "Track", "no_shared_reviewers": False},
        command="effect",
        files=ANSWER_FILES,
    ),
}


@pytest.mark.usefixtures("quick_plans")
@pytest.mark.filterwarnings("ignore:.*fewer than 20 reviewers")
@pytest.mark.parametrize("name", [name if name == "title and authors" else slow(name) for name in CHOICES])
def test_the_same_choices_give_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = CHOICES[name]
    make_repeatable(monkeypatch)
    monkeypatch.chdir(tmp_path)
    lines = [f"{p},{r},{s},{TRACK[p]},{'Withdrawn' if p == 'p3' else 'Accept'},{10 - s}" for p, r, s in ROWS]
    Path("reviews.csv").write_text("\n".join(["paper,reviewer,score,Track,Decision,confidence", *lines]))
    Path("people.csv").write_text(
        "\n".join(["reviewer,seniority", *(f"{who},{group}" for who, group in GROUP.items())])
    )
    Path("tracks.csv").write_text("\n".join(["paper,track", *(f"{paper},{track}" for paper, track in TRACK.items())]))
    shown = [f"{p},{'?' if number % 5 == 0 else s}" for number, (p, _, s) in enumerate(ROWS)]
    Path("public.csv").write_text("\n".join(["paper,score", *shown]))

    if "prior" in choices.answers:
        case = Case(tmp_path)
        for year in EARLIER:
            papers, people, scores = zip(*ROWS, strict=True)
            others = [(score + int(year)) % 9 + 1 for score in scores]
            earlier = pv.Reviews.from_columns(papers, people, others, scale=(1, 9))
            pv.release(earlier, public="all", mechanism=pv.Histogram(epsilon=1.0, bins=4)).save(year, report=False)
            arrived = Path(shutil.copyfile(f"{year}/release.json", tmp_path / f"{year}.json"))
            add_earlier(case, arrived, name=f"{year}.json", several=False)
        assert case.options()["prior"] == choices.answers["prior"]
    made = choices.python()
    for folder, release in made.items():
        release.save(Path("python") / folder)
    command = [choices.command, "reviews.csv", "--score-scale", "1,9", "-o", "typed", *shlex.split(choices.options)]
    typed(*command, *([] if "--public" in command else ["--public", "all"]), monkeypatch=monkeypatch)
    answers = {"file": "reviews.csv", "score_scale": "1,9", "public": "all"} | choices.answers
    task = Task(kind="release", folder=str(tmp_path), options=answers, output="page")
    state, result = work._outcome(task, lambda _: None)
    assert state == "done", result
    for folder in made:
        for file in choices.files:
            first = (Path("python") / folder / file).read_bytes()
            assert (Path("typed") / folder / file).read_bytes() == first, (folder, file)
            assert (Path("page") / folder / "bundle" / file).read_bytes() == first, (folder, file)
    assert len(made) == (2 if "tracks" in name else 1)
    assert {path.name for path in Path("typed").iterdir()} == {path.name for path in Path("python").iterdir()}


def typed(*command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command."""
    monkeypatch.setattr(sys, "argv", ["peerveil", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


@pytest.mark.parametrize("source", ["release", slow("vector")])
def test_refined_releases_and_public_scores_are_the_same_bytes(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repeatable(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("\n".join(["paper,reviewer,score", *(f"{p},{r},{s}" for p, r, s in ROWS)]))
    reviews = pv.read("reviews.csv", scale=(1, 9))
    typed("inspect", "reviews.csv", "--score-scale", "1,9", "--write-public", "public.csv", monkeypatch=monkeypatch)
    reading = {"file": "reviews.csv", "score_scale": "1,9"}
    task = Task(kind="public", folder=str(tmp_path), options=reading, output="offered.csv")
    assert work._outcome(task, lambda _: None)[0] == "done"
    write_public(reviews.public("all"), "library.csv")
    assert Path("public.csv").read_bytes() == Path("offered.csv").read_bytes() == Path("library.csv").read_bytes()

    weights = pv.weigh(reviews.public("all"))
    form: dict[str, Any] = {"estimator": "projection"}
    if source == "release":
        made = whole(mechanism=pv.Histogram(epsilon=1.0, bins=4), estimator="bayes")[""]
        made.save("given")
        assert isinstance(made, Release)
        refined = pv.refine(made, weights, estimator="projection")
        given = "given/release.json"
        more: tuple[str, ...] = ("--estimator", "projection")
    else:
        Path("noisy.txt").write_text("\n".join(map(str, range(1, 9))))
        weights = pv.weigh(pv.read_public("public.csv", load=3))
        refined = pv.refine([*map(float, range(1, 9))], weights, mechanism=pv.Laplace(scale=0.5))
        given, form = "noisy.txt", {"law": "known", "noise_scale": 0.5, "load": 3}
        more = ("--noise-scale", "0.5", "--load", "3")
    refined.save("python")
    typed("refine", given, "--public", "public.csv", "-o", "typed", *more, monkeypatch=monkeypatch)
    task = Task(
        kind="refine", folder=str(tmp_path), options={"noisy": given, "public": "public.csv"} | form, output="page"
    )
    state, result = work._outcome(task, lambda _: None)
    assert state == "done", result
    for file in FILES:
        first = (Path("python") / file).read_bytes()
        assert (Path("typed") / file).read_bytes() == first, file
        assert (Path("page") / "bundle" / file).read_bytes() == first, file
