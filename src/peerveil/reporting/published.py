"""The parts of a release that charts and reports can show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.findings import Finding
from peerveil.inference.verdict import Verdict
from peerveil.privacy.guarantee import Guarantee, caution
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats

#: The files of the charts.
FIGURES = ("figures/means.svg", "figures/shares.svg", "figures/refinement.svg", "figures/bounds.svg")


@dataclass(frozen=True, kw_only=True, eq=False)
class Published:
    """Everything that charts and reports can show; :class:`peerveil.Release` documents each field.

    The report also shows the claim in words (``human``, ``promise``, ``not_protected``, ``claim``), from the release.
    """

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
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict against no release; ``None`` if its errors are not stated."""
        return None if self.outlook is None else self.outlook.verdict

    @property
    def caution(self) -> str:
        """A caution where the budget promises little; empty otherwise."""
        return caution(self.guarantee.epsilon)
