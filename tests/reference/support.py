"""The support function of a region by linear programming, written from its definition."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from peerveil import Region


def support(region: Region, direction: np.ndarray) -> float:
    """The maximum of direction · theta over the region."""
    n = region.reviewers
    sums = np.tril(np.ones((n, n)))
    order = -np.diff(np.eye(n), axis=0)
    rows = [order] if n > 1 else []
    right = [np.zeros(n - 1)] if n > 1 else []
    for matrix, bound in (
        (sums, region.cumulative_upper[1:]),
        (-sums, -region.cumulative_lower[1:]),
        (sums.T[::-1], region.top_upper[1:]),
        (-sums.T[::-1], -region.top_lower[1:]),
        (np.ones((1, n)), np.array([region.total[1]])),
        (-np.ones((1, n)), np.array([-region.total[0]])),
    ):
        finite = np.isfinite(bound)
        rows.append(matrix[finite])
        right.append(bound[finite])
    limits = list(zip(region.lower, region.upper, strict=True))
    found = linprog(-direction, A_ub=np.vstack(rows), b_ub=np.concatenate(right), bounds=limits, method="highs-ds")
    assert found.status == 0, found.message
    assert found.fun is not None
    return float(-found.fun)
