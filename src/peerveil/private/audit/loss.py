"""Privacy loss between two given vectors under the stated noise, computed independently of the claims."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import log_ndtr

from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.law import Law, Loss
from peerveil.record.public_record import Floats

#: Relative tolerance for round-off.
_ROUND_OFF = 1 + 1e-9


def loss_of(parts: Sequence[tuple[Law, Floats]]) -> Loss:
    """The loss of independent noise on vectors that differ by given moves.

    For sinh-normal noise, rho is the bound of its theorem for these moves.

    >>> import numpy as np
    >>> from peerveil.privacy.noise_laws import LaplaceLaw, NormalLaw
    >>> loss_of([(LaplaceLaw(scale=2.0), np.array([0.5, -0.5]))]).epsilon
    0.5
    >>> loss_of([(NormalLaw(sigma=2.0), np.array([2.0]))] * 2).rho
    1.0
    """
    losses = [law.loss(moves) for law, moves in parts]
    epsilon = math.fsum(loss.epsilon for loss in losses)
    # Pure losses add up before they are converted to rho.
    rho = epsilon**2 / 2 if math.isfinite(epsilon) else math.fsum(loss.rho for loss in losses)
    mus = [loss.mu for loss in losses if loss.mu is not None]
    mu = math.hypot(*mus) if len(mus) == len(losses) else None
    return Loss(epsilon=epsilon, rho=rho, omega=min(loss.omega for loss in losses), mu=mu)


def contradicts(loss: Loss, claim: Guarantee) -> bool:
    """Whether a loss exceeds a claim.

    >>> contradicts(Loss(epsilon=1.2, rho=0.72), Guarantee(kind="pure", unit="review", epsilon=1.0))
    True
    """
    if claim.kind == "pure":
        return not loss.epsilon <= (claim.epsilon or 0.0) * _ROUND_OFF
    if claim.rho is not None and not (
        loss.rho <= claim.rho * _ROUND_OFF and (claim.omega or math.inf) <= loss.omega * _ROUND_OFF
    ):
        return True
    if loss.mu is not None and claim.epsilon is not None:
        return not gaussian_delta(loss.mu, claim.epsilon) <= (claim.delta or 0.0) * (1 + 1e-6)
    return claim.kind == "approximate" and not loss.epsilon <= (claim.epsilon or 0.0) * _ROUND_OFF


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact delta at an epsilon of two normal laws ``mu`` standard deviations apart (Balle and Wang).

    >>> round(gaussian_delta(1.0, 0.0), 6)
    0.382925
    """
    if mu == 0:
        return 0.0
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(first) * -math.expm1(second - first)
