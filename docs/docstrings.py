"""Extension of Griffe: our docstrings as Markdown, with examples as code and cross-references as names."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?([^`]+)`")


def markdown(docstring: str) -> str:
    """A docstring whose examples, each up to the next blank line, are blocks of code."""
    return EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", ROLE.sub(r"`\1`", docstring))


class Docstrings(Extension):
    """Applies `markdown` to every docstring that is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object, if it has one."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
