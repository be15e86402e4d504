"""The audit: are the claims true, and is the noise no larger than they need?

Pairs of neighbouring conferences as far apart as the sensitivity allows are released many times, by the real release
path. Three things are held against the claim: the loss that the pair has if the noise is as stated; whether the noise
is as stated; and how well the releases themselves can be told apart, which gives a lower bound on the loss that holds
with a stated confidence, whatever the noise is.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Asked
from peerveil.privacy.accounting import check_delta
from peerveil.privacy.guarantee import Guarantee, check_unit
from peerveil.private.audit.cases import CASES, Case, Settled, chosen_cases, settle
from peerveil.private.audit.evidence import Bounds, Evidence, Part, delta_of
from peerveil.private.audit.pairs import check_load, worst_neighbours, worst_neighbours_counted
from peerveil.record.public_record import Floats
from peerveil.support import parallel

__all__ = ["CASES", "Audit", "Case", "Finding", "audit", "worst_neighbours", "worst_neighbours_counted"]

#: With which confidence an audit speaks, unless asked otherwise: an honest mechanism fails once in 100,000 audits.
CONFIDENCE = 0.99999

#: How many noisy numbers are drawn in one task: long enough that starting it costs little, short enough to show
#: progress and to share the work.
_BLOCK = 20_000

#: How many noisy numbers are drawn for each record of the first case, where nobody says how many releases: of vectors,
#: and of counts, whose noise takes less time to draw.
_NUMBERS = {"vectors": 25_000, "counts": 120_000}

#: But no more releases than this.
_MOST = 20_000

#: What each of the other cases gets of these numbers. Nearly all of an audit's time goes into drawing exact noise, and
#: all cases draw it from the same source: the first one shows what releases alone can tell about that source. In the
#: others they show that what is released is the truth with the stated noise; the loss of the worst pair needs no draw.
_SHARE = 1 / 20


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found for one case.

    Attributes:
        case: its name.
        guarantee: the claim of the audited releases.
        draws: how many releases of each of the two records.
        delta: the delta at which epsilon is bounded; 0 for pure claims.
        claimed: the claimed epsilon at that delta.
        epsilon: a lower bound on the true epsilon at that delta, from the releases.
        delta_found: a lower bound on the true delta at the claimed epsilon, from the releases; 0 for concentrated
            claims, whose rho is bounded instead.
        rho_found: a lower bound on the true rho of a concentrated claim, from the releases.
        loss: what the loss between the two records is if the noise is as stated: epsilon of a pure claim, else rho.
        supported: whether the claim covers that loss.
        noise: how the noise differs from what is stated (``"smaller"`` or ``"larger"``); empty where it does not.
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
        """What is claimed, in the measure of the claim: epsilon, or rho."""
        return (self.guarantee.epsilon if self.pure else self.guarantee.rho) or 0.0

    @property
    def found(self) -> float:
        """The lower bound that the releases give, in the measure of the claim."""
        return self.epsilon if self.pure else self.rho_found

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim."""
        told_apart = self.epsilon > self.claimed or self.delta_found > self.delta
        return not told_apart and (self.pure or self.rho_found <= self.limit) and self.supported and not self.noise


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found.

    ``guarantee``, ``draws``, ``delta``, ``claimed``, ``epsilon`` and ``delta_found`` are those of the worst case.

    Attributes:
        findings: what was found for each case.
        confidence: with which all lower bounds, of all cases, hold together.
    """

    findings: tuple[Finding, ...]
    confidence: float

    def at(self, confidence: float) -> Audit:
        """The same releases, judged with another confidence."""
        _check_confidence(confidence)
        evidence = [(finding.case, finding._evidence) for finding in self.findings]
        return _judged(evidence, confidence)

    @property
    def worst(self) -> Finding:
        """The case that comes nearest to its claim, or contradicts it the most."""
        return max(self.findings, key=lambda finding: (not finding.passed, finding.found / (finding.limit or 1.0)))

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts a claim."""
        return all(finding.passed for finding in self.findings)

    @property
    def guarantee(self) -> Guarantee:
        """The claim of the worst case."""
        return self.worst.guarantee

    @property
    def draws(self) -> int:
        """How many releases of each of its two records."""
        return self.worst.draws

    @property
    def delta(self) -> float:
        """The delta at which its epsilon is bounded; 0 for pure claims."""
        return self.worst.delta

    @property
    def claimed(self) -> float:
        """The claimed epsilon at that delta."""
        return self.worst.claimed

    @property
    def epsilon(self) -> float:
        """A lower bound on the true epsilon at that delta."""
        return self.worst.epsilon

    @property
    def delta_found(self) -> float:
        """A lower bound on the true delta at the claimed epsilon."""
        return self.worst.delta_found


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
    """Audit a mechanism on the worst neighbours of a unit, in every case there is.

    Args:
        mechanism: what to audit, with its budget or noise; a budget whose mechanism a plan chooses (``Auto``) in all
            cases without tracks.
        unit: ``"reviewer"`` or ``"review"``.
        load: how many reviews each reviewer of the audited records has; where loads differ, what they follow from.
        public: audit only the cases in which ``"all"`` scores are public, or ``"none"``; both by default.
        draws: how many releases of each record; by default, in the first case, as many as take 25,000 noisy numbers
            (of counts 120,000), but at most 20,000, and a twentieth of these numbers in each of the other cases.
        confidence: with which all lower bounds are to hold together: an honest mechanism fails with at most the
            remaining probability.
        delta: at which delta to bound epsilon, where the claim is not pure.
        case: the name of a case (:data:`CASES`), or ``"all"``.
        workers: how many processes; all cores by default.
        executor: run on this instead.
        progress: called as the work goes on.

    Noise is real, so no two audits are the same.

    >>> from peerveil.mechanisms import Laplace
    >>> audit(Laplace(epsilon=1.0), draws=500, workers=1).passed
    True
    """
    protected = check_unit(unit)
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, int) or draws < 100):
        raise InputError(Argument("draws"), f" must be a whole number of at least 100, got {draws!r}")
    _check_confidence(confidence)
    if delta is not None:
        check_delta(delta)
    check_load(load)
    settled = [settle(one, mechanism, protected, load) for one in chosen_cases(case, public, mechanism)]
    audited = [_Audited(one, draws, share=1 if one is settled[0] else _SHARE) for one in settled]
    tasks = [task for one in audited for task in one.tasks()]
    blocks = iter(parallel.run(_release_often, tasks, workers=workers, executor=executor, progress=progress))
    evidence = [(one.settled.case.name, one.evidence([next(blocks) for _ in one.tasks()], delta)) for one in audited]
    return _judged(evidence, confidence)


