"""Power of the test of noise against its stated law: how often `verify` notices noise of another size than stated.

Synthetic conferences of 30, 300 and 3,000 reviewers with four reviews each, all scores public, unit reviewer unless
said; region tight. The noise is drawn from the law that the budget asks for, times a factor; draw k uses ``[seed, k]``.
The table has the share of draws that are refused, in per cent; the column of honest noise is that of false alarms.
"""

from __future__ import annotations

import os

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.noise_test import count_noise, vector_noise  # noqa: E402
from peerveil.mechanisms import OwnMechanism  # noqa: E402
from peerveil.privacy.guarantee import Unit  # noqa: E402
from peerveil.privacy.sensitivity import sensitivity  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.simulation.conferences import synthetic_conference  # noqa: E402
from results import Column  # noqa: E402

SIZES = (30, 300, 3000)
BUDGETS = (0.3, 1.0, 3.0)
FACTORS = (0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0)
DRAWS = 200
SEED = 23


def mechanism(name: str, epsilon: float) -> tuple[OwnMechanism, Unit]:
    if name == "gaussian, delta 1e-6":
        return pv.Gaussian(epsilon=epsilon, delta=1e-6), "reviewer"
    if name == "histogram":
        return pv.Histogram(epsilon=epsilon), "reviewer"
    return pv.Laplace(epsilon=epsilon), "review" if name == "laplace, unit review" else "reviewer"


def refused(reviews: pv.Reviews, name: str, epsilon: float, draws: int = DRAWS) -> list[float]:
    """The share of draws that are refused, for each factor."""
    weights = pv.weigh(reviews.public("all"))
    truth = true_vector(reviews, "ratings")
    chosen, unit = mechanism(name, epsilon)
    bound = sensitivity(weights, unit)
    settled = chosen.settle(bound)
    law = settled.law
    lower, upper = pv.region(weights).implied()
    bins = chosen.binned(weights, bound)
    found = []
    for factor in FACTORS:
        count = 0
        for draw in range(draws):
            rng = np.random.default_rng([SEED, draw])
            if bins is None:
                check = vector_noise(truth + factor * law.draw(rng, truth.size), lower, upper, law)
            else:
                noise = np.rint(factor * law.draw(rng, bins.number)).astype(np.int64)
                check = count_noise(bins.counts(truth) + noise, truth.size, law)
            count += check.too_small or check.too_large
        found.append(count / draws)
    return found


def main() -> None:
    factors = [Column(f"factor-{100 * factor:g}", f"{factor:g}", "%", ".0f") for factor in FACTORS]
    keys = Column("mechanism", "mechanism"), Column("reviewers", "reviewers", digits=","), Column("epsilon", "epsilon")
    with Output("noise_test") as out:
        draws = 20 if out.quick else DRAWS
        title = "Refused releases, by the factor on the stated noise"
        table = out.table("refused", title, (*keys, *factors), keys=3, seeds=f"[{SEED}, draw]", draws=draws)
        for name in ("laplace", "laplace, unit review", "gaussian, delta 1e-6", "histogram"):
            for size in SIZES:
                made = synthetic_conference(reviewers=size, rng=np.random.default_rng(SEED))
                reviews = pv.read(made.frame(), scale=made.scale)
                for epsilon in BUDGETS:
                    shares = refused(reviews, name, epsilon, draws)
                    table.add(name, size, epsilon, *(100 * share for share in shares))


if __name__ == "__main__":
    main()
