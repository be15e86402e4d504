"""Error of the mechanisms on a real record: noise on the vector against noise on counts, with every estimator.

ICLR 2021 with a load of 4, and with loads from 1 to 6; unit reviewer; truths at four strengths of leniency. Summed
squared errors, mean and standard error, and the root mean square error of a reviewer's mean, in rating points.
All methods of a mechanism see the same truths and noise; draw k at the i-th leniency uses ``[seed, i, k]``. That `safe`
and projections are never further from the truth than what the mechanism alone gives is asserted in every draw.

Arguments: names of tables (versions, load4, loads16, budgets, bins, worlds), all by default.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.prior import prior  # noqa: E402
from peerveil.mechanisms import OwnMechanism  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from results import Cell, Column, Measured, ratio_of  # noqa: E402

DATA = Path(os.environ.get("PEERVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
LENIENCY = (0.0, 0.4, 0.9, 2.0)
SEED = 71
DRAWS = 20

#: Loads as a conference may have them: most reviewers with three to five reviews, some with few, some with six. They
#: hold as many reviews as the record has.
MIXED = {1: 140, 2: 300, 3: 520, 4: 760, 5: 746, 6: 397}


def steps(count: int, name: str) -> Iterable[int]:
    return track(range(count), description=name, console=Console(stderr=True), transient=True)


def square(values: Floats, truth: Floats) -> float:
    return float(np.sum((values - truth) ** 2))


def truths(weights: pv.PublicWeights, draws: int) -> list[list[Floats]]:
    """For each leniency, draws that have nothing to do with those of the estimators."""
    return [
        [
            prior(weights, draws=1, seed=np.random.SeedSequence([SEED, i, k])).ensemble(s).vectors[0]
            for k in range(draws)
        ]
        for i, s in enumerate(LENIENCY)
    ]


def errors(
    weights: pv.PublicWeights,
    mechanism: OwnMechanism,
    methods: Sequence[str],
    worlds: list[list[Floats]],
) -> tuple[Floats, float]:
    """Errors by leniency, draw and method; and the seconds that a draw takes."""
    rehearsal = Rehearsal.of(weights, mechanism)
    found, start = [], time.process_time()
    for i, world in enumerate(worlds):
        rows = []
        for k in steps(len(world), f"{rehearsal.mechanism.name}, leniency {LENIENCY[i]}"):
            noisy = rehearsal.perturb(world[k], np.random.default_rng([SEED, i, k]))
            answers = rehearsal.answers(noisy, ["noisy", *methods])
            row = {name: square(values, world[k]) for name, values in answers.items()}
            for name in methods:
                assert name == "bayes" or row[name] <= row["noisy"] * (1 + 1e-12), name
            rows.append([row[name] for name in ("noisy", *methods)])
        found.append(rows)
    return np.array(found), (time.process_time() - start) / sum(map(len, worlds))


def cell(values: Floats) -> Cell:
    """Mean and standard error; over leniencies their plain average."""
    by_leniency = np.atleast_2d(values)
    error = float(np.sqrt(np.mean(by_leniency.var(axis=1, ddof=1)) / by_leniency.size))
    return Measured(float(by_leniency.mean()), error, by_leniency.shape[1])


WAYS = Column("mechanism", "mechanism"), Column("estimator", "estimator")
COLUMNS = (
    *WAYS,
    *(Column(f"leniency-{round(10 * s)}", f"leniency {s:g}", better="lower") for s in LENIENCY),
    Column("average", "average", better="lower"),
    Column("rmse", "root mean squared error of a mean", "points", ".3f", better="lower", tolerance=0.05),
    Column("seconds", "per draw", "s CPU", ".2f"),
)


def table(
    out: Output,
    name: str,
    title: str,
    weights: pv.PublicWeights,
    mechanisms: Sequence[tuple[OwnMechanism, Sequence[str]]],
    *,
    draws: int = DRAWS,
    worlds: list[list[Floats]] | None = None,
) -> None:
    n = weights.reviewers
    worlds = truths(weights, draws) if worlds is None else worlds
    seeds, how = f"[{SEED}, leniency, draw]", f"{len(worlds[0])} at each leniency"
    made = out.table(name, f"{title}, {n:,} reviewers", COLUMNS, keys=2, seeds=seeds, draws=how)
    for mechanism, methods in mechanisms:
        found, seconds = errors(weights, mechanism, methods, worlds)
        settled = Rehearsal.of(weights, mechanism)
        bins = f", {settled.bins.number} bins" if settled.bins else ""
        asked = f", epsilon {mechanism.epsilon:g}" if name == "budgets" and isinstance(mechanism, pv.Histogram) else ""
        shown = f"{mechanism.name}{asked}{bins}, noise {settled.mechanism.describe()['scale']:.4g}"
        for j, method in enumerate(("noisy", *methods)):
            cells = [*(cell(found[i, :, j]) for i in range(len(LENIENCY))), cell(found[:, :, j])]
            made.add(shown, method, *cells, float(np.sqrt(found[:, :, j].mean() / n)), seconds)


def iclr(**loads: object) -> pv.PublicWeights:
    return pv.weigh(pv.read_public(DATA / "iclr2021.csv", **loads))  # type: ignore[arg-type]


ESTIMATED = ("projection", "safe", "bayes")


def load4(out: Output) -> None:
    vector = pv.Laplace(epsilon=1.0), ("baseline", "chain", *ESTIMATED)
    listed: list[tuple[OwnMechanism, Sequence[str]]] = [vector, (pv.Histogram(epsilon=1.0), ESTIMATED)]
    table(out, "load4", "ICLR 2021, load 4, epsilon 1", iclr(load=4), listed, draws=drawn(out, DRAWS))


def loads16(out: Output) -> None:
    draws = drawn(out, DRAWS)
    weights = iclr(loads=MIXED)
    listed: list[OwnMechanism] = [
        pv.Laplace(epsilon=1.0),
        pv.Histogram(epsilon=1.0),
        pv.Histogram(epsilon=1.0, bins=109),
    ]
    title = "ICLR 2021, loads from 1 to 6, epsilon 1"
    table(out, "loads16", title, weights, [(m, ESTIMATED) for m in listed], draws=draws)
    declared = iclr(loads=(1, 6), reviewers=sum(MIXED.values()))
    title = "The same, loads declared as a range"
    worlds = truths(weights, draws)
    table(out, "declared", title, declared, [(pv.Histogram(epsilon=1.0), ESTIMATED)], worlds=worlds)


def drawn(out: Output, full: int) -> int:
    return 2 if out.quick else full


def budgets(out: Output) -> None:
    weights = iclr(load=4)
    listed = [pv.Histogram(epsilon=e) for e in (0.1, 0.3, 1.0, 3.0, 10.0)]
    title = "ICLR 2021, load 4, several budgets"
    table(out, "budgets", title, weights, [(m, ESTIMATED) for m in listed], draws=drawn(out, 5))


def bins(out: Output) -> None:
    weights = iclr(load=4)
    listed = [pv.Histogram(epsilon=1.0, bins=b) for b in (4, 6, 9, 13, 18, 25, 37)]
    title = "ICLR 2021, load 4, epsilon 1, several numbers of bins"
    table(out, "bins", title, weights, [(m, ESTIMATED) for m in listed], draws=drawn(out, 10))


def unknown_worlds(out: Output) -> None:
    """Reviewers who differ in ways that no draw of the estimators has: papers, reviewers and scores of size 1."""
    n, load, draws = 1000, 3, drawn(out, 10)
    methods = [Column(name, name, better="lower") for name in ("noisy", *ESTIMATED)]
    columns = [Column("leniency", "leniency"), Column("mechanism", "mechanism"), *methods]
    title = f"Leniency that the prior does not know: {n:,} reviewers, load {load}, whole scores, epsilon 1"
    made = out.table("worlds", title, columns, keys=2, seeds=f"[{SEED}, 100 + world, draw]", draws=draws)
    for number, kind in enumerate(("strong", "two camps", "few extreme")):
        found: dict[str, list[list[float]]] = {}
        for k in steps(draws, kind):
            rng = np.random.default_rng([SEED, 100 + number, k])
            lenient = {
                "strong": 2 * rng.standard_normal(n),
                "two camps": np.where(rng.random(n) < 0.5, -1.5, 1.5),
                "few extreme": np.where(rng.random(n) < 0.06, rng.choice((-5.0, 5.0), n), 0.0),
            }[kind]
            holder = (np.arange(n)[:, None] + rng.permutation(n)[:load]) % n
            x = 5.5 + 1.2 * (rng.standard_normal((n, 1)) + lenient[holder] + rng.standard_normal((n, load)))
            x = np.clip(np.rint(x), 1, 10)
            truth = np.sort(np.bincount(holder.ravel(), weights=x.ravel()) / load)
            weights = pv.PublicWeights.from_rows(x, load=load)
            for name, mechanism in (
                ("laplace", pv.Laplace(epsilon=1.0)),
                ("histogram", pv.Histogram(epsilon=1.0)),
                ("histogram, a bin a mean", pv.Histogram(epsilon=1.0, bins=28)),
            ):
                rehearsal = Rehearsal.of(weights, mechanism)
                answers = rehearsal.answers(rehearsal.perturb(truth, rng), ["noisy", *ESTIMATED])
                found.setdefault(name, []).append([square(values, truth) for values in answers.values()])
        for name, rows in found.items():
            made.add(kind, name, *(cell(np.array(rows)[:, j]) for j in range(4)))


def versions(out: Output) -> None:
    """Assumptions of this version and of version 0.2 about reviewers, on truths that both hold, with the same bins."""
    draws, present = drawn(out, DRAWS), iclr(load=4)
    columns = [
        Column("estimator", "estimator"),
        Column("of-02", "assumptions of version 0.2"),
        Column("present", "present assumptions"),
        Column("ratio", "ratio", digits=".3f", better="lower"),
    ]
    title = f"ICLR 2021, load 4, epsilon 1, histogram, {present.reviewers:,} reviewers"
    made = out.table("versions", title, columns, seeds=f"[{SEED}, leniency, draw]", draws=f"{draws} at each leniency")
    found: list[Floats] = []
    worlds, bins = truths(present, draws), Rehearsal.of(present, pv.Histogram(epsilon=1.0)).bins
    for weights in (replace(present, model=1), present):
        rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
        rehearsal.__dict__["bins"] = bins
        rows = []
        for i, row in enumerate(worlds):
            for k, truth in enumerate(row):
                noisy = rehearsal.perturb(truth, np.random.default_rng([SEED, i, k]))
                estimates = rehearsal.estimates(noisy, ["safe", "bayes"])
                rows.append([square(estimates[name].values, truth) for name in ("safe", "bayes")])
        found.append(np.array(rows))
    for j, name in enumerate(("safe", "bayes")):
        before, after = (rows[:, j].reshape(len(LENIENCY), draws) for rows in found)
        made.add(name, cell(before), cell(after), ratio_of(after.ravel(), before.ravel()))


def main() -> None:
    tables = {
        "versions": versions,
        "load4": load4,
        "loads16": loads16,
        "budgets": budgets,
        "bins": bins,
        "worlds": unknown_worlds,
    }
    with Output("mechanisms") as out:
        for name in out.arguments or tables:
            if name == "worlds" or (DATA / "iclr2021.csv").exists():
                tables[name](out)
            else:
                print(f"{name}: no iclr2021.csv; set PEERVEIL_DATA")


if __name__ == "__main__":
    main()
