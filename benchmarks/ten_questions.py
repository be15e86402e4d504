"""The ten worked examples of docs/questions.md, asked of InstEval, whose students rate lecturers.

The conference is the first of bench_questions.py; groups are students of the first two years, and later ones. The code
is that of the page, from the line that names the noise on. `make bench` fetches the ratings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import peerveil as pv
from bench_questions import SEED, conference
from bench_raters import ratings
from peerveil.private.columns import Attributes

PAGE = Path(__file__).parents[1] / "docs" / "questions.md"


def worked() -> tuple[str, str]:
    """The code of the page: what makes a conference, and what asks the questions."""
    (code,) = (text for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S))
    made, noise, asked = code.partition("noise = ")
    return made, noise + asked


def main() -> None:
    files = ratings("insteval"), ratings("insteval-students")
    if not all(file.exists() for file in files):
        print("InstEval is not there; `make bench` fetches it")
        return
    whole, years = (pl.read_csv(file) for file in files)
    whole = whole.join(years.rename({"reviewer": "rater"}), on="rater")
    reviews, group = conference(np.random.default_rng([SEED, 0]), whole)
    values = tuple("early" if one == 1 else "later" for one in group.tolist())
    reviews = pv.Reviews(**vars(reviews) | {"attributes": Attributes(names=("rank",), values=(values,))})
    exec(  # noqa: S102 - our own page
        worked()[1],
        {
            "Any": Any,
            "np": np,
            "pv": pv,
            "reviews": reviews,
            "first": "early",
            "second": "later",
            "accepted": "score>=4",
        },
    )


if __name__ == "__main__":
    main()
