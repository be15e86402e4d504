"""Coverage of the findings' 90 % intervals in synthetic worlds, of which the model holds one.

Histogram noise, epsilon 1 per reviewer, all scores public; loads of 4, in the world ``load`` from 1 to 6. Truths are
computed from the true assignment by other code than the findings: an analysis of variance, or sorted means. Each
conference is released several times; standard errors are over conferences. The last column is the mean width of the
interval of leniency's share of the variance.

Another table compares the formula for what leniency changes with simulations in which leniency is known and subtracted.

Arguments: numbers of reviewers, 100, 300 and 3,000 by default, `changed` for the other table, `again` for the
lowest row of all with other and more conferences, and `steps` for the least probability
that intervals of the tenths can have by the posterior, if they end at attainable means and have at least 90 %: means of
whole scores come in steps, and an interval holds a step or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from attainable import least_chance  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior  # noqa: E402
from peerveil.inference.expected_error import LEVEL  # noqa: E402
from peerveil.inference.findings import ACCEPTED, findings, share_changed  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.bins import NoisyCounts  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from peerveil.simulation.conferences import Conference  # noqa: E402
from peerveil.simulation.worlds import WORLDS, world  # noqa: E402
from results import Column, mean_of  # noqa: E402

SEED = 113
QUANTITIES = ("ratings", "miscalibration")

#: Conferences, and releases of each, by the number of reviewers.
DRAWS = {100: (25, 8), 300: (25, 8), 3_000: (4, 50)}

#: The rows that are repeated with other conferences: reviewers, world, conferences and releases, and quantities.
AGAIN, SEED_AGAIN = (((3_000, "heavy", 14, 4), ("ratings",)),), 1821

TITLES = {
    "leniency_share": "share",
    "reliability": "reliability",
    "changed_decisions": "recalibrated",
    "paper_shift": "recalibrated",
    "strictest_tenth": "strictest",
    "most_lenient_tenth": "lenient",
}


def weights_of(conference: Conference, quantity: str) -> tuple[pv.PublicWeights, Floats]:
    """The public weights, and the weight of each review in the conference's own order."""
    load, reviewers = np.unique(np.bincount(conference.reviewer), return_counts=True)
    rows = np.split(conference.score, np.flatnonzero(np.diff(conference.paper)) + 1)
    loads = dict(zip(load.tolist(), reviewers.tolist(), strict=True))
    record = pv.PublicRecord.from_rows(rows, loads=loads, scale=conference.scale)
    if quantity == "ratings":
        return pv.weigh(record, quantity), conference.score
    size = np.bincount(conference.paper)[conference.paper]
    total = np.bincount(conference.paper, weights=conference.score)[conference.paper]
    return pv.weigh(record, quantity), conference.score - (total - conference.score) / (size - 1)


def truths(conference: Conference, quantity: str, weight: Floats) -> tuple[Floats, dict[str, float]]:
    """The sorted means, and the true number of each finding."""
    load = np.bincount(conference.reviewer)
    means = np.bincount(conference.reviewer, weights=weight) / load
    n, reviews = means.size, weight.size
    if load.min() == load.max():  # the usual analysis of variance
        within = np.sum((weight - means[conference.reviewer]) ** 2) / (reviews - n)
        rest, leniency = within, (load[0] * means.var(ddof=1) - within) / load[0]
    else:  # the two equations of moments
        total = np.sum((weight - weight.mean()) ** 2)
        equations = np.array([[1, np.mean(1 / load)], [reviews - np.sum(load**2) / reviews, reviews - 1]])
        leniency, rest = np.linalg.solve(equations, np.array([means.var(ddof=1), total]))
    if leniency < 0:
        leniency, rest = np.float64(0.0), np.float64(np.var(weight, ddof=1))
    size = np.bincount(conference.paper)
    paper = np.bincount(conference.paper, weights=conference.score) / size
    ordered, tenth = np.sort(means), n // 10
    inside = np.sum((conference.score - paper[conference.paper]) ** 2) / (reviews - paper.size)
    share = leniency / (leniency + rest) if quantity == "ratings" else leniency / inside
    moved = leniency * np.mean(1 / size)
    return ordered, {
        "leniency_share": share,
        "reliability": leniency / (leniency + rest * np.mean(1 / load)),
        "changed_decisions": share_changed(moved / paper.var(ddof=1), ACCEPTED),
        "paper_shift": np.sqrt(moved),
        "strictest_tenth": ordered[tenth - 1],
        "most_lenient_tenth": ordered[-tenth],
    }


