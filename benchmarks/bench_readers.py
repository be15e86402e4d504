"""Readers: spoilt files of every format, memory against the size of whole ones, and a million reviews from CSV.

The spoilt files are read in processes of their own; the seed of each is its kind, its process and its number, so that
every failure can be repeated. The memory of whole files is the peak of a fresh process above what it had when all was
imported, as the system sees it (Linux); compact files have papers called p1, p2 and so on, and little else.

    python benchmarks/bench_readers.py [number of spoilt files, 100000 by default] [processes, 2 by default]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from mutations import FORMATS, fuzz_apart
from peerveil.private.readers import read
from peerveil.record.public_files import read_public
from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports import KINDS, PRIVATE, Cast, export
from timing import timed

BATCH = 1000


def spoilt(count: int, processes: int) -> list[str]:
    each = -(-count // len(FORMATS))
    jobs = [((kind,), min(BATCH, each - done), done) for kind in FORMATS for done in range(0, each, BATCH)]
    start = time.perf_counter()
    with ThreadPoolExecutor(processes) as pool:
        results = [result for found in pool.map(lambda job: fuzz_apart(*job), jobs) for result in found]
    print(f"\n{each * len(FORMATS)} spoilt files in {time.perf_counter() - start:.0f} s")
    print(f"{'format':<16}{'read':>8}{'refused':>9}{'failed':>8}{'slowest, s':>12}{'memory / size':>15}")
    failures: list[str] = []
    for kind in FORMATS:
        mine = [result for result in results if result["kind"] == kind]
        total: Counter[str] = Counter()
        for result in mine:
            total.update(result["outcomes"])
            failures += result["failures"]
        slowest, memory = (max(result[what] for result in mine) for what in ("seconds", "memory"))
        print(f"{kind:<16}{total['read']:>8}{total['refused']:>9}{total['failed']:>8}{slowest:>12.2f}{memory:>15.1f}")
    return failures


MEGABYTES = (1, 10, 50)
CRITERIA = ("soundness", "clarity")

Row = Callable[[int, list[int]], str]

#: Files that say as much as they can in as little space: a header, and what stands in row i, given random scores.
COMPACT: dict[str, tuple[str, Row]] = {
    "rows of 3": ("paper,ratings\n", lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]}\n"),
    "with a criterion": (
        "paper,ratings,clarity\n",
        lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]},{x[3]};{x[4]};{x[5]}\n",
    ),
    "rows of 100": ("paper,ratings\n", lambda i, x: f"p{i},{';'.join(map(str, x))}\n"),
    "half points": ("paper,ratings\n", lambda i, x: f"p{i},{x[0]}.5;{x[1]};{x[2]}.5\n"),
    "four decimals": ("paper,ratings\n", lambda i, x: f"p{i},{x[0]}.{i * 7919 % 10000:04d};{x[1]}.{i % 9973:04d}\n"),
    "numbered": ("paper_id\t0\t1\t2\t3\t4\t5\n", lambda i, x: f"{i}\t{x[0]}\t{x[1]}\t{x[2]}\t\t\t\n"),
    "lists": ("id,ratings\n", lambda i, x: f'{i},"[{x[0]}, {x[1]}, {x[2]}]"\n'),
    "a row a review": ("paper,score\n", lambda i, x: f"{i // 3},{x[0]}\n"),
    "single reviews": ("paper,ratings\n", lambda i, x: f"{i},{x[0]}\n"),
    "private": ("paper,reviewer,score\n", lambda i, x: f"{i // 3},r{i * 7919 % 20_011},{x[0]}\n"),
}


def conference(reviews: int) -> Conference:
    """Four reviews a paper and a reviewer; nobody twice on a paper."""
    rng = np.random.default_rng(reviews)
    edge = np.arange(reviews // 4 * 4)
    people = max(8, reviews // 4)
    grades = {name: rng.integers(1, 6, edge.size).astype(float) for name in CRITERIA}
    return Conference(
        paper=edge // 4,
        reviewer=(edge + edge // people) % people,
        score=rng.integers(1, 11, edge.size).astype(float),
        scale=(1.0, 10.0),
        criteria=grades,
    )


def exported(kind: str, reviews: int) -> bytes:
    made = conference(reviews)
    people = range(int(made.reviewer.max()) + 1)
    cast = Cast(
        names=[f"Reviewer Number{j}" for j in people],
        emails=[f"reviewer-{j:04d}@example.org" for j in people],
        members=list(people),
    )
    return export(made, kind, cast=cast)[1]


def write(path: Path, kind: str, megabytes: int) -> int:
    """Write a file of about some size; its size unpacked."""
    wanted = megabytes * 1_000_000
    if kind not in COMPACT:
        plain = "easychair" if kind == "easychair-zip" else kind
        reviews = 4000 * wanted // len(exported(plain, 4000))
        path.write_bytes(exported(kind, reviews))
        return len(exported(plain, reviews)) if plain != kind else path.stat().st_size
    rng = np.random.default_rng(megabytes)
    header, row = COMPACT[kind]
    with path.open("w") as handle:
        handle.write(header)
        written = i = 0
        while written < wanted:
            for scores in rng.integers(1, 10, (1000, 100)).tolist():
                written += handle.write(row(i, scores))
                i += 1
    return path.stat().st_size


def is_public(kind: str) -> bool:
    return kind not in PRIVATE and kind != "private"


def memory(name: str) -> int:
    """A line of what the system says of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def read_whole(path: str, kind: str) -> None:
    """In a process of its own: read a file, and print the peak of its memory and the seconds."""
    criteria = CRITERIA if kind not in COMPACT else ("clarity",) if kind == "with a criterion" else ()
    before, start = memory("VmRSS"), time.perf_counter()
    if is_public(kind):
        read_public(path, load=1, criteria=criteria)
    else:
        read(path, person="subreviewer", criteria=criteria)
    seconds = time.perf_counter() - start
    print(json.dumps([memory("VmHWM") - before, seconds]))


