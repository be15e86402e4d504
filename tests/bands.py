"""What every band of every release must hold, whatever a test is about."""

from __future__ import annotations

import numpy as np

from peerveil.inference import estimators
from peerveil.inference.expected_error import ExpectedError
from peerveil.inference.family import family_of
from peerveil.inference.posterior import Posterior
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region

_made = estimators._expected_error


def check(made: ExpectedError, values: Floats, posterior: Posterior, region: Region) -> None:
    """Values lie in their bands, bands ascend, and none is a single value unless that is certain."""
    least, most = region.implied()
    assert (made.lower <= values).all(), "a band lies above its value"
    assert (values <= made.upper).all(), "a band lies below its value"
    assert (np.diff(made.lower) >= 0).all(), "lower ends of bands do not ascend"
    assert (np.diff(made.upper) >= 0).all(), "upper ends of bands do not ascend"
    round_off = 1e-9 * (1 + np.abs(values))
    certain = (most - least <= round_off) | (posterior.variance + (values - posterior.mean) ** 2 <= round_off**2)
    assert (made.upper > made.lower)[~certain].all(), "a band has no width, though its value is not certain"


def checked(
    values: Floats, posterior: Posterior, region: Region, weights: PublicWeights, assumption: str
) -> ExpectedError:
    """Expected error and bands of an estimate, checked; those of earlier versions had no such rules."""
    made = _made(values, posterior, region, weights, assumption)
    if family_of(weights).honest_bands:
        check(made, values, posterior, region)
    return made
