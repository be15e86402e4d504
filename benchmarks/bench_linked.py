"""Correlations between two conferences: accuracy and coverage in several worlds.

    python benchmarks/bench_linked.py [draws] [people] [bins] [world ...]

Each draw makes two conferences with papers of three reviews on a scale of 1 to 10, and releases the correlation of
miscalibrations of the people in both at epsilon 1 per person: from sums, or with 2 to 4 bins from a table of counts.
Constants were chosen on other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from output import Output
from peerveil.inference.linked import Correlations, Interval
from peerveil.inference.linked.tables import estimated
from peerveil.private.linked.correlation import linked_noise, prepare_correlation
from peerveil.private.reviews import Reviews
from peerveil.record.public_record import Floats, Ints
from results import Cell, Column, Measured, mean_of

SEED = 20261122
EPSILON = 1.0


@dataclass(frozen=True)
class World:
    """A pair of conferences.

    Attributes:
        trait: draws the leniency of people in both conferences, in points.
        correlation: its correlation.
        loads: the possible loads of each conference, one of which is drawn for each person.
        others: reviewers of each conference who are not in the other one, as a share of those who are.
        shift: how much more lenient those in both are.
        alike: whether those in both have above-average loads, the same in both conferences.
    """

    trait: Callable[[np.random.Generator, int], tuple[Floats, Floats]]
    correlation: float
    loads: tuple[tuple[int, ...], tuple[int, ...]] = ((4,), (4,))
    others: float = 0.0
    shift: float = 0.0
    alike: bool = False


def normal(correlation: float, first: float = 0.6, second: float = 0.6) -> Callable[..., tuple[Floats, Floats]]:
    def draw(rng: np.random.Generator, people: int) -> tuple[Floats, Floats]:
        one, rest = rng.normal(size=(2, people))
        return first * one, second * (correlation * one + np.sqrt(1 - correlation**2) * rest)

    return draw


def camps(rng: np.random.Generator, people: int) -> tuple[Floats, Floats]:
    """Two camps of lenient and of strict people; three in four stay in theirs."""
    camp = rng.choice([-1.0, 1.0], people)
    later = np.where(rng.random(people) < 0.75, camp, -camp)
    one, other = (0.6 * (0.9 * each + np.sqrt(0.19) * rng.normal(size=people)) for each in (camp, later))
    return one, other


def heavy(rng: np.random.Generator, people: int) -> tuple[Floats, Floats]:
    """Student's t with 3 degrees of freedom, of the usual variance."""
    scale = np.sqrt(1 / rng.chisquare(3, people))
    one, other = normal(0.5)(rng, people)
    return one * scale, other * scale


MIXED = ((2, 3, 4, 5, 6), (2, 3, 4, 5, 6))
WORLDS = {
    "none": World(normal(0.0), 0.0),
    "half": World(normal(0.5), 0.5),
    "strong": World(normal(0.9), 0.9),
    "the same": World(normal(1.0), 1.0),
    "two camps": World(camps, 0.81 * 0.5),
    "heavy tails": World(heavy, 0.5),
    "mixed loads": World(normal(0.5), 0.5, loads=MIXED),
    "unlike conferences": World(normal(0.5, 0.9, 0.5), 0.5, loads=((3,), (6,))),
    "partly shared, lenient": World(normal(0.5), 0.5, others=1.0, shift=0.2),
    "mixed loads, alike": World(normal(0.5), 0.5, loads=MIXED, others=1.0, alike=True),
}


