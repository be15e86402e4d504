"""Draw envelope.svg: what public data proves about a synthetic conference, and the truth inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import peerveil as pv
from peerveil.reporting.charts import envelope, write_svg
from peerveil.simulation.conferences import synthetic_conference

conference = synthetic_conference(reviewers=60, rng=np.random.default_rng(1))
weights = pv.weigh(pv.read(conference.frame()).public("all"))
picture = envelope(
    {"envelope": pv.region(weights, "envelope"), "the paper's chain": pv.region(weights, "chain")},
    truth=conference.means(),
    title="What public data proves about 60 reviewers with 4 reviews each",
    width=520,
    height=300,
)
write_svg(picture, Path(__file__).with_suffix(".svg"))
