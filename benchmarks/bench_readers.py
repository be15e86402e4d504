"""Readers: spoilt files of every format, memory against the size of whole ones, and a million reviews from CSV.

The spoilt files are read in processes of their own, two at a time; the seed of each is its kind, its process and its
number, so that every failure can be repeated. Memory is the peak of Python's and NumPy's allocations.

    python benchmarks/bench_readers.py [number of spoilt files, 100000 by default]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from mutations import FORMATS, fuzz_apart
from peerveil.exports import KINDS, PRIVATE, Cast, export
from peerveil.private.readers import read
from peerveil.public_scores import public_scores
from peerveil.simulate import Conference, synthetic_conference
from timing import peak_megabytes, timed

BATCH = 1000


def whole(reviewers: int) -> Conference:
    return synthetic_conference(reviewers=reviewers, rng=np.random.default_rng(reviewers))


def spoilt(count: int) -> list[str]:
    each = -(-count // len(FORMATS))
    jobs = [((kind,), min(BATCH, each - done), done) for kind in FORMATS for done in range(0, each, BATCH)]
    start = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
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


def sizes(folder: Path, reviewers: int = 5000) -> None:
    conference = whole(reviewers)
    cast = Cast.invent(conference)
    print(f"\nWhole files of {conference.score.size} reviews")
    print(f"{'format':<16}{'MB':>8}{'s':>8}{'peak MB':>10}{'peak / size':>13}")
    for kind in KINDS:
        name, data = export(conference, kind, cast=cast)
        (folder / name).write_bytes(data)
        size = len(export(conference, "easychair", cast=cast)[1]) if kind == "easychair-zip" else len(data)

        def work(kind: str = kind, path: Path = folder / name) -> object:
            if kind in PRIVATE:
                return read(path, person="subreviewer")
            return public_scores(path)

        seconds, peak = timed(work), peak_megabytes(work)
        print(f"{kind:<16}{size / 1e6:>8.1f}{seconds:>8.2f}{peak:>10.1f}{peak / size * 1e6:>13.1f}")


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
    peak = peak_megabytes(lambda: read(path, scale=(1, 10)))
    print(f"\nA million reviews from {size / 1e6:.0f} MB of CSV: {seconds:.1f} s ({busy:.1f} s of a core)", end="")
    print(f", peak {peak:.0f} MB, {peak * 1e6 / size:.1f} times the file")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        million(Path(folder))
        sizes(Path(folder))
    failures = spoilt(count)
    for failure in failures[:50]:
        print(failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
