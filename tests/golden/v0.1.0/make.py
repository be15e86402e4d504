"""Write the frozen files of version 0.1.0 into this folder. Run it with Peerveil 0.1.0 only.

Each part replaces what it wrote before: ``python make.py releases ledger batch mapping plan sweep commands``. Noise is
real and has no seed, so a second run writes other numbers; the committed files are those of one run.
SHA256SUMS holds their digests.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from peerveil.public_files import write_public
from peerveil.simulate import Conference, synthetic_conference
from peerveil.version import software

import peerveil as pv
from peerveil.private import batch as batches
from peerveil.private import ledger as ledgers
from peerveil.private.release import Ready

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
CRITERIA = ("clarity", "soundness")
SCALE = (1.0, 10.0)

#: What varies between the stored releases. Every pair of values that is possible occurs in at least one of them.
FACTORS: dict[str, tuple[str, ...]] = {
    "mechanism": ("laplace", "gaussian", "sinh-normal", "histogram", "external"),
    "quantity": ("ratings", "miscalibration", "normalized", "subjectivity"),
    "unit": ("reviewer", "review"),
    "public": ("all", "none", "record"),
    "tracks": ("whole", "shared", "apart"),
    "loads": ("one", "mixed"),
    "region": ("tight", "envelope"),
    "estimator": ("safe", "projection", "bayes"),
}
#: These are stored with their report and pictures, the others as data alone.
COMPLETE = 6


# --- synthetic conferences -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """A synthetic conference as columns, with a track for each paper."""

    columns: dict[str, list[Any]]
    tracks: dict[str, str]

    def reviews(self, *, criteria: bool = True, missing: str = "refuse") -> pv.Reviews:
        graded = {name: self.columns[name] for name in CRITERIA} if criteria else None
        return pv.Reviews.from_columns(
            self.columns["paper"],
            self.columns["reviewer"],
            self.columns["score"],
            scale=SCALE,
            criteria=graded,
            missing_criteria=missing,  # type: ignore[arg-type]
        )


def conference(seed: int, *, reviewers: int = 24, load: int = 4, per_paper: int = 4) -> Conference:
    rng = np.random.default_rng(seed)
    return synthetic_conference(reviewers=reviewers, load=load, reviews_per_paper=per_paper, criteria=CRITERIA, rng=rng)


def meeting(seed: int, *, tracks: str = "whole", loads: str = "one", per_paper: int = 4) -> Meeting:
    """A conference of 24 reviewers; with tracks ``"apart"`` of two dozens who share no paper."""
    if tracks == "apart":
        halves = [conference(seed + k, reviewers=12, per_paper=per_paper).columns() for k in (0, 1000)]
        columns: dict[str, list[Any]] = {name: [] for name in halves[0]}
        for prefix, half in zip("ab", halves, strict=True):
            for name, cells in half.items():
                columns[name] += [f"{prefix}-{cell}" if isinstance(cell, str) else cell for cell in cells]
    else:
        columns = {name: list(cells) for name, cells in conference(seed, per_paper=per_paper).columns().items()}
    if loads == "mixed":  # two papers less: their reviewers have smaller loads than the others
        papers = sorted(set(columns["paper"]))
        kept = [place for place, name in enumerate(columns["paper"]) if name not in (papers[0], papers[-1])]
        columns = {name: [cells[place] for place in kept] for name, cells in columns.items()}
    papers = sorted(set(columns["paper"]))
    if tracks == "apart":
        named = {paper: "theory" if paper.startswith("a-") else "systems" for paper in papers}
    else:
        named = {paper: "theory" if place % 2 else "systems" for place, paper in enumerate(papers)}
    return Meeting(columns, named)


def public_part(reviews: pv.Reviews, statement: str) -> pv.PublicRecord:
    """What is public: everything, nothing but loads, or a record that hides every seventh review and states a range."""
    whole = reviews.public("none" if statement == "none" else "all")
    if statement != "record":
        return whole
    score = whole.score.copy()
    score[::7] = np.nan
    criteria = None
    if whole.criteria is not None:
        hidden = np.where(np.isnan(score)[:, None], np.nan, whole.criteria)
        criteria = dict(zip(whole.criteria_names, hidden.T, strict=True))
    sizes = whole.loads.sizes
    loads = pv.loads.declare_loads(
        score.size, loads=(min(sizes), max(sizes)), reviewers=whole.loads.reviewers, papers=len(whole.papers)
    )
    return pv.PublicRecord.from_reviews(list(whole.papers), whole.paper, score, loads, scale=SCALE, criteria=criteria)


# --- releases --------------------------------------------------------------------------------------------------------


def possible(case: dict[str, str]) -> bool:
    """Whether 0.1.0 can make such a release, as far as two values decide it."""
    graded = case.get("quantity") in ("normalized", "subjectivity")
    if case.get("public") == "none" and graded:
        return False  # what scores criteria deserve is learnt from public reviews
    if case.get("mechanism") == "external":  # a vector made private elsewhere: its law is not known, nor its unit
        return (
            case.get("unit", "reviewer") == "reviewer"
            and case.get("tracks", "whole") == "whole"
            and case.get("estimator", "projection") == "projection"
        )
    return True


def pairs_of(case: dict[str, str]) -> set[frozenset[tuple[str, str]]]:
    return {frozenset(pair) for pair in itertools.combinations(case.items(), 2)}


def covering() -> list[dict[str, str]]:
    """Few cases that together hold every possible pair of values."""
    rng = np.random.default_rng(1)
    wanted = {
        frozenset([(one, a), (other, b)])
        for one, other in itertools.combinations(FACTORS, 2)
        for a in FACTORS[one]
        for b in FACTORS[other]
        if possible({one: a, other: b})
    }
    whole = [
        case
        for values in itertools.product(*FACTORS.values())
        if possible(case := dict(zip(FACTORS, values, strict=True)))
    ]
    chosen = []
    while wanted:
        order = rng.permutation(len(whole))
        best = max((whole[place] for place in order), key=lambda case: len(pairs_of(case) & wanted))
        wanted -= pairs_of(best)
        chosen.append(best)
    return sorted(chosen, key=lambda case: tuple(values.index(case[name]) for name, values in FACTORS.items()))


def mechanism_of(name: str, number: int) -> Any:
    """A mechanism with a budget; every other one states it in another way."""
    odd = number % 2
    return {
        "laplace": pv.Laplace(scale=2.5) if odd else pv.Laplace(epsilon=1.0),
        "gaussian": pv.Gaussian(rho=0.25) if odd else pv.Gaussian(epsilon=2.0, delta=1e-6),
        "sinh-normal": pv.SinhNormal(rho=0.5, omega=6.0),
        "histogram": pv.Histogram(epsilon=1.0, bins=12) if odd else pv.Histogram(epsilon=2.0),
    }[name]


def squares(record: pv.PublicRecord) -> Any:
    """A quantity of a user's own."""
    return record.score**2


