"""Draw envelope.svg: what public data proves about a synthetic conference, and the truth inside."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import peerveil as pv
from peerveil.simulate import synthetic_conference

conference = synthetic_conference(reviewers=60, rng=np.random.default_rng(1))
weights = pv.weigh(pv.read(conference.frame()).public("all"))
region = pv.region(weights, "envelope")
chain = pv.region(weights, "chain")
n = region.reviewers
rank = np.arange(n + 1)
total = region.total[0]
# Running sums minus those of equal means: the straight line becomes zero, and the curves can be told apart.
level = rank * total / n
truth = np.concatenate(([0.0], np.cumsum(conference.means()))) - level
lowest = np.maximum(
    np.concatenate(([0.0], np.cumsum(chain.lower))), total - np.concatenate(([0.0], np.cumsum(chain.upper[::-1])))[::-1]
)
frame = pl.concat(
    pl.DataFrame({"reviewers": rank, "sum": values, "what": name})
    for name, values in {
        "order and total (most)": np.zeros(n + 1),
        "the truth": truth,
        "envelope (least)": region.cumulative_lower - level,
        "the paper's chain (least)": lowest - level,
    }.items()
)
order = ["order and total (most)", "the truth", "envelope (least)", "the paper's chain (least)"]
picture = (
    alt.Chart(frame, width=520, height=300, title="What public data proves about 60 reviewers with 4 reviews each")
    .mark_line(strokeWidth=2.5)
    .encode(
        x=alt.X("reviewers", title="number of reviewers with the smallest means"),
        y=alt.Y("sum", title="sum of their means, minus that of equal means"),
        color=alt.Color(
            "what", sort=order, title=None, scale=alt.Scale(range=["#999999", "#111111", "#0072b2", "#d55e00"])
        ),
    )
)
picture.save(Path(__file__).with_suffix(".svg"))
