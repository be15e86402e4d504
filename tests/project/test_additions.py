"""Additions touch the files that docs/where.md lists, at most two each, and every part of the program finds them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

QUANTITY = """
from peerveil.quantities.base import neutral_words
from peerveil.quantities.ratings import Ratings


class Halves(Ratings):
    name = "halves"
    words = neutral_words("half")

    def weights(self, held, *, record, lone):
        return held.score / 2
"""

STATISTIC = """

class Middle:
    name = noun = "middle"
    meaning, plural = "the middle of the range", "middles"

    def of(self, weights):
        return float(weights.min() + weights.max()) / 2

    def reach(self, low, high):
        return low, high


register(Middle())
"""

REGION = """
from dataclasses import replace

from peerveil.regions.baseline import baseline
from peerveil.regions.convex import register


@register
def plain(weights):
    return replace(baseline(weights), name="plain")
"""

MECHANISM = """
from dataclasses import dataclass
from typing import ClassVar

from peerveil.mechanisms.base import register
from peerveil.mechanisms.laplace import Laplace
from peerveil.privacy.noise_laws import LaplaceLaw


@dataclass(frozen=True)
class OwnLaw(LaplaceLaw):
    pass


@register
@dataclass(frozen=True, kw_only=True)
class Own(Laplace):
    name: ClassVar[str] = "own-noise"
    law_of = OwnLaw

    def needed(self, sensitivity):
        return Own(scale=sensitivity.l1 / self.epsilon)
"""

DRAW = """
from peerveil.mechanisms.own_noise import Own

draws(Own)(_laplace)
"""

READER = """
from peerveil.private.readers.protocol import Extract
from peerveil.tables.table import Table

label = "Paperflow"


def recognise(look):
    return "its first line is Paperflow's" if look.start.startswith("#paperflow\\n") else ""


def extract(source, choices):
    rows = [line.split("|") for line in source.text().read().splitlines()[1:]]
    columns = dict(zip(("paper", "reviewer", "score"), map(list, zip(*rows)), strict=True))
    return Extract(table=Table.of(source.name, "paperflow", columns, range(2, len(rows) + 2)), certain=True)
"""

#: For each addition the files that are new or longer, relative to the project, with the text that is written to each.
ADDITIONS: dict[str, dict[str, str]] = {
    "quantity": {
        "src/peerveil/quantities/halves.py": QUANTITY,
        "src/peerveil/quantities/__init__.py": "from peerveil.quantities.halves import Halves\n\nregister(Halves())\n",
    },
    "statistic": {"src/peerveil/quantities/statistics.py": STATISTIC},
    "region": {"src/peerveil/regions/plain.py": REGION},
    "mechanism": {"src/peerveil/mechanisms/own_noise.py": MECHANISM, "src/peerveil/private/noise.py": DRAW},
    "reader": {
        "src/peerveil/private/readers/paperflow.py": READER,
        "src/peerveil/private/readers/__init__.py": "from peerveil.private.readers import paperflow\n\n"
        'READERS["paperflow"] = paperflow\n',
    },
}

USE = """
from pathlib import Path
import peerveil as pv
from peerveil.app.options import format_labels
from peerveil.app.parsing import parse_mechanism

Path("export.txt").write_text("#paperflow\\n1|a|3\\n1|b|5\\n2|b|4\\n2|c|4\\n3|c|8\\n3|a|6\\n")
reviews = pv.read("export.txt", scale=(1, 10))
assert (reviews.report.format, format_labels()["paperflow"]) == ("paperflow", "Paperflow")
own = parse_mechanism("own-noise", epsilon=1.0)
release = pv.release(reviews, public="all", quantity="halves", mechanism=own, region="plain")
assert (release.mechanism["name"], release.quantity, release.region) == ("own-noise", "halves", "plain")
checks = pv.verify(release, pv.weigh(reviews.public("all"), "halves"))
assert checks, checks.failed
release = pv.release(reviews, public="all", statistic="middle", mechanism=pv.Laplace(epsilon=1.0))
assert release.quantity == "middle of ratings"
checks = pv.verify(release, pv.weigh(reviews.public("all"), "middle of ratings"))
assert checks, checks.failed
"""


def listed(addition: str) -> set[str]:
    """The files and folders that the page lists for an addition."""
    (row,) = re.findall(
        rf"^\| an? (?:reviewer )?\[{addition}\].*", (ROOT / "docs" / "where.md").read_text(encoding="utf-8"), re.M
    )
    return set(re.findall(r"`(src/[^`]+)`", row))


@pytest.mark.parametrize("addition", ADDITIONS)
def test_an_addition_touches_the_listed_files(addition: str) -> None:
    new = {path for path in ADDITIONS[addition] if not (ROOT / path).exists()}
    assert len(ADDITIONS[addition]) <= 2
    assert {f"{Path(path).parent}/" for path in new} | (set(ADDITIONS[addition]) - new) == listed(addition)


def test_the_program_finds_what_is_written_to_the_listed_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for texts in ADDITIONS.values():
        for path, text in texts.items():
            with (tmp_path / path).open("a", encoding="utf-8") as file:
                file.write(text)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "200"}

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = python("-m", "peerveil", "release", "--help")
    for names in (
        "ratings | miscalibration | disagreement | normalized | subjectivity | halves",
        "highest | middle",
        "baseline | chain | envelope | hull | plain | tight",
        "gaussian | histogram | laplace | own-noise | sinh-normal",
        "cmt | easychair | hotcrp | openreview | paperflow | csv",
    ):
        assert names in shown
    python("-c", USE)