def stored(
    name: str,
    case: dict[str, Any],
    made: dict[str, pv.Release],
    record: pv.PublicRecord,
    *,
    complete: bool,
    tracks: dict[str, str] | None = None,
    **reading: Any,
) -> None:
    """Write releases with the public file and how to read it, and note what 0.1.0 itself says of them."""
    place = HERE / "releases" / name
    place.mkdir(parents=True)
    write_public(record, place / "public.csv")
    how: dict[str, Any] = {"case": case, "software": software(), "complete": complete, "scale": SCALE, "lone": "refuse"}
    how |= {"criteria": list(record.criteria_names), "missing_criteria": "refuse", "releases": []} | reading
    for group, release in made.items():
        folder = f"release/{group}" if group else "release"
        (place / folder).mkdir(parents=True)
        release.write_into(place / folder, report=complete)
        papers = sorted(paper for paper, track in tracks.items() if track == group) if tracks and group else None
        stated = release.loads.stated()
        if isinstance(stated.get("loads"), dict):
            stated["loads"] = {str(size): count for size, count in stated["loads"].items()}
        elif "loads" in stated:
            stated["loads"] = sorted(stated["loads"])  # JSON has no sets
        how["releases"].append({"folder": folder, "papers": papers, "loads": stated})
    text = json.dumps(how, indent=1, ensure_ascii=False) + "\n"
    (place / "how.json").write_text(text, encoding="utf-8")


