"""`peerveil ledger`: budgets, and what was spent of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.budget import Spend
    from peerveil.private.ledger import Account

# ruff: noqa: PLC0415 - commands import what they need when they run

app = typer.Typer(help="Budgets of data sets, and what releases have spent of them.", no_args_is_help=True)

Place = Annotated[
    str,
    typer.Argument(help="A file, or a database: postgresql://user@host/name.", metavar="LEDGER", show_default=False),
]
DataSet = Annotated[str | None, typer.Option("--dataset", help="Show this data set only.")]


@app.command("open", epilog="Example:  peerveil ledger open budgets.db --dataset conf2026 --epsilon 3")
def open_budget(
    place: Place,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data set; releases are charged under it.")],
    unit: opt.Unit = "reviewer",
    epsilon: Annotated[float | None, typer.Option(help="What releases may spend together.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="With --epsilon: admit every mechanism, with this delta, e.g. 1e-6.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The budget as rho, instead of --epsilon.")] = None,
    omega: Annotated[float | None, typer.Option(help="Admit sinh-normal releases down to this omega.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Open a budget for a data set; the ledger is made if there is none. A budget cannot be changed later.

    With --epsilon alone only Laplace releases can be charged; with --delta or --rho others can, too.
    """
    from peerveil.budget import Budget
    from peerveil.private.ledger import Ledger

    Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)  # refuses what makes none before a file is made
    account = Ledger.create(place).open(dataset, unit, epsilon=epsilon, delta=delta, rho=rho, omega=omega)
    _show([account], as_json=as_json)


@app.command(epilog="Example:  peerveil ledger show budgets.db")
def show(place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False) -> None:
    """Show every budget, what has been spent of it and what is left."""
    from peerveil.private.ledger import Ledger

    ledger = Ledger(place)
    _show(ledger.accounts(dataset and ledger.dataset(dataset)), as_json=as_json)


@app.command(epilog="Example:  peerveil ledger history budgets.db --dataset conf2026")
def history(place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False) -> None:
    """Show every charge, the oldest first."""
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.private.ledger import Ledger

    ledger = Ledger(place)
    entries = ledger.history(dataset and ledger.dataset(dataset))
    if as_json:
        print_json([asdict(entry) | {"spend": _spend_facts(entry.spend)} for entry in entries])
        return
    rows = [(e.charged, e.dataset, e.unit, _cost(e.spend), e.quantity, _noise(e.mechanism), e.release) for e in entries]
    out.print(rows_table(("charged (UTC)", "data set", "unit", "cost", "quantity", "noise"), rows))


@app.command(epilog="Example:  peerveil ledger pending budgets.db")
def pending(place: Place, *, as_json: opt.AsJson = False) -> None:
    """Show releases that were begun and are not written: interrupted, or under way.

    An interrupted release goes on, without another charge, when its command is run again.
    """
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.private.charging import pending as unfinished

    found = unfinished(place)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [(one.release, one.begun, one.dataset, one.what, one.state) for one in found]
    out.print(rows_table(("release", "begun (UTC)", "data set", "what", "state"), rows))


def _cost(spend: Spend) -> str:
    from peerveil.guarantee import upward

    return f"rho {upward(spend.rho)}" if spend.epsilon is None else f"epsilon {upward(spend.epsilon)}"


def _noise(described: dict[str, object]) -> str:
    parameters = ", ".join(f"{key} {value:g}" for key, value in described.items() if isinstance(value, float))
    return f"{described['name']}, {parameters}"


def _show(accounts: list[Account], *, as_json: bool) -> None:
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.guarantee import downward, upward

    if as_json:
        print_json([_account_facts(account) for account in accounts])
        return
    rows = []
    for account in accounts:
        budget, spends = account.budget, account.spends
        at = f" at delta {budget.delta:g}" if budget.delta else ""
        rows.append(
            (
                account.dataset,
                account.unit,
                f"{budget.currency} {budget.limit:.6g}",
                upward(account.spent),
                downward(account.left),
                str(len(spends)),
                f"epsilon {upward(budget.spent_epsilon(spends), 4)} of {downward(budget.epsilon, 4)}{at}",
            )
        )
    out.print(rows_table(("data set", "unit", "budget", "spent", "left", "releases", "which comes to"), rows))


def _account_facts(account: Account) -> dict[str, object]:
    budget = account.budget
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "currency": budget.currency,
        "limit": budget.limit,
        "spent": account.spent,
        "left": account.left,
        "releases": len(account.spends),
        "delta": budget.delta,
        "epsilon": budget.epsilon,
        "spent_epsilon": budget.spent_epsilon(account.spends),
    }


def _spend_facts(spend: Spend) -> dict[str, float | None]:
    facts = spend._asdict()
    return facts | {"omega": None if math.isinf(spend.omega) else spend.omega}  # JSON has no infinity
