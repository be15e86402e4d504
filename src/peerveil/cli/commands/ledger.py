"""`peerveil ledger`: budgets, and what was spent of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.privacy.budget import Spend
    from peerveil.private.ledger import Account, Ledger, Stated

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
    unit: Annotated[str, opt.OPTIONS["unit"]] = "reviewer",
    epsilon: Annotated[float | None, typer.Option(help="What releases may spend together.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="With --epsilon: admit every mechanism, with this delta, e.g. 1e-6.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The budget as rho, instead of --epsilon.")] = None,
    omega: Annotated[float | None, typer.Option(help="Admit sinh-normal releases down to this omega.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Open a budget for a data set; the ledger is made if there is none. A budget cannot be changed later.

    With --epsilon alone Laplace noise and histograms can be charged; with --delta or --rho others can, too.
    """
    from peerveil.app.ledger import Ledger
    from peerveil.privacy.budget import Budget

    Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)  # refuses what makes none before a file is made
    ledger = Ledger.create(place)
    account = ledger.open(dataset, unit, epsilon=epsilon, delta=delta, rho=rho, omega=omega)
    _show(ledger, [account], as_json=as_json)


@app.command(epilog="Example:  peerveil ledger show budgets.db")
def show(place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False) -> None:
    """Show every budget, what has been spent of it, what is left, and what was stated about each data set."""
    ledger = _opened(place)
    name = dataset and ledger.dataset(dataset)
    _show(ledger, ledger.accounts(name), as_json=as_json)


@app.command(epilog="Example:  peerveil ledger history budgets.db --dataset conf2026")
def history(place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False) -> None:
    """Show every charge with its number, the oldest first."""
    from rich.padding import Padding
    from rich.text import Text

    from peerveil.app.ledger import cost
    from peerveil.cli.show import out, print_json

    ledger = _opened(place)
    entries = ledger.history(dataset and ledger.dataset(dataset))
    if as_json:
        print_json([asdict(entry) | {"spend": _spend_facts(entry.spend)} for entry in entries])
        return
    costs = [cost(entry.spend) for entry in entries]
    width = max(map(len, costs), default=0)
    for entry, charged in zip(entries, costs, strict=True):
        when = entry.charged.replace("T", " ").removesuffix("Z")
        line = f"{when} UTC  {entry.release}  {charged:{width}}  {entry.unit:8}"
        out.print(Text.assemble((line, "bold"), f"  {entry.dataset}"))
        stated = "not known to the ledger" if entry.statement is None else entry.statement.describe()
        out.print(Padding(f"{entry.quantity}: {_noise(entry.mechanism)}", (0, 0, 0, 4)))
        out.print(Padding(f"stated: {stated}", (0, 0, 0, 4)))