def covered(
    name: str, reviewers: int, quantity: str, *, conferences: int, releases: int, seed: int = SEED
) -> tuple[dict[str, Floats], Floats]:
    """For each finding the share of its intervals that hold the truth, and of the first the width, by conference."""
    held: dict[str, list[float]] = {}
    widths: list[float] = []
    for k in range(conferences):
        seeds = np.random.SeedSequence([seed, list(WORLDS).index(name), reviewers, k])
        conference = world(name, reviewers=reviewers, loads=range(1, 7) if name == "load" else 4, seed=seeds)
        weights, weight = weights_of(conference, quantity)
        means, true = truths(conference, quantity, weight)
        rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
        rng = np.random.default_rng(seeds.spawn(1)[0])
        hits: dict[str, list[bool]] = {}
        wide = []
        for _ in range(releases):
            noisy = rehearsal.perturb(means, rng)
            assert isinstance(noisy, NoisyCounts)
            made = rehearsal.estimates(noisy, ["bayes"])["bayes"]
            assert made.outlook is not None
            for found in findings(weights, CountLikelihood(noisy, rehearsal.noise.law), made.values, made.outlook):
                slack = 1e-9 * max(1.0, abs(true[found.name]))
                hit = found.lower - slack <= true[found.name] <= found.upper + slack
                hits.setdefault(found.name, []).append(hit)
                if found.name == "leniency_share":
                    wide.append(found.upper - found.lower)
        for finding, each in hits.items():
            held.setdefault(finding, []).append(float(np.mean(each)))
        widths.append(float(np.mean(wide)))
    return {finding: np.array(shares) for finding, shares in held.items()}, np.array(widths)


#: Conferences in which the steps of means are looked at, with one release each.
STEPPED = 3


def least_at_tenths(name: str, reviewers: int, conferences: int) -> Floats:
    """The least probabilities of intervals of both tenths by the posterior of ratings, a row a conference."""
    found = []
    for k in range(conferences):
        seeds = np.random.SeedSequence([SEED, list(WORLDS).index(name), reviewers, k])
        conference = world(name, reviewers=reviewers, loads=range(1, 7) if name == "load" else 4, seed=seeds)
        weights, weight = weights_of(conference, "ratings")
        rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
        noisy = rehearsal.perturb(truths(conference, "ratings", weight)[0], np.random.default_rng(seeds.spawn(1)[0]))
        assert isinstance(noisy, NoisyCounts)
        posterior = weights.derived(RecordModel).posterior(CountLikelihood(noisy, rehearsal.noise.law))
        assert isinstance(posterior, CountPosterior)
        tenth = reviewers // 10
        found.append(least_chance(posterior, LEVEL)[[tenth - 1, -tenth]])
    return np.array(found)


def steps(out: Output, conferences: int) -> None:
    """What steps of means leave possible for intervals of the tenths."""
    columns = (
        Column("reviewers", "reviewers", digits=","),
        Column("world", "world"),
        *(Column(which, which, "%", ".1f") for which in ("strictest", "lenient")),
    )
    title = "The least probability that 90 % intervals of the tenths can have, ratings"
    table = out.table("steps", title, columns, keys=2, seeds=f"[{SEED}, world, reviewers, k]", draws=conferences)
    for reviewers, name in product((100,) if out.quick else DRAWS, ("family", "load", "heavy")):
        strictest, lenient = least_at_tenths(name, reviewers, conferences).T
        table.add(reviewers, name, mean_of(strictest, 100), mean_of(lenient, 100))


#: Simulations of what leniency changes: deviations of quality and of the rest of a score, papers, and reviews of each.
QUALITY, REST, PAPERS, PER_PAPER = 1.2, 1.1, 3_000, 4


