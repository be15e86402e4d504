"""Noise for real releases, from OpenDP: exact arithmetic and the operating system's randomness, no seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import opendp.prelude as dp

from peerveil.errors import InputError, PeerveilError
from peerveil.mechanisms import Laplace
from peerveil.record import Floats

dp.enable_features("contrib")


def perturb(vector: Floats, mechanism: Laplace, sensitivity: float) -> tuple[Floats, float]:
    """Add the mechanism's noise to a vector of this L1 sensitivity; returns the noisy vector and the noise's scale.

    Where the sensitivity is 0 the vector is the same for every assignment, so a budget buys it without noise.
    """
    # OpenDP takes a NaN for 0 and a wrong length for granted, so nothing doubtful may reach it.
    if vector.ndim != 1 or vector.dtype != np.float64 or not vector.size or not np.isfinite(vector).all():
        raise PeerveilError("the vector to protect must hold finite numbers; nothing was released")
    if sensitivity == 0 and mechanism.scale is None:
        return vector.copy(), 0.0
    scale = mechanism.noise_scale(sensitivity)
    claimed = mechanism.epsilon_for(sensitivity)
    measurement, loss = _laplace(vector.size, scale, sensitivity)
    for _ in range(8):
        if loss <= claimed or mechanism.scale is not None:
            break
        # OpenDP's own rounding counts too: a scale a few bits larger keeps the loss within what was asked.
        scale *= 1 + 2.0**-50
        measurement, loss = _laplace(vector.size, scale, sensitivity)
    if loss > claimed:
        raise PeerveilError(f"the noise would lose {loss!r}, more than the {claimed!r} claimed; nothing was released")
    noisy = np.array(measurement(vector.tolist()), dtype=np.float64)
    if noisy.shape != vector.shape or not np.isfinite(noisy).all():
        raise PeerveilError("the noise source failed; nothing was released")
    return noisy, scale


def _laplace(length: int, scale: float, sensitivity: float) -> tuple[Any, float]:
    """OpenDP's Laplace measurement on vectors of a length, and its privacy loss at a sensitivity."""
    if not 1e-150 <= scale <= 1e150:
        raise InputError(f"noise of scale {scale:g} cannot be drawn faithfully; ask for another epsilon or scale")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=length)
    measurement = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    loss: float = measurement.map(d_in=sensitivity)  # type: ignore[no-untyped-call]
    return measurement, loss
