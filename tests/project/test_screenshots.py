"""Screenshots of the documents are of the program as it is."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_screenshots_show_the_program_as_it_is() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "screenshots.py"))
    kept = json.loads(script["STAMP"].read_text(encoding="utf-8"))
    assert kept["digest"] == script["digest"](), "run docs/figures/screenshots.py and commit what it writes"
