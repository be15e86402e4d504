"""Patience with a ledger that cannot be reached for a while, as when its server is restarted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from peerveil.errors import Argument, InputError, UnreachableError
from peerveil.private.batch.events import VenueRetried
from peerveil.support.logs import emit

T = TypeVar("T")

#: Seconds before the first retry, and the most between two.
_FIRST, _LONGEST = 1.0, 30.0


@dataclass
class Patience:
    """Repeats steps that failed because the ledger could not be reached, with growing pauses.

    Only steps that may be repeated are given to it: a charge is, as its number is charged once only. After a step has
    failed for good, others are tried once each until one succeeds: a server that is down for hours would otherwise be
    waited for once per venue.

    Attributes:
        retries: how often a step is repeated.
        sleep: waits for a number of seconds.

    >>> from peerveil.errors import UnreachableError
    >>> answers = iter([None, 5])
    >>> def ask():
    ...     if (answer := next(answers)) is None:
    ...         raise UnreachableError("the server is restarted")
    ...     return answer
    >>> pauses = []
    >>> Patience(retries=3, sleep=pauses.append)("conf", ask), pauses
    (5, [1.0])
    """

    retries: int = 6
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)
    _given_up: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(Argument("retries"), f" must be a whole number of at least 0, got {self.retries!r}")

    def __call__(self, venue: str, step: Callable[[], T]) -> T:
        """Return the result of a step of a venue, after as many retries as needed and allowed."""
        pause = _FIRST
        for attempt in range(1, 1 + (0 if self._given_up else self.retries)):
            try:
                return step()
            except UnreachableError as error:
                emit(VenueRetried(venue=venue, error=type(error).__name__, attempt=attempt, pause=pause))
            self.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        try:
            result = step()
        except UnreachableError:
            self._given_up = True
            raise
        self._given_up = False
        return result
