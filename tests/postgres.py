"""A PostgreSQL server for the tests, where its programs are installed; started on first use, on a socket of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def programs() -> Path | None:
    """The folder with initdb and postgres, in the path or where Debian has them."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


def _owner() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as its own user, or as nobody."""
    if os.getuid() != 0:
        return {}
    known = {entry.pw_name for entry in pwd.getpwall()}
    return {"user": "postgres" if "postgres" in known else "nobody"}


@contextmanager
def server() -> Iterator[tuple[str, Path]]:
    """A running server: the address of a database on it, and its data folder."""
    folder = programs()
    assert folder is not None
    owner = _owner()
    with tempfile.TemporaryDirectory(prefix="pv-pg-", dir="/tmp") as place:
        home = Path(place)
        if owner:
            shutil.chown(home, owner["user"])
        data = home / "data"

        def call(program: str, *arguments: str) -> None:
            subprocess.run(
                [folder / program, *arguments], cwd=home, check=True, capture_output=True, timeout=6000, **owner
            )

        call("initdb", "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={home} -c max_connections=50"
        call("pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"postgresql://tester@/postgres?host={home}", data
        finally:
            subprocess.run(
                [folder / "pg_ctl", "-D", str(data), "-m", "immediate", "stop"],
                cwd=home,
                check=False,
                capture_output=True,
                **owner,
            )


def stop(data: Path) -> None:
    """Stop a server at once, as if its machine were gone."""
    folder = programs()
    assert folder is not None
    command = [str(folder / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"]
    subprocess.run(command, cwd="/", check=True, capture_output=True, timeout=600, **_owner())