def _check_confidence(confidence: float) -> None:
    if not 0.5 <= confidence < 1:
        raise InputError(Argument("confidence"), f" must be at least 0.5 and less than 1, got {confidence}")


def _judged(evidence: Sequence[tuple[str, Evidence]], confidence: float) -> Audit:
    risk = (1 - confidence) / len(evidence)
    findings = tuple(_finding(name, one, one.bounds(risk)) for name, one in evidence)
    return Audit(findings=findings, confidence=confidence)


def _finding(case: str, evidence: Evidence, bounds: Bounds) -> Finding:
    pure = evidence.guarantee.rho is None
    return Finding(
        case=case,
        guarantee=evidence.guarantee,
        draws=evidence.draws,
        delta=evidence.delta,
        claimed=evidence.claimed,
        epsilon=bounds.epsilon,
        delta_found=bounds.excess,
        rho_found=bounds.rho,
        loss=evidence.loss.epsilon if pure else evidence.loss.rho,
        supported=evidence.supported,
        noise=bounds.noise,
        _evidence=evidence,
    )


@dataclass(frozen=True)
class _Task:
    settled: Settled
    side: int
    draws: int


def _release_often(task: _Task, _: np.random.SeedSequence) -> list[Floats]:
    """Release a record many times, by the path of every release up to the noise, which refining cannot undo.

    Returns the noisy vectors (or counts), for each part of what is released. Seeds are of no use: noise is real.
    """
    parts, _claim = task.settled.prepared(task.side)
    return [np.asarray(part.draw_often(task.draws), dtype=np.float64) for part in parts]


class _Audited:
    """A case on its way: prepared on both sides, then drawn in tasks, then judged."""

    def __init__(self, settled: Settled, draws: int | None, *, share: float) -> None:
        self.settled = settled
        (first, self.guarantee), (second, other) = settled.prepared(0), settled.prepared(1)
        noise = [part.noise.settled for part in first if part.noise.settled is not None]
        if len(noise) < len(first):
            raise InputError("the release states no noise, so there is nothing to audit")
        if self.guarantee != other or [p.noise.mechanism for p in first] != [p.noise.mechanism for p in second]:
            raise InputError(f"the two records of the case {settled.case.name!r} are released in different ways")
        self.parts = tuple(
            Part(settled, np.asarray(one.truth, np.float64), np.asarray(two.truth, np.float64))
            for settled, one, two in zip(noise, first, second, strict=True)
        )
        entries = sum(part.first.size for part in self.parts)
        numbers = _NUMBERS["counts" if first[0].noise.mechanism.on_counts else "vectors"]
        self.draws = draws or min(_MOST, round(share * numbers) // entries)
        self._block = max(1, _BLOCK // entries)

    def tasks(self) -> list[_Task]:
        """What there is to draw."""
        sizes = [self._block] * (self.draws // self._block)
        rest = self.draws % self._block
        return [_Task(self.settled, side, size) for side in (0, 1) for size in (*sizes, *((rest,) if rest else ()))]

    def evidence(self, blocks: Sequence[list[Floats]], delta: float | None) -> Evidence:
        """What was drawn, ready to be judged."""
        half = len(blocks) // 2
        first, second = (
            [np.concatenate([block[part] for block in side]) for part in range(len(self.parts))]
            for side in (blocks[:half], blocks[half:])
        )
        return Evidence(
            guarantee=self.guarantee,
            parts=self.parts,
            drawn=tuple(zip(first, second, strict=True)),
            delta=delta_of(self.guarantee, delta),
        )