def make_case(number: int, case: dict[str, str], *, complete: bool) -> None:
    held = meeting(number, tracks=case["tracks"], loads=case["loads"])
    graded = case["quantity"] in ("normalized", "subjectivity")
    reviews = held.reviews(criteria=graded)
    record = public_part(reviews, case["public"])
    name = f"{number:02d}-{case['mechanism']}-{case['quantity']}-{case['unit']}-{case['public']}-{case['tracks']}"
    common: dict[str, Any] = {"region": case["region"], "estimator": case["estimator"]}
    if case["mechanism"] == "external":
        rng = np.random.default_rng(number)
        weights = pv.weigh(record, case["quantity"])
        low, high = weights.span
        noisy = np.sort(rng.uniform(low, high, weights.reviewers)) + rng.laplace(0, 1, weights.reviewers)
        source = pv.External(words="Noise was added by the chairs of a synthetic conference.")
        made = {"": pv.refine(noisy, weights, mechanism=source, **common)}
        stored(name, {**case, "unit": None, "made": "refine"}, made, record, complete=complete)
        return
    common |= {
        "public": record if case["public"] == "record" else case["public"],
        "quantity": case["quantity"],
        "mechanism": mechanism_of(case["mechanism"], number),
        "unit": case["unit"],
        "accept_float_noise": case["mechanism"] == "sinh-normal",
    }
    if number % 3 == 0:
        common |= {"licence": "CC-BY-4.0", "citation": "The chairs of a synthetic conference, 2026."}
    if case["tracks"] == "whole":
        stored(name, {**case, "made": "release"}, {"": pv.release(reviews, **common)}, record, complete=complete)
        return
    with warnings.catch_warnings(action="ignore"):  # groups are small here
        groups = pv.release_groups(reviews, held.tracks, shared=case["tracks"] == "shared", **common)
    stored(name, {**case, "made": "release_groups"}, groups.releases, record, complete=complete, tracks=held.tracks)


