"""Releases with made-up numbers, the same on every machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import peerveil as pv
from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.model import RecordModel


def release(n: int = 20, quantity: str = "ratings", *, known: bool = True, spread: float = 1.0) -> pv.Release:
    """A release whose means lie evenly around the middle of a scale from 1 to 10."""
    at = (np.arange(n) + 0.5) / n
    values = 5.5 + spread * 4 * (at - 0.5) + spread * (2 * at - 1) ** 3
    if quantity in ("miscalibration", "subjectivity"):
        values = values - 5.5
    noisy = values + 3 * np.sin(7.0 * np.arange(n))
    outlook = ExpectedError(expected_rmse=0.2, lower=values - 0.4, upper=values + 0.3) if known else None
    return pv.Release(
        quantity=quantity,
        values=values,
        noisy=noisy,
        lower=values - 1.5,
        upper=values + 1.5,
        guarantee=pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0),
        mechanism={"name": "laplace", "epsilon": None, "scale": 3.0},
        region="tight",
        estimator="safe",
        outlook=outlook,
        papers=n,
        loads=pv.Loads(reviewers=n, reviews=4 * n, sizes=(4,), counts=(n,)),
        public="all scores, and load counts",
        record_digest="sha256:" + 64 * "0",
        gap=0.0,
        notes=(),
        created=datetime(2026, 1, 31, 12, tzinfo=UTC),
        software="Peerveil test",
    )


def few_draws(weights: pv.PublicWeights, draws: int) -> pv.PublicWeights:
    """The weights, with a model of so few draws that it is computed quickly."""
    weights._derived[RecordModel] = RecordModel(weights, draws=draws)
    return weights


def reviews_of_groups(folder: Path) -> pv.Reviews:
    """Reviews by seniors and juniors."""
    rows = [f"p{i},r{(i + 7 * j) % 120}@uni.example,{(i * j + i) % 9 + 1}" for i in range(160) for j in range(3)]
    people = [f"r{j}@uni.example,{'senior programme committee' if j % 3 else 'junior'}" for j in range(120)]
    (folder / "reviews.csv").write_text("\n".join(["paper,reviewer,score", *rows]))
    (folder / "people.csv").write_text("\n".join(["reviewer,seniority", *people]))
    return pv.read(folder / "reviews.csv", attributes=folder / "people.csv", scale=(1, 9))
