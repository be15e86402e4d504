"""The audit at its defaults: sabotage that it must catch, and honest mechanisms that it must let pass.

Every row of the first table is one audit of all cases with real noise, so there are no seeds. "shown by" says what
contradicted the claim, in any case: the loss of the worst pair at the stated noise, the noise against its stated law,
or the releases alone. The second table audits honest mechanisms again and again, at epsilon 1: none may fail. "found"
is the lower bound that the releases give in the case of one load, as a share of the claim, with its standard error.

The full run takes about four hours on two cores, nearly all of it for the honest runs; ``--quick`` takes five minutes:
every sabotage with 500 releases of each record, in the case that it concerns, and 5 honest runs of 500 releases.
``--honest N`` sets the number of honest runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from peerveil.private.audit import Audit, audit
from reference.sabotage import BUDGETS, TERMS, Sabotage, mechanisms, smaller_noise


@dataclass(frozen=True)
class Job:
    """One audit."""

    mechanism: str
    epsilon: float
    sabotage: Sabotage | None = None
    halved: bool = False
    case: str = "all"
    draws: int | None = None

    @property
    def title(self) -> str:
        """What was done to the mechanism."""
        return "half the noise" if self.halved else self.sabotage.name if self.sabotage else "honest"


def run(job: Job) -> Audit:
    broken = smaller_noise() if job.halved else job.sabotage.applied() if job.sabotage else nullcontext()
    with broken:
        return audit(mechanisms(job.epsilon)[job.mechanism], case=job.case, draws=job.draws, workers=1)


def shown_by(found: Audit) -> str:
    seen = {
        "worst pair": any(not one.supported for one in found.findings),
        "noise": any(one.noise for one in found.findings),
        "releases": any(one.found > one.limit or one.epsilon > one.claimed for one in found.findings),
    }
    return ", ".join(name for name, yes in seen.items() if yes) or "NOTHING"


def sabotaged(pool: ProcessPoolExecutor, *, quick: bool) -> int:
    """Print the table of sabotage; how many were not caught."""
    draws = 500 if quick else None
    jobs = [
        Job(name, epsilon, halved=True, draws=draws, case="one-load" if quick else "all")
        for epsilon in BUDGETS
        for name in mechanisms(epsilon)
    ]
    jobs += [
        Job(name, epsilon, sabotage, draws=draws, case=sabotage.case if quick else "all")
        for sabotage in TERMS
        for epsilon in BUDGETS
        for name in sabotage.mechanisms
    ]
    print(f"| sabotage | case | mechanism | epsilon | worst case: claimed | loss | found | shown by |\n|{'---|' * 8}")
    missed = 0
    for job, found in zip(jobs, pool.map(run, jobs), strict=True):
        missed += found.passed
        concerned = next((one for one in found.findings if job.sabotage and one.case == job.sabotage.case), found.worst)
        print(
            f"| {job.title} | {concerned.case} | {job.mechanism} | {job.epsilon:g} | {concerned.limit:.4g} "
            f"| {concerned.loss:.4g} | {concerned.found:.3g} | {shown_by(found)} |",
            flush=True,
        )
    print(f"\n{len(jobs)} sabotaged audits, {missed} not caught\n")
    return missed


def honest(pool: ProcessPoolExecutor, runs: int, *, quick: bool) -> int:
    """Print the table of honest runs; how many failed."""
    print(f"| mechanism | unit reviewer, audits | failed | found, share of the claim | largest |\n|{'---|' * 5}")
    failed = 0
    for name in mechanisms(1.0):
        jobs = [Job(name, 1.0, draws=500 if quick else None)] * runs
        found = list(pool.map(run, jobs))
        bad = sum(not one.passed for one in found)
        failed += bad
        shares = np.array([one.findings[0].found / one.findings[0].limit for one in found])
        largest = max(finding.found / finding.limit for one in found for finding in one.findings)
        error = shares.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
        print(f"| {name} | {runs} | {bad} | {shares.mean():.3f} ± {error:.3f} | {largest:.3f} |", flush=True)
    print(f"\n{runs} honest audits of each mechanism, {failed} failed\n")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--honest", type=int, default=None)
    given = parser.parse_args()
    start = time.perf_counter()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        bad = sabotaged(pool, quick=given.quick)
        bad += honest(pool, given.honest or (5 if given.quick else 200), quick=given.quick)
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
