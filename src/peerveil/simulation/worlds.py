"""Synthetic worlds: conferences whose reviewers differ in ways that the estimators' model holds, or does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.assignments import deal
from peerveil.record.public_record import Floats, Ints
from peerveil.simulation.conferences import Conference

#: The mean of all scores; the deviations of papers' quality, of reviewers' leniency and of a single score; the scale.
_CENTRE, _QUALITY, _LENIENCY, _NOISE = 5.5, 1.2, 0.7, 0.9
_LOW, _HIGH = 1, 10

#: In the world of flat scorers: their share, and how much of a paper's quality and of the noise their scores show.
_FLAT, _SHOWN = 0.3, 0.15

#: In the world of topics: their number, and the deviation of their papers' mean quality.
_TOPICS, _APART = 5, 1.0

#: The law of the reviewers' leniency, given their loads.
Lean = Callable[[Ints, np.random.Generator], Floats]


def _normal(loads: Ints, rng: np.random.Generator) -> Floats:
    """Normal leniency, as the estimators' family has it."""
    return rng.normal(0.0, _LENIENCY, loads.size)


def _camps(loads: Ints, rng: np.random.Generator) -> Floats:
    """Two camps of equal size, one strict and one lenient."""
    return rng.choice([-1.0, 1.0], loads.size)


def _by_load(loads: Ints, rng: np.random.Generator) -> Floats:
    """Leniency that rises with the load; as in the family where all loads are equal."""
    spread = float(loads.std())
    if spread == 0:
        return _normal(loads, rng)
    return np.asarray(0.5 * (loads - loads.mean()) / spread + rng.normal(0.0, 0.5, loads.size))


def _heavy(loads: Ints, rng: np.random.Generator) -> Floats:
    """Heavy tails: leniency with Student's t law of 2 degrees of freedom."""
    return 0.5 * rng.standard_t(2, loads.size)


#: The worlds by name, with the law of their reviewers' leniency.
WORLDS: Mapping[str, Lean] = {
    "family": _normal,
    "camps": _camps,
    "flat": _normal,
    "load": _by_load,
    "topics": _normal,
    "heavy": _heavy,
}


def world(
    name: str,
    *,
    reviewers: int = 300,
    loads: int | Sequence[int] = 4,
    reviews_per_paper: int = 4,
    seed: int | np.random.SeedSequence,
) -> Conference:
    """Return a conference of a world.

    A raw score is the quality of the paper plus the leniency of the reviewer plus noise; scores are whole numbers from
    1 to 10. The worlds differ from ``family``, in which leniency is normal and papers are dealt at random:

    - ``camps``: half of the reviewers are strict, half lenient;
    - ``flat``: 30 % of the reviewers give everything nearly the same score;
    - ``load``: leniency rises with the load, if loads differ;
    - ``topics``: reviewers only see papers of their topic, and topics differ in quality;
    - ``heavy``: leniency has heavy tails (Student's t law of 2 degrees of freedom).

    Args:
        name: one of ``WORLDS``.
        reviewers: number of reviewers.
        loads: the load of all reviewers, or several loads, which equally many have (give or take one).
        reviews_per_paper: the number of reviews per paper; the last papers have one fewer if it does not fit.
        seed: the seed of the draw.

    >>> conference = world("camps", reviewers=30, loads=(1, 2, 3), seed=1)
    >>> np.bincount(np.bincount(conference.reviewer)).tolist()
    [0, 10, 10, 10]
    """
    if name not in WORLDS:
        raise InputError(Argument("name"), f" must be one of {', '.join(WORLDS)}, got {name!r}")
    rng = np.random.default_rng(seed)
    load = rng.permutation(np.resize(np.asarray(loads, dtype=np.int64), reviewers))
    topic = np.arange(reviewers) % (_TOPICS if name == "topics" else 1)
    paper, reviewer, mean = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    for of_topic in range(int(topic.max()) + 1):
        people = np.flatnonzero(topic == of_topic)
        reviews = int(load[people].sum())
        papers = -(-reviews // reviews_per_paper)
        own = np.sort(np.arange(reviews) % papers)
        if papers < load[people].max() or people.size < reviews_per_paper:
            raise InputError(
                f"{reviewers} reviewers with these loads and {reviews_per_paper} reviews per paper do not fit"
            )
        paper = np.append(paper, mean.size + own)
        reviewer = np.append(reviewer, people[deal(own, load[people], rng)])
        mean = np.append(mean, np.full(papers, rng.normal(0.0, _APART) if name == "topics" else 0.0))
    quality = (mean + rng.normal(0.0, _QUALITY, mean.size))[paper]
    raw = quality + rng.normal(0.0, _NOISE, paper.size)
    if name == "flat":
        raw *= np.where(rng.random(reviewers) < _FLAT, _SHOWN, 1.0)[reviewer]
    score = np.clip(np.rint(_CENTRE + WORLDS[name](load, rng)[reviewer] + raw), _LOW, _HIGH)
    return Conference(paper=paper, reviewer=reviewer, score=score, scale=(_LOW, _HIGH))
