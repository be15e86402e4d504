"""How long the page takes to answer while a release of 10,000 reviewers runs.

    python benchmarks/bench_page.py [reviewers]

Starts the page as users do, uploads a synthetic conference, releases it, and meanwhile asks for a page, a picture of
progress and the ledger, one after the other, as fast as answers come. A reader should wait for a fifth of a second at
most. The machine has to draw, compute and answer at once: run it on a machine that does nothing else.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import peerveil as pv
from output import Output
from peerveil.simulation.conferences import synthetic_conference
from results import Column

FIFTH = 0.2


class Site:
    """The page, asked as a browser asks it."""

    def __init__(self, address: str) -> None:
        split = urllib.parse.urlsplit(address)
        self.host, self.at = split.netloc, split.path.rstrip("/")
        cookie = self.ask("GET", f"/?{split.query}").getheader("set-cookie") or ""
        self.cookie = cookie.split(";")[0]

    def ask(self, method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        headers = {"Origin": f"http://{self.host}", "Cookie": getattr(self, "cookie", "")}
        connection.request(method, self.at + path, body, headers)
        answer = connection.getresponse()
        self.text = answer.read().decode()
        connection.close()
        return answer

    def follow(self, path: str) -> str:
        """Where some work leads, once it is done."""
        while path.startswith("/work/"):
            answer = self.ask("GET", path)
            if answer.status not in (200, 303):
                raise SystemExit(re.sub(r"<[^>]+>", " ", self.text))
            path = self.led(answer) or path
            time.sleep(0.2)
        return path

    def say(self, path: str, **form: str) -> str:
        """Fill in a form; returns where it leads."""
        answer = self.ask("POST", path, urllib.parse.urlencode(form).encode())
        return self.led(answer)

    def led(self, answer: http.client.HTTPResponse) -> str:
        """Where an answer leads to, below where the page is."""
        return (answer.getheader("location") or "").removeprefix(self.at)


class Waits(NamedTuple):
    """How long answers took."""

    path: str
    seconds: list[float]

    def row(self) -> tuple[str | float, ...]:
        """A row of the table."""
        middle, most, worst = np.quantile(self.seconds, [0.5, 0.99, 1.0]).tolist()
        within = "yes" if worst <= FIFTH else "no"
        return re.sub(r"\w{16}", "…", self.path), len(self.seconds), middle, most, worst, within


COLUMNS = (
    Column("address", "address"),
    Column("asked", "asked", digits="d"),
    Column("median", "median", "s", ".4f"),
    Column("most", "99 %", "s", ".4f"),
    Column("longest", "longest", "s", ".4f"),
    Column("within", f"within {FIFTH} s"),
)


def main(out: Output, reviewers: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        synthetic_conference(reviewers=reviewers, rng=np.random.default_rng(1)).write_csv(folder / "reviews.csv")
        ledger = str(folder / "budgets.db")
        pv.Ledger.create(ledger).open("bench", epsilon=100)
        command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--port", "0", "--ledger", ledger]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            try:
                assert page.stdout is not None
                measure(out, Site(page.stdout.readline().split()[-1]), folder / "reviews.csv", reviewers)
            finally:
                page.terminate()


def measure(out: Output, site: Site, file: Path, reviewers: int) -> None:
    site.ask("PUT", f"/chair?name={file.name}", file.read_bytes())
    start = re.search(r"/work/\w+", site.text)
    assert start, site.text
    case = site.follow(start[0]).rsplit("/", 1)[0]
    site.follow(site.say(f"{case}/file", lowest="1", highest="10"))
    site.say(f"{case}/public", public="all")
    choices = {"quantity": "ratings", "unit": "reviewer", "epsilon": "1", "mechanism": "laplace"}
    site.follow(site.say(f"{case}/choices", **choices))
    site.ask("GET", f"{case}/promise")
    promise = re.search(r'name="promise" value="(\d+)"', site.text)
    assert promise, site.text
    begun = time.perf_counter()
    work = site.say(f"{case}/release", read="yes", promise=promise[1])
    waits = [Waits(path, []) for path in ("/", f"{work}/state", "/ledger", f"{case}/choices", "/static/style.css")]
    state = "running"
    while state == "running":
        for path, seconds in waits:
            asked = time.perf_counter()
            site.ask("GET", path)
            seconds.append(time.perf_counter() - asked)
            if path.endswith("/state"):
                found = re.search(r'"state":"(\w+)"', site.text)
                state = found[1] if found else "lost"
    took = time.perf_counter() - begun
    title = f"Time until the page answers while a release of {reviewers:,} reviewers runs"
    table = out.table("waits", title, COLUMNS, seeds=1)
    for one in waits:
        table.add(*one.row())
    table.note(f"The release took {took:.1f} s ({state}).")


if __name__ == "__main__":
    with Output("page") as output:
        main(output, int(output.arguments[0]) if output.arguments else 1_000 if output.quick else 10_000)
