"""Metrics of a batch: counts of venues, charges and failures, and seconds, as JSON and in Prometheus' text format."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peerveil.errors import InputError, write_failure
from peerveil.private.batch.events import (
    BatchFinished,
    BatchStarted,
    VenueCharged,
    VenueEstimated,
    VenueEvent,
    VenueFailed,
    VenuePlanned,
    VenueRead,
    VenueReleased,
    VenueRetried,
    VenueStands,
)
from peerveil.private.batch.folders import write_text
from peerveil.support.logs import Event
from peerveil.support.version import software

#: The version of the document.
SCHEMA = "metrics-1"

#: The events that end a venue, by the name of its outcome.
_OUTCOMES: dict[type[Event], str] = {VenueReleased: "released", VenueStands: "stands", VenueFailed: "failed"}

#: The steps of a venue whose seconds are added up.
_STEPS: dict[type[Event], str] = {
    VenuePlanned: "plan",
    VenueRead: "read",
    VenueCharged: "charge",
    VenueEstimated: "estimate",
    VenueReleased: "write",
}

#: Seconds between updates of the files.
_OFTEN = 5.0


@dataclass
class _Step:
    """The number of times that a step was done, their seconds, and those of the longest."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        self.count, self.seconds, self.longest = self.count + 1, self.seconds + seconds, max(self.longest, seconds)


@dataclass
class Metrics:
    """The metrics of a batch, from its events.

    >>> metrics = Metrics()
    >>> for event in (BatchStarted(venues=2, ledger=False), VenueFailed(venue="conf", error="FileError")):
    ...     metrics.add(event)
    >>> document = metrics.document()
    >>> document["venues"], document["failed"], document["failures"]
    (2, 1, {'FileError': 1})
    """

    venues: int = 0
    complete: bool | None = None
    retries: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    steps: dict[str, _Step] = field(default_factory=lambda: {name: _Step() for name in _STEPS.values()})
    began: float = field(default_factory=time.time)

    def add(self, event: Event) -> None:
        """Count an event."""
        kind = type(event)
        if isinstance(event, BatchStarted):
            self.venues = event.venues
        elif isinstance(event, BatchFinished):
            self.complete = event.complete
        elif isinstance(event, VenueEvent):
            if kind in _OUTCOMES:
                self.outcomes[_OUTCOMES[kind]] += 1
            if isinstance(event, VenueFailed):
                self.failures[event.error] += 1
            self.retries += isinstance(event, VenueRetried)
            if kind in _STEPS:
                self.steps[_STEPS[kind]].add(float(getattr(event, "seconds")))  # noqa: B009 - each of these has it

    def document(self) -> dict[str, Any]:
        """The metrics as JSON."""
        now = time.time()
        return {
            "schema": SCHEMA,
            "software": software(),
            "started": _timestamp(self.began),
            "updated": _timestamp(now),
            "state": {None: "running", True: "complete", False: "interrupted"}[self.complete],
            "seconds": round(now - self.began, 3),
            "venues": self.venues,
            **{status: self.outcomes[status] for status in _OUTCOMES.values()},
            "charges": self.steps["charge"].count,
            "retries": self.retries,
            "failures": dict(sorted(self.failures.items())),
            "steps": {
                name: {"count": step.count, "seconds": round(step.seconds, 3), "longest": round(step.longest, 3)}
                for name, step in self.steps.items()
            },
            "peak_memory_mb": _peak_memory(),
        }


class MetricsFiles(logging.Handler):
    """Writes the metrics of a batch while it runs: JSON, and Prometheus' text format if a file is named."""

    def __init__(self, json_file: Path, text_file: str | None = None) -> None:
        super().__init__()
        self._metrics, self._json, self._text = Metrics(), json_file, None if text_file is None else Path(text_file)
        self._next = 0.0
        if self._text is not None:
            prometheus_text(self._metrics.document())  # before anything is charged, as the package may be missing
        try:
            self._write()
        except OSError as error:
            raise write_failure(f"metrics cannot be written: {error.strerror}", error) from None

    def emit(self, record: logging.LogRecord) -> None:
        """Count an event; the files are written at most every few seconds, and at the end."""
        event = record.msg
        if isinstance(event, Event):
            self._metrics.add(event)
            if isinstance(event, BatchFinished) or time.monotonic() >= self._next:
                with suppress(OSError):  # a full disk does not stop the batch
                    self._write()

    def _write(self) -> None:
        document = self._metrics.document()
        write_text(self._json, json.dumps(document, indent=1) + "\n", 0o600)
        if self._text is not None:
            write_text(self._text, prometheus_text(document), 0o666)  # for an agent that runs as another user
        self._next = time.monotonic() + _OFTEN


def prometheus_text(document: dict[str, Any]) -> str:
    """Metrics in Prometheus' text format, e.g. for the textfile collector of its node exporter."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            "metrics for Prometheus need the package prometheus_client: pip install 'peerveil[metrics]'"
        ) from None

    class Families:
        def collect(self) -> Iterator[Any]:
            return _families(document)

    registry = CollectorRegistry()
    registry.register(Families())
    return generate_latest(registry).decode()


def _families(document: dict[str, Any]) -> Iterator[Any]:
    from prometheus_client.core import (  # noqa: PLC0415 - an extra
        CounterMetricFamily,
        GaugeMetricFamily,
        SummaryMetricFamily,
    )

    gauges = {
        "venues": ("Venues of the batch.", document["venues"]),
        "running": ("1 while the batch runs.", float(document["state"] == "running")),
        "complete": ("1 after the batch came to its end.", float(document["state"] == "complete")),
        "seconds": ("Seconds since the batch started.", document["seconds"]),
        "updated_timestamp_seconds": ("Time of these numbers.", _seconds(document["updated"])),
    }
    for name, (words, value) in gauges.items():
        yield GaugeMetricFamily(f"peerveil_batch_{name}", words, value=value)
    outcomes = CounterMetricFamily("peerveil_batch_outcomes", "Venues that ended, by outcome.", labels=["status"])
    for status in _OUTCOMES.values():
        outcomes.add_metric([status], document[status])
    yield outcomes
    yield CounterMetricFamily("peerveil_batch_charges", "Charges to the ledger by this run.", value=document["charges"])
    yield CounterMetricFamily("peerveil_batch_retries", "Attempts that were repeated.", value=document["retries"])
    failures = CounterMetricFamily("peerveil_batch_failures", "Venues that failed, by error.", labels=["error"])
    for error, number in document["failures"].items():
        failures.add_metric([error], number)
    yield failures
    steps = SummaryMetricFamily("peerveil_batch_step_seconds", "Seconds of each step of a venue.", labels=["step"])
    for name, step in document["steps"].items():
        steps.add_metric([name], count_value=step["count"], sum_value=step["seconds"])
    yield steps


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def _peak_memory() -> float | None:
    """The greatest memory that this process has used, in MB; ``None`` where the system does not tell."""
    with suppress(ImportError):
        import resource  # noqa: PLC0415 - not on Windows

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(peak / (1e6 if sys.platform == "darwin" else 1e3), 1)
    return None
