"""The demonstration: a synthetic conference from file to release. Its truth is invented, so errors may be shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from peerveil.cli.show import error_table, out, release_panel
from peerveil.cli.working import after_writing, working
from peerveil.mechanisms import Laplace
from peerveil.private.readers import read
from peerveil.private.release import release
from peerveil.private.true_vector import true_vector
from peerveil.quantities import QUANTITIES
from peerveil.quantities.weights import weigh
from peerveil.record.public_files import write_public
from peerveil.record.public_record import Floats
from peerveil.regions import region
from peerveil.regions.projection import project
from peerveil.releases.release import FILES
from peerveil.simulation.conferences import synthetic_conference
from peerveil.simulation.exports import KINDS, PRIVATE, export
from peerveil.support.atomic_files import staged_folder

CRITERIA = ("soundness", "clarity", "originality")
REGIONS = (("baseline", "order, range, total"), ("chain", "the paper's bounds"), ("tight", "our bounds"))
EXPORTS = tuple(name for name, _ in KINDS.values())
OWN = (*EXPORTS, *(f"{quantity}/{file}" for quantity in QUANTITIES for file in FILES))


def run(folder: Path, *, seed: int, epsilon: float, overwrite: bool) -> None:
    """Make the conference, release every quantity of it, and show how public data helped."""
    mechanism = Laplace(epsilon=epsilon)
    shown: list[RenderableType] = [Rule(Text("Peerveil demo", style="bold"))]
    with staged_folder(folder, own=OWN, overwrite=overwrite) as stage:
        conference = synthetic_conference(criteria=CRITERIA, rng=np.random.default_rng(seed))
        conference.write_csv(stage / "reviews.csv")
        reviews = read(stage / "reviews.csv", scale=conference.scale, criteria=CRITERIA)
        record = reviews.public("all")
        write_public(record, stage / "public.csv")
        shown.append(
            f"A synthetic conference: {len(record.papers)} papers, {record.score.size} reviews, {reviews.reviewers} "
            f"reviewers who differ in leniency and in how they weigh {', '.join(CRITERIA[:-1])} and {CRITERIA[-1]}. "
            "Everyone can see which scores and grades each paper got; who gave them is secret.\n"
        )
        for quantity in QUANTITIES:
            with working(f"Releasing {quantity}"):
                made = release(reviews, public="all", quantity=quantity, mechanism=mechanism)
                weights = weigh(record, quantity)
                truth = true_vector(reviews, quantity)
                errors = {"the noisy vector alone": _rmse(made.noisy, truth)}
                for kind, words in REGIONS:
                    values = project(made.noisy, region(weights, kind)).values
                    errors[f"projected on {words}"] = _rmse(values, truth)
                errors[f"released: {made.estimator}"] = _rmse(made.values, truth)
            (stage / quantity).mkdir()
            made.write_into(stage / quantity)
            shown += [
                release_panel(made),
                "How public data helped (the truth is known here only because the conference is invented):",
                error_table(errors),
                "",
            ]
    with after_writing(folder):
        for part in shown:
            out.print(part)
        out.print(
            f"Written to {folder}: reviews.csv, public.csv, and a release with its report.html for each quantity.",
            soft_wrap=True,
        )
        out.print(f"Try:  peerveil inspect {folder / 'reviews.csv'}", soft_wrap=True)


def write_exports(folder: Path, kind: str, *, seed: int, overwrite: bool) -> None:
    """Write the conference as platforms would export it, and show how to look at each file."""
    kinds = tuple(KINDS) if kind == "all" else (kind,)
    written = []
    with staged_folder(folder, own=OWN, overwrite=overwrite) as stage:
        conference = synthetic_conference(criteria=CRITERIA, rng=np.random.default_rng(seed))
        for one in kinds:
            name, data = export(conference, one)
            (stage / name).write_bytes(data)
            person = " --person subreviewer" if one.startswith("easychair") else ""
            written.append(f"peerveil inspect {folder / name}{person}{'' if one in PRIVATE else '   # public scores'}")
    with after_writing(folder):
        out.print("Written, with invented reviews. Look at them with", soft_wrap=True)
        for command in written:
            out.print(f"  {command}", soft_wrap=True)


def _rmse(values: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))