def make_others(number: int) -> None:
    """What the covering set does not reach: auto, stated noise, lone reviews, missing criteria, functions, one load."""
    plain = {"region": "tight", "estimator": "safe", "tracks": "whole", "loads": "one", "unit": "reviewer"}

    def case(mechanism: str, quantity: str, public: str, made: str, **more: Any) -> dict[str, Any]:
        return {"mechanism": mechanism, "quantity": quantity, "public": public, "made": made} | plain | more

    reviews = meeting(100).reviews(criteria=False)
    record = reviews.public("all")
    weights = pv.weigh(record, "ratings")
    auto = pv.release(reviews, public="all", mechanism=pv.Auto(epsilon=1.0, workers=1))
    stored(
        f"{number}-auto",
        case(auto.mechanism["name"], "ratings", "all", "release", estimator=auto.estimator),
        {"": auto},
        record,
        complete=False,
    )
    rng = np.random.default_rng(101)
    noisy = np.sort(rng.uniform(3, 8, weights.reviewers)) + rng.laplace(0, 2, weights.reviewers)
    stated = pv.refine(noisy, weights, mechanism=pv.Laplace(scale=2.0))
    stored(
        f"{number + 1}-stated-laplace",
        case("laplace", "ratings", "all", "refine", unit=None),
        {"": stated},
        record,
        complete=False,
    )
    again = pv.refine(auto, weights, region="envelope", estimator="projection")
    stored(
        f"{number + 2}-refined-again",
        case(again.mechanism["name"], "ratings", "all", "refine", region="envelope", estimator="projection"),
        {"": again},
        record,
        complete=False,
    )
    lone = meeting(102)
    papers = lone.columns["paper"]
    rows = [row for row, name in enumerate(papers) if name != papers[0] or row == 0]  # one paper keeps a single review
    lone = Meeting({name: [cells[row] for row in rows] for name, cells in lone.columns.items()}, lone.tracks)
    reviews = lone.reviews(criteria=False)
    stored(
        f"{number + 3}-lone-zero",
        case("laplace", "miscalibration", "all", "release", loads="mixed"),
        {
            "": pv.release(
                reviews, public="all", quantity="miscalibration", mechanism=pv.Laplace(epsilon=1.0), lone="zero"
            )
        },
        reviews.public("all"),
        complete=False,
        lone="zero",
    )
    for offset, (name, quantity, mechanism) in enumerate(
        (("laplace", "subjectivity", pv.Laplace(epsilon=1.0)), ("histogram", "normalized", pv.Histogram(epsilon=1.0)))
    ):
        gaps = meeting(103 + offset)
        for row in (0, 17):
            gaps.columns["clarity"][row] = float("nan")
        reviews = gaps.reviews(missing="leave-out")
        made = pv.release(reviews, public="all", quantity=quantity, mechanism=mechanism)
        place = f"{number + 4 + offset}-left-out-{name}"
        stored(
            place,
            case(name, quantity, "all", "release", loads="mixed"),
            {"": made},
            reviews.public("all"),
            complete=False,
            missing_criteria="leave-out",
        )
        _with_gaps(HERE / "releases" / place / "public.csv", gaps)
    reviews = meeting(105).reviews(criteria=False)
    own = pv.release(reviews, public="all", quantity=squares, mechanism=pv.Laplace(epsilon=1.0))
    stored(
        f"{number + 6}-own-function",
        case("laplace", "squares", "all", "release"),
        {"": own},
        reviews.public("all"),
        complete=False,
    )
    single = conference(106, reviewers=20, load=1)
    reviews = pv.Reviews.from_columns(*(single.columns()[key] for key in ("paper", "reviewer", "score")), scale=SCALE)  # type: ignore[arg-type]
    free = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    stored(
        f"{number + 7}-nothing-to-hide",
        case("laplace", "ratings", "all", "release", estimator=free.estimator),
        {"": free},
        reviews.public("all"),
        complete=False,
    )


def _with_gaps(file: Path, held: Meeting) -> None:
    """The public file with the papers that were left out, and where their criteria are missing."""
    papers: dict[str, list[int]] = {}
    for row, name in enumerate(held.columns["paper"]):
        papers.setdefault(name, []).append(row)
    lines = [",".join(["paper", "ratings", *CRITERIA])]
    for name, rows in papers.items():
        cells = [
            ";".join("" if c != c else f"{c:g}" for c in (held.columns[key][k] for k in rows))  # noqa: PLR0124
            for key in ("score", *CRITERIA)
        ]
        lines.append(",".join([name, *cells]))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_releases() -> None:
    shutil.rmtree(HERE / "releases", ignore_errors=True)
    cases = covering()
    wanted = {round(k * (len(cases) - 1) / (COMPLETE - 1)) for k in range(COMPLETE)}
    for number, case in enumerate(cases):
        make_case(number, case, complete=number in wanted)
    make_others(len(cases))


# --- ledger ----------------------------------------------------------------------------------------------------------


def spend(place: str) -> None:
    """Budgets of two data sets, one of them for both units, and what six releases spend of them."""
    book = ledgers.Ledger.create(place)
    book.open("conf2025", "reviewer", epsilon=12.0, delta=1e-6, omega=6.0)
    book.open("conf2025", "review", epsilon=9.0, delta=1e-6, omega=6.0)
    book.open("conf2026", "reviewer", epsilon=3.0)
    held, other = meeting(200), meeting(201, loads="mixed")
    first, second = held.reviews(), other.reviews(criteria=False)
    numbers = (f"{number:016x}" for number in itertools.count(0x5EED))
    common: dict[str, Any] = {"public": "all", "region": "envelope", "estimator": "projection", "ledger": place}
    with (
        mock.patch.object(ledgers, "new_release_number", numbers.__next__),
        warnings.catch_warnings(action="ignore"),
    ):
        pv.release(first, mechanism=pv.Laplace(epsilon=0.5), dataset="conf2025", **common)
        pv.release(first, mechanism=pv.Gaussian(rho=0.05), quantity="miscalibration", dataset="conf2025", **common)
        pv.release(first, mechanism=pv.Histogram(epsilon=0.25), unit="review", dataset="conf2025", **common)
        pv.release_groups(first, held.tracks, mechanism=pv.Laplace(epsilon=0.25), dataset="conf2025", **common)
        pv.release(
            first, mechanism=pv.SinhNormal(rho=0.1, omega=8.0), dataset="conf2025", accept_float_noise=True, **common
        )
        pv.release(second, mechanism=pv.Laplace(epsilon=1.0), dataset="conf2026", **common)
        pv.release(second, mechanism=pv.Histogram(epsilon=0.75), dataset="conf2026", **common)


