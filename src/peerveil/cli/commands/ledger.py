"""`peerveil ledger`: budgets and charges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.literal_help import LiteralCommand, LiteralGroup

if TYPE_CHECKING:
    from peerveil.privacy.budget import Spend
    from peerveil.private.ledger import Account, Ledger, Series, Stated
    from peerveil.private.ledger.checking import Finding


app = typer.Typer(
    cls=LiteralGroup, help="Budgets of data sets, and the releases charged to them.", no_args_is_help=True
)

Place = Annotated[
    str,
    typer.Argument(help="A file, or a database: postgresql://user@host/name.", metavar="LEDGER", show_default=False),
]
DataSet = Annotated[str | None, typer.Option("--dataset", help="Show only this data set.")]


Epsilon = Annotated[float | None, typer.Option(help="Total budget of all releases.")]
Delta = Annotated[float | None, typer.Option(help="With --epsilon: allow all mechanisms, with this delta, e.g. 1e-6.")]
Rho = Annotated[float | None, typer.Option(help="Total budget as rho, instead of --epsilon.")]
Omega = Annotated[float | None, typer.Option(help="Allow sinh-normal releases down to this omega.")]
SeriesName = Annotated[str, typer.Option("--series", help="Name of the series; releases state it.")]


@app.command(
    "open", cls=LiteralCommand, epilog="Example:  peerveil ledger open budgets.db --dataset conf2026 --epsilon 3"
)
def open_budget(
    place: Place,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")],
    unit: Annotated[str, opt.OPTIONS["unit"]] = "reviewer",
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    omega: Omega = None,
    as_json: opt.AsJson = False,
) -> None:
    """Open a budget for a data set, and create the ledger if necessary. A budget cannot be changed later.

    With --epsilon alone, only mechanisms with a pure guarantee (Laplace, histogram) can be charged; with --delta or
    --rho, all can.
    """
    from peerveil.app.ledger import Ledger
    from peerveil.privacy.budget import Budget

    Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)  # refuse an invalid budget before a file is created
    ledger = Ledger.create(place)
    account = ledger.open(dataset, unit, epsilon=epsilon, delta=delta, rho=rho, omega=omega)
    _show(ledger, [account], as_json=as_json)


@app.command(
    "open-series",
    cls=LiteralCommand,
    epilog="Example:  peerveil ledger open-series budgets.db --series Conf --epsilon 5",
)
def open_series(
    place: Place,
    *,
    series: SeriesName,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    omega: Omega = None,
    as_json: opt.AsJson = False,
) -> None:
    """Open a series: one budget for what the releases of several conferences cost a person who reviews for them.

    Conferences join it with `peerveil ledger join`. Their releases are charged to their own budgets, and refused if a
    person could then have spent more than the budget of the series. It cannot be changed later.
    """
    from peerveil.app.ledger import Ledger
    from peerveil.privacy.budget import Budget

    Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)  # refuse an invalid budget before a file is created
    ledger = Ledger.create(place)
    opened = ledger.open_series(series, epsilon=epsilon, delta=delta, rho=rho, omega=omega)
    _show(ledger, [], [opened], as_json=as_json)


@app.command(
    cls=LiteralCommand,
    epilog="Example:  peerveil ledger join budgets.db --series Conf --dataset conf2026 --list committee-2026.txt",
)
def join(
    place: Place,
    *,
    series: SeriesName,
    dataset: Annotated[str, typer.Option(help="Name of the data set that joins.")],
    people: Annotated[
        str | None,
        typer.Option("--list", help="Public and complete list of its reviewers: one id per line, or a table."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="With a table: the column of ids.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Let a conference join a series, which then counts all its releases, earlier ones included. It cannot leave.

    Without a list, its releases count for everyone. With one they count for those on it: everyone who reviewed must be
    there, subreviewers included, and have the same id on all lists of the series. The ledger stores hashes of the ids,
    no names. A second list of the same conference adds people to the first.
    """
    from peerveil.app.ledger import join_series
    from peerveil.cli.show import err

    ledger = _opened(place)
    joined = join_series(ledger, series, dataset, people=people, column=column)
    if joined.overspent:
        err.print(
            f"peerveil: warning: with these people, the series {series!r} is overspent: its releases were made with a "
            "list on which they were missing, and cost them more than was promised",
            soft_wrap=True,
        )
    _show(ledger, [], [joined], as_json=as_json)


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger show budgets.db")
def show(
    place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False, everything: opt.Everything = False
) -> None:
    """Show each budget and series with what is spent and left, and the statements about each data set."""
    ledger = _opened(place)
    name = dataset and ledger.dataset(dataset)
    _show(ledger, ledger.accounts(name), ledger.series(dataset=name), as_json=as_json, everything=everything)


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger history budgets.db --dataset conf2026")
def history(
    place: Place, *, dataset: DataSet = None, as_json: opt.AsJson = False, everything: opt.Everything = False
) -> None:
    """Show the charges, the latest last."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from peerveil.app.ledger import cost
    from peerveil.cli.show import SCREEN, out, print_json

    ledger = _opened(place)
    entries = ledger.history(dataset and ledger.dataset(dataset))
    every = ledger.series()
    counted = {name: [one.name for one in every if one.counts(name)] for name in {one.dataset for one in entries}}
    series = [counted[entry.dataset] if entry.unit == "reviewer" else [] for entry in entries]
    if as_json:
        facts = (
            {"spend": _spend_facts(entry.spend), "series": names} for entry, names in zip(entries, series, strict=True)
        )
        history = [asdict(entry) | more for entry, more in zip(entries, facts, strict=True)]
        print_json(history, "ledger-history")
        return
    shown: list[Group] = []
    room = SCREEN - 1
    for entry, names in zip(reversed(entries), reversed(series), strict=True):
        when = entry.charged.replace("T", " ").removesuffix("Z")
        title = Text(f"{when} UTC  {entry.release}  {cost(entry.spend)}", style="bold")
        stated = "not known to the ledger" if entry.statement is None else entry.statement.describe()
        what = f"{entry.dataset}, {entry.unit}: {entry.quantity}, {_noise(entry.mechanism)}"
        what += f"; counted in the series {', '.join(names)}" if names else ""
        charge = Group(title, *(Padding(words, (0, 0, 0, 4)) for words in (what, f"stated: {stated}")))
        room -= len(out.render_lines(charge))
        if room < 0 and not everything:
            break
        shown.append(charge)
    if len(shown) < len(entries):
        out.print(f"… {len(entries) - len(shown)} earlier charges: --all", style="dim")
    for charge in reversed(shown):
        out.print(charge)


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger state budgets.db --dataset conf2026 --public all")
def state(
    place: Place,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")],
    public: Annotated[str, typer.Option(help="Public scores: all | none | record.")],
    record: Annotated[str, typer.Option(help="With 'record': the digest of the record, from the error message.")] = "",
    score_scale: Annotated[str | None, opt.OPTIONS["score_scale"]] = None,
    score: Annotated[
        str, typer.Option(help="Column of scores that the statement is about, if not the default one.")
    ] = "",
    invariant: Annotated[
        list[str] | None, typer.Option(help="A further public fact, in the words of the release; repeatable.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Declare that more is public about a data set than its releases have stated so far. This cannot be undone.

    The joint claim of all its releases then covers only assignments that share these facts.
    """
    from peerveil.app.parsing import parse_scale
    from peerveil.privacy.stated_facts import Statement

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


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger check budgets.db releases/")
def check(
    place: Place,
    folders: Annotated[
        list[str] | None,
        typer.Argument(help="Folders that contain all releases, at any depth.", metavar="FOLDER"),
    ] = None,
    *,
    head: Annotated[
        str | None, typer.Option(help="The last hash printed by an earlier check, which the ledger must still contain.")
    ] = None,
    as_json: opt.AsJson = False,
    everything: opt.Everything = False,
) -> None:
    """Check the integrity of a ledger, and that it contains your releases; the exit code is 1 if there is a problem.

    Run it after restoring a backup: a release whose charge is missing was made after that backup.
    """
    from rich.console import Group
    from rich.text import Text

    from peerveil.cli.show import out, print_json, print_screenful, rows_table
    from peerveil.cli.working import working

    ledger = _opened(place)
    with working("Checking the ledger"):
        checked = ledger.check(folders or (), head=head)
    if as_json:
        checks = [asdict(check) for check in checked.checks]
        print_json({"ok": checked.ok, **asdict(checked), "checks": checks}, "ledger-check")
    else:
        table = rows_table(("check", "result", "found"), [(c.name, c.result, c.found) for c in checked.checks])
        findings = sorted(checked.findings, key=lambda finding: not finding.problem)
        number = len(checked.problems)
        verdict = "No problem." if checked else f"{number} problem{'s' if number > 1 else ''}."
        end = Group(f"last hash: {checked.head}", Text(verdict, style="bold"))
        print_screenful(table, *map(_in_words, findings), everything=everything, after=len(out.render_lines(end)))
        out.print(end, soft_wrap=True)
    if not checked:
        raise typer.Exit(1)


