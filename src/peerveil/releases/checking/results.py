"""Results of checking a release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from peerveil.errors import PeerveilError, unexpected
from peerveil.support.html_tables import table

Result = Literal["holds", "fails", "not checked"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one check.

    Attributes:
        name: what was checked.
        result: ``"holds"``, ``"fails"``, or ``"not checked"`` if the check was not possible.
        found: the finding in words.
    """

    name: str
    result: Result
    found: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The results of all checks of a release, in order.

    >>> Verification(checks=(Check(name="digest", result="fails", found="the file was changed"),)).verified
    False
    """

    checks: tuple[Check, ...]

    @property
    def verified(self) -> bool:
        """Whether no check fails."""
        return not self.failed

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
    """The reason why a check fails."""


def checked(name: str, check: Callable[[], str | Check]) -> Check:
    """Return the result of a check, which fails on any error; a check may return its own result."""
    try:
        finding = check()
    except (RefusedError, PeerveilError) as error:
        return failed(name, str(error))
    except Exception as error:  # noqa: BLE001 - any bad file must give a result
        return failed(name, f"it could not be checked: {unexpected(error)}")
    return finding if isinstance(finding, Check) else Check(name=name, result="holds", found=finding)


def attempt(make: Callable[[], T]) -> tuple[T | None, str]:
    """Return the result of a function, or ``None`` and why it failed."""
    try:
        return make(), ""
    except PeerveilError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - any bad file must give a result
        return None, unexpected(error)


def failed(name: str, why: str) -> Check:
    """Return the result of a check that fails."""
    return Check(name=name, result="fails", found=why)


def unchecked(name: str, why: str) -> Check:
    """Return the result of a check that was not possible."""
    return Check(name=name, result="not checked", found=why)


def shortened(names: list[str]) -> str:
    """Return the first five names, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
