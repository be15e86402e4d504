"""How soon the command line answers, and what importing the library costs beside all that it depends on.

Targets: `peerveil --help` within half a second; `import peerveil` within a third of importing all its dependencies.
Each is a process of its own; the processor's time says what it costs where other work slows the clock.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import requires

from output import Output
from results import Column

#: Names under which distributions are imported, where they differ.
MODULES = {"vl-convert-python": "vl_convert", "opendp": "opendp.prelude", "scipy": "scipy.optimize"}
RUNS = 7

COLUMNS = (
    Column("what", "what"),
    Column("median", "median", "s", ".3f"),
    Column("least", "least", "s", ".3f"),
    Column("processor", "processor, median", "s", ".3f"),
    Column("share", "processor over every dependency", digits=".3f", better="lower", tolerance=0.2),
)


def dependencies() -> list[str]:
    stated = [line for line in requires("peerveil") or [] if "extra ==" not in line]
    names = [line.split(";")[0].split(">")[0].split("=")[0].strip() for line in stated]
    return [MODULES.get(name, name.replace("-", "_")) for name in sorted(names)]


def measure(*arguments: str) -> tuple[list[float], list[float]]:
    """Seconds by the clock and of the processor, a run each; the first, which fills caches, is left out."""
    clock, processor = [], []
    for _ in range(RUNS + 1):
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        clock.append(time.perf_counter() - start)
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return clock[1:], processor[1:]


def main() -> None:
    everything = "; ".join(f"import {name}" for name in dependencies())
    rows = {
        "import every dependency": ("-c", everything),
        "python alone": ("-c", "pass"),
        "import peerveil": ("-c", "import peerveil"),
        "peerveil --help": ("-m", "peerveil", "--help"),
        "peerveil release --help": ("-m", "peerveil", "release", "--help"),
        "peerveil --version": ("-m", "peerveil", "--version"),
    }
    with Output("start") as out:
        table = out.table("times", "Time to start", COLUMNS, draws=f"{RUNS} processes each")
        every = None
        for name, arguments in rows.items():
            clock, processor = measure(*arguments)
            middle = statistics.median(processor)
            every = every or middle
            table.add(name, statistics.median(clock), min(clock), middle, middle / every)


if __name__ == "__main__":
    main()
