"""A PostgreSQL server for the tests, where its programs are installed; started on first use, on a socket of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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
def server(kept: Path | None = None) -> Iterator[tuple[str, Path]]:
    """A running server: the address of a database on it, and its data folder.

    It is forgotten at the end, or kept in a folder, to be started there again.
    """
    folder = programs()
    assert folder is not None
    owner = _owner()
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix="pv-pg-", dir="/tmp") as place:
        home = Path(place)
        home.mkdir(exist_ok=True)
        if owner:
            shutil.chown(home, owner["user"])
        data = home / "data"

        def call(program: str, *arguments: str) -> None:
            subprocess.run(
                [folder / program, *arguments], cwd=home, check=True, capture_output=True, timeout=6000, **owner
            )

        if not data.exists():
            call("initdb", "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={home} -c max_connections=50"
        call("pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"postgresql://tester@/postgres?host={home}", data
        finally:
            subprocess.run(
                [folder / "pg_ctl", "-D", str(data), "-m", "fast" if kept else "immediate", "stop"],
                cwd=home,
                check=False,
                capture_output=True,
                **owner,
            )


def stop(data: Path) -> None:
    """Stop a server at once, as if its machine were gone."""
    _control(data, "-m", "immediate", "stop")


def restart(data: Path, how: str = "immediate") -> None:
    """Restart a server: at once, as after a crash, or after ending its connections (``"fast"``)."""
    _control(data, "-m", how, "-l", str(data.parent / "log"), "restart")


def _control(data: Path, *arguments: str) -> None:
    folder = programs()
    assert folder is not None
    command = [str(folder / "pg_ctl"), "-D", str(data), "-w", *arguments]
    subprocess.run(
        command, cwd="/", check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600, **_owner()
    )
