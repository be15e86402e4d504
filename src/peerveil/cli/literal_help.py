"""Help texts shown literally: brackets are no markup, and the lines of a paragraph are joined."""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

Shown = TypeVar("Shown", bound=Any)


class LiteralCommand(TyperCommand):
    """A command whose help is shown as it is written, and which says what a missing argument is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; of a missing one, say what it is, since its name is not shown elsewhere."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            parameter = getattr(error, "param", None)
            if type(error).__name__ == "MissingParameter" and parameter is not None:
                error.message = getattr(parameter, "help", None) or ""  # type: ignore[attr-defined]
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with its texts escaped."""
        super(LiteralCommand, _escaped(self)).format_help(ctx, formatter)


class LiteralGroup(TyperGroup):
    """A group of commands whose help is shown as it is written."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with its texts and those of the commands escaped."""
        shown = _escaped(self)
        shown.commands = {name: _escaped(command) for name, command in self.commands.items()}
        super(LiteralGroup, shown).format_help(ctx, formatter)


def literal(text: str | None) -> str | None:
    r"""Return the markup that shows a text as it is, one line per paragraph.

    >>> literal("for all\nin [defaults]")
    'for all in \\[defaults]'
    """
    if text is None:
        return None
    return escape("\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")))


def _escaped(command: Shown) -> Shown:
    """Return a copy of a command to be shown: texts of the command and of its parameters are escaped."""
    shown = copy(command)
    shown.help, shown.epilog = literal(command.help), command.epilog and escape(command.epilog)
    shown.params = [copy(parameter) for parameter in command.params]
    for parameter in shown.params:
        parameter.help = literal(parameter.help)
    return shown