def facts_of(place: str) -> dict[str, Any]:
    """What a ledger says, but for times: the same of both databases."""
    book = ledgers.Ledger(place)
    accounts = [
        {
            "dataset": one.dataset,
            "unit": one.unit,
            "limit": one.budget.limit,
            "currency": one.budget.currency,
            "delta": one.budget.delta,
            "spent": one.spent,
            "left": one.left,
            "releases": len(one.spends),
        }
        for one in book.accounts()
    ]
    charges = [
        {
            "dataset": one.dataset,
            "unit": one.unit,
            "release": one.release,
            "epsilon": one.spend.epsilon,
            "rho": one.spend.rho,
            "omega": None if np.isinf(one.spend.omega) else one.spend.omega,
            "quantity": one.quantity,
            "released_unit": one.released_unit,
            "mechanism": one.mechanism,
            "software": one.software,
        }
        for one in book.history()
    ]
    return {"accounts": accounts, "charges": charges}


def make_ledger() -> None:
    sys.path.insert(0, str(TESTS))
    import postgres

    place = HERE / "ledger"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    spend(str(place / "ledger.db"))
    facts = facts_of(str(place / "ledger.db"))
    (place / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    with postgres.server() as (url, _):
        spend(url)
        assert facts_of(url) == facts
        dump = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname", url]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    # Newer versions of pg_dump write a command of psql's own around the SQL.
    kept = [line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]
    (place / "postgresql.sql").write_text("\n".join(kept).strip() + "\n", encoding="utf-8")


# --- batch -----------------------------------------------------------------------------------------------------------

VENUES = """\
ledger = "budgets.db"

[defaults]
public = "all"
epsilon = 0.5
region = "envelope"
score-scale = "1,10"
budget = { epsilon = 2 }

[[venue]]
name = "released"
file = "released.csv"

[[venue]]
name = "drawn"
file = "drawn.csv"
mechanism = "histogram"

[[venue]]
name = "charged"
file = "charged.csv"

[[venue]]
name = "waiting"
file = "waiting.csv"
"""


class Ended(BaseException):
    """The end of a process, as SIGKILL brings it: nothing is written afterwards."""


def make_batch() -> None:
    """A batch that was ended: one venue released, one drawn, one charged only, and one not begun."""
    from peerveil.cli.venues import venues_from_toml

    place = HERE / "batch"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "venues.toml").write_text(VENUES, encoding="utf-8")
    for number, name in enumerate(("released", "drawn", "charged", "waiting")):
        conference(300 + number, reviewers=20).write_csv(place / f"{name}.csv")
    found, ledger = venues_from_toml(str(place / "venues.toml"))
    venues = {venue.name: venue for venue in found if isinstance(venue, batches.Venue)}

    def ended(*_: object) -> Any:
        raise Ended

    with warnings.catch_warnings(action="ignore"):
        batches.run_batch([venues["released"]], place / "out", ledger=ledger, report=False)
        for name, patch in (("drawn", (batches, "finish")), ("charged", (Ready, "draw"))):
            with mock.patch.object(patch[0], patch[1], ended):
                try:
                    batches.run_batch([venues[name]], place / "out", ledger=ledger, report=False)
                except Ended:
                    continue
                raise AssertionError(f"{name} was not ended")


