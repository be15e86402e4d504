"""The ledger under load, on a PostgreSQL server that it starts itself: charges per second, check of 100,000 charges.

Each of 1, 8 and 32 processes charges data sets of its own for five seconds after all have started. Charges of the large
ledger are written at once, as rows that `ledger check` accepts; seconds of the check are of one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psycopg
import sqlalchemy as sa

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import peerveil as pv
import postgres  # of the tests
from output import Output
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.ledger import Ledger
from peerveil.private.ledger.chain import entry_hash
from peerveil.private.ledger.database import engine, ledger_url
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, UNKNOWN
from results import Column

CHARGES_EACH = 100_000
BUDGETS_OPEN = 5_000
SECONDS = 5.0

SPENDER = """
    import sys, time
    import peerveil as pv
    from peerveil.privacy.guarantee import Guarantee
    from peerveil.private.ledger import Ledger
    place, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=1e-6)
    ledger, made = Ledger(place), 0
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ledger.charge(name, lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0))
        made += 1
    print(made)
"""


def database(url: str, name: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


def charges_per_second(place: str, processes: int) -> float:
    ledger = Ledger.create(place)
    command = [sys.executable, "-c", textwrap.dedent(SPENDER), place]
    spenders = []
    for number in range(processes):
        ledger.open(f"v{number}", epsilon=1.0)
        spenders.append(
            subprocess.Popen(
                [*command, f"v{number}", str(SECONDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    for spender in spenders:
        assert spender.stdout is not None
        spender.stdout.readline()
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("go\n")
        spender.stdin.flush()
    made = sum(int(spender.communicate()[0]) for spender in spenders)
    assert len(ledger.history()) == made
    assert ledger.check().ok
    return made / SECONDS


def fill(place: str) -> None:
    """Write many charges at once."""
    ledger = Ledger.create(place)
    ledger.open("v0", epsilon=1.0)
    with engine(ledger_url(place)).begin() as connection:
        pattern = dict(connection.execute(sa.select(BUDGETS)).one()._mapping)
        head, rows = pattern["hash"], []
        for number in range(1, BUDGETS_OPEN):
            row = pattern | {"id": number + 1, "dataset": f"v{number}", "position": number + 1}
            head = row["hash"] = entry_hash(head, BUDGETS, row)
            rows.append(row)
        connection.execute(BUDGETS.insert(), rows)
        charge = {"charged": pattern["opened"], "epsilon": 1e-3, "rho": 5e-7, "omega": None, "quantity": "ratings"}
        charge |= {"unit": "reviewer", "mechanism": json.dumps(pv.Laplace(scale=1.0).describe()), "software": "bench"}
        charge |= {"key": None, "digest": None, "statement": UNKNOWN}
        rows = []
        for number in range(CHARGES_EACH):
            place_on_chain = BUDGETS_OPEN + number + 1
            row = charge | {"id": number + 1, "budget": 1 + number % BUDGETS_OPEN, "release": f"{number:016x}"}
            row |= {"position": place_on_chain}
            head = row["hash"] = entry_hash(head, CHARGES, row)
            rows.append(row)
        connection.execute(CHARGES.insert(), rows)
        connection.execute(ABOUT.update().values(entries=BUDGETS_OPEN + CHARGES_EACH, head=head))


def main() -> None:
    if postgres.programs() is None:
        print("PostgreSQL is not installed (its programs initdb and pg_ctl): nothing is measured")
        return
    with Output("ledger") as out, postgres.server() as (url, _):
        columns = Column("processes", "processes", digits="d"), Column("rate", "charges per second", digits=".1f")
        table = out.table("rates", "Charges by several processes", columns, draws=f"{SECONDS:g} s each")
        for processes in (1, 8) if out.quick else (1, 8, 32):
            table.add(processes, charges_per_second(database(url, f"p{processes}"), processes))
        large(out, database(url, "large"))


def large(out: Output, place: str) -> None:
    """The check of a large ledger, and charges to it."""
    fill(place)
    ledger = Ledger(place)
    start = time.perf_counter()
    checked = ledger.check()
    seconds = time.perf_counter() - start
    assert checked.ok, checked.findings[:3]
    assert checked.charges == CHARGES_EACH
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=1e-6)
    start = time.perf_counter()
    for number in range(20):
        ledger.charge(
            f"v{number}", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0)
        )
    each = 1e3 * (time.perf_counter() - start) / 20
    columns = (
        Column("charges", "charges", digits=","),
        Column("budgets", "budgets", digits=","),
        Column("check", "check", "s", ".1f"),
        Column("charge", "one more charge", "ms", ".1f"),
    )
    table = out.table("large", "A large ledger", columns, draws="one check, 20 charges")
    table.add(checked.charges, BUDGETS_OPEN, seconds, each)


if __name__ == "__main__":
    main()
