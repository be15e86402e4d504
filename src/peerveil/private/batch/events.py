"""Events of a batch, for its log and its metrics.

No event has a field for an identity, a score or the reason of a failure: an error is named by its class.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import ClassVar

from peerveil.support.logs import Event


class Clock:
    """Measures the seconds since it was made, or since the last lap."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def lap(self) -> float:
        """The seconds of a lap that ends now, to the millisecond."""
        before, self._start = self._start, time.perf_counter()
        return round(self._start - before, 3)


@dataclass(frozen=True, kw_only=True)
class BatchStarted(Event):
    """A batch was started or resumed.

    Attributes:
        venues: the number of venues, with those that an earlier run released.
        ledger: whether a ledger is charged.
    """

    venues: int
    ledger: bool


@dataclass(frozen=True, kw_only=True)
class VenueEvent(Event):
    """Base of the events of one venue.

    Attributes:
        venue: its name, which is the name of its folder.
    """

    venue: str


@dataclass(frozen=True, kw_only=True)
class VenueRead(VenueEvent):
    """The reviews of a venue were read and checked."""

    level: ClassVar[int] = logging.DEBUG
    seconds: float


@dataclass(frozen=True, kw_only=True)
class VenuePlanned(VenueEvent):
    """The mechanism of a venue was chosen by a plan of its own; venues that share a plan have no such event.

    Attributes:
        seconds: the time that it took where it ran.
    """

    level: ClassVar[int] = logging.DEBUG
    seconds: float


@dataclass(frozen=True, kw_only=True)
class VenueCharged(VenueEvent):
    """A venue was charged, and its noise drawn and kept.

    Attributes:
        charge: the number of the charge, as in release.json.
        seconds: the time of the charge and of the draw.
    """

    charge: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class VenueRetried(VenueEvent):
    """The ledger could not be reached for a venue, which is tried again.

    Attributes:
        error: the class of the error.
        attempt: the number of the attempt that failed.
        pause: the seconds until the next.
    """

    level: ClassVar[int] = logging.WARNING
    error: str
    attempt: int
    pause: float


@dataclass(frozen=True, kw_only=True)
class VenueEstimated(VenueEvent):
    """The public work of a venue was done: its region and its estimate.

    Attributes:
        seconds: the time that it took where it ran.
    """

    level: ClassVar[int] = logging.DEBUG
    seconds: float


@dataclass(frozen=True, kw_only=True)
class VenueReleased(VenueEvent):
    """The release of a venue was written.

    Attributes:
        seconds: the time of writing it.
    """

    seconds: float


@dataclass(frozen=True, kw_only=True)
class VenueStands(VenueEvent):
    """A venue was released by an earlier run."""

    level: ClassVar[int] = logging.DEBUG


@dataclass(frozen=True, kw_only=True)
class VenueFailed(VenueEvent):
    """A venue failed; the reason is in the private report.

    Attributes:
        error: the class of the error.
    """

    level: ClassVar[int] = logging.ERROR
    error: str


@dataclass(frozen=True, kw_only=True)
class BatchFinished(Event):
    """A batch ended.

    Attributes:
        complete: whether it came to its end; otherwise it was interrupted.
        seconds: its duration.
    """

    complete: bool
    seconds: float