def _in_words(finding: Finding) -> str:
    words = finding.words if finding.about in finding.words else f"{finding.about}: {finding.words}"
    return f"{'problem' if finding.problem else 'remark'}: {words}"


def _opened(place: str) -> Ledger:
    """Return the ledger at a place, and print its remarks on stderr."""
    from peerveil.app.ledger import Ledger
    from peerveil.cli.show import err

    ledger = Ledger(place)
    for remark in ledger.remarks:
        err.print(f"peerveil: {remark}", soft_wrap=True)
    return ledger


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger pending budgets.db")
def pending(place: Place, *, as_json: opt.AsJson = False, everything: opt.Everything = False) -> None:
    """Show releases that were charged but are not written yet.

    An interrupted release is finished, without another charge, when its command is run again.
    """
    from peerveil.app.ledger import pending
    from peerveil.cli.show import out, print_json, print_screenful, rows_table

    entries = pending(place)
    if as_json:
        print_json([asdict(entry) for entry in entries], "ledger-pending")
        return
    if not entries:
        out.print("No release with this ledger is interrupted or under way.")
        return
    rows = [(entry.release, entry.begun, entry.dataset, entry.what, entry.state) for entry in entries]
    table = rows_table(("release", "begun (UTC)", "data set", "what", "state"), rows)
    print_screenful(table, everything=everything)


