"""What a benchmark was measured with: processor and cores, versions, commit, date. No host name, no user, no path."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]

#: Packages whose versions can change a measurement.
PACKAGES = ("numpy", "scipy", "opendp", "polars", "peerveil")

Setting = Literal["full", "quick", "chosen"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a benchmark.

    Attributes:
        date: the day it ended, as YYYY-MM-DD.
        setting: ``full`` (as documented), ``quick``, or ``chosen`` by arguments.
        arguments: what the benchmark was called with, without paths of the machine.
        processor: the model of the processor.
        cores: how many cores the run could use.
        load: the load average of the machine at the end; beyond the number of cores, times by the clock mean little.
        cpu_seconds: processor time of the run and of the processes it started, until the table was complete.
        versions: of Python and of packages.
        commit: the commit of the working tree, with a plus sign if the code differs from it; none outside a repository.
        source: a digest of the package's code, which does not depend on the history of the repository.
    """

    date: str
    setting: Setting
    arguments: tuple[str, ...]
    processor: str
    cores: int
    load: float
    cpu_seconds: float
    versions: dict[str, str]
    commit: str | None
    source: str

    def __post_init__(self) -> None:
        date.fromisoformat(self.date)
        if self.setting not in ("full", "quick", "chosen"):
            raise ValueError(f"setting {self.setting!r} is not one of full, quick, chosen")
        if self.cores < 1 or self.load < 0 or self.cpu_seconds < 0:
            raise ValueError("cores, load and cpu_seconds cannot be negative, nor cores 0")
        if missing := {"python", *PACKAGES} - self.versions.keys():
            raise ValueError(f"versions lack {', '.join(sorted(missing))}")
        for text in (self.processor, *self.arguments):
            if re.search(r"(^|[=\s])[~/][\w/]", text) or (platform.node() or "?") in text.split():
                raise ValueError(f"{text!r} names a machine or a place on it; leave it out of what is kept")

    def to_json(self) -> dict[str, Any]:
        """The run as it is stored."""
        return asdict(self) | {"arguments": list(self.arguments)}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Run:
        """A stored run."""
        return Run(**stored | {"arguments": tuple(stored["arguments"])})


def this_run(arguments: tuple[str, ...], *, quick: bool) -> Run:
    """The present run, as it begins: code that changes later does not count."""
    return Run(
        date=today(),
        setting="quick" if quick else "chosen" if arguments else "full",
        arguments=tuple(re.sub(r"(^|=)[~/].*", r"\1PATH", one) for one in arguments),
        processor=processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load=load_average(),
        cpu_seconds=0.0,
        versions={"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        commit=commit(),
        source=source(),
    )


def ended(run: Run) -> Run:
    """A run that ends now."""
    return replace(run, date=today(), load=load_average(), cpu_seconds=round(sum(os.times()[:4]), 1))


def today() -> str:
    """The day, in Greenwich."""
    return datetime.now(UTC).date().isoformat()


def load_average() -> float:
    """The load average over a minute, where the system tells."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def processor() -> str:
    """The model of the processor, or its architecture where the system does not tell."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine() or "unknown"


def commit() -> str | None:
    """The commit, with a plus sign if package or benchmarks differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        code = ["src", "benchmarks/*.py"]
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", *code], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def source() -> str:
    """Twelve hexadecimal digits that change with the package's code."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "src" / "peerveil").rglob("*.py")):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