def conference(rng: np.random.Generator, leniency: Floats, load: Ints) -> tuple[Reviews, Floats]:
    """Reviews of papers by three reviewers each, and everybody's mean miscalibration."""
    holders = np.repeat(np.arange(load.size), load)
    extra = -holders.size % 3
    holders = np.concatenate([holders, rng.choice(load.size, extra, replace=False)])
    while True:  # nobody has two reviews of a paper
        rng.shuffle(holders)
        rows = np.sort(holders.reshape(-1, 3), axis=1)
        twice = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1))
        if twice.size < 20:
            break
    for paper in twice.tolist():
        while np.unique(holders[3 * paper : 3 * paper + 3]).size < 3:
            spot, other = 3 * paper + int(rng.integers(3)), int(rng.integers(holders.size))
            swapped = holders.copy()
            swapped[spot], swapped[other] = holders[other], holders[spot]
            if np.unique(swapped[other - other % 3 : other - other % 3 + 3]).size == 3:
                holders = swapped
    quality = np.repeat(rng.normal(0, 1.2, holders.size // 3), 3)
    score = np.clip(np.rint(5.5 + quality + leniency[holders] + rng.normal(0, 1.1, holders.size)), 1, 10)
    papers = np.repeat(np.arange(holders.size // 3), 3)
    total = np.bincount(papers, weights=score)[papers]
    mean = np.bincount(holders, weights=score - (total - score) / 2) / np.bincount(holders)
    names = [f"r{j}" for j in holders.tolist()]
    return Reviews.from_columns([f"p{p}" for p in papers.tolist()], names, score, scale=(1, 10)), mean


def draw(world: World, people: int, rng: np.random.Generator, bins: int | None) -> tuple[float, Correlations, float]:
    """The correlation of the observed means of these people, the estimates, and the scale of the noise."""
    others = int(world.others * people)
    traits = world.trait(rng, people)
    reviews, means = [], []
    diligent = rng.choice(world.loads[0][-4:], people)
    for trait, loads in zip(traits, world.loads, strict=True):
        leniency = np.concatenate([trait + world.shift, rng.normal(0, 0.6, others)])
        load = rng.choice(loads, people + others)
        if world.alike:
            load[:people] = diligent
        made, mean = conference(rng, leniency, load)
        reviews.append(made)
        means.append(mean[:people])
    same = [f"r{j}" for j in range(people)]  # other reviewers of the same id are other people
    links = pl.DataFrame({"first": same, "second": same})
    ready = prepare_correlation(*reviews, public="all", mechanism=linked_noise(EPSILON, bins), links=links, bins=bins)
    truth, scale = ready.protected().truth, float(ready.noise.mechanism.describe()["scale"])
    noise = rng.laplace(0, scale, truth.size)
    noisy = truth + (noise if bins is None else np.rint(noise))
    return float(np.corrcoef(means[0], means[1])[0, 1]), estimated(ready.sums, noisy, scale, level=0.9), scale


COLUMNS = (
    Column("world", "world"),
    Column("correlation", "correlation of means", digits=".3f"),
    Column("deviation", "deviation", digits=".3f", better="lower", tolerance=0.15),
    Column("noise-deviation", "of the noise", digits=".3f"),
    Column("bias", "bias", digits=".3f", target=0.0),
    Column("covered", "covered", "%", ".1f", target=90.0),
    Column("width", "width", digits=".2f", better="lower", tolerance=0.05),
    Column("trait", "correlation of the trait", digits=".2f"),
    Column("trait-deviation", "deviation", digits=".2f", better="lower", tolerance=0.15),
    Column("trait-bias", "bias", digits=".3f", target=0.0),
    Column("trait-covered", "covered", "%", ".1f", target=90.0),
    Column("trait-width", "width", digits=".2f", better="lower", tolerance=0.05),
    Column("noise", "scale of the noise", digits=".1f"),
)


def trait_columns(trait: list[Interval], correlation: float) -> list[Cell]:
    """The correlation of the trait: deviation and bias where it can be told, coverage, width."""
    rho = np.array([np.nan if one.value is None else one.value for one in trait])
    return [
        correlation,
        float(np.sqrt(np.nanmean((rho - correlation) ** 2))),
        Measured(float(np.nanmean(rho)) - correlation, float(np.nanstd(rho)) / np.sqrt(len(trait)), len(trait)),
        mean_of([one.low <= correlation <= one.high for one in trait], 100),
        float(np.mean([one.high - one.low for one in trait])),
    ]


def main() -> None:
    with Output("linked") as out:
        numbers = [int(number) for number in out.arguments[:3]]
        draws, people, bins = numbers + [10 if out.quick else 200, 1500, 0][len(numbers) :]
        tables(out, draws, people, bins or None, out.arguments[3:])


def tables(out: Output, draws: int, people: int, bins: int | None, chosen: tuple[str, ...]) -> None:
    how = "sums" if bins is None else f"{bins} bins a side"
    title = f"{people:,} people in both conferences, epsilon {EPSILON:g}, from {how}"
    name = "sums" if bins is None else f"bins-{bins}"
    table = out.table(
        name if people == 1500 else f"{name}-{people}", title, COLUMNS, seeds=f"[{SEED}, row]", draws=draws
    )
    for number, (name, world) in enumerate(WORLDS.items()):
        if chosen and name not in chosen:
            continue
        rng = np.random.default_rng([SEED, number])
        made = [draw(world, people, rng, bins) for _ in range(draws)]
        sample = np.array([one for one, _, _ in made])
        mean = float(sample.mean())  # the correlation in the population, to within 0.002
        observed = [each.observed for _, each, _ in made]
        trait = [each.trait for _, each, _ in made if each.trait is not None]
        value = np.array([0.0 if one.value is None else one.value for one in observed])
        table.add(
            name,
            mean,
            float(np.sqrt(np.mean((value - mean) ** 2))),
            float(np.sqrt(np.mean((value - sample) ** 2))),
            mean_of(value - mean),
            mean_of([one.low <= mean <= one.high for one in observed], 100),
            float(np.mean([one.high - one.low for one in observed])),
            *(trait_columns(trait, world.correlation) if trait else [None] * 5),
            made[0][2],
        )


if __name__ == "__main__":
    main()
