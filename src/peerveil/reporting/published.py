"""What a release publishes, as pictures and reports see it: nothing else can get into them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from peerveil.inference.expected_error import ExpectedError
from peerveil.privacy.guarantee import Guarantee
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats


class Published(Protocol):
    """The published parts of a release; :class:`peerveil.Release` has them, and says what each of them is."""

    @property
    def quantity(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Floats: ...  # noqa: D102
    @property
    def noisy(self) -> Floats: ...  # noqa: D102
    @property
    def lower(self) -> Floats: ...  # noqa: D102
    @property
    def upper(self) -> Floats: ...  # noqa: D102
    @property
    def guarantee(self) -> Guarantee: ...  # noqa: D102
    @property
    def human(self) -> str: ...  # noqa: D102
    @property
    def promise(self) -> str: ...  # noqa: D102
    @property
    def claim(self) -> dict[str, Any] | None: ...  # noqa: D102
    @property
    def not_protected(self) -> str: ...  # noqa: D102
    @property
    def mechanism(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def region(self) -> str: ...  # noqa: D102
    @property
    def estimator(self) -> str: ...  # noqa: D102
    @property
    def outlook(self) -> ExpectedError | None: ...  # noqa: D102
    @property
    def papers(self) -> int: ...  # noqa: D102
    @property
    def loads(self) -> Loads: ...  # noqa: D102
    @property
    def public(self) -> str: ...  # noqa: D102
    @property
    def part(self) -> Part | None: ...  # noqa: D102
    @property
    def record_digest(self) -> str: ...  # noqa: D102
    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def created(self) -> datetime: ...  # noqa: D102
    @property
    def software(self) -> str: ...  # noqa: D102
