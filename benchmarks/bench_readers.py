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
from output import Output
from peerveil.private.readers import read
from peerveil.record.public_files import read_public
from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports import KINDS, PRIVATE, Cast, export
from results import Column
from timing import timed

BATCH = 1000


def spoilt(out: Output, count: int, processes: int) -> list[str]:
    each = -(-count // len(FORMATS))
    jobs = [((kind,), min(BATCH, each - done), done) for kind in FORMATS for done in range(0, each, BATCH)]
    with ThreadPoolExecutor(processes) as pool:
        results = [result for found in pool.map(lambda job: fuzz_apart(*job), jobs) for result in found]
    columns = (
        Column("format", "format"),
        Column("read", "read", digits=","),
        Column("refused", "refused", digits=","),
        Column("failed", "failed", digits=",", better="lower"),
        Column("slowest", "slowest", "s", ".2f"),
        Column("memory", "memory over size", digits=".1f", better="lower", tolerance=0.5),
    )
    title, seeds = "Spoilt files", "format, process and number of the file"
    table = out.table("spoilt", title, columns, seeds=seeds, draws=f"{each * len(FORMATS):,} files")
    failures: list[str] = []
    for kind in FORMATS:
        mine = [result for result in results if result["kind"] == kind]
        total: Counter[str] = Counter()
        for result in mine:
            total.update(result["outcomes"])
            failures += result["failures"]
        slowest, memory = (max(result[what] for result in mine) for what in ("seconds", "memory"))
        table.add(kind, *(total[outcome] for outcome in ("read", "refused", "failed")), slowest, memory)
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


def sizes(out: Output, folder: Path, chosen: tuple[int, ...]) -> None:
    columns = [Column("format", "format")]
    for megabytes in chosen:
        peak_of = f"{megabytes} MB: memory over size"
        columns.append(Column(f"memory-{megabytes}", peak_of, digits=".1f", better="lower", tolerance=0.3))
        columns.append(Column(f"seconds-{megabytes}", "time", "s", ".1f"))
    table = out.table("sizes", "Whole files", columns, seeds="the number of megabytes, or of reviews")
    for kind in (*COMPACT, *KINDS):
        cells: list[float] = []
        for megabytes in chosen:
            path = folder / "whole"
            size = write(path, kind, megabytes)
            command = [sys.executable, __file__, "read", str(path), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peak, seconds = json.loads(done.stdout)
            cells += [peak / size, seconds]
        table.add(kind, *cells)


def million(out: Output, folder: Path) -> None:
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
    done = subprocess.run(
        [sys.executable, __file__, "read", str(path), "private"], capture_output=True, text=True, check=True
    )
    peak = json.loads(done.stdout)[0]
    columns = (
        Column("reviews", "reviews", digits=","),
        Column("size", "file", "MB", ".0f"),
        Column("clock", "by the clock", "s", ".1f"),
        Column("core", "of a core", "s", ".1f"),
        Column("peak", "peak", "MB", ".0f"),
        Column("ratio", "peak over size", digits=".1f", better="lower", tolerance=0.3),
    )
    table = out.table("million", "A million reviews from CSV", columns, seeds=0)
    table.add(count, size / 1e6, seconds, busy, peak / 1e6, peak / size)


def main() -> None:
    if sys.argv[1:2] == ["read"]:
        return read_whole(*sys.argv[2:])
    with Output("readers") as out, tempfile.TemporaryDirectory() as folder:
        count = int(out.arguments[0]) if out.arguments else 2_000 if out.quick else 100_000
        processes = int(out.arguments[1]) if len(out.arguments) > 1 else 2
        million(out, Path(folder))
        sizes(out, Path(folder), MEGABYTES[:1] if out.quick else MEGABYTES)
        failures = spoilt(out, count, processes)
    for failure in failures[:50]:
        print(failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
