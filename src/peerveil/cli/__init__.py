"""The command line. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer

from peerveil.app.messages import NOTHING_RELEASED, explain
from peerveil.cli.commands import ledger
from peerveil.cli.literal_help import LiteralCommand, LiteralGroup
from peerveil.cli.options import option
from peerveil.cli.working import Stopped, charge_words, forget_charges, silence, tidy_ending
from peerveil.errors import FileWarning, PriorWarning, WithdrawalWarning
from peerveil.support.extensions import load_extensions

app = typer.Typer(
    name="peerveil",
    cls=LiteralGroup,
    help="Publish how a conference's reviewers rate: provably private, and as accurate as public data allows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

_EXAMPLES = {
    "inspect": "reviews.csv --score-scale 1,10",
    "plan": "iclr.csv --load 4 --epsilon 0.3,1,3",
    "release": "reviews.csv --public all --epsilon 1 --score-scale 1,10 -o out",
    "correlate": "2025.csv 2026.csv --names 2025,2026 --public all --epsilon 1",
    "effect": "reviews.csv --attributes reviewers.csv --by arm --compare treated,control --public all --epsilon 1",
    "refine": "noisy.csv --public iclr.csv --load 4 --noise-scale 1 -o out",
    "verify": "out --public iclr.csv",
    "sign": "out --key ~/.ssh/id_ed25519",
    "withdraw": "out --reason 'The file was of last year.' --superseded-by https://conf.org/reviews-v2",
    "tables": "out --public iclr.csv -o tables",
    "compare": "2025/out 2026/out",
    "pool": "2023/out 2024/out 2025/out -o prior.json",
    "batch": "venues.toml --ledger budgets.db -o releases",
    "audit": "--mechanism laplace --epsilon 1 --unit reviewer",
    "simulate": "all --draws 100 -o figures",
    "schema": "batch",
    "serve": "--ledger budgets.db",
    "demo": "",
}
#: The module of a command, if it has another name.
_ELSEWHERE = {"pool": "compare"} | {name: f"published.{name}" for name in ("sign", "withdraw", "tables")}
for _name, _arguments in _EXAMPLES.items():
    _command = getattr(import_module(f"peerveil.cli.commands.{_ELSEWHERE.get(_name, _name)}"), _name)
    app.command(cls=LiteralCommand, epilog=f"Example:  peerveil {_name} {_arguments}".rstrip())(_command)
app.add_typer(ledger.app, name="ledger")


def main() -> None:
    """Run the command line; errors become one line and an exit code, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack a character
    forget_charges()
    try:
        with tidy_ending(), notices_shown():
            load_extensions()  # before the options are built, as their help lists what is registered
            _run()
    except (Stopped, KeyboardInterrupt) as stopped:
        _complain(f"Cancelled. {charge_words(without_ledger=True) or 'Nothing was charged.'}")
        sys.exit(getattr(stopped, "exit_code", 128 + signal.SIGINT))
    except Exception as error:  # noqa: BLE001 - an exception's text may hold private values: it is explained, not shown
        if isinstance(error, OSError):
            silence()
        charged = charge_words(without_ledger=False)
        message, code = explain(error, option, consequence="" if charged else NOTHING_RELEASED)
        _complain(message, charged)
        sys.exit(code)


@contextmanager
def notices_shown() -> Iterator[None]:
    """Print how files were read, where they could have been read otherwise, and years unlike others, as it is found.

    A file that is read twice, for its reviews and for its tracks, is spoken of once.
    """
    usual = warnings.showwarning
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, FileWarning | PriorWarning):
            words = f"{'warning' if issubclass(category, WithdrawalWarning) else 'note'}: {message}"
            if words not in shown:
                shown.add(words)
                _complain(words)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", FileWarning)
        warnings.simplefilter("always", PriorWarning)
        warnings.showwarning = show
        yield


def _complain(*messages: str) -> None:
    for message in filter(None, messages):
        sys.stderr.write(f"peerveil: {message}\n")


def _run() -> None:
    """Run the command: the part of a run that tests interrupt at every moment (tests/moments.py)."""
    try:
        app()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # while a failure can still be reported


def _show_version(requested: bool) -> None:
    if requested:
        from peerveil.support.version import software

        sys.stdout.write(f"{software()}\n")
        raise typer.Exit


@app.callback()
def _everywhere(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass
