"""Audits of privacy claims on worst-case neighbours.

Pairs of neighbouring conferences as far apart as the sensitivity allows are released many times by the real release
path. Three results are compared with the claim: the loss between the two under the stated noise; a test of the noise
against its stated law; and a lower bound on the loss from the releases alone, which holds with a stated confidence
whatever the noise is.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Asked
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.guarantee import DELTA, Guarantee, check_unit
from peerveil.private.audit.cases import CASES, Case, Settled, chosen_cases, settle
from peerveil.private.audit.evidence import Evidence, Part
from peerveil.private.audit.loss import contradicts
from peerveil.private.audit.pairs import check_load, worst_neighbours, worst_neighbours_counted
from peerveil.record.public_record import Floats
from peerveil.support import parallel

__all__ = ["CASES", "Audit", "Case", "Finding", "audit", "worst_neighbours", "worst_neighbours_counted"]

#: The default confidence: a correct mechanism fails once in 100,000 audits.
CONFIDENCE = 0.99999

#: Noisy numbers per parallel task.
_BLOCK = 20_000

#: Default number of noisy numbers for each record of the first case; noise on counts is faster to draw.
_NUMBERS = {"vectors": 25_000, "counts": 120_000}

#: The largest default number of releases.
_MOST = 20_000

#: The share of these numbers for each of the other cases. Drawing exact noise takes nearly all of an audit's time, and
#: all cases draw from the same source, which the first case tests.
_SHARE = 1 / 20


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of one case.

    Attributes:
        case: name of the case.
        guarantee: the claim of the audited releases.
        draws: number of releases of each of the two records.
        delta: the delta at which epsilon is bounded; 0 for pure claims.
        claimed: the claimed epsilon at that delta.
        epsilon: lower bound on the true epsilon at that delta, from the releases.
        delta_found: lower bound on the true delta at the claimed epsilon, from the releases; 0 for concentrated claims,
            whose rho is bounded instead.
        rho_found: lower bound on the true rho of a concentrated claim, from the releases.
        loss: the loss between the two records under the stated noise: epsilon of a pure claim, else rho.
        supported: whether the claim covers that loss.
        noise: how the noise differs from its stated law: ``"smaller"``, ``"larger"`` or empty.
    """

    case: str
    guarantee: Guarantee
    draws: int
    delta: float
    claimed: float
    epsilon: float
    delta_found: float
    rho_found: float
    loss: float
    supported: bool
    noise: str
    _evidence: Evidence = field(repr=False)

    @property
    def pure(self) -> bool:
        """Whether the loss is measured by epsilon; otherwise by rho."""
        return self.guarantee.rho is None

    @property
    def limit(self) -> float:
        """The claimed epsilon of a pure claim, else the claimed rho."""
        return (self.guarantee.epsilon if self.pure else self.guarantee.rho) or 0.0

    @property
    def found(self) -> float:
        """The lower bound from the releases on the same measure."""
        return self.epsilon if self.pure else self.rho_found

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim."""
        exceeded = self.epsilon > self.claimed or self.delta_found > self.delta
        return self.supported and not (self.noise or exceeded) and (self.pure or self.rho_found <= self.limit)


def _of_worst(name: str) -> Any:
    return property(lambda audit: getattr(audit.worst, name), doc=f"``{name}`` of the worst case.")


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Results of an audit.

    ``guarantee``, ``draws``, ``delta``, ``claimed``, ``epsilon`` and ``delta_found`` are those of the worst case.

    Attributes:
        findings: results of each case.
        confidence: the confidence with which all lower bounds hold simultaneously.
    """

    findings: tuple[Finding, ...]
    confidence: float

    guarantee = _of_worst("guarantee")
    draws = _of_worst("draws")
    delta = _of_worst("delta")
    claimed = _of_worst("claimed")
    epsilon = _of_worst("epsilon")
    delta_found = _of_worst("delta_found")

    def at(self, confidence: float) -> Audit:
        """The results of the same releases at another confidence."""
        _check_confidence(confidence)
        return _judged([(finding.case, finding._evidence) for finding in self.findings], confidence)

    @property
    def worst(self) -> Finding:
        """The case that is closest to its claim, or contradicts it the most."""
        return max(self.findings, key=lambda finding: (not finding.passed, finding.found / (finding.limit or 1.0)))

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts a claim."""
        return all(finding.passed for finding in self.findings)


def audit(
    mechanism: Asked,
    *,
    unit: str = "reviewer",
    load: int = 2,
    public: str | None = None,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    delta: float | None = None,
    case: str = "all",
    workers: int | None = None,
    executor: Executor | None = None,
    progress: parallel.Progress | None = None,
) -> Audit:
    """Results of auditing a mechanism on worst-case neighbours.

    Noise is random, so no two audits are the same.

    Args:
        mechanism: the mechanism, with its budget or noise; ``Auto`` in all cases without tracks.
        unit: ``"reviewer"`` or ``"review"``.
        load: number of reviews of each reviewer in the audited records; the base of the loads where these differ.
        public: audit only the cases in which ``"all"`` scores are public, or ``"none"``; both by default.
        draws: number of releases of each record. By default, as many as take 25,000 noisy numbers (of counts 120,000)
            in the first case, but at most 20,000, and a twentieth of these numbers in each of the other cases.
        confidence: the confidence with which all lower bounds hold simultaneously: a correct mechanism fails with at
            most the remaining probability.
        delta: the delta at which epsilon is bounded, for claims that are not pure.
        case: the name of a case (:data:`CASES`), or ``"all"``.
        workers: number of processes; all cores by default.
        executor: used instead of processes of its own.
        progress: called as tasks finish.

    >>> from peerveil.mechanisms import Laplace
    >>> audit(Laplace(epsilon=1.0), draws=500, case="one-load", workers=1).passed
    True
    """
    protected = check_unit(unit)
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, int) or draws < 100):
        raise InputError(Argument("draws"), f" must be a whole number of at least 100, got {draws!r}")
    _check_confidence(confidence)
    if delta is not None:
        check_delta(delta)
    check_load(load)
    cases = [settle(each, mechanism, protected, load) for each in chosen_cases(case, public, mechanism)]
    audited = [_Audited(settled, draws, share=1 if settled is cases[0] else _SHARE) for settled in cases]
    tasks = [task for each in audited for task in each.tasks()]
    blocks = iter(parallel.run(_release_often, tasks, workers=workers, executor=executor, progress=progress))
    return _judged(
        [(each.settled.case.name, each.evidence([next(blocks) for _ in each.tasks()], delta)) for each in audited],
        confidence,
    )


def _check_confidence(confidence: float) -> None:
    if not 0.5 <= confidence < 1:
        raise InputError(Argument("confidence"), f" must be at least 0.5 and less than 1, got {confidence}")


def _judged(evidence: Sequence[tuple[str, Evidence]], confidence: float) -> Audit:
    findings = []
    for case, drawn in evidence:
        bounds, loss = drawn.bounds((1 - confidence) / len(evidence)), drawn.loss
        findings.append(
            Finding(
                case=case,
                guarantee=drawn.guarantee,
                draws=drawn.draws,
                delta=drawn.delta,
                claimed=drawn.claimed,
                epsilon=bounds.epsilon,
                delta_found=bounds.excess,
                rho_found=bounds.rho,
                loss=loss.epsilon if drawn.guarantee.rho is None else loss.rho,
                supported=not contradicts(loss, drawn.guarantee),
                noise=bounds.noise,
                _evidence=drawn,
            )
        )
    return Audit(findings=tuple(findings), confidence=confidence)


def _release_often(task: tuple[Settled, int, int], _: np.random.SeedSequence) -> list[Floats]:
    """The noisy vectors (or counts) of many releases of a record, for each part of the release.

    Seeds are not used: the noise is that of real releases.
    """
    settled, side, draws = task
    return [np.asarray(part.draw_often(draws), dtype=np.float64) for part in settled.prepared(side)[0]]


class _Audited:
    """A case whose two records are prepared for release."""

    def __init__(self, settled: Settled, draws: int | None, *, share: float) -> None:
        self.settled = settled
        (first, self.guarantee), (second, guarantee) = settled.prepared(0), settled.prepared(1)
        noise = [part.noise.settled for part in first if part.noise.settled is not None]
        if len(noise) < len(first):
            raise InputError("the release states no noise, so there is nothing to audit")
        if self.guarantee != guarantee or [p.noise.mechanism for p in first] != [p.noise.mechanism for p in second]:
            raise InputError(f"the two records of the case {settled.case.name!r} are released in different ways")
        self.parts = tuple(
            Part(stated, np.asarray(one.truth, np.float64), np.asarray(other.truth, np.float64))
            for stated, one, other in zip(noise, first, second, strict=True)
        )
        entries = sum(part.first.size for part in self.parts)
        numbers = _NUMBERS["counts" if first[0].noise.mechanism.on_counts else "vectors"]
        self.draws = draws or min(_MOST, round(share * numbers) // entries)
        self._block = max(1, _BLOCK // entries)

    def tasks(self) -> list[tuple[Settled, int, int]]:
        """The tasks that draw the releases of both records: the case, which record, and how often."""
        sizes = [min(self._block, self.draws - start) for start in range(0, self.draws, self._block)]
        return [(self.settled, side, size) for side in (0, 1) for size in sizes]

    def evidence(self, blocks: Sequence[list[Floats]], delta: float | None) -> Evidence:
        """The evidence from the results of the tasks."""
        half = len(blocks) // 2
        first, second = (
            [np.concatenate([block[part] for block in side]) for part in range(len(self.parts))]
            for side in (blocks[:half], blocks[half:])
        )
        return Evidence(
            guarantee=self.guarantee,
            parts=self.parts,
            drawn=tuple(zip(first, second, strict=True)),
            delta=0.0 if self.guarantee.kind == "pure" else delta or self.guarantee.delta or DELTA,
        )
