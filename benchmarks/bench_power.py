"""The power of the audit's test of the noise: with which probability it notices noise that is too small.

The probability is computed, not simulated: the test counts noisy numbers within six limits, so it notices smaller noise
at least as often as the best of six exact binomial tests does. "numbers" is how many noisy numbers a case has: of the
first case, and of a twentieth of that, as other cases have by default. The risk is that of one case of an audit of all
cases, at the default confidence.

The other two tests need no table: the loss of the worst pair is computed, so a bound that is too small for it is always
noticed; and what releases alone show is in the tables of bench_audit.py.
"""

from __future__ import annotations

import math

from scipy.special import ndtr
from scipy.stats import binom

from output import Output
from peerveil.mechanisms import Laplace
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, NormalLaw
from peerveil.private.audit import CONFIDENCE
from peerveil.private.audit.cases import chosen_cases
from peerveil.private.audit.evidence import _LAW_RISK
from peerveil.private.audit.laws import _WITHIN
from results import Column

SHARES = (0.99, 0.98, 0.95, 0.9, 0.8, 0.5)
Known = LaplaceLaw | NormalLaw | DiscreteLaplaceLaw

#: A scale of each law; only the discrete one's matters, and it is about that of epsilon 1 and loads of 4.
LAWS: dict[str, tuple[Known, int]] = {
    "laplace": (LaplaceLaw(scale=1.0), 50_000),
    "gaussian": (NormalLaw(sigma=1.0), 50_000),
    "histogram": (DiscreteLaplaceLaw(scale=10.0), 240_000),
}


def within(law: Known, limit: float, share: float) -> float:
    """The probability that a share of the noise lies within a limit."""
    if isinstance(law, LaplaceLaw):
        return -math.expm1(-limit / (share * law.scale))
    if isinstance(law, NormalLaw):
        return float(2 * ndtr(limit / (share * law.sigma)) - 1)
    scale = share * law.scale
    return 1 - 2 / (1 + math.exp(-1 / scale)) * math.exp(-(math.floor(limit) + 1) / scale)


def power(law: Known, numbers: int, share: float, risk: float) -> float:
    """The probability that the best of the six tests notices a share of the noise."""
    each, best = risk / (2 * len(_WITHIN)), 0.0
    for inner in _WITHIN:
        limit, chance = law.limit(inner)
        least = int(binom.isf(each, numbers, chance)) + 1  # from so many on the test rejects
        best = max(best, float(binom.sf(least - 1, numbers, within(law, limit, share))))
    return best


def main() -> None:
    cases = len(chosen_cases("all", None, Laplace(epsilon=1.0)))
    risk = (1 - CONFIDENCE) / cases * _LAW_RISK
    columns = [Column("mechanism", "mechanism"), Column("numbers", "noisy numbers", digits=",d")]
    columns += [Column(f"share-{int(100 * s)}", f"{s:.0%} of the noise", digits=".1%", better="higher") for s in SHARES]
    with Output("power") as out:
        title = "Probability that the audit notices noise that is too small"
        table = out.table("noise", title, columns, keys=2, seeds="none: computed", draws="none: computed")
        for name, (law, most) in LAWS.items():
            for numbers in (most, most // 20):
                table.add(name, numbers, *(power(law, numbers, share, risk) for share in SHARES))
        table.note(f"An audit has {cases} cases; noise as stated is called too small with probability {risk:.1e}.")


if __name__ == "__main__":
    main()
