"""The audit at its defaults: sabotage that it must catch, and honest mechanisms that it must let pass.

Every row of the first table is one audit of all cases with real noise, so there are no seeds. "shown by" says what
contradicted the claim, in any case: the loss of the worst pair at the stated noise, the noise against its stated law,
or the releases alone. The second table audits honest mechanisms again and again, at epsilon 1 (Gaussian noise at delta
1e-6): none may fail. "draws" is the number of releases of each record, in the case of one load and, at least, in the
others; "found" is the lower bound that the releases give in the case of one load, as a share of the claim, with its
standard error; "largest" is the largest such share in any case.

The full run takes about 50 minutes of one core, most of it for the noise of the honest runs. ``--quick`` takes a few
minutes: every sabotage with 500 releases of each record, in the case that it concerns, and 5 honest runs of as many.
``--honest N`` sets the number of honest runs, ``--workers N`` the number of processes.
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

#: Which mechanisms are audited honestly: each one, and what a plan chooses.
HONEST = ("laplace", "histogram", "gaussian", "sinh-normal", "auto")


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


def run_timed(job: Job) -> tuple[Audit, float]:
    start = time.process_time()
    return run(job), time.process_time() - start


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
    print(f"| mechanism | audits | draws | failed | found, share of the claim | largest | CPU s each |\n|{'---|' * 7}")
    failed = 0
    for name in HONEST:
        jobs = [Job(name, 1.0, draws=500 if quick else None)] * runs
        timed = list(pool.map(run_timed, jobs))
        found, seconds = [one for one, _ in timed], float(np.median([time for _, time in timed]))
        bad = sum(not one.passed for one in found)
        failed += bad
        shares = np.array([one.findings[0].found / one.findings[0].limit for one in found])
        largest = max(finding.found / finding.limit for one in found for finding in one.findings)
        error = shares.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
        draws = f"{found[0].findings[0].draws}, {min(one.draws for one in found[0].findings)}"
        share = f"{shares.mean():.3f} ± {error:.3f}"
        print(f"| {name} | {runs} | {draws} | {bad} | {share} | {largest:.3f} | {seconds:.1f} |", flush=True)
    print(f"\n{runs} honest audits of each mechanism, {failed} failed\n")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--honest", type=int, default=None)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    start = time.perf_counter()
    with ProcessPoolExecutor(given.workers) as pool:
        bad = sabotaged(pool, quick=given.quick)
        bad += honest(pool, given.honest or (5 if given.quick else 200), quick=given.quick)
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
