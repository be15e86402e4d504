"""The command `peerveil`, and ``python -m peerveil``: the command line, which can be interrupted while it is loaded."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line, also before it is loaded and after it has finished."""
    try:
        from peerveil.cli import main as run  # noqa: PLC0415 - it takes a moment
    except KeyboardInterrupt:
        sys.stderr.write("peerveil: Cancelled. Nothing was charged.\n")
        sys.exit(128 + signal.SIGINT)
    try:
        run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt


if __name__ == "__main__":
    main()
