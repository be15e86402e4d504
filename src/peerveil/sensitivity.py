"""How far one protected thing can move the sorted vector of means.

Proofs are in docs/mathematics.md, "Sensitivities". All inputs are public.
"""

from __future__ import annotations

import math

from peerveil.errors import InputError
from peerveil.guarantee import Unit
from peerveil.weights import PublicWeights


def l1_sensitivity(weights: PublicWeights, unit: Unit) -> float:
    """An upper bound on the L1 distance of the sorted vectors of neighbouring assignments.

    With ``R`` the range of the weights and loads from ``a`` to ``b``: an exchange of one review moves two means by at
    most ``R/a`` each. A reviewer whose reviews are all exchanged moves by at most ``R``, the others together by at
    most ``R b/a``; with one load ``l`` for all, moves in opposite directions cancel and ``2R (1 - 1/l)`` is enough.

    Where scores are hidden, they may change along with the exchange, anywhere on the declared scale.

    The bound holds for the means as computed: it is widened by their round-off.

    >>> l1_sensitivity(PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "reviewer")    # 2R (1 - 1/2) and a bit
    1.00000000000000...
    >>> l1_sensitivity(PublicWeights.from_rows([[0, 1]], load=1), "reviewer")            # the vector is public
    0.0
    """
    loads = weights.loads
    low, high = weights.span
    hidden = weights.hidden_span
    if low == high or (loads.largest == 1 and not hidden):
        return 0.0  # every assignment gives the same vector, to the last bit
    if high - low < 1e-100 or max(abs(low), abs(high)) > 1e100:
        raise InputError(
            f"weights from {low:g} to {high:g} are too small or too large to protect in floating point; scale them"
        )
    width = math.nextafter(high - low, math.inf)
    exchanges = 1 if unit == "review" else loads.largest
    moved = 1 + exchanges
    if unit == "review":
        bound = 2 * width / loads.smallest
    elif loads.uniform and not hidden:
        bound = 2 * width * (1 - 1 / loads.largest)
    else:
        bound = width * (1 + loads.largest / loads.smallest)
    if hidden and weights.quantity == "miscalibration":
        # A hidden score that changes also moves the other weights of its paper, by no more than itself in all.
        bound += 2 * exchanges * hidden / loads.smallest
        # Here weights are rounded anew, not only means.
        moved = 4 * int(weights.sizes().max()) * loads.reviewers
    # A mean is one correctly rounded sum and one division: within 2**-52 of its size, before and after the move.
    round_off = 2 * moved * 2.0**-52 * max(abs(low), abs(high))
    return (bound + round_off) * (1 + 2.0**-50)
