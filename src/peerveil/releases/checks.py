"""What checking a release finds: one verdict for each thing that was looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from peerveil.errors import PeerveilError, unexpected
from peerveil.support.html_tables import table

Result = Literal["holds", "fails", "not checked"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what.
        result: ``"holds"``, ``"fails"``, or ``"not checked"`` where that was not possible.
        found: what was found, in words.
    """

    name: str
    result: Result
    found: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What checking a release found.

    Attributes:
        checks: every check, in order.

    >>> Verification(checks=(Check(name="digest", result="fails", found="the file was changed"),)).verified
    False
    """

    checks: tuple[Check, ...]

    @property
    def verified(self) -> bool:
        """Whether nothing that was checked fails."""
        return all(check.result != "fails" for check in self.checks)

    def __bool__(self) -> bool:
        return self.verified

    def _repr_html_(self) -> str:
        rows = [(check.name, check.result, check.found) for check in self.checks]
        return table("Verified." if self.verified else "Not verified.", rows, header=("check", "result", "found"))

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that fail."""
        return tuple(check.name for check in self.checks if check.result == "fails")


class RefusedError(Exception):
    """Why a check fails."""


def looked_at(name: str, look: Callable[[], str]) -> Check:
    """What looking at something found; it fails if it is refused, or if what is there cannot be looked at."""
    try:
        return Check(name=name, result="holds", found=look())
    except (RefusedError, PeerveilError) as error:
        return Check(name=name, result="fails", found=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a file holds, a check must end with a result
        return Check(name=name, result="fails", found=f"it could not be checked: {unexpected(error)}")


def unchecked(name: str, why: str) -> Check:
    """What could not be checked."""
    return Check(name=name, result="not checked", found=why)
