"""Tasks give the same results wherever they run, in order, with seeds of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import engine_tasks
import peerveil as pv
from clusters import running_cluster
from engine_tasks import always_die, count, die_once, draw, fail, place, places
from peerveil.reporting.sweep_files import write_sweep
from peerveil.simulation.experiments import simulate
from peerveil.support.parallel import cluster, run
from peerveil.support.processes import starting_processes


@pytest.mark.promise("P-PLATFORM-14")
def test_results_do_not_depend_on_who_runs_what() -> None:
    tasks = [3, 1, 4, 1, 5]
    alone = run(draw, tasks, seed=7, workers=1)
    assert [len(result) for result in alone] == tasks
    assert run(draw, tasks, seed=7, workers=2) == alone
    with ThreadPoolExecutor(3) as pool:
        assert run(draw, tasks, seed=7, executor=pool) == alone
    assert run(draw, tasks, seed=8, workers=1) != alone
    assert run(draw, tasks[:2], seed=7, workers=1) == alone[:2]  # however many follow
    assert alone[1] != alone[3]


def test_processes_of_their_own_are_used() -> None:
    assert os.getpid() not in run(place, [0, 1, 2], workers=2)
    assert run(place, [0, 1], workers=1) == [os.getpid()] * 2


def test_a_process_that_cannot_start_others_runs_tasks_itself() -> None:
    """The page works in such a process."""
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    process = context.Process(target=places, args=(answers,), daemon=True)
    process.start()
    try:
        assert answers.get(timeout=300) == [process.pid] * 3
    finally:
        process.join()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_ends_the_run(workers: int) -> None:
    with pytest.raises(pv.PeerveilError, match="task 1 failed"):
        run(fail, [0, 1, 2, 3], workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told(workers: int) -> None:
    seen: list[tuple[int, int]] = []
    run(draw, [1, 1, 1], workers=workers, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_nothing_to_do_is_done() -> None:
    assert run(draw, []) == []


@pytest.mark.parametrize("workers", [0, -1, True, 1.5])
def test_workers_are_checked(workers: int) -> None:
    with pytest.raises(pv.InputError, match="workers must be a whole number of at least 1"):
        run(draw, [1], workers=workers)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("PEERVEIL_TEST_MARKS", str(folder))
    return folder


def times_run(marks: Path) -> Counter[str]:
    return Counter(mark.name.partition("-")[0] for mark in marks.iterdir() if "-" in mark.name)


@pytest.mark.parametrize("workers", [1, 2])
def test_finished_tasks_are_kept_and_not_run_again(workers: int, marks: Path, tmp_path: Path) -> None:
    tasks = list(range(6))
    whole = run(draw, [2] * 6, seed=5, workers=1)
    (marks / "fail").touch()
    with pytest.raises(pv.PeerveilError):
        run(count, tasks, seed=5, workers=workers, keep=tmp_path / "kept")
    kept = len(list((tmp_path / "kept").glob("*.json")))
    assert 0 < kept < 6
    (marks / "fail").unlink()
    seen: list[int] = []
    results = run(
        count, tasks, seed=5, workers=workers, keep=tmp_path / "kept", progress=lambda done, _: seen.append(done)
    )
    assert results == whole
    assert seen[0] == kept
    assert seen[-1] == 6
    ran = times_run(marks)
    assert run(count, tasks, seed=5, workers=workers, keep=tmp_path / "kept") == whole
    assert times_run(marks) == ran
    # Other seeds and other tasks are other results.
    assert run(count, tasks, seed=6, workers=workers, keep=tmp_path / "kept") != whole
    assert times_run(marks) == ran + Counter({str(task): 1 for task in tasks})


def test_a_kept_result_that_is_not_whole_is_run_again(marks: Path, tmp_path: Path) -> None:
    first = run(count, [0, 1], keep=tmp_path / "kept", workers=1)
    file = next((tmp_path / "kept").glob("*.json"))
    file.write_text(file.read_text()[:5])
    assert run(count, [0, 1], keep=tmp_path / "kept", workers=1) == first
    assert sum(times_run(marks).values()) == 3


def test_a_killed_worker_loses_nothing(marks: Path) -> None:
    assert run(die_once, list(range(5)), seed=5, workers=2) == run(draw, [2] * 5, seed=5, workers=1)
    assert (marks / "died2").exists()


def test_workers_that_always_die_are_given_up() -> None:
    with pytest.raises(pv.PeerveilError, match="worker processes died 4 times"):
        run(always_die, [1, 2], workers=2)


def test_many_tasks_are_not_all_handed_out_at_once() -> None:
    waiting, most = 0, 0

    class Slow(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **options: Any) -> Any:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            future = super().submit(*arguments, **options)
            future.add_done_callback(lambda _: done())
            return future

    def done() -> None:
        nonlocal waiting
        waiting -= 1

    with Slow(1) as pool:
        assert len(run(draw, [1] * 1000, executor=pool)) == 1000
    assert most <= 100


INTERRUPTED = """
import sys, time
from pathlib import Path
import numpy as np
import peerveil.support.parallel as engine
def slow(task, seeds):
    time.sleep(0.05)
    return float(np.random.default_rng(seeds).normal())
