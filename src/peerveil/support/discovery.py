"""Discovery of the regions, mechanisms and readers in the modules of their packages."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.resources import files

#: The text by which a module declares what it adds, with its name (or the label of a reader), by package.
_DECLARATIONS = {
    "regions": r"^@register\ndef (\w+)",
    "mechanisms": r'^@register\n(?:.*\n)*?    name: ClassVar\[str\] = "(.+)"',
    "private.readers": r'^label = "(.+)"',
}


@cache
def declared(package: str) -> dict[str, str]:
    """Return the modules of a package that declare an addition, with what they declare, in alphabetical order.

    The command line's help lists additions, and to import their modules would load NumPy.

    >>> declared("private.readers")["hotcrp"], declared("mechanisms")["sinh_normal"]
    ('HotCRP', 'sinh-normal')
    """
    folder = files("peerveil").joinpath(*package.split("."))
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".py")}
    found = {name: re.search(_DECLARATIONS[package], text, re.MULTILINE) for name, text in sorted(texts.items())}
    return {name.removesuffix(".py"): match[1] for name, match in found.items() if match}


def import_declared(package: str) -> None:
    """Import the modules of a package that declare an addition, which registers it."""
    for module in declared(package):
        import_module(f"peerveil.{package}.{module}")