def sizes(folder: Path) -> None:
    print("\nWhole files: the peak of memory over the size of the file (and seconds)")
    print(f"{'format':<18}" + "".join(f"{megabytes:>15} MB" for megabytes in MEGABYTES))
    for kind in (*COMPACT, *KINDS):
        print(f"{kind:<18}", end="", flush=True)
        for megabytes in MEGABYTES:
            path = folder / "whole"
            size = write(path, kind, megabytes)
            command = [sys.executable, __file__, "read", str(path), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ourselves
            peak, seconds = json.loads(done.stdout)
            print(f"{f'{peak / size:.1f} ({seconds:.1f} s)':>18}", end="", flush=True)
        print()


def million(folder: Path) -> None:
    path = folder / "million.csv"
    rng = np.random.default_rng(0)
    count = 1_000_000
    with path.open("w") as handle:
        handle.write("paper,reviewer,score\n")
        scores = rng.integers(1, 11, count).tolist()
        handle.writelines(f"{i // 4},r{i * 7919 % 250_000:06d}@example.org,{x}\n" for i, x in enumerate(scores))
    size = path.stat().st_size
    seconds = timed(lambda: read(path, scale=(1, 10)))
    before = time.process_time()
    read(path, scale=(1, 10))
    busy = time.process_time() - before
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, __file__, "read", str(path), "private"], capture_output=True, text=True, check=True
    )
    peak = json.loads(done.stdout)[0]
    print(f"A million reviews from {size / 1e6:.0f} MB of CSV: {seconds:.1f} s ({busy:.1f} s of a core)", end="")
    print(f", peak {peak / 1e6:.0f} MB, {peak / size:.1f} times the file", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["read"]:
        return read_whole(*sys.argv[2:])
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory() as folder:
        million(Path(folder))
        sizes(Path(folder))
    failures = spoilt(count, processes)
    for failure in failures[:50]:
        print(failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
