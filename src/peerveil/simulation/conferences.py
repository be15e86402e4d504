"""Synthetic conferences for the demo, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.assignments import deal
from peerveil.record.public_record import Floats, Ints

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, eq=False)
class Conference:
    """A synthetic conference: the paper, reviewer, score and criteria of each review, and the score's scale."""

    paper: Ints
    reviewer: Ints
    score: Floats
    scale: tuple[float, float]
    criteria: Mapping[str, Floats] = field(default_factory=dict)

    def columns(self) -> dict[str, list[str] | list[float]]:
        """Return the reviews as columns, with invented names."""
        return {
            "paper": [f"paper-{p + 1:04d}" for p in self.paper.tolist()],
            "reviewer": [f"reviewer-{a + 1:04d}@example.org" for a in self.reviewer.tolist()],
            "score": self.score.tolist(),
            **{name: grades.tolist() for name, grades in self.criteria.items()},
        }

    def frame(self) -> pl.DataFrame:
        """Return the reviews as a frame, one row per review."""
        import polars as pl  # noqa: PLC0415 - only frames need it

        return pl.DataFrame(self.columns())

    def write_csv(self, path: Path) -> None:
        """Write the reviews as a CSV file."""
        self.frame().write_csv(path)

    def means(self) -> Floats:
        """Return the sorted mean scores of the reviewers, which are synthetic and therefore not secret."""
        totals = np.bincount(self.reviewer, weights=self.score)
        return np.sort(totals / np.bincount(self.reviewer))


def synthetic_conference(
    *,
    reviewers: int = 300,
    load: int = 4,
    reviews_per_paper: int = 4,
    leniency: float = 0.9,
    scale: tuple[int, int] = (1, 10),
    criteria: Sequence[str] = (),
    rng: np.random.Generator,
) -> Conference:
    """Return a conference whose papers differ in quality and whose reviewers differ in leniency.

    Args:
        reviewers: number of reviewers.
        load: number of reviews per reviewer.
        reviews_per_paper: number of reviews per paper; must divide ``reviewers * load``.
        leniency: how strongly reviewers differ, as a multiple of the noise of a single score.
        scale: lowest and highest score, whole numbers.
        criteria: names of criteria, such as ``["soundness", "clarity"]``. Papers get grades from 1 to 5 in each, and
            each reviewer's scores weigh them differently.
        rng: the random generator.

    >>> conference = synthetic_conference(reviewers=10, rng=np.random.default_rng(0))
    >>> conference.score.size
    40
    """
    reviews = reviewers * load
    if reviews % reviews_per_paper:
        raise InputError(Argument("reviews_per_paper", reviews_per_paper), f" does not divide the {reviews} reviews")
    papers = reviews // reviews_per_paper
    if load > papers or reviews_per_paper > reviewers:
        raise InputError(f"{reviewers} reviewers with load {load} and {reviews_per_paper} reviews per paper do not fit")
    paper = np.repeat(np.arange(papers, dtype=np.int64), reviews_per_paper)
    holder = deal(paper, np.full(reviewers, load, dtype=np.int64), rng)
    low, high = scale
    step = (high - low) / 9
    quality = rng.normal(0.45 * low + 0.55 * high, 1.2 * step, papers)
    lean = rng.normal(0.0, leniency * step, reviewers)
    raw = quality[paper] + lean[holder] + rng.normal(0.0, step, reviews)
    grades: dict[str, Floats] = {}
    if criteria:
        seen = rng.normal(0.0, 0.9, (papers, len(criteria)))[paper] + rng.normal(0.0, 0.5, (reviews, len(criteria)))
        marks = np.clip(np.rint(3 + (quality[paper] - quality.mean())[:, None] / (2 * step) + seen), 1, 5)
        taste = rng.dirichlet(np.ones(len(criteria)), reviewers)[holder]
        raw = low + (high - low) * ((taste * marks).sum(axis=1) - 1) / 4 + lean[holder]
        raw += rng.normal(0.0, 0.3 * step, reviews)
        grades = dict(zip(criteria, marks.T, strict=True))
    score = np.clip(np.rint(raw), low, high)
    return Conference(paper=paper, reviewer=holder, score=score, scale=(float(low), float(high)), criteria=grades)
