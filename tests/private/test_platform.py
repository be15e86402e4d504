"""A platform's day in small: two hundred venues on a cluster and a server that fail while the batch runs."""

from __future__ import annotations

import sys
from pathlib import Path

import psycopg
import pytest

import postgres
from bench_platform import MARK, Day, check, check_marks, cluster, sizes, steps_of, write_venues


@pytest.mark.promise("P-PLATFORM-1")
@pytest.mark.slow
def test_nothing_is_lost_or_charged_twice_whatever_is_killed(tmp_path: Path) -> None:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (its programs initdb and pg_ctl)")
    venues = 200
    table = write_venues(tmp_path, sizes(venues, seed=1, least=8, most=12), 1, {"budget": "1", "region": "envelope"})
    assert MARK in (tmp_path / "venue-00000.csv").read_text()
    with postgres.server() as (url, data), cluster(tmp_path, 2) as (address, processes):
        with psycopg.connect(url, autocommit=True) as connection:  # whatever a server may log
            connection.execute("ALTER SYSTEM SET log_statement = 'all'")
            connection.execute("SELECT pg_reload_conf()")
        command = [sys.executable, "-m", "peerveil", "batch", str(table), "-o", str(tmp_path / "out"), "--no-report"]
        command += ["--public", "all", "--epsilon", "1", "--score-scale", "1,10", "--share-plans", "--ledger", url]
        day = Day(
            [*command, "--cluster", address, "--retries", "8", "--log-level", "debug"],
            tmp_path / "out",
            data,
            processes,
            every=10.0,
        )
        assert day.run(venues) == 0
        assert (day.faults["client"], day.faults["server"]) == (2, 3)
        check(tmp_path / "out", url, venues)
        assert "INSERT INTO peerveil_charge" in (data.parent / "log").read_text()
        for name in ("client.log", "cluster.log", "out.private/log.jsonl", "out.private/metrics.json"):
            assert (tmp_path / name).stat().st_size
        assert check_marks(tmp_path, data) > 3 * venues
        assert steps_of(tmp_path / "out.private")["charge"][0] <= venues
