"""A platform's day: many venues in one batch, on a Dask cluster and a PostgreSQL ledger that it starts itself.

One run. 5,000 venues by default (`--venues`), of 20 to 5,000 reviewers with four reviews each: sizes are lognormal
(median 95, `--seed`), about 1 million reviewers and 4 million reviews in all. The batch runs with shared plans at
epsilon 1, without reports. Meanwhile the client is killed twice, a worker every `--every` seconds, and the server of
the ledger is restarted three times. Then every venue must be released, and charged exactly once.

Printed: throughput, memory, and seconds of each step; by simulation from these, what more workers and clients would do;
what a second worker brings, on the first venues (`--compared`); and what shared plans lose against plans of one's own,
on venues of another seed.

It takes about an hour on two idle cores. With `--folder` everything is kept there, and a run that was stopped, by
Ctrl-C or otherwise, goes on when the same command is given again; seconds and faults of all parts are added up.

`--scaling` does nothing but compare one worker with two, undisturbed, by the clock and by processor time, which a busy
machine does not change: venues per second are limited by the workers (their processor time per venue, divided by
their number) or by the client (its own).
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import peerveil as pv
import postgres  # of the tests
from output import Output
from peerveil.planning.alike import likeness
from peerveil.planning.auto import Auto
from peerveil.private.ledger import Ledger
from peerveil.simulation.conferences import synthetic_conference
from results import Column, mean_of

LOAD = 4
SEED = 24

#: Part of the name of every reviewer and paper, of which no log, ledger or output may hold anything.
MARK = "zqxmark"

#: What a stopped run keeps of itself, and how often, in seconds.
_STATE = ("kills", "restarts", "faults", "memory", "seconds")
_KEEP = 10.0


def sizes(venues: int, seed: int, least: int = 20, most: int = 5_000) -> list[int]:
    """The numbers of reviewers of venues."""
    rng = np.random.default_rng(seed)
    drawn = np.clip(np.exp(rng.normal(np.log(95), 1.2, venues)), least, most)
    return [int(size) for size in drawn]


def write_venues(folder: Path, reviewers: Sequence[int], seed: int, options: Mapping[str, str]) -> Path:
    """Write an export of each venue and the table that lists them; returns the table, at once if it is there."""
    table = folder / "venues.csv"
    if table.exists():
        return table
    rows = []
    for number, size in enumerate(reviewers):
        made = synthetic_conference(reviewers=size, load=LOAD, rng=np.random.default_rng([seed, number]))
        name = f"venue-{number:05d}"
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle)
            writer.writerow(("paper", "reviewer", "score"))
            papers = (f"{MARK}-paper-{paper}" for paper in made.paper)
            people = (f"{MARK}-{person}@uni.example" for person in made.reviewer)
            writer.writerows(zip(papers, people, made.score, strict=True))
        rows.append({"name": name, "file": f"{name}.csv", **options})
    part = table.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as handle:
        listed = csv.DictWriter(handle, rows[0].keys())
        listed.writeheader()
        listed.writerows(rows)
    return part.replace(table)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The address of a Dask cluster of one scheduler and some workers, and the processes of scheduler and nannies."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]
    log = (folder / "cluster.log").open("ab")
    told: dict[str, Any] = {"stdout": log, "stderr": log, "cwd": folder}
    started = [subprocess.Popen([*dask, "--scheduler-file", str(file)], **told)]
    try:
        while not file.exists():
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        started += [subprocess.Popen([*work, address], **told) for _ in range(workers)]
        yield address, [psutil.Process(process.pid) for process in started]
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            if process.poll() is None:  # a nanny waits for a worker that waits for a scheduler that is gone
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()
                process.wait()
        log.close()


def worker_of(nanny: psutil.Process) -> psutil.Process | None:
    """The worker of a nanny, if it has one now."""
    with suppress(psutil.NoSuchProcess):
        return next((child for child in nanny.children() if "spawn_main" in " ".join(child.cmdline())), None)
    return None


def kill_worker(nanny: psutil.Process) -> bool:
    """Kill the worker of a nanny, which starts another; whether there was one."""
    with suppress(psutil.NoSuchProcess):
        if (worker := worker_of(nanny)) is not None:
            worker.kill()
            return True
    return False


@dataclass
class Day:
    """A batch with faults, and what was measured.

    Attributes:
        command: the batch.
        output: its folder.
        data: the folder of the server of the ledger.
        processes: the scheduler, then the nannies.
        kept: the file in which faults, memory and seconds are kept for the next part of a run.
        kills: shares of venues after which the client is killed.
        restarts: shares of venues after which the server is restarted.
        every: seconds between kills of a worker.
        faults: the faults that happened, by kind.
        memory: the greatest memory of the client and of the scheduler, in MB.
        seconds: how long the batch has run, in all parts.
    """

    command: list[str]
    output: Path
    data: Path
    processes: list[psutil.Process]
    kept: Path | None = None
    kills: list[float] = field(default_factory=lambda: [0.3, 0.6])
    restarts: list[float] = field(default_factory=lambda: [0.2, 0.5, 0.8])
    every: float = 120.0
    faults: dict[str, int] = field(default_factory=lambda: {"client": 0, "server": 0, "worker": 0})
    memory: dict[str, float] = field(default_factory=lambda: {"client": 0.0, "scheduler": 0.0})
    seconds: float = 0.0

    def run(self, venues: int) -> int:
        """Run the batch until it ends by itself; returns its exit code."""
        self._resume()
        while True:
            with (self.output.parent / "client.log").open("ab") as log:
                client = subprocess.Popen(self.command, stdout=log, stderr=log)
            try:
                self._watch(client, venues)
            finally:
                if client.poll() is None:  # stopped by whoever runs this
                    client.terminate()
                    client.wait()
                self._keep()
            if client.returncode != -signal.SIGKILL:
                return client.returncode

    def _watch(self, client: subprocess.Popen[bytes], venues: int) -> None:
        """Measure and disturb the batch while its client runs."""
        seen = psutil.Process(client.pid)
        now = killed = kept = time.monotonic()
        while client.poll() is None:
            time.sleep(0.1)
            self.seconds, now = self.seconds + time.monotonic() - now, time.monotonic()
            done = sum(1 for _ in self.output.glob("*/release.json")) / venues
            self._measure("client", seen)
            self._measure("scheduler", self.processes[0])
            if self.restarts and done >= self.restarts[0]:
                self.restarts.pop(0)
                postgres.restart(self.data, "immediate" if len(self.restarts) % 2 else "fast")
                self.faults["server"] += 1
            if self.kills and done >= self.kills[0]:
                self.kills.pop(0)
                client.send_signal(signal.SIGKILL)
                self.faults["client"] += 1
            if now > killed + self.every:
                killed = now
                nanny = self.processes[1 + self.faults["worker"] % (len(self.processes) - 1)]
                self.faults["worker"] += kill_worker(nanny)
            if now > kept + _KEEP:
                kept = now
                self._keep()

    def _keep(self) -> None:
        if self.kept is not None:
            state = {name: getattr(self, name) for name in _STATE}
            part = self.kept.with_suffix(".part")
            part.write_text(json.dumps(state))
            part.replace(self.kept)

    def _resume(self) -> None:
        if self.kept is not None and self.kept.exists():
            for name, value in json.loads(self.kept.read_text()).items():
                setattr(self, name, value)

    def _measure(self, name: str, process: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            self.memory[name] = max(self.memory[name], process.memory_info().rss / 1e6)


def check(output: Path, ledger: str, venues: int) -> None:
    """Fail unless every venue is released, and charged exactly once for what was released."""
    report = json.loads((output / "batch.json").read_text())
    assert (report["venues"], report["failed"]) == (venues, 0), report
    charges = [entry.release for entry in Ledger(ledger).history()]
    released = [json.loads(file.read_text())["charge"] for file in output.glob("*/release.json")]
    assert len(charges) == len(set(charges)) == venues
    assert sorted(charges) == sorted(released)
    assert Ledger(ledger).check().ok


def check_marks(folder: Path, data: Path) -> int:
    """Fail if a file other than the exports holds a mark: logs of client, cluster and server, ledger, output, journals.

    Returns how many files were searched.
    """
    searched = 0
    for file in (*folder.rglob("*"), data.parent / "log", *data.rglob("*")):
        if file.is_file() and not (file.parent == folder and file.name.startswith("venue-")):
            assert MARK.encode() not in file.read_bytes(), f"{file} holds a mark"
            searched += 1
    return searched


def steps_of(private: Path) -> dict[str, tuple[int, float]]:
    """The number and the seconds of each step, over all runs of a batch, from its log."""
    names = {"venue-planned": "plan", "venue-read": "read", "venue-charged": "charge"}
    names |= {"venue-estimated": "estimate", "venue-released": "write"}
    sums: dict[str, tuple[int, float]] = dict.fromkeys(names.values(), (0, 0.0))
    for line in (private / "log.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["event"] in names:
            count, seconds = sums[names[entry["event"]]]
            sums[names[entry["event"]]] = count + 1, seconds + entry["seconds"]
    return sums


def simulate(out: Output, steps: Mapping[str, tuple[int, float]], charges_per_second: float) -> None:
    """What other numbers of clients and workers would do: the slowest of three stages limits the throughput."""
    mean = {name: seconds / max(count, 1) for name, (count, seconds) in steps.items()}
    plans = steps["plan"][0] / max(steps["read"][0], 1)
    here = (1 + plans) * mean["read"] + mean["charge"] + mean["write"]
    public = mean["estimate"] + plans * mean["plan"]
    columns = (
        Column("clients", "clients", digits="d"),
        Column("workers", "workers", digits="d"),
        Column("rate", "venues per second", digits=".2f"),
        Column("minutes", "5,000 venues", "min", ".1f"),
        Column("bottleneck", "bottleneck"),
    )
    table = out.table("simulated", "More clients and workers, by simulation from the steps", columns, keys=2)
    spent = f"private {here:.3f}, public {public:.3f}, ledger {1 / charges_per_second:.4f}"
    table.note(f"Seconds per venue: {spent}.")
    for clients, workers in ((1, 1), (1, 2), (1, 10), (1, 100), (4, 100), (16, 100)):
        rates = {"clients": clients / here, "workers": workers / public, "ledger": charges_per_second}
        slowest = min(rates, key=lambda name: rates[name])
        rate = rates[slowest]
        table.add(clients, workers, rate, 5_000 / rate / 60, slowest)


def shared_plans(out: Output, number: int, seed: int) -> None:
    """What is lost where venues share plans: the expected error of the shared choice over that of the own one."""
    first: dict[Any, pv.Plan] = {}
    lost, same, planned = [], 0, 0
    for place, size in enumerate(sizes(number, seed, most=1_000)):
        made = synthetic_conference(reviewers=size, load=LOAD, rng=np.random.default_rng([seed, place]))
        papers, people = (list(map(str, column)) for column in (made.paper, made.reviewer))
        reviews = pv.Reviews.from_columns(papers, people, made.score, scale=(1, 10))
        weights = pv.weigh(reviews.public("all"))
        own = Auto(epsilon=1.0).plan(weights)
        leader = first.setdefault(likeness(weights), own)
        if leader is own:
            planned += 1
            continue
        theirs, mine = leader.choose(1.0), own.choose(1.0)
        errors = {(choice.mechanism, choice.bins, choice.estimator): choice.rmse for choice in own.choices}
        # A number of bins that was not tried here is as good as the nearest that was.
        key = min(
            (k for k in errors if (k[0], k[2]) == (theirs.mechanism, theirs.estimator)),
            key=lambda k: abs((k[1] or 0) - (theirs.bins or 0)),
        )
        lost.append(errors[key] / mine.rmse - 1)
        same += theirs[:3] == mine[:3]
    losses = np.array(lost)
    columns = (
        Column("venues", "venues", digits=","),
        Column("planned", "planned", digits="d"),
        Column("shared", "shared", digits="d"),
        Column("same", "with the same choice", digits="d"),
        Column("mean", "expected error above that of the own choice", "%", "+.2f", better="lower"),
        Column("most", "most", "%", "+.2f"),
    )
    table = out.table("shared", "Plans shared by venues that are alike", columns, seeds=seed)
    most = 100 * losses.max() if losses.size else None
    table.add(number, planned, losses.size, same, mean_of(losses, 100), most)


def scaling(out: Output, reviewers: Sequence[int], seed: int) -> None:
    """State what a second worker brings, by the clock and by processor time."""
    columns = (
        Column("workers", "workers", digits="d"),
        Column("clock", "by the clock", "s", ".1f"),
        Column("client", "processor time of the client", "s", ".1f"),
        Column("public", "of all workers", "s", ".1f"),
        Column("estimate", "in estimates", "s", ".1f"),
        Column("clock-ratio", "times faster by the clock", digits=".2f", better="higher"),
        Column("ratio", "by processor time", digits=".2f", better="higher"),
    )
    title = f"One worker and two, {len(reviewers)} venues, {sum(reviewers):,} reviewers, undisturbed"
    measured = out.table("scaling", title, columns, seeds=seed)
    clock: list[float] = []
    limit: list[float] = []
    for workers in (1, 2):
        with tempfile.TemporaryDirectory(dir="/tmp") as place, postgres.server() as (url, _):
            folder = Path(place)
            table = write_venues(folder, reviewers, seed, {"budget": "1"})
            with cluster(folder, workers) as (address, processes):
                while not all(map(worker_of, processes[1:])):
                    time.sleep(0.1)
                before = spent(processes[1:])
                start = time.perf_counter()
                client = psutil.Popen(batch(table, folder / "out", url, address), stdout=subprocess.DEVNULL)
                own = 0.0
                while client.poll() is None:
                    time.sleep(0.1)
                    with suppress(psutil.NoSuchProcess):
                        own = max(own, sum(client.cpu_times()[:2]))
                clock.append(time.perf_counter() - start)
                assert client.returncode == 0, client.returncode
                public = spent(processes[1:]) - before
            check(folder / "out", url, len(reviewers))
            estimate = steps_of(folder / "out.private")["estimate"][1]
        limit.append(max(own, public / workers))
        measured.add(workers, clock[-1], own, public, estimate, clock[0] / clock[-1], limit[0] / limit[-1])


def spent(nannies: Sequence[psutil.Process]) -> float:
    """The processor time of workers that live, in seconds."""
    return float(sum(sum(child.cpu_times()[:2]) for nanny in nannies for child in nanny.children()))


def batch(table: Path, output: Path, ledger: str, address: str) -> list[str]:
    """The command that releases the venues of a table."""
    command = [sys.executable, "-m", "peerveil", "batch", str(table), "-o", str(output), "--no-report"]
    command += ["--public", "all", "--epsilon", "1", "--score-scale", "1,10", "--share-plans", "--ledger", ledger]
    return [*command, "--cluster", address, "--log-level", "debug"]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--venues", type=int, default=5_000)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--seed", type=int, default=SEED)
    asked.add_argument("--most", type=int, default=5_000, help="reviewers of the largest venue")
    asked.add_argument("--every", type=float, default=120.0)
    asked.add_argument("--shared", type=int, default=200, help="venues on which shared plans are compared")
    asked.add_argument("--compared", type=int, default=100, help="venues on which one worker is compared with two")
    asked.add_argument("--charges-per-second", type=float, default=150.0, help="as benchmarks/bench_ledger.py measures")
    asked.add_argument("--folder", type=Path, help="where to keep the run, so that it can be stopped and resumed")
    asked.add_argument("--scaling", action="store_true", help="only compare one worker with two")
    if postgres.programs() is None:
        print("PostgreSQL is not installed (its programs initdb and pg_ctl): nothing is measured")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what was started, as Ctrl-C does
    with Output("platform") as out:
        given = asked.parse_args(out.arguments)
        if out.quick:
            given.venues, given.most, given.every, given.shared, given.compared = 20, 100, 60.0, 10, 0
        if given.scaling:
            scaling(out, sizes(given.venues, given.seed, most=given.most), given.seed)
        else:
            day_of(out, given)
            if given.compared:
                scaling(out, sizes(given.compared, given.seed, most=given.most), given.seed)


def day_of(out: Output, given: argparse.Namespace) -> None:
    reviewers = sizes(given.venues, given.seed, most=given.most)
    with ExitStack() as stack:
        folder = (given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))).resolve()
        folder.mkdir(exist_ok=True)
        asked_for = json.dumps([given.venues, given.seed, given.most, given.workers])
        if not (folder / "run.json").exists():
            (folder / "run.json").write_text(asked_for)
        assert (folder / "run.json").read_text() == asked_for, f"{folder} holds a run with other options"
        url, data = stack.enter_context(postgres.server(folder / "postgres" if given.folder else None))
        table = write_venues(folder, reviewers, given.seed, {"budget": "1"})
        with cluster(folder, given.workers) as (address, processes):
            command = batch(table, folder / "out", url, address)
            day = Day(command, folder / "out", data, processes, folder / "day.json", every=given.every)
            code = day.run(given.venues)
        assert code == 0, code
        check(folder / "out", url, given.venues)
        searched = check_marks(folder, data)
        steps = steps_of(folder / "out.private")
    total = sum(reviewers)
    columns = (
        Column("venues", "venues", digits=","),
        Column("reviewers", "reviewers", digits=","),
        Column("reviews", "reviews", digits=","),
        Column("workers", "workers", digits="d"),
        Column("seconds", "time", "s", ",.0f"),
        Column("rate", "venues per second", digits=".2f"),
        *(Column(f"{name}-faults", f"faults of a {name}", digits="d") for name in day.faults),
        *(Column(f"{name}-memory", f"memory of the {name}", "MB", ".0f") for name in day.memory),
    )
    measured = out.table("day", "A platform's day", columns, seeds=given.seed, promises=("P-PLATFORM-1",))
    rate = given.venues / day.seconds
    cells = *day.faults.values(), *day.memory.values()
    measured.add(given.venues, total, LOAD * total, given.workers, day.seconds, rate, *cells)
    measured.note("Every venue was released, and charged exactly once.")
    measured.note(f"No name of a reviewer or paper is in {searched} files: logs, ledger, output and private folder.")
    columns = (
        Column("step", "step"),
        Column("times", "times", digits=","),
        Column("seconds", "time", "s", ",.1f"),
        Column("each", "each", "s", ".3f"),
    )
    measured = out.table("steps", "Steps of the day", columns, seeds=given.seed)
    for name, (count, spent_on_it) in steps.items():
        measured.add(name, count, spent_on_it, spent_on_it / max(count, 1))
    simulate(out, steps, given.charges_per_second)
    if given.shared:
        shared_plans(out, given.shared, given.seed + 1)


if __name__ == "__main__":
    main()
