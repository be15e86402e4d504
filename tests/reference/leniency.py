"""A valid assignment at a leniency, one at a time, from the definition: keys, blocks, swaps with near keys."""

from __future__ import annotations

import numpy as np


def lean(paper: np.ndarray, weight: np.ndarray, load: int, leniency: float, rng: np.random.Generator) -> np.ndarray:
    """The sorted means of reviewers who all have one load.

    Each review gets the key N(0, 1) + leniency (x - mean) / sd; reviewers take blocks in the order of keys, and those
    who hold two reviews of a paper swap one with somebody near.
    """
    key = rng.standard_normal(weight.size) + leniency * (weight - weight.mean()) / (weight.std() or 1.0)
    order = np.argsort(key)
    blocks = [order[i : i + load].tolist() for i in range(0, order.size, load)]
    for _ in range(1000):
        clashing = [i for i, block in enumerate(blocks) if len({int(paper[e]) for e in block}) < load]
        if not clashing:
            return np.sort([weight[block].mean() for block in blocks])
        for i in clashing:
            papers = [int(paper[e]) for e in blocks[i]]
            mine = next((k for k in range(load) if papers.index(papers[k]) < k), None)
            if mine is None:
                continue  # somebody else's swap mended it
            j = int(np.clip(i + rng.integers(-3, 4), 0, len(blocks) - 1))
            theirs = int(rng.integers(load))
            blocks[i][mine], blocks[j][theirs] = blocks[j][theirs], blocks[i][mine]
    raise AssertionError("the clashes would not go away")
