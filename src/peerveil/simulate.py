"""Synthetic conferences, for the demo, tests and benchmarks. Nobody in them exists."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from peerveil.assignment import deal
from peerveil.errors import InputError
from peerveil.record import Floats, Ints

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, eq=False)
class Conference:
    """A synthetic conference: who reviewed what, with which score.

    Attributes:
        paper: for each review its paper.
        reviewer: for each review its reviewer.
        score: for each review its score.
        scale: lowest and highest score.
    """

    paper: Ints
    reviewer: Ints
    score: Floats
    scale: tuple[float, float]

    def columns(self) -> dict[str, list[str] | list[float]]:
        """The reviews as columns, with invented names."""
        return {
            "paper": [f"paper-{p + 1:04d}" for p in self.paper.tolist()],
            "reviewer": [f"reviewer-{a + 1:04d}@example.org" for a in self.reviewer.tolist()],
            "score": self.score.tolist(),
        }

    def frame(self) -> pl.DataFrame:
        """The reviews as a frame, a row a review."""
        import polars as pl  # noqa: PLC0415 - only frames need it

        return pl.DataFrame(self.columns())

    def write_csv(self, path: Path) -> None:
        """Write the reviews as a platform would export them."""
        columns = self.columns()
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def means(self) -> Floats:
        """The sorted mean scores of the reviewers. Synthetic, so no secret."""
        totals = np.bincount(self.reviewer, weights=self.score)
        return np.sort(totals / np.bincount(self.reviewer))


def synthetic_conference(
    *,
    reviewers: int = 300,
    load: int = 4,
    reviews_per_paper: int = 4,
    leniency: float = 0.9,
    scale: tuple[int, int] = (1, 10),
    rng: np.random.Generator,
) -> Conference:
    """A conference whose papers differ in quality and whose reviewers differ in leniency.

    Args:
        reviewers: number of reviewers.
        load: reviews a reviewer writes.
        reviews_per_paper: reviews a paper gets; must divide ``reviewers * load``.
        leniency: how strongly reviewers differ, as a multiple of the noise of a single score.
        scale: lowest and highest score, whole numbers.
        rng: where the randomness comes from.

    >>> conference = synthetic_conference(reviewers=10, rng=np.random.default_rng(0))
    >>> conference.score.size
    40
    """
    reviews = reviewers * load
    if reviews % reviews_per_paper:
        raise InputError(f"reviews_per_paper={reviews_per_paper} does not divide the {reviews} reviews")
    papers = reviews // reviews_per_paper
    if load > papers or reviews_per_paper > reviewers:
        raise InputError(f"{reviewers} reviewers with load {load} and {reviews_per_paper} reviews a paper do not fit")
    paper = np.repeat(np.arange(papers, dtype=np.int64), reviews_per_paper)
    holder = deal(paper, np.full(reviewers, load, dtype=np.int64), rng)
    low, high = scale
    step = (high - low) / 9
    quality = rng.normal(0.45 * low + 0.55 * high, 1.2 * step, papers)
    lean = rng.normal(0.0, leniency * step, reviewers)
    raw = quality[paper] + lean[holder] + rng.normal(0.0, step, reviews)
    score = np.clip(np.rint(raw), low, high)
    return Conference(paper=paper, reviewer=holder, score=score, scale=(float(low), float(high)))
