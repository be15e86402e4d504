"""The short suite: what users do, once each, for every version of Python and of each package.

It needs the wheel with its extra `all`, and pytest; PostgreSQL and OpenSSH are used where they are installed. `make
test-versions` runs it in an environment for each version, without what other tests share (tests/conftest.py).
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import peerveil as pv

pytestmark = pytest.mark.slow

SCALE = ("--score-scale", "1,10")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a synthetic conference in every format."""
    folder = tmp_path_factory.mktemp("short")
    run(folder, "demo", "--export", "all", "-o", "exports")
    run(folder, "demo", "--export", "table", "--seed", "2", "-o", "later")
    release = ("release", "reviews.csv", "--public", "all", "--epsilon", "1", *SCALE, "-o", "out")
    run(folder / "exports", *release)
    run(folder / "later", *release, "--mechanism", "laplace", "--no-report")
    return folder


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints."""
    state = {"PEERVEIL_KEY_FILE": str(folder / "key"), "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", "peerveil", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ | state, check=False)
    assert ran.returncode == code, f"{arguments}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def test_plan_release_verify_and_refine(place: Path) -> None:
    exports = place / "exports"
    run(exports, "plan", "public.csv", "--load", "4", *SCALE, "--epsilon", "1", "-o", "plan")
    run(exports, "verify", "out", "--public", "reviews.csv")
    run(exports, "refine", "out/release.json", "--public", "public.csv", "--load", "4", *SCALE, "-o", "refined")
    released = pv.Release.load(exports / "out")
    assert len(released.to_frame()) == 300
    assert {"report.html", "release.csv"} <= {file.name for file in (exports / "out").iterdir()}


@pytest.mark.parametrize(
    "options",
    [
        ("--mechanism", "laplace", "--epsilon", "1", "--public", "none", "--quantity", "ratings"),
        ("--mechanism", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--quantity", "miscalibration"),
        ("--mechanism", "histogram", "--epsilon", "1", "--statistic", "range"),
        ("--mechanism", "laplace", "--epsilon", "1", "--quantity", "normalized", "--criteria", "soundness,clarity"),
    ],
)
def test_mechanisms_and_quantities(place: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    public = () if "--public" in options else ("--public", "all")
    shutil.copy(place / "exports" / "reviews.csv", tmp_path)
    run(tmp_path, "release", "reviews.csv", *public, *SCALE, *options, "--no-report", "-o", "out")
    assert pv.Release.load(tmp_path / "out").reviewers == 300


def test_formats_are_read(place: Path) -> None:
    for file in ("hotcrp-reviews.json", "easychair.zip", "cmt-reviews.xls", "openreview-notes.json", "paperlists.json"):
        person = ("--person", "subreviewer") if file.startswith("easychair") else ()
        run(place / "exports", "inspect", file, *person, "--json")


def test_a_workbook_is_read(place: Path, tmp_path: Path) -> None:
    rows = [line.split(",")[:3] for line in (place / "exports" / "reviews.csv").read_text().splitlines()]
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in rows
    )
    spaces = "http://schemas.openxmlformats.org/"
    main, links = f'xmlns="{spaces}spreadsheetml/2006/main"', f"{spaces}officeDocument/2006/relationships"
    related = f'<Relationships xmlns="{spaces}package/2006/relationships"><Relationship Id="r1" Type="{links}/'
    with zipfile.ZipFile(tmp_path / "reviews.xlsx", "w") as packed:
        types = (
            f'<Types xmlns="{spaces}package/2006/content-types"><Default Extension="xml" ContentType="a/b"/></Types>'
        )
        packed.writestr("[Content_Types].xml", types)
        packed.writestr("_rels/.rels", f'{related}officeDocument" Target="xl/workbook.xml"/></Relationships>')
        sheets = f'<sheets><sheet name="Reviews" sheetId="1" r:id="r1" xmlns:r="{links}"/></sheets>'
        packed.writestr("xl/workbook.xml", f"<workbook {main}>{sheets}</workbook>")
        packed.writestr(
            "xl/_rels/workbook.xml.rels", f'{related}worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
        )
        packed.writestr("xl/worksheets/sheet1.xml", f"<worksheet {main}><sheetData>{cells}</sheetData></worksheet>")
    assert json.loads(run(tmp_path, "inspect", "reviews.xlsx", *SCALE, "--json"))["reviewers"] == 300


def test_compare_pool_and_tables(place: Path) -> None:
    run(place, "compare", "exports/out", "later/out", "-o", "compared.html")
    run(place, "pool", "exports/out", "later/out", "-o", "prior.json")
    run(place, "tables", "exports/out", "--public", "exports/reviews.csv", "-o", "tables")
    assert list((place / "tables").glob("*.parquet"))


def test_a_ledger(place: Path, tmp_path: Path) -> None:
    budgets(place, tmp_path, "budgets.db")


def test_a_ledger_on_a_server(place: Path, tmp_path: Path) -> None:
    sys.path.append(str(Path(__file__).parents[1]))
    postgres = import_module("postgres")
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (its programs initdb and pg_ctl)")
    with postgres.server() as (url, _):
        budgets(place, tmp_path, url)


def budgets(place: Path, folder: Path, ledger: str) -> None:
    """Open a budget, charge it, and be refused."""
    shutil.copy(place / "exports" / "reviews.csv", folder)
    run(folder, "ledger", "open", ledger, "--dataset", "conf", "--epsilon", "1.5")
    release = ["release", "reviews.csv", "--public", "all", "--epsilon", "1", *SCALE, "--ledger", ledger]
    release += ["--no-report", "--mechanism", "laplace", "--estimator", "projection"]
    run(folder, *release, "-o", "one")
    run(folder, *release, "-o", "two", code=1)
    run(folder, "ledger", "check", ledger, ".")
    assert len(json.loads(run(folder, "ledger", "history", ledger, "--json"))) == 1


def test_a_batch_on_a_cluster_with_metrics(place: Path, tmp_path: Path) -> None:
    import distributed

    (tmp_path / "in").mkdir()
    for year in ("exports", "later"):
        shutil.copy(place / year / "reviews.csv", tmp_path / "in" / f"{year}.csv")
    local = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(protocol="tcp", **local) as cluster:  # type: ignore[no-untyped-call]
        command = ("batch", "in", "--public", "all", "--epsilon", "1", *SCALE, "-o", "out", "--metrics", "metrics.prom")
        run(tmp_path, *command, "--no-report", "--mechanism", "laplace", "--cluster", cluster.scheduler_address)
    assert 'peerveil_batch_outcomes_total{status="released"} 2.0' in (tmp_path / "metrics.prom").read_text()


def test_a_release_is_signed(place: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("OpenSSH is not installed (its program ssh-keygen)")
    shutil.copytree(place / "exports" / "out", tmp_path / "out")
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "id"), "-C", "chair"]
    subprocess.run(make, check=True)
    run(tmp_path, "sign", "out", "--key", "id")
    run(tmp_path, "verify", "out", "--public", str(place / "exports" / "reviews.csv"), "--signed-by", "id.pub")


def test_the_page_answers(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--port", "0"]
    environment = os.environ | {"TMPDIR": str(tmp_path), "PEERVEIL_KEY_FILE": str(place / "key")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        browser.open(address[0]).close()
        for part, word in (("", "Make a release"), ("chair", "Drop the file here"), ("static/vega.js", "vega")):
            with browser.open(address[0].split("?")[0] + part) as answer:
                assert word in answer.read().decode()
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
