"""Shapes of leniency: the keys against plain sums, and the normal shape against the usual keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import peerveil as pv
from peerveil.inference.family import LENIENCIES
from peerveil.inference.pooling.shapes import SHAPED, SHAPES, Shape
from peerveil.inference.prior import prior


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_have_mean_0_and_deviation_1(name: str) -> None:
    shape = SHAPES[name]
    assert shape.chances.sum() == pytest.approx(1)
    assert shape.chances @ shape.values == pytest.approx(0, abs=0.02)
    assert shape.chances @ shape.values**2 == pytest.approx(1, abs=0.12)  # Student's tails are cut
    third, fourth = (float(shape.chances @ shape.values**power) for power in (3, 4))
    assert third == pytest.approx({"lenient": 2, "strict": -2}.get(name, 0), abs=0.25)
    assert (fourth - 3 < 0) == (name == "camps")


@pytest.mark.parametrize("name", SHAPES)
def test_a_key_is_the_place_in_the_law_of_leniency_given_the_score(name: str) -> None:
    """The whole part of a key is the value that is reached when chances are added up one by one."""
    shape, rng = SHAPES[name], np.random.default_rng(4)
    standard, leniency = np.array([-1.5, 0.2, 0.2, 2.0]), 0.8
    noise = rng.standard_normal((5, 4))
    keys = shape.keys(standard, noise, leniency)
    rho = leniency / math.sqrt(1 + leniency**2)
    for row, place in np.ndindex(noise.shape):
        weights = [
            chance * math.exp(-0.5 * (standard[place] - rho * value) ** 2 / (1 - rho**2))
            for value, chance in zip(shape.values.tolist(), shape.chances.tolist(), strict=True)
        ]
        left, key = float(ndtr(noise[row, place])) * sum(weights), 0.0
        for weight in weights:
            if left <= weight:
                key += left / weight
                break
            left, key = left - weight, key + 1
        assert keys[row, place] == pytest.approx(key, abs=1e-6)


def test_a_normal_shape_gives_the_usual_order() -> None:
    """For a normal leniency the law given a score is normal, so that keys have the order of the usual ones."""
    edges = np.linspace(-8, 8, 2001)
    normal = Shape((edges[1:] + edges[:-1]) / 2, np.diff(ndtr(edges)))
    rng = np.random.default_rng(5)
    standard, noise = rng.standard_normal(40), ndtri(rng.uniform(0.001, 0.999, (20, 40)))
    for leniency in (0.3, 1.0, 2.0):
        keys = normal.keys(standard, noise, leniency)
        usual = noise + leniency * standard
        for row, other in zip(np.argsort(keys, axis=1), np.argsort(usual, axis=1), strict=True):
            assert np.corrcoef(np.argsort(row), np.argsort(other))[0, 1] > 0.9995


def test_shapes_show_in_the_means_of_reviewers() -> None:
    """Camps have the thinnest tails, heavy ones the longest; few lenient reviewers lie above, few strict ones below."""
    scores = np.random.default_rng(6).normal(5, 1.5, (60, 4))
    drawn = prior(pv.PublicWeights.from_rows(scores, load=4), draws=40)
    leniency = float(LENIENCIES[9])
    assert SHAPED[9]
    means = {name: drawn.vectors(leniency, shape).mean(axis=0) for name, shape in SHAPES.items()}
    means["normal"] = drawn.vectors(leniency).mean(axis=0)
    spread = {name: float(mean[-1] - mean[0]) for name, mean in means.items()}
    assert spread["camps"] < spread["normal"] < spread["heavy"]
    assert means["lenient"][-1] > means["normal"][-1] > means["strict"][-1]
    assert means["lenient"][0] > means["normal"][0] > means["strict"][0]
    assert {round(float(mean.mean()), 6) for mean in means.values()} == {round(float(scores.mean()), 6)}
