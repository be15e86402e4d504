"""The command line: it parses, calls the library and shows. Results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from peerveil.app.messages import NOTHING_RELEASED, explain
from peerveil.cli.commands import ledger
from peerveil.cli.commands.audit import audit
from peerveil.cli.commands.batch import batch
from peerveil.cli.commands.compare import compare
from peerveil.cli.commands.demo import demo
from peerveil.cli.commands.inspect import inspect
from peerveil.cli.commands.plan import plan
from peerveil.cli.commands.refine import refine
from peerveil.cli.commands.release import release
from peerveil.cli.commands.serve import serve
from peerveil.cli.commands.sign import sign
from peerveil.cli.commands.simulate import simulate
from peerveil.cli.commands.verify import verify
from peerveil.cli.options import option
from peerveil.cli.working import Stopped, charge_words, forget_charges, silence, tidy_ending
from peerveil.support.extensions import load_extensions

app = typer.Typer(
    name="peerveil",
    help="Publish how a conference's reviewers rate: provably private, and as accurate as public data allows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

_COMMANDS: dict[Callable[..., None], str] = {
    inspect: "peerveil inspect reviews.csv --score-scale 1,10",
    plan: "peerveil plan iclr.csv --load 4 --epsilon 0.3,1,3",
    release: "peerveil release reviews.csv --public all --epsilon 1 --score-scale 1,10 -o out",
    refine: "peerveil refine noisy.csv --public iclr.csv --load 4 --noise-scale 1 -o out",
    verify: "peerveil verify out --public iclr.csv",
    sign: "peerveil sign out --key ~/.ssh/id_ed25519",
    compare: "peerveil compare 2025/out 2026/out",
    batch: "peerveil batch venues.toml --ledger budgets.db -o releases",
    audit: "peerveil audit --mechanism laplace --epsilon 1 --unit reviewer",
    simulate: "peerveil simulate all --draws 100 -o figures",
    serve: "peerveil serve --ledger budgets.db",
    demo: "peerveil demo",
}
for _command, _example in _COMMANDS.items():
    app.command(epilog=f"Example:  {_example}")(_command)
app.add_typer(ledger.app, name="ledger")


def main() -> None:
    """Run the command line; errors become one clear line and an exit code, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack a character; that is no reason to stop
    forget_charges()
    try:
        with tidy_ending():
            _run()
    except (Stopped, KeyboardInterrupt) as stopped:
        _say(f"Cancelled. {charge_words(without_ledger=True) or 'Nothing was charged.'}")
        sys.exit(getattr(stopped, "exit_code", 128 + signal.SIGINT))
    except Exception as error:  # noqa: BLE001 - an exception's text may hold private values: it is explained, not shown
        if isinstance(error, OSError):
            silence()
        charged = charge_words(without_ledger=False)
        words, code = explain(error, option, consequence="" if charged else NOTHING_RELEASED)
        _say(words, charged)
        sys.exit(code)


def _say(*sentences: str) -> None:
    for words in filter(None, sentences):
        sys.stderr.write(f"peerveil: {words}\n")


def _run() -> None:
    load_extensions()  # before the options are built, whose help lists what is registered
    try:
        app()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # now, while a failure can still be told


def _show_version(asked: bool) -> None:
    if asked:
        from peerveil.support.version import software  # noqa: PLC0415 - seldom asked

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
