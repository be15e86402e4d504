"""Error of each region on the paper's settings: how far the tractable ones are from the hull, and from the paper's.

Weights are drawn from a Beta distribution, the assignment is random, noise is Laplace of scale 1, and the error is the
summed squared one, as in the paper. "plain" is envelope and chain together, without packing bounds. Errors of one table
come from the same records and the same noise; standard errors of ratios are those of paired differences.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import track

import peerveil as pv
from output import Output
from peerveil.inference.assignments import deal
from peerveil.record.public_record import Floats
from results import Column, mean_of, ratio_of

KINDS = ("baseline", "chain", "envelope", "plain", "tight", "hull")


def plain(weights: pv.PublicWeights) -> pv.Region:
    envelope, chain = pv.region(weights, "envelope"), pv.region(weights, "chain")
    return pv.Region(
        name="plain",
        lower=np.maximum(envelope.lower, chain.lower),
        upper=np.minimum(envelope.upper, chain.upper),
        cumulative_lower=envelope.cumulative_lower,
        cumulative_upper=envelope.cumulative_upper,
        total=envelope.total,
    )


def errors(
    n: int, load: int, beta: tuple[float, float], kinds: tuple[str, ...], *, records: int, draws: int
) -> tuple[Floats, Floats]:
    """Errors of the noisy vector, and of each region, a row a record (mean over its draws)."""
    rng = np.random.default_rng([n, load, *(int(10 * b) for b in beta)])
    noisy, projected = [], []
    name = f"n={n}, load {load}, Beta{beta}"
    for _ in track(range(records), description=name, console=Console(stderr=True), transient=True):
        scores = rng.beta(*beta, size=(n, load))
        weights = pv.PublicWeights.from_rows(scores, load=load)
        regions = [plain(weights) if kind == "plain" else pv.region(weights, kind) for kind in kinds]
        held, raw = [], []
        for _ in range(draws):
            holder = deal(np.repeat(np.arange(n), load), np.full(n, load), rng)
            truth = np.sort(np.bincount(holder, weights=np.sort(scores, axis=1).ravel()) / load)
            r = truth + rng.laplace(size=n)
            raw.append(np.sum((r - truth) ** 2))
            held.append([np.sum((pv.project(r, region).values - truth) ** 2) for region in regions])
        noisy.append(np.mean(raw))
        projected.append(np.mean(held, axis=0))
    return np.array(noisy), np.array(projected)


def error_columns(kinds: tuple[str, ...]) -> list[Column]:
    return [Column(kind, kind, digits=".4f", better="lower") for kind in kinds]


def against_the_hull(out: Output, records: int) -> None:
    ratios = [Column(f"{kind}-hull", f"{kind} over hull", digits=".3f", better="lower") for kind in ("plain", "tight")]
    columns = [Column("size", "setting"), *error_columns(KINDS), *ratios]
    columns.append(Column("removed", "of the excess over the hull removed", "%", ".0f"))
    draws = f"{records} records, 6 assignments and noises each"
    table = out.table("hull", "Regions against the hull, Beta(2,2)", columns, seeds="[n, load, 20, 20]", draws=draws)
    for n, load in ((4, 2), (5, 2), (6, 2), (4, 3)):
        _, found = errors(n, load, (2, 2), KINDS, records=records, draws=6)
        by = dict(zip(KINDS, found.T, strict=True))
        removed = (by["plain"].mean() - by["tight"].mean()) / (by["plain"].mean() - by["hull"].mean())
        means = [mean_of(by[kind]) for kind in KINDS]
        shares = [ratio_of(by[kind], by["hull"]) for kind in ("plain", "tight")]
        table.add(f"n={n}, l={load}", *means, *shares, 100 * removed)


def on_the_papers_settings(out: Output, records: int) -> None:
    kinds = ("baseline", "chain", "envelope", "plain", "tight")
    columns = [Column("n", "n", digits="d"), Column("law", "weights"), *error_columns(("noisy", *kinds))]
    columns.append(Column("tight-chain", "tight over chain", digits=".3f", better="lower"))
    seeds, draws = "[n, load, 10 a, 10 b]", f"{records} records, one noise each"
    title = "Regions on the paper's settings, load 2"
    table = out.table("paper", title, columns, keys=2, seeds=seeds, draws=draws)
    for n in (10, 50):
        for beta in ((5, 1), (2, 5), (1, 3), (2, 2), (0.5, 0.5)):
            noisy, found = errors(n, 2, beta, kinds, records=records, draws=1)
            by = dict(zip(kinds, found.T, strict=True))
            means = [mean_of(column) for column in (noisy, *by.values())]
            table.add(n, f"Beta({beta[0]:g},{beta[1]:g})", *means, ratio_of(by["tight"], by["chain"]))


if __name__ == "__main__":
    with Output("error") as output:
        against_the_hull(output, 20 if output.quick else 100)
        on_the_papers_settings(output, 10 if output.quick else 60)
