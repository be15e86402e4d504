"""Ways to break a claim on the real release path, for tests and benchmarks of the audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest.mock import patch

import peerveil as pv
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy import joint_claims
from peerveil.privacy.accounting import rho_for
from peerveil.privacy.joint_claims import compose_groups
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import LinkedSums
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.private import crosstabs, effects, noise, release

#: The budgets at which sabotage must be caught.
BUDGETS = (0.5, 1.0, 3.0)


def mechanisms(epsilon: float) -> dict[str, OwnMechanism | pv.Auto]:
    """Every mechanism, at a budget, and what a plan chooses; those that have a delta at 1e-6."""
    return {
        "laplace": pv.Laplace(epsilon=epsilon),
        "histogram": pv.Histogram(epsilon=epsilon),
        "gaussian": pv.Gaussian(epsilon=epsilon, delta=1e-6),
        "gaussian 1e-3": pv.Gaussian(epsilon=epsilon, delta=1e-3),
        "sinh-normal": pv.SinhNormal(rho=rho_for(epsilon, 1e-6, 100.0), omega=100.0),
        "auto": pv.Auto(epsilon=epsilon),
    }


@contextmanager
def smaller_noise(share: float = 0.5) -> Iterator[None]:
    """Noise that is a share of what is stated."""

    def smaller(draw: Any) -> Any:
        def source(law: Any, length: int) -> noise.Source:
            less = replace(law, **{field.name: getattr(law, field.name) * share for field in fields(law)})
            return noise.Source(draw(less, length).add)

        return source

    with patch.dict(noise._DRAWS, {name: smaller(draw) for name, draw in noise._DRAWS.items()}):
        yield


@contextmanager
def wrong_bound(**wrong: Any) -> Iterator[None]:
    """A wrong sensitivity, on which the noise, its claim and the claim of all tracks rest."""
    prepare = noise.prepare

    def prepared(mechanism: Any, bound: Any, unit: Any, length: int) -> Any:
        return prepare(mechanism, replace(bound, **wrong), unit, length)

    def wrong_sensitivity(weights: Any, unit: Any) -> Any:
        bound: Any = sensitivity(weights, unit)
        return replace(bound, **wrong)

    wrongly = (patch.object(module, "prepare", prepared) for module in (release, effects, crosstabs))
    with next(wrongly), next(wrongly), next(wrongly), patch.object(joint_claims, "sensitivity", wrong_sensitivity):
        yield


@contextmanager
def second_conference_is_free() -> Iterator[None]:
    """A correlation is charged for the people who move in the first conference alone."""

    def without(sums: LinkedSums, unit: Any) -> Any:
        side = sums.sides[0]
        moved = sums._moved(None) + side.exchanges * sums._moved(side) if unit == "reviewer" else 2 * sums._moved(side)
        return Sensitivity(l1=moved, l2=moved, linf=moved)

    with patch.object(LinkedSums, "sensitivity", without):
        yield


@contextmanager
def table_of_one_person() -> Iterator[None]:
    """A table of means in two conferences is charged for one person who moves."""
    moved = Sensitivity(l1=2, l2=2, linf=1, counts=2)
    with patch.object(LinkedCounts, "sensitivity", lambda *_: moved):
        yield


@contextmanager
def tracks_do_not_add_up() -> Iterator[None]:
    """Several tracks cost as much as the one that costs the most."""
    with patch.object(joint_claims, "compose_groups", lambda claims, **_: compose_groups(claims, shared=False)):
        yield


@contextmanager
def third_track_is_free() -> Iterator[None]:
    """Several tracks cost as much as two of them."""
    with patch.object(joint_claims, "compose_groups", lambda claims, **how: compose_groups(claims[:2], **how)):
        yield


@contextmanager
def partners_move_in_one_track() -> Iterator[None]:
    """Histograms of tracks cost together what they would if each exchange touched one track."""

    def joint(scales: Sequence[float], moved: Any, largest_load: int) -> float:
        return math.fsum(2 / scale for scale in scales) + 2 * largest_load / min(scales)

    with patch.object(joint_claims, "joint_epsilon", joint):
        yield


@dataclass(frozen=True)
class Sabotage:
    """What is broken, and for which mechanisms and in which case that makes a claim false.

    ``wrong`` is the bound without the term, for the records of the case with their usual load, or another way.
    """

    name: str
    case: str
    mechanisms: tuple[str, ...]
    wrong: dict[str, float] | Callable[[], AbstractContextManager[None]]

    def applied(self) -> AbstractContextManager[None]:
        return wrong_bound(**self.wrong) if isinstance(self.wrong, dict) else self.wrong()


VECTORS = ("laplace", "gaussian", "gaussian 1e-3", "sinh-normal")

#: Mixed loads of 1 and 5, bounded as if the largest load were everybody's.
AS_ONE_LOAD = {"l1": 1.6, "l2": math.sqrt(0.8), "linf": 1.0}

#: Bounds of the reviewer unit without one of their terms. In the cases' records, with R = 1: mixed loads of 1 and 5
#: (vectors), 2 and 4 (counts); kept loads of 3, 4 and 8 (vectors), 3 and 4 (counts); hidden, papers of two reviews, and
#: kept loads of 1 and 2.
TERMS = (
    Sabotage("mixed loads as one load", "mixed-loads", VECTORS, AS_ONE_LOAD),
    Sabotage("mixed loads, the smallest one counts", "mixed-loads", ("histogram",), {"counts": 2 * (1 + 2)}),
    Sabotage("ranges as means", "ranges", VECTORS, {"l1": 1.0, "l2": math.sqrt(0.5), "linf": 0.5}),
    Sabotage("only the reviewer's own range", "ranges", ("histogram",), {"counts": 2}),
    Sabotage("no left-out term", "left-out", ("laplace", "auto"), {"l1": 1 + 7 / 3}),
    Sabotage("no left-out term", "left-out", ("histogram",), {"counts": 2 * (1 + 4)}),
    Sabotage("no left-out term", "hidden-left-out", ("histogram",), {"counts": 2 * (1 + 2 * 3)}),
    Sabotage("co-reviewers do not move", "hidden-disagreement", ("laplace",), {"l1": 1 + 2}),
    Sabotage("co-reviewers do not move", "hidden-disagreement", ("histogram",), {"counts": 2 * (1 + 2)}),
    Sabotage("no left-out term", "absent-scores", ("laplace", "auto"), {"l1": 1 + 7 / 3}),
    Sabotage("no left-out term", "absent-scores", ("histogram",), {"counts": 2 * (1 + 4)}),
    Sabotage("no left-out term", "public-labels", ("laplace", "auto"), {"l1": 1 + 7 / 3}),
    Sabotage("no left-out term", "public-labels", ("histogram",), {"counts": 2 * (1 + 4)}),
    Sabotage("no one without a kept review", "left-out-open", ("histogram", "auto"), {"counts": 2 * 4}),
    Sabotage("no group term", "track", ("laplace",), {"l1": 1 + 7 / 3}),
    Sabotage("no group term", "track", ("histogram",), {"counts": 2 * (1 + 4)}),
    Sabotage("tracks do not add up", "tracks", (*VECTORS, "histogram"), tracks_do_not_add_up),
    Sabotage("the third track is free", "three-tracks", (*VECTORS, "histogram"), third_track_is_free),
    Sabotage("partners move in one track", "three-tracks", ("histogram",), partners_move_in_one_track),
    Sabotage("mixed loads as one load", "tracks-apart", VECTORS, AS_ONE_LOAD),
    Sabotage("mixed loads, the smallest one counts", "tracks-apart", ("histogram",), {"counts": 2 * (1 + 2)}),
    Sabotage("groups do not change", "effect", ("laplace",), {"l1": 1.0}),
    Sabotage("only the reviewer's own cell", "by-attribute", ("histogram",), {"counts": 2}),
    Sabotage("one review of an exchange changes", "effect-pairs", ("laplace",), {"l1": 1.25 * 2}),
    Sabotage("groups do not change", "effect-sizes", ("laplace",), {"l1": 1.0}),
    Sabotage("the second conference is free", "linked", ("laplace",), second_conference_is_free),
    Sabotage("only the person's own cell", "linked-table", ("histogram",), table_of_one_person),
    Sabotage("tracks do not add up", "effect-tracks", ("laplace",), tracks_do_not_add_up),
    Sabotage("tracks do not add up", "by-tracks", ("histogram",), tracks_do_not_add_up),
    Sabotage("only one reviewer changes groups", "by-sizes", ("histogram",), {"counts": 2 * (1 + 2)}),
)