def changed(rng: np.random.Generator, leniency: float) -> tuple[float, float]:
    """The share of accepted papers that differ if known leniency is subtracted, and the formula's, in a conference."""
    lenient = rng.normal(0, leniency, (PAPERS, PER_PAPER))  # each reviewer counts in no second review of a paper
    score = 5.5 + rng.normal(0, QUALITY, (PAPERS, 1)) + lenient + rng.normal(0, REST, lenient.shape)
    mean = np.clip(np.rint(score), 1, 10).mean(axis=1)
    lots = rng.random(PAPERS)  # equal means are ranked by lot, by the same one in both rankings
    first, second = (np.lexsort((lots, -each)) for each in (mean, mean - lenient.mean(axis=1)))
    accepted = round(ACCEPTED * PAPERS)
    kept = np.intersect1d(first[:accepted], second[:accepted]).size
    return 1 - kept / accepted, share_changed(leniency**2 / PER_PAPER / mean.var(ddof=1), ACCEPTED)


def leniency_changes(out: Output, conferences: int) -> None:
    """The formula of what leniency changes, beside simulations."""
    columns = (
        Column("leniency", "deviation of leniency", "points", ".1f"),
        Column("simulated", "accepted papers changed", "%", ".1f"),
        Column("formula", "by the formula", "%", ".1f"),
    )
    title = f"What known leniency changes: {PAPERS:,} papers with {PER_PAPER} reviews each, a quarter accepted"
    table = out.table("changed", title, columns, seeds=f"[{SEED}, row]", draws=conferences)
    for number, leniency in enumerate((0.3, 0.7, 1.2)):
        rng = np.random.default_rng([SEED, number])
        simulated, formula = np.array([changed(rng, leniency) for _ in range(conferences)]).T
        table.add(leniency, mean_of(simulated, 100), mean_of(formula, 100))


#: Reviewers, world, conferences and releases of each, and the quantities.
Rows = Iterable[tuple[tuple[int, str, int, int], Iterable[str]]]


def coverage(out: Output, name: str, title: str, rows: Rows, seed: int = SEED) -> None:
    """The coverage in some rows, in one table."""
    kinds = list(dict.fromkeys(TITLES.values()))
    columns = [
        Column("reviewers", "reviewers", digits=","),
        Column("world", "world"),
        Column("quantity", "quantity"),
        Column("draws", "conferences x releases"),
        *(Column(kind, kind, "%", ".1f", target=90.0) for kind in kinds),
        Column("width", "width of share", digits=".2f", better="lower", tolerance=0.1),
    ]
    seeds = f"[{seed}, world, reviewers, conference]"
    table = out.table(name, title, columns, keys=3, seeds=seeds, draws="see the column")
    for (reviewers, where, conferences, releases), quantities in rows:
        for quantity in quantities:
            held, width = covered(where, reviewers, quantity, conferences=conferences, releases=releases, seed=seed)
            cells = {TITLES[finding]: mean_of(shares, 100) for finding, shares in held.items()}
            how = f"{conferences} x {releases}"
            table.add(reviewers, where, quantity, how, *(cells[kind] for kind in kinds), mean_of(width))


def main() -> None:
    with Output("findings") as out:
        if not out.arguments or "changed" in out.arguments:
            leniency_changes(out, 20 if out.quick else 100)
        if not out.arguments or "steps" in out.arguments:
            steps(out, 1 if out.quick else STEPPED)
        sizes = [int(size) for size in out.arguments if size.isdecimal()]
        if not out.arguments:
            sizes = [100, *([] if out.quick else [300, 3_000])]
        title = "Coverage of the findings' 90 % intervals"
        draws = {size: (3, 2) if out.quick else DRAWS.get(size, (25, 4)) for size in sizes}
        if sizes:
            rows = [((size, where, *draws[size]), QUANTITIES) for size in sizes for where in WORLDS]
            coverage(out, "coverage", title, rows)
        if "again" in out.arguments or not (out.arguments or out.quick):
            coverage(out, "again", f"{title}, other conferences", AGAIN, SEED_AGAIN)


if __name__ == "__main__":
    main()
