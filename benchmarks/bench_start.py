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

#: Names under which distributions are imported, where they differ.
MODULES = {"vl-convert-python": "vl_convert", "opendp": "opendp.prelude", "scipy": "scipy.optimize"}
RUNS = 7


def dependencies() -> list[str]:
    stated = [line for line in requires("peerveil") or [] if "extra ==" not in line]
    names = [line.split(";")[0].split(">")[0].split("=")[0].strip() for line in stated]
    return [MODULES.get(name, name) for name in sorted(names)]


def measure(*arguments: str) -> tuple[list[float], list[float]]:
    """Seconds by the clock and of the processor, a run each; the first, which fills caches, is left out."""
    clock, processor = [], []
    for _ in range(RUNS + 1):
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        after = os.times()
        clock.append(time.perf_counter() - start)
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return clock[1:], processor[1:]


def main() -> None:
    everything = "; ".join(f"import {name}" for name in dependencies())
    rows = {
        "python alone": ("-c", "pass"),
        "import peerveil": ("-c", "import peerveil"),
        "import every dependency": ("-c", everything),
        "peerveil --help": ("-m", "peerveil", "--help"),
        "peerveil release --help": ("-m", "peerveil", "release", "--help"),
        "peerveil --version": ("-m", "peerveil", "--version"),
    }
    print(f"{RUNS} runs each; seconds\n")
    print(f"{'what':<26}{'median':>9}{'least':>9}{'processor, median':>20}")
    medians = {}
    for name, arguments in rows.items():
        clock, processor = measure(*arguments)
        medians[name] = statistics.median(processor)
        print(f"{name:<26}{statistics.median(clock):>9.3f}{min(clock):>9.3f}{medians[name]:>20.3f}")
    share = medians["import peerveil"] / medians["import every dependency"]
    print(f"\nimport peerveil takes {share:.1%} of what importing every dependency takes (target: a third at most)")


if __name__ == "__main__":
    main()
