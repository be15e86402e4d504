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
from peerveil.inference.assignments import deal
from peerveil.record.public_record import Floats

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


def mean_and_error(values: Floats) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(values.size):.4f}"


def ratio(top: Floats, bottom: Floats) -> str:
    value = top.mean() / bottom.mean()
    spread = (top - value * bottom).std(ddof=1) / np.sqrt(top.size) / bottom.mean()
    return f"{value:.3f} ± {spread:.3f}"


def against_the_hull() -> None:
    print("Against the hull, 100 records, 6 assignments and noises each, Beta(2,2)")
    print(f"{'':10}" + "".join(f"{kind:>18}" for kind in KINDS) + f"{'plain/hull':>16}{'tight/hull':>16}{'removed':>9}")
    for n, load in ((4, 2), (5, 2), (6, 2), (4, 3)):
        _, found = errors(n, load, (2, 2), KINDS, records=100, draws=6)
        by = dict(zip(KINDS, found.T, strict=True))
        excess = (by["plain"].mean() - by["tight"].mean()) / (by["plain"].mean() - by["hull"].mean())
        cells = "".join(f"{mean_and_error(by[kind]):>18}" for kind in KINDS)
        print(
            f"n={n}, l={load} {cells}{ratio(by['plain'], by['hull']):>16}{ratio(by['tight'], by['hull']):>16}"
            f"{excess:>8.0%}"
        )


def on_the_papers_settings() -> None:
    kinds = ("baseline", "chain", "envelope", "plain", "tight")
    print("\nThe paper's settings, load 2, 60 records, one noise each")
    print(f"{'':18}{'noisy':>18}" + "".join(f"{kind:>18}" for kind in kinds) + f"{'tight/chain':>16}")
    for n in (10, 50):
        for beta in ((5, 1), (2, 5), (1, 3), (2, 2), (0.5, 0.5)):
            noisy, found = errors(n, 2, beta, kinds, records=60, draws=1)
            by = dict(zip(kinds, found.T, strict=True))
            cells = "".join(f"{mean_and_error(column):>18}" for column in (noisy, *by.values()))
            print(f"n={n} Beta{beta!s:11} {cells}{ratio(by['tight'], by['chain']):>16}")


if __name__ == "__main__":
    against_the_hull()
    on_the_papers_settings()