# --- mapping, plan, sweep --------------------------------------------------------------------------------------------

MAPPING = """\
# How to read an export; see docs/formats.md. Options on the command line come before it.

format = "csv"  # the file's format
paper = "submission"  # the column of papers
reviewer = "pc member"  # the column of reviewers
score = "overall"  # the column, field, question or label of the score
criteria = ["clarity", "soundness"]  # the columns of criteria, as ["soundness", "clarity"]
scale = [1, 10]  # the lowest and highest possible score, as [1, 10]
"""


def make_mapping() -> None:
    place = HERE / "mapping"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    columns = conference(400, reviewers=20).columns()
    names = {"paper": "submission", "reviewer": "pc member", "score": "overall"}
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(names.get(name, name) for name in columns), *(",".join(map(str, row)) for row in rows)]
    (place / "export.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (place / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    run(
        "inspect",
        "export.csv",
        "--paper",
        "submission",
        "--reviewer",
        "pc member",
        "--score",
        "overall",
        "--write-mapping",
        "draft.toml",
        folder=place,
    )


def make_plan() -> None:
    place = HERE / "plan"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write_public(meeting(500).reviews(criteria=False).public("all"), place / "public.csv")
    run(
        "plan",
        "public.csv",
        "--load",
        "4",
        "--epsilon",
        "1,3",
        "--delta",
        "1e-6",
        "--draws",
        "4",
        "--workers",
        "1",
        "-o",
        "plan",
        folder=place,
    )


def make_sweep() -> None:
    """A sweep that was ended: two of its finished tasks are kept, the others are still to be done."""
    place = HERE / "sweep"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write_public(meeting(600).reviews(criteria=False).public("all"), place / "public.csv")
    run(*SWEEP, folder=place)
    for task in sorted((place / "sweep" / "tasks").rglob("*.json"))[2:]:
        task.unlink()


SWEEP = (
    "simulate",
    "--public",
    "public.csv",
    "--load",
    "4",
    "--noise-scale",
    "1",
    "--draws",
    "2",
    "--leniency",
    "0,0.9",
    "--methods",
    "noisy,baseline,chain",
    "--workers",
    "1",
    "-o",
    "sweep",
)


# --- commands --------------------------------------------------------------------------------------------------------