@app.command(cls=LiteralCommand, epilog="Example:  peerveil ledger export budgets.db budgets.csv")
def export(
    place: Place,
    file: Annotated[str, typer.Argument(help="A new file: .csv or .json.")],
    *,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Export only this data set.")] = None,
) -> None:
    """Write all budgets, charges and statements to a CSV or JSON file, for a spreadsheet or an archive.

    The file contains no fingerprint of the reviews. It cannot be charged: the ledger stays the only record of budgets.
    """
    from pathlib import Path

    from peerveil.app.ledger import ledger_text
    from peerveil.cli.show import out
    from peerveil.support.atomic_files import write_new

    write_new(file, ledger_text(_opened(place), Path(file).suffix, dataset))
    out.print(f"Written: {file}", soft_wrap=True)


def _noise(described: dict[str, object]) -> str:
    parameters = ", ".join(f"{key} {value:g}" for key, value in described.items() if isinstance(value, float))
    return f"{described['name']}, {parameters}"


def _show(
    ledger: Ledger,
    accounts: list[Account],
    series: Sequence[Series] = (),
    *,
    as_json: bool,
    everything: bool = False,
) -> None:
    from peerveil.cli.show import print_json, print_screenful, rows_table
    from peerveil.privacy.guarantee import downward, upward

    names = dict.fromkeys(account.dataset for account in accounts)
    stated = {name: ledger.statements(name) for name in names}
    if as_json:
        facts = [_account_facts(account, stated[account.dataset]) for account in accounts]
        print_json([*facts, *map(_series_facts, series)], "ledger-accounts")
        return
    rows = [(account.dataset, account.unit, *_amounts(account), str(len(account.spends))) for account in accounts]
    rows += [(f"series {one.name}", "person", *_amounts(one), str(one.releases)) for one in series]
    lines: list[str] = []
    for account in accounts:
        budget = account.budget
        if budget.rho is not None:
            spent, limit = upward(budget.spent_epsilon(account.spends), 4), downward(budget.epsilon, 4)
            lines.append(f"{account.dataset}, {account.unit}: epsilon {spent} of {limit} at delta {budget.delta:g}")
    for one in series:
        people = [
            f"{member.dataset} ({'everyone' if member.people is None else f'{len(member.people)} people'}"
            + (f", {one.budget.currency} {downward(one.left_for(member.dataset))} left)" if one.lists else ")")
            for member in one.members
        ]
        lines.append(f"series {one.name}: {', '.join(people) or 'no data set has joined yet'}")
    for name, statements in stated.items():
        for entry in statements:
            how = "declared" if entry.declared else "stated"
            lines.append(f"{name}, {how} {entry.stated[:10]}: {entry.statement.describe()}")
        if not statements and any(account.spends for account in accounts if account.dataset == name):
            lines.append(f"{name}: the statements of its releases are not known to the ledger")
    table = rows_table(("data set" if accounts else "series", "unit", "budget", "spent", "left", "releases"), rows)
    print_screenful(table, *lines, everything=everything)


def _amounts(account: Account | Series) -> tuple[str, str, str]:
    """Return the limit of a budget or a series, what is spent and what is left."""
    from peerveil.privacy.guarantee import downward, upward

    budget = account.budget
    at = f", delta {budget.delta:g}" if budget.delta and budget.rho is None else ""
    return f"{budget.currency} {budget.limit:.6g}{at}", upward(account.spent), downward(account.left)


def _account_facts(account: Account, stated: list[Stated]) -> dict[str, object]:
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        **_amount_facts(account),
        "releases": len(account.spends),
        "statements": [
            {"stated": entry.stated, "declared": entry.declared, **entry.statement.to_document()} for entry in stated
        ],
    }


def _series_facts(series: Series) -> dict[str, object]:
    members = [
        {
            "dataset": member.dataset,
            "people": None if member.people is None else len(member.people),
            "left": series.left_for(member.dataset),
        }
        for member in series.members
    ]
    facts: dict[str, object] = {"dataset": series.name, "unit": "person", **_amount_facts(series)}
    return facts | {"releases": series.releases, "statements": [], "members": members}


def _amount_facts(account: Account | Series) -> dict[str, object]:
    budget = account.budget
    return {
        **{name: getattr(account, name) for name in ("spent", "left")},
        **{name: getattr(budget, name) for name in ("currency", "limit", "delta", "epsilon")},
        "spent_epsilon": budget.spent_epsilon(account.spends),
    }


def _spend_facts(spend: Spend) -> dict[str, float | None]:
    facts = spend._asdict()
    return facts | {"omega": None if math.isinf(spend.omega) else spend.omega}  # JSON has no infinity
