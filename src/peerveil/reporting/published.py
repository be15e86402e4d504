"""The parts of a release that charts and reports can show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peerveil.inference.expected_error import ExpectedError
from peerveil.privacy.guarantee import Guarantee
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Published(ABC):
    """Everything that charts and reports can show; :class:`peerveil.Release` documents each field."""

    quantity: str
    values: Floats
    noisy: Floats
    lower: Floats
    upper: Floats
    guarantee: Guarantee
    mechanism: dict[str, Any]
    region: str
    estimator: str
    outlook: ExpectedError | None
    papers: int
    loads: Loads
    public: str
    record_digest: str
    notes: tuple[str, ...]
    created: datetime
    software: str
    part: Part | None = None

    @property
    @abstractmethod
    def human(self) -> str:
        """The privacy claim in one sentence for a reviewer; empty if the release does not state it."""

    @property
    @abstractmethod
    def promise(self) -> str:
        """The privacy claim in words, as release.json and the report state it."""

    @property
    @abstractmethod
    def not_protected(self) -> str:
        """What the claim does not cover, in words, as release.json and the report state it."""

    @property
    @abstractmethod
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms, as release.json states it; ``None`` if it does not."""
