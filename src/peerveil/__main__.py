"""``python -m peerveil`` is the command line."""

from __future__ import annotations

from peerveil.cli import main

if __name__ == "__main__":
    main()
