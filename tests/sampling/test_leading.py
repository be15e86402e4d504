"""Changed tables keep what was released, reviewer by reviewer, and change everything else."""

from __future__ import annotations

import numpy as np
import pytest

from peerveil.quantities.statistics import MEAN, Spread, of_each
from peerveil.record.public_record import Floats
from peerveil.sampling.cells import Cells, Holding, Margin, Tilt
from peerveil.sampling.leading import Led, led

NO_CUTS = np.empty(0)


def example(loads: list[int], *, whole: bool, margins: tuple[Margin, ...]) -> tuple[Cells, Holding]:
    rng = np.random.default_rng(1)
    paper = np.sort(np.arange(sum(loads)) % (sum(loads) // 3))
    score = rng.integers(1, 11, paper.size) + (0 if whole else rng.random(paper.size))
    cells = Cells(paper, score.astype(float), np.array(loads), margins)
    labels = np.array([[0, 1] * (len(loads) // 2)])
    return cells, cells.dealt(rng, labels)


def groups_of(cells: Cells, table: Holding, *, spread: bool = False) -> list[list[float]]:
    """The sorted means, or spreads, of the reviewers with each label."""
    hands = np.split(table.score[table.held], np.cumsum(cells.loads)[:-1])
    values = np.array([hand.std() if spread else hand.mean() for hand in hands])
    return [np.sort(values[table.labels[0] == label]).tolist() for label in (0, 1)]


def assert_valid(cells: Cells, made: Led) -> None:
    assert sorted(made.table.held.tolist()) == list(range(cells.paper.size))
    holder = made.table.holders(cells.owner)
    assert len(set(zip(cells.paper.tolist(), holder.tolist(), strict=True))) == holder.size


def flat(cells: Cells) -> Tilt:
    def value(table: Holding) -> Floats:
        return np.asarray(-3 * of_each(Spread(), table.score[table.held][None], cells.loads[None])[0])

    return value


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("loads", [[4] * 40, [3, 4, 5, 6] * 10])
def test_means_stay_by_label_and_all_else_changes(loads: list[int], *, whole: bool) -> None:
    margins = (Margin(MEAN, NO_CUTS), Margin(MEAN, NO_CUTS, attribute=0, values=2))
    cells, table = example(loads, whole=whole, margins=margins)
    made = led(cells, table, np.random.default_rng(2), flat(cells), by_load=True)
    assert_valid(cells, made)
    assert made.distance < 0.02
    for before, after in zip(groups_of(cells, table), groups_of(cells, made.table), strict=True):
        assert np.abs(np.array(before) - np.array(after)).mean() < 0.03
    assert np.mean(made.table.holders(cells.owner) != table.holders(cells.owner)) > 0.8
    assert np.any(made.table.labels != table.labels)
    if whole and len(set(loads)) == 1:  # soon near enough, so that what was favoured is still there
        spreads = [np.concatenate(groups_of(cells, of, spread=True)).mean() for of in (table, made.table)]
        assert spreads[1] < 0.95 * spreads[0]


def test_distance_is_told_if_means_cannot_stay() -> None:
    """Other loads have other means of whole scores, so values cannot be exchanged freely between loads."""
    cells, table = example([2, 3] * 6, whole=True, margins=(Margin(MEAN, NO_CUTS),))

    def busy(other: Holding) -> Floats:
        means = of_each(MEAN, other.score[other.held][None], cells.loads[None])[0]
        return np.asarray(means * (cells.loads - 2.5))

    made = led(cells, table, np.random.default_rng(2), busy, by_load=False)
    assert_valid(cells, made)
    means = [np.sort(of_each(MEAN, of.score[of.held][None], cells.loads[None])[0]) for of in (table, made.table)]
    assert made.distance == pytest.approx(np.abs(means[0] - means[1]).mean() / means[0].std())
