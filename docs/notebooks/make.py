"""Run the notebooks and store their outputs: those whose code has changed, or all with ``--all``.

With ``--releases``, first make the releases of two synthetic years anew that the notebooks read. Their noise is real,
so they are kept beside the notebooks: everything but the release in first-release.ipynb gives the same output again.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import numpy as np
from nbclient import NotebookClient

import peerveil as pv
from peerveil.record.public_files import write_public
from peerveil.simulation.conferences import synthetic_conference

HERE = Path(__file__).parent
RELEASES = HERE / "releases"

#: The seed and the leniency of each year's reviewers.
YEARS = {2025: (25, 0.6), 2026: (26, 1.2)}


def digest(notebook: nbformat.NotebookNode) -> str:
    """The digest of a notebook's code, which its outputs belong to."""
    code = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run a notebook in a folder that holds the releases, and keep only what does not depend on the machine."""
    shutil.copytree(RELEASES, folder / "releases", dirs_exist_ok=True)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place, record_timing=False).execute()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}, "peerveil": {"code": digest(notebook)}}
    )


def make_releases() -> None:
    """Release both years, and write what is public about each."""
    shutil.rmtree(RELEASES, ignore_errors=True)
    for year, (seed, leniency) in YEARS.items():
        conference = synthetic_conference(reviewers=240, leniency=leniency, rng=np.random.default_rng(seed))
        reviews = pv.read(conference.frame(), scale=conference.scale)
        release = pv.release(reviews, public="all", epsilon=3.0, licence="CC0-1.0")
        release.save(RELEASES / str(year), report=False)
        write_public(reviews.public("all"), RELEASES / f"public-{year}.csv")


def main(arguments: list[str]) -> None:
    """Run the notebooks whose stored outputs are of other code."""
    if "--releases" in arguments:
        make_releases()
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if "--all" in arguments or notebook.metadata.get("peerveil", {}).get("code") != digest(notebook):
            with tempfile.TemporaryDirectory() as folder:
                run(notebook, Path(folder))
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1:])
