"""The audit at its defaults: sabotage that it must catch, and honest mechanisms that it must let pass.

Every row of the first table is one audit of all cases with real noise, so there are no seeds. "shown by" says what
contradicted the claim, in any case: the loss of the worst pair at the stated noise, the noise against its stated law,
or the releases alone. The second table audits honest mechanisms again and again, at epsilon 1 (Gaussian noise at delta
1e-6): none may fail. "draws" is the number of releases of each record, in the case of one load and, at least, in the
others; "found" is the lower bound that the releases give in the case of one load, as a share of the claim, with its
standard error; "largest" is the largest such share in any case.

The full run takes over an hour of one core, most of it for the noise of the honest runs. ``--quick`` takes a minute or
two: every sabotage at epsilon 1 with 500 releases of each record, in the case that it concerns, and 2 honest runs.
``--honest N`` sets the number of honest runs, ``--workers N`` the number of processes; ``--own-case`` sabotages each
bound in the case that it concerns alone, with 500 releases of each record, at every epsilon.
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
from output import Output
from peerveil.private.audit import Audit, audit
from reference.sabotage import BUDGETS, TERMS, Sabotage, mechanisms, smaller_noise
from results import Column, mean_of

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


def sabotaged(out: Output, pool: ProcessPoolExecutor, *, own_case: bool) -> int:
    """The table of sabotage; returns how many were not caught."""
    draws, budgets = 500 if own_case else None, (1.0,) if out.quick else BUDGETS
    jobs = [
        Job(name, epsilon, halved=True, draws=draws, case="one-load" if own_case else "all")
        for epsilon in budgets
        for name in mechanisms(epsilon)
    ]
    jobs += [
        Job(name, epsilon, sabotage, draws=draws, case=sabotage.case if own_case else "all")
        for sabotage in TERMS
        for epsilon in budgets
        for name in sabotage.mechanisms
    ]
    columns = (
        Column("sabotage", "sabotage"),
        Column("case", "case"),
        Column("mechanism", "mechanism"),
        Column("epsilon", "epsilon", digits="g"),
        Column("claimed", "worst case: claimed", digits=".4g"),
        Column("loss", "loss", digits=".4g"),
        Column("found", "found", digits=".3g"),
        Column("shown", "shown by"),
    )
    title, how = (
        "Sabotage that the audit must notice",
        f"{draws} releases of each record, in the case concerned" if draws else "the audit's own",
    )
    table = out.table(
        "sabotage",
        title,
        columns,
        keys=4,
        seeds="none: real noise",
        draws=how,
        promises=("P-AUDIT-1", "P-AUDIT-3"),
    )
    missed = 0
    for job, found in zip(jobs, pool.map(run, jobs), strict=True):
        missed += found.passed
        concerned = next((one for one in found.findings if job.sabotage and one.case == job.sabotage.case), found.worst)
        numbers = concerned.limit, concerned.loss, concerned.found
        table.add(job.title, concerned.case, job.mechanism, job.epsilon, *numbers, shown_by(found))
    table.note(f"{len(jobs)} sabotaged audits, {missed} not caught.")
    return missed


def honest(out: Output, pool: ProcessPoolExecutor, runs: int, *, quick: bool) -> int:
    """The table of honest runs; returns how many failed."""
    columns = (
        Column("mechanism", "mechanism"),
        Column("audits", "audits", digits="d"),
        Column("draws", "draws"),
        Column("failed", "failed", digits="d", better="lower"),
        Column("found", "found, share of the claim", digits=".3f"),
        Column("largest", "largest", digits=".3f"),
        Column("seconds", "each", "s CPU", ".1f"),
    )
    title = "Honest mechanisms, which the audit must let pass"
    table = out.table(
        "honest",
        title,
        columns,
        seeds="none: real noise",
        draws=f"{runs} audits",
        promises=("P-CLAIM-1", "P-AUDIT-2"),
    )
    failed = 0
    for name in HONEST:
        jobs = [Job(name, 1.0, draws=500 if quick else None)] * runs
        timed = list(pool.map(run_timed, jobs))
        found, seconds = [one for one, _ in timed], float(np.median([time for _, time in timed]))
        bad = sum(not one.passed for one in found)
        failed += bad
        shares = np.array([one.findings[0].found / one.findings[0].limit for one in found])
        largest = max(finding.found / finding.limit for one in found for finding in one.findings)
        draws = f"{found[0].findings[0].draws}, {min(one.draws for one in found[0].findings)}"
        table.add(name, runs, draws, bad, mean_of(shares), largest, seconds)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--honest", type=int, default=None)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--own-case", action="store_true")
    with Output("audit") as out:
        given = parser.parse_args(out.arguments)
        with ProcessPoolExecutor(given.workers) as pool:
            bad = sabotaged(out, pool, own_case=out.quick or given.own_case)
            bad += honest(out, pool, given.honest or (2 if out.quick else 200), quick=out.quick)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