def run(*arguments: str, folder: Path, code: int = 0) -> str:
    """What a command writes to its standard output, 100 columns wide and without colours."""
    with tempfile.TemporaryDirectory() as secret:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "PEERVEIL_KEY_FILE": f"{secret}/key",
        }
        command = [sys.executable, "-m", "peerveil", *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode != code:
        raise RuntimeError(f"{arguments}: code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


#: The commands of 0.1.0, those of `peerveil ledger` by two words.
NAMES = (
    "release",
    "refine",
    "verify",
    "compare",
    "plan",
    "simulate",
    "batch",
    "inspect",
    "audit",
    "demo",
    "serve",
    "ledger open",
    "ledger show",
    "ledger history",
)

#: Calls in the order they are made, by name; and what can be compared with another run's: see README.md.
CALLS: dict[str, tuple[tuple[str, ...], str]] = {
    "inspect": (("inspect", "reviews.csv"), "text"),
    "inspect-json": (("inspect", "reviews.csv", "--json"), "keys"),
    "ledger-open": (
        ("ledger", "open", "budgets.db", "--dataset", "conf", "--epsilon", "4", "--delta", "1e-6", "--json"),
        "keys",
    ),
    "plan": (("plan", "public.csv", "--load", "4", "--epsilon", "1", "--draws", "4", "--workers", "1"), "text"),
    "plan-json": (
        ("plan", "public.csv", "--load", "4", "--epsilon", "1", "--draws", "4", "--workers", "1", "--json"),
        "keys",
    ),
    "release": (
        (
            "release",
            "reviews.csv",
            "--public",
            "all",
            "--epsilon",
            "1",
            "--ledger",
            "budgets.db",
            "--no-report",
            "-o",
            "first",
        ),
        "code",
    ),
    "release-json": (
        (
            "release",
            "reviews.csv",
            "--public",
            "all",
            "--rho",
            "0.1",
            "--mechanism",
            "gaussian",
            "--ledger",
            "budgets.db",
            "--no-report",
            "-o",
            "second",
            "--json",
        ),
        "keys",
    ),
    "release-groups-json": (
        (
            "release",
            "reviews.csv",
            "--public",
            "all",
            "--epsilon",
            "1",
            "--groups",
            "groups.csv",
            "--no-report",
            "-o",
            "third",
            "--json",
        ),
        "keys",
    ),
    "refine-json": (
        (
            "refine",
            "first/release.json",
            "--public",
            "public.csv",
            "--estimator",
            "projection",
            "--no-report",
            "-o",
            "fourth",
            "--json",
        ),
        "keys",
    ),
    "verify": (("verify", "first", "--public", "public.csv"), "code"),
    "verify-json": (("verify", "first", "--public", "public.csv", "--json"), "keys"),
    "compare": (("compare", "first", "second"), "code"),
    "compare-json": (("compare", "first", "second", "--json"), "keys"),
    "ledger-show": (("ledger", "show", "budgets.db"), "code"),
    "ledger-show-json": (("ledger", "show", "budgets.db", "--json"), "keys"),
    "ledger-history": (("ledger", "history", "budgets.db"), "code"),
    "ledger-history-json": (("ledger", "history", "budgets.db", "--json"), "keys"),
    "audit": (("audit", "--epsilon", "1", "--draws", "400", "--workers", "1"), "code"),
    "audit-json": (("audit", "--epsilon", "1", "--draws", "400", "--workers", "1", "--json"), "keys"),
}


@contextmanager
def desk() -> Iterator[Path]:
    """A folder with the files that the calls use."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("reviews.csv", "public.csv", "groups.csv"):
            shutil.copy(HERE / "commands" / name, folder)
        yield Path(folder)


def make_commands() -> None:
    place = HERE / "commands"
    shutil.rmtree(place, ignore_errors=True)
    (place / "help").mkdir(parents=True)
    held = meeting(700)
    columns = {name: held.columns[name] for name in ("paper", "reviewer", "score")}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (place / "reviews.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_public(held.reviews(criteria=False).public("all"), place / "public.csv")
    groups = ["paper,track", *(f"{paper},{track}" for paper, track in held.tracks.items())]
    (place / "groups.csv").write_text("\n".join(groups) + "\n", encoding="utf-8")
    listed: list[dict[str, Any]] = []
    for name in ("", "ledger", *NAMES):
        text = run(*name.split(), "--help", folder=place)
        file = f"help/{name.replace(' ', '-') or 'peerveil'}.txt"
        (place / file).write_text(text, encoding="utf-8")
        listed.append({"file": file, "arguments": [*name.split(), "--help"], "code": 0, "compared": "options"})
    with desk() as folder:
        for name, (arguments, compared) in CALLS.items():
            text = run(*arguments, folder=folder)
            (place / f"{name}.txt").write_text(text, encoding="utf-8")
            listed.append({"file": f"{name}.txt", "arguments": arguments, "code": 0, "compared": compared})
    (place / "calls.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


def write_sums() -> None:
    """The digest of every file in the folders, so that a change is noticed."""
    files = sorted(path for path in HERE.rglob("*/**/*") if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE).as_posix()}" for path in files]
    (HERE / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")


PARTS: dict[str, Callable[[], None]] = {
    "releases": make_releases,
    "ledger": make_ledger,
    "batch": make_batch,
    "mapping": make_mapping,
    "plan": make_plan,
    "sweep": make_sweep,
    "commands": make_commands,
}

if __name__ == "__main__":
    if software() != "peerveil 0.1.0":
        raise SystemExit(f"these files are those of peerveil 0.1.0; this is {software()}")
    with tempfile.TemporaryDirectory() as secret:
        os.environ["PEERVEIL_KEY_FILE"] = f"{secret}/key"  # never the key of whoever runs this
        for part in sys.argv[1:] or PARTS:
            PARTS[part]()
    write_sums()
