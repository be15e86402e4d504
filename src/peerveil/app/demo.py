"""A synthetic conference, released or exported. Its true values are not private, so errors can be shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerveil.app.release import Step
from peerveil.app.requests import DemoRequest
from peerveil.private.readers import read
from peerveil.private.releasing import release
from peerveil.private.reviews import Reviews
from peerveil.private.true_vector import true_vector
from peerveil.quantities.weights import weigh
from peerveil.record.public_files import write_public
from peerveil.record.public_record import Floats, PublicRecord
from peerveil.regions import region
from peerveil.regions.projection import project
from peerveil.releases.release import FILES, Release
from peerveil.simulation.conferences import Conference, synthetic_conference
from peerveil.simulation.exports import KINDS, export
from peerveil.support.atomic_files import staged_folder

CRITERIA = ("soundness", "clarity", "originality")

#: The quantities that it releases.
QUANTITIES = ("ratings", "miscalibration", "normalized", "subjectivity")

_REGIONS = {"chain": "the paper's bounds", "tight": "all bounds"}
_OWN = (*(name for name, _ in KINDS.values()), *(f"{quantity}/{file}" for quantity in QUANTITIES for file in FILES))


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The size of a synthetic conference, and one release per quantity with the errors of its estimates by name."""

    papers: int
    reviews: int
    reviewers: int
    releases: tuple[tuple[Release, dict[str, float]], ...]


def conference(seed: int = 1) -> Conference:
    """Return the synthetic conference of a seed."""
    return synthetic_conference(criteria=CRITERIA, rng=np.random.default_rng(seed))


def demo(request: DemoRequest, step: Step) -> Demo:
    """Return the releases of every quantity of a synthetic conference, written into a folder."""
    with staged_folder(request.output, own=_OWN, overwrite=_replaces(request)) as stage:
        synthetic = conference(request.seed)
        synthetic.write_csv(stage / "reviews.csv")
        reviews = read(stage / "reviews.csv", scale=synthetic.scale, criteria=CRITERIA)
        record = reviews.public("all")
        write_public(record, stage / "public.csv")
        releases = []
        for quantity in QUANTITIES:
            step(f"Releasing {quantity}")
            released = release(reviews, public="all", quantity=quantity, epsilon=request.epsilon)
            releases.append((released, _errors(released, reviews, record)))
            (stage / quantity).mkdir()
            released.write_into(stage / quantity)
    return Demo(
        papers=len(record.papers), reviews=record.score.size, reviewers=reviews.reviewers, releases=tuple(releases)
    )


def write_exports(request: DemoRequest) -> dict[str, str]:
    """Write the conference in the formats that platforms export; return the format of each file by its name."""
    kinds = tuple(KINDS) if request.export == "all" else (str(request.export),)
    written = {}
    with staged_folder(request.output, own=_OWN, overwrite=_replaces(request)) as stage:
        synthetic = conference(request.seed)
        for kind in kinds:
            name, data = export(synthetic, kind)
            (stage / name).write_bytes(data)
            written[name] = kind
    return written


def _replaces(request: DemoRequest) -> bool:
    """Return whether the output folder may be replaced, as the default folder always may."""
    return request.overwrite or request.output == DemoRequest.output


def _errors(released: Release, reviews: Reviews, record: PublicRecord) -> dict[str, float]:
    """Return the root mean squared error of each vector that could be published."""
    weights, truth = weigh(record, released.quantity), true_vector(reviews, released.quantity)
    errors = {"noisy": _rmse(released.noisy, truth)}
    for kind, bounds in _REGIONS.items():
        errors[bounds] = _rmse(project(released.noisy, region(weights, kind)).values, truth)
    return errors | {"released": _rmse(released.values, truth)}


def _rmse(values: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))
