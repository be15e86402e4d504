"""Which program made a release: the version of Peerveil, and of the packages that draw and compute."""

from __future__ import annotations

from functools import cache

#: The version of Peerveil; the package's metadata is made from it.
__version__ = "0.3.0"

#: Packages on which the numbers, the report and the pictures of a release depend.
RENDERING = ("altair", "vl-convert-python", "jinja2", "numpy", "scipy")


def software() -> str:
    """Name and version.

    >>> software().split()[0]
    'peerveil'
    """
    return f"peerveil {__version__}"


def rendered_with() -> dict[str, str]:
    """The versions of Peerveil and of the packages that write a release here, by name.

    >>> sorted(rendered_with())
    ['altair', 'jinja2', 'numpy', 'peerveil', 'scipy', 'vl-convert-python']
    """
    return {"peerveil": __version__} | _packages()


@cache
def _packages() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `peerveil --help` needs none of it

    found = {}
    for name in RENDERING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # packed in another way, without metadata
            continue
    return found
