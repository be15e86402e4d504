"""Worlds are reproducible, deal valid assignments, and differ from the family in what their names say."""

import numpy as np
import pytest

from peerveil.errors import InputError
from peerveil.record.public_record import Floats
from peerveil.simulation.conferences import Conference
from peerveil.simulation.worlds import WORLDS, world


def leniency(conference: Conference) -> Floats:
    """Each reviewer's mean score relative to the papers' means."""
    paper = np.bincount(conference.paper, weights=conference.score) / np.bincount(conference.paper)
    relative = conference.score - paper[conference.paper]
    return np.bincount(conference.reviewer, weights=relative) / np.bincount(conference.reviewer)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("loads", [4, (1, 2, 3, 4, 5, 6)])
def test_world_is_valid_and_reproducible(name: str, loads: int | tuple[int, ...]) -> None:
    made, again, other = (world(name, reviewers=101, loads=loads, seed=seed) for seed in (7, 7, 8))
    assert made.score.tolist() == again.score.tolist() != other.score.tolist()
    assert len(set(zip(made.paper, made.reviewer, strict=True))) == made.score.size
    assert np.bincount(made.reviewer).size == 101
    assert set(np.bincount(made.reviewer)) == ({loads} if isinstance(loads, int) else set(loads))
    assert set(np.bincount(made.paper)) <= {3, 4}
    assert made.score.min() >= 1
    assert made.score.max() <= 10


def test_worlds_differ_as_named() -> None:
    mixed = (1, 2, 3, 4, 5, 6)
    made = {name: world(name, reviewers=1500, loads=mixed, seed=3) for name in WORLDS}
    lean = {name: leniency(each) for name, each in made.items()}
    load = {name: np.bincount(each.reviewer) for name, each in made.items()}

    def busy(name: str) -> Floats:
        return lean[name][load[name] >= 5]

    def kurtosis(x: Floats) -> float:
        return float(np.mean((x - x.mean()) ** 4) / x.var() ** 2)

    assert np.corrcoef(load["load"], lean["load"])[0, 1] > 0.4
    assert abs(np.corrcoef(load["family"], lean["family"])[0, 1]) < 0.1
    assert kurtosis(busy("camps")) < 2.5 < kurtosis(busy("family")) < 4 < kurtosis(busy("heavy"))
    spread = {name: _own_spread(made[name]) for name in ("family", "flat")}
    assert np.quantile(spread["flat"], 0.2) < 0.6 < 0.8 * np.quantile(spread["family"], 0.2)
    # Who sees papers of like quality has scores alike, whatever the leniency.
    assert _between(made["topics"]) > 1.3 * _between(made["family"])


def _own_spread(conference: Conference) -> Floats:
    own = [conference.score[conference.reviewer == a] for a in range(600)]
    return np.array([scores.std(ddof=1) for scores in own if scores.size >= 4])


def _between(conference: Conference) -> float:
    means = np.bincount(conference.reviewer, weights=conference.score) / np.bincount(conference.reviewer)
    return float(means[np.bincount(conference.reviewer) >= 5].var())


def test_unknown_world_and_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="family, camps, flat, load, topics, heavy"):
        world("paradise", seed=1)
    with pytest.raises(InputError, match="do not fit"):
        world("family", reviewers=3, seed=1)