@app.command(epilog="Example:  peerveil ledger state budgets.db --dataset conf2026 --public all")
def state(
    place: Place,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")],
    public: Annotated[str, typer.Option(help="Which scores are public: all | none | record.")],
    record: Annotated[str, typer.Option(help="With 'record': the record's digest, as the refusal names it.")] = "",
    score_scale: Annotated[str | None, opt.OPTIONS["score_scale"]] = None,
    score: Annotated[str, typer.Option(help="The column of scores that this is about, if not the usual one.")] = "",
    invariant: Annotated[
        list[str] | None, typer.Option(help="A fact that is public as well, in the words of the release; repeatable.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Declare for a data set that more is public than its releases have stated so far. It cannot be taken back.

    The claims of all its releases together then speak of assignments that share these facts as well.
    """
    from peerveil.app.parsing import parse_scale
    from peerveil.privacy.statement import Statement

    statement = Statement(
        public=public,
        record=record,
        scale=parse_scale(score_scale),
        score=score,
        invariants=tuple(invariant or ()),
    )
    ledger = _opened(place)
    name = ledger.dataset(dataset)
    ledger.state(name, statement)
    _show(ledger, ledger.accounts(name), as_json=as_json)


@app.command(epilog="Example:  peerveil ledger check budgets.db releases/")
def check(
    place: Place,
    folders: Annotated[
        list[str] | None,
        typer.Argument(help="Folders with releases, at any depth; all that were made.", metavar="[FOLDER]..."),
    ] = None,
    *,
    head: Annotated[
        str | None, typer.Option(help="The last hash that an earlier check printed; the ledger must still have it.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check that a ledger is whole, and that it knows your releases; the exit code is 1 if there is a problem.

    Run it after a backup was restored: a release whose charge is not in the ledger was made after that backup.
    """
    from peerveil.cli.show import out, print_json, rows_table

    found = _opened(place).check(folders or (), head=head)
    if as_json:
        checks = [asdict(one) for one in found.checks]
        print_json({"ok": found.ok, **asdict(found), "checks": checks})
    else:
        out.print(rows_table(("check", "result", "found"), [(c.name, c.result, c.found) for c in found.checks]))
        for finding in found.findings:
            words = finding.words if finding.about in finding.words else f"{finding.about}: {finding.words}"
            out.print(f"{'problem' if finding.problem else 'remark'}: {words}", soft_wrap=True)
        out.print(f"last hash: {found.head}", soft_wrap=True)
        number = len(found.problems)
        out.print("No problem." if found else f"{number} problem{'s' if number > 1 else ''}.", style="bold")
    if not found:
        raise typer.Exit(1)


def _opened(place: str) -> Ledger:
    """The ledger at a place, with its remarks on stderr."""
    from peerveil.app.ledger import Ledger
    from peerveil.cli.show import err

    ledger = Ledger(place)
    for remark in ledger.remarks:
        err.print(f"peerveil: {remark}", soft_wrap=True)
    return ledger


@app.command(epilog="Example:  peerveil ledger pending budgets.db")
def pending(place: Place, *, as_json: opt.AsJson = False) -> None:
    """Show releases that were begun and are not written: interrupted, or under way.

    An interrupted release goes on, without another charge, when its command is run again.
    """
    from peerveil.app.ledger import pending
    from peerveil.cli.show import out, print_json, rows_table

    found = pending(place)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    if not found:
        out.print("No release with this ledger is interrupted or under way.")
        return
    rows = [(one.release, one.begun, one.dataset, one.what, one.state) for one in found]
    out.print(rows_table(("release", "begun (UTC)", "data set", "what", "state"), rows))


def _noise(described: dict[str, object]) -> str:
    parameters = ", ".join(f"{key} {value:g}" for key, value in described.items() if isinstance(value, float))
    return f"{described['name']}, {parameters}"


def _show(ledger: Ledger, accounts: list[Account], *, as_json: bool) -> None:
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.privacy.guarantee import downward, upward

    names = dict.fromkeys(account.dataset for account in accounts)
    stated = {name: ledger.statements(name) for name in names}
    if as_json:
        print_json([_account_facts(account, stated[account.dataset]) for account in accounts])
        return
    rows = []
    for account in accounts:
        budget = account.budget
        at = f", delta {budget.delta:g}" if budget.delta and budget.rho is None else ""
        limit = f"{budget.currency} {budget.limit:.6g}{at}"
        number = str(len(account.spends))
        rows.append((account.dataset, account.unit, limit, upward(account.spent), downward(account.left), number))
    out.print(rows_table(("data set", "unit", "budget", "spent", "left", "releases"), rows))
    for account in accounts:
        budget = account.budget
        if budget.rho is not None:
            spent, limit = upward(budget.spent_epsilon(account.spends), 4), downward(budget.epsilon, 4)
            out.print(f"{account.dataset}, {account.unit}: epsilon {spent} of {limit} at delta {budget.delta:g}")
    for name, statements in stated.items():
        for one in statements:
            how = "declared" if one.declared else "stated"
            out.print(f"{name}, {how} {one.stated[:10]}: {one.statement.describe()}")
        if not statements and any(account.spends for account in accounts if account.dataset == name):
            out.print(f"{name}: what was stated for its releases is not known to the ledger")


def _account_facts(account: Account, stated: list[Stated]) -> dict[str, object]:
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
        "statements": [
            {"stated": one.stated, "declared": one.declared, **one.statement.to_document()} for one in stated
        ],
    }


def _spend_facts(spend: Spend) -> dict[str, float | None]:
    facts = spend._asdict()
    return facts | {"omega": None if math.isinf(spend.omega) else spend.omega}  # JSON has no infinity
