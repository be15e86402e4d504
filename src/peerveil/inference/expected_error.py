"""Expected error and credible bands of an estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from peerveil.errors import InputError
from peerveil.inference.verdict import Verdict
from peerveil.record.public_record import Floats

#: The probability with which a credible band holds its entry.
LEVEL = 0.9

# Theorem I2: no stated error fits all worlds that noisy output hardly tells apart. So it says what it assumes.
ASSUMPTION = (
    "Expected error and bands assume that the true assignment is like one drawn at random among the valid ones, with "
    "reviewers who differ in leniency by an unknown amount, and that the noise follows its stated law. They come from "
    "public data and the noisy vector alone."
)

#: The further assumption where scores are hidden.
ASSUMPTION_HIDDEN = (
    " Scores that are not public are taken to be like those that are, on the whole higher or lower by an unknown "
    "amount; where none is public, they may be anywhere on the scale."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedError:
    """Expected error and credible bands of an estimate.

    Attributes:
        expected_rmse: the square root of the expected mean squared error of an entry.
        lower: lower ends of the bands.
        upper: upper ends of the bands.
        level: the probability with which a band holds its entry.
        assumption: what the numbers assume, in words.
        public_rmse: the expected error of a guess from public data alone, given the noisy data; ``None`` in files of
            earlier versions.

    >>> import numpy as np
    >>> ExpectedError(expected_rmse=0.1234, lower=np.array([1.0]), upper=np.array([1.4])).summary
    'about 0.123 (root mean square), with 90 % bands for each mean'
    """

    expected_rmse: float
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    level: float = LEVEL
    assumption: str = ASSUMPTION
    public_rmse: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.expected_rmse) and self.expected_rmse >= 0):
            raise InputError(f"expected_rmse must be a finite number of at least 0, got {self.expected_rmse}")
        if self.public_rmse is not None and not (math.isfinite(self.public_rmse) and self.public_rmse >= 0):
            raise InputError(f"public_rmse must be a finite number of at least 0, got {self.public_rmse}")
        if not 0 < self.level < 1:
            raise InputError(f"level must lie between 0 and 1, got {self.level}")
        if self.lower.shape != self.upper.shape or (self.lower > self.upper).any():
            raise InputError("the lower end of a band must not exceed its upper end")
        self.lower.flags.writeable = self.upper.flags.writeable = False

    @property
    def verdict(self) -> Verdict | None:
        """The verdict against no release; ``None`` if the error without one is not stated."""
        return None if self.public_rmse is None else Verdict.of(self.expected_rmse, self.public_rmse, released=True)

    @property
    def summary(self) -> str:
        """The expected error of means in one line."""
        return self.summary_of("mean")

    def summary_of(self, number: str) -> str:
        """Return the expected error in one line, given what the number of a reviewer is called."""
        rmse, percent = f"{self.expected_rmse:.3g}", f"{self.level:.0%}".replace("%", " %")
        return f"about {rmse} (root mean square), with {percent} bands for each {number}"


#: The name in version 0.1.
Outlook = ExpectedError
