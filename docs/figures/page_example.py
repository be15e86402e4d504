"""Draw the chart on the page's first screen from its example, a release of a synthetic conference.

The release is made anew only if it is missing: its noise comes from the operating system.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import peerveil as pv
from peerveil.reporting import charts
from peerveil.simulation.conferences import synthetic_conference

WEB = Path(__file__).parents[2] / "src" / "peerveil" / "web"
RELEASE = WEB / "example" / "release.json"
PICTURE = WEB / "static" / "example.svg"
CITATION = "An example from a synthetic conference. Its reviewers are simulated; please do not cite it."
ABOUT = pv.About(
    title="How our reviewers rated",
    conference="Example Conference",
    year=2026,
    authors=("A. Chair", "B. Chair"),
    contact="chairs@example.org",
)
LICENCE = "CC0-1.0"


def make() -> None:
    """Write the release of a synthetic conference of a thousand reviewers."""
    synthetic = synthetic_conference(reviewers=1000, rng=np.random.default_rng(1))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "reviews.csv"
        synthetic.write_csv(file)
        reviews = pv.read(file, scale=synthetic.scale)
    made = pv.release(reviews, public="all", epsilon=1.0, citation=CITATION, licence=LICENCE, about=ABOUT)
    RELEASE.parent.mkdir(exist_ok=True)
    RELEASE.write_text(made.to_json(), encoding="utf-8")


def svg() -> str:
    """Return the chart of the released means."""
    return charts.to_svg(charts.histogram(pv.Release.load(RELEASE)))


if __name__ == "__main__":
    if not RELEASE.exists():
        make()
    PICTURE.write_text(svg(), encoding="utf-8")
