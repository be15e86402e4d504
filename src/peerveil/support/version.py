"""Versions of Peerveil and of the packages that its releases depend on."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

#: The version of Peerveil, from which the package's metadata is built.
__version__ = "0.3.0"

#: Packages on which the numbers, the report and the figures of a release depend.
RENDERING = ("altair", "vl-convert-python", "jinja2", "numpy", "scipy")


def software() -> str:
    """Return the name and version of this program.

    >>> software().split()[0]
    'peerveil'
    """
    return f"peerveil {__version__}"


def rendered_with() -> dict[str, str]:
    """Return the installed versions of Peerveil and of the packages in :data:`RENDERING`, by name.

    >>> sorted(rendered_with())
    ['altair', 'jinja2', 'numpy', 'peerveil', 'scipy', 'vl-convert-python']
    """
    return {"peerveil": __version__} | _packages()


@cache
def _packages() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `peerveil --help` needs none of it

    versions = {}
    for name in RENDERING:
        with suppress(PackageNotFoundError):  # some distributions strip the metadata
            versions[name] = version(name)
    return versions
