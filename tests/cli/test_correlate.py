"""`peerveil correlate`: the release, its plan, its verification and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from peerveil.app.schemas import schema
from peerveil.cli import app

jsonschema = pytest.importorskip("jsonschema")
RUN = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("linked")
    rng = np.random.default_rng(4)
    for year in ("2025", "2026"):
        who = (np.arange(60)[:, None] + [0, *rng.choice(np.arange(1, 60), 2, replace=False)]) % 60
        score = rng.integers(1, 11, who.shape)
        rows = [f"p{p},r{j}@x.org,{x}" for p in range(60) for j, x in zip(who[p], score[p], strict=True)]
        (place / f"{year}.csv").write_text("\n".join(["paper,reviewer,score", *rows]) + "\n")
        rows = [f"p{p},{x}" for p in range(60) for x in score[p]]
        (place / f"public-{year}.csv").write_text("\n".join(["paper,score", *rows]) + "\n")
    return place


def run(folder: Path, *words: str, code: int = 0) -> str:
    result = RUN.invoke(app, [word.replace("@", f"{folder}/") for word in words], catch_exceptions=True)
    assert result.exit_code == code, result.output
    return result.output


ASKED = ("correlate", "@2025.csv", "@2026.csv", "--names", "2025,2026", "--public", "all", "--score-scale", "1,10")


def test_it_is_planned_released_and_verified(folder: Path) -> None:
    planned = json.loads(run(folder, *ASKED, "--plan", "--json"))
    jsonschema.validate(planned, schema("correlation-plan"))
    assert planned["people"] == 30
    assert "of the trait" in run(folder, *ASKED, "--plan")
    made = json.loads(_document(run(folder, *ASKED, "--epsilon", "1", "-o", "@made", "--json")))
    jsonschema.validate(made, schema("correlation"))
    public = ("--public", "@public-2025.csv", "--score-scale", "1,10")
    assert "Verified." in run(folder, "verify", "@made", *public, "--second-public", "@public-2026.csv")
    assert "Refused: record" in run(folder, "verify", "@made", *public, "--second-public", "@public-2025.csv", code=1)


def test_a_table_is_planned_and_released(folder: Path) -> None:
    counted = (*ASKED, "--bins", "2", "--epsilon", "9")
    jsonschema.validate(json.loads(run(folder, *counted, "--plan", "--json")), schema("correlation-plan"))
    run(folder, *counted, "-o", "@table")
    public = ("--public", "@public-2025.csv", "--score-scale", "1,10")
    assert "Verified." in run(folder, "verify", "@table", *public, "--second-public", "@public-2026.csv")


@pytest.mark.promise("P-LINKED-5")
def test_a_dry_run_draws_and_writes_nothing(folder: Path) -> None:
    shown = run(folder, *ASKED, "--epsilon", "1", "--expected-people", "50", "--dry-run", "-o", "@dry")
    assert "Dry run: nothing was drawn, charged or written." in shown
    assert "50 people count in both" in " ".join(shown.split())
    assert not (folder / "dry").exists()
    promised = json.loads(_document(run(folder, *ASKED, "--epsilon", "1", "--dry-run", "--json")))
    jsonschema.validate(promised, schema("correlation-promise"))


def _document(output: str) -> str:
    return output[output.index("{") :]


def test_a_missing_second_record_or_a_file_of_public_scores_is_refused_in_words(folder: Path) -> None:
    run(folder, *ASKED, "--epsilon", "1", "-o", "@one")
    result = RUN.invoke(app, ["verify", f"{folder}/one", "--public", f"{folder}/public-2025.csv"])
    assert "the public scores of the second one" in str(result.exception)
    words = [word.replace("@", f"{folder}/").replace("all", f"{folder}/public-2025.csv") for word in ASKED]
    assert "for both conferences" in str(RUN.invoke(app, [*words, "--epsilon", "1"]).exception)
    assert "give a budget" in str(RUN.invoke(app, [word.replace("@", f"{folder}/") for word in ASKED]).exception)