tell = lambda done, total: print(done, flush=True)
print(engine.run(slow, list(range(40)), seed=3, workers=1, keep=Path(sys.argv[1]), progress=tell))
"""


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "kept")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sweep:
        assert sweep.stdout is not None
        while sweep.stdout.readline().strip() != "5":
            assert sweep.poll() is None
        sweep.send_signal(signal.SIGINT)
    assert sweep.returncode != 0
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[0]) >= 5
    whole = subprocess.run([*command[:-1], str(tmp_path / "anew")], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]


@pytest.fixture
def dask_cluster(marks: Path) -> Iterator[str]:
    """A scheduler and two workers in processes of their own, which know where to leave marks."""
    assert marks.exists()
    with running_cluster() as address:
        yield address


@pytest.mark.promise("P-PLATFORM-14")
@pytest.mark.slow
def test_a_cluster_gives_the_same_results_and_survives_a_lost_worker(
    dask_cluster: str, marks: Path, tmp_path: Path
) -> None:
    alone = run(draw, [2] * 12, seed=5, workers=1)
    with cluster(dask_cluster) as executor:
        assert run(draw, [2] * 12, seed=5, executor=executor) == alone
        assert os.getpid() not in run(place, [0, 1, 2, 3], executor=executor)
        assert run(die_once, list(range(12)), seed=5, executor=executor) == alone
        assert (marks / "died2").exists()
        assert sweep_bytes(tmp_path / "cluster", executor=executor) == sweep_bytes(tmp_path / "alone", workers=1)


ON_CLUSTER = """
import sys
from engine_tasks import last
from peerveil.errors import PeerveilError
from peerveil.support.parallel import cluster, run, stream

with cluster(sys.argv[1]) as executor:
    try:
        if sys.argv[2] == "run":
            run(last, list(range(4)), executor=executor)
        else:
            list(stream(last, range(4), executor=executor, lost=lambda _: None))
    except PeerveilError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("function", ["run", "stream"])
def test_a_scheduler_that_dies_is_told(dask_cluster: str, marks: Path, function: str) -> None:
    """Also where nothing makes up for lost tasks (``run``). A process that hangs is ended, and the test fails."""
    import distributed

    connect: Any = distributed.Client
    with connect(dask_cluster, set_as_default=False) as client:
        scheduler = client.run_on_scheduler(os.getpid)
    environment = {**os.environ, "PYTHONPATH": str(Path(engine_tasks.__file__).parent)}
    command = [sys.executable, "-c", ON_CLUSTER, dask_cluster, function]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        watchdog = threading.Timer(900, process.kill)
        watchdog.start()
        try:
            while len(times_run(marks)) < 2:  # both workers are busy, the other tasks wait
                assert process.poll() is None
                time.sleep(0.05)
            os.kill(scheduler, signal.SIGKILL)
            told, problems = process.communicate()
        finally:
            watchdog.cancel()
            process.kill()
    assert process.returncode == 0, problems
    assert "scheduler of the cluster is gone" in told
    assert "start the same command again" in told
    assert "Traceback" not in problems, problems


def sweep_bytes(folder: Path, **where: Any) -> list[bytes]:
    """The files of a small sweep: its data and its picture."""
    folder.mkdir()
    return [path.read_bytes() for path in write_sweep(simulate("beta-2-2", draws=12, points=[10], **where), folder)]


def test_a_cluster_that_is_not_there_is_told() -> None:
    with pytest.raises(pv.InputError, match="there is no cluster at"), cluster("nonsense://here"):
        pass
    with cluster(None) as none:
        assert none is None


WAITING = """
import sys, time
from pathlib import Path
from peerveil.support.parallel import run

def wait(task, _):
    Path(sys.argv[1], str(task)).write_text("")
    time.sleep(600)

try:
    run(wait, list(range(4)), workers=2)
except KeyboardInterrupt:
    sys.exit(130)
"""


def workers_of(process: int) -> list[int]:
    """The worker processes of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == process and b"spawn_main" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("moment", ["starting", "working"])
def test_an_interrupt_ends_the_workers_without_a_word(tmp_path: Path, moment: str) -> None:
    """Ctrl-C goes to every process of the terminal: here, to all of a group."""
    (tmp_path / "script.py").write_text(WAITING)
    (tmp_path / "marks").mkdir()
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "marks")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not (workers := workers_of(process.pid)) or (
            moment == "working" and len(list((tmp_path / "marks").iterdir())) < 2
        ):
            assert process.poll() is None
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=300)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 130
    assert complaints == ""
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_an_interrupt_waits_until_processes_are_started() -> None:
    reached = []

    def start() -> None:
        with starting_processes():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("end of the block")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == ["end of the block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


class AtOnce(ThreadPoolExecutor):
    """Gives its futures when all of them are done, as a process that has waited for a busy machine finds them."""

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(*args, **kwargs)
        wait([future])
        return future


def test_what_was_finished_is_kept_whatever_failed_meanwhile(marks: Path, tmp_path: Path) -> None:
    (marks / "fail").touch()
    with AtOnce(1) as pool, pytest.raises(pv.PeerveilError, match="task 3 failed"):
        run(count, list(range(6)), executor=pool, keep=tmp_path / "kept")
    assert len(list((tmp_path / "kept").glob("*.json"))) == 5
