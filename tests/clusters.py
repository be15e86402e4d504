"""A Dask cluster of processes on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def running_cluster() -> Iterator[str]:
    """Yield the address of a scheduler with two workers, each in a process of its own."""
    pytest.importorskip("distributed", reason="the package distributed is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet["env"] = {**os.environ, "PYTHONPATH": paths}
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    started = [subprocess.Popen(command, **quiet) for command in (scheduler, worker, worker)]
    try:
        while started[0].poll() is None:  # until the scheduler listens, however busy the machine is
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=600):
                break
            time.sleep(0.05)
        yield address
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that a worker's nanny keeps
            process.wait()
