"""The paper's settings at 10 and 50 reviewers, next to what was measured before with a prototype.

Summed squared error, mean ± standard error over 100 draws, seed 71; then the earlier means, whose standard errors are
about a tenth of them (60 draws at 10 reviewers, 16 at 50), and how many standard errors of the difference lie between.
The earlier `baseline` used the range from 0 to 1 where ours uses the observed one, so ours is smaller. The earlier
`safe` knew that reviewers are dealt papers at random, which is how all settings but Beta(i, j) make their truth; ours
allows for reviewers who differ, and pays for it where they do not. `dealt` is ours with the earlier one's knowledge.
"""

from __future__ import annotations

import math

import numpy as np

from output import Output
from peerveil.inference.estimators import nearest_safe
from peerveil.inference.prior import prior
from peerveil.mechanisms import Laplace
from peerveil.planning.rehearsal import Rehearsal
from peerveil.regions.projection import project
from peerveil.simulation.experiments import EXPERIMENTS
from peerveil.support import parallel
from results import Column, mean_of

DRAWS, SEED = 100, 71
METHODS = ("noisy", "baseline", "chain", "tight", "safe", "dealt")
EARLIER = {
    ("beta-5-1", 10): (19.6, 0.293, 0.055, 0.039, 0.0055),
    ("beta-5-1", 50): (97.8, 1.081, 0.379, 0.196, 0.0122),
    ("beta-2-5", 10): (17.4, 0.468, 0.076, 0.053, 0.0088),
    ("beta-2-5", 50): (103, 1.810, 0.650, 0.275, 0.0157),
    ("beta-1-3", 10): (23.0, 0.271, 0.110, 0.082, 0.0164),
    ("beta-1-3", 50): (92.0, 1.185, 0.622, 0.294, 0.0179),
    ("beta-2-2", 10): (22.0, 0.483, 0.152, 0.114, 0.0192),
    ("beta-2-2", 50): (101, 1.969, 1.120, 0.473, 0.0276),
    ("beta-0.5-0.5", 10): (17.6, 0.369, 0.271, 0.233, 0.0465),
    ("beta-0.5-0.5", 50): (106, 1.269, 1.264, 1.078, 0.0548),
    ("beta-12-i", 10): (19.8, 0.307, 0.115, 0.085, 0.0194),
    ("beta-12-i", 50): (101, 0.830, 0.258, 0.124, 0.0067),
    ("beta-i-j", 10): (23.1, 0.380, 0.175, 0.132, 0.0328),
    ("beta-i-j", 50): (104, 1.512, 1.172, 0.549, 0.112),
    ("beta-a-a", 5): (20.5, 0.499, 0.066, 0.050, 0.0080),
    ("beta-a-a", 10): (17.8, 0.544, 0.041, 0.028, 0.0050),
}


def errors(task: tuple[str, float], seeds: np.random.SeedSequence) -> list[float]:
    name, point = task
    rng = np.random.default_rng(seeds)
    weights, truth = EXPERIMENTS[name].draw(point, rng)
    rehearsal = Rehearsal.of(weights, Laplace(scale=1.0))
    noisy = rehearsal.perturb(truth, rng)
    answers = rehearsal.answers(noisy, METHODS[:-1])
    region, r = rehearsal.region("tight"), rehearsal.noisy_vector(noisy)
    guess = project(prior(weights).ensemble(0.0).mean, region)
    answers["dealt"] = nearest_safe(guess, project(r, region), region, r).values
    return [float(np.sum((answers[method] - truth) ** 2)) for method in METHODS]


def columns() -> list[Column]:
    """For each method the mean, the earlier mean, and standard errors between them."""
    listed = [Column("setting", "setting"), Column("at", "at", digits="d")]
    for method in METHODS:
        listed.append(Column(method, method, better="lower"))
        listed.append(Column(f"{method}-before", "earlier", digits="g"))
        listed.append(Column(f"{method}-apart", "apart", digits="+.1f"))
    return listed


def main() -> None:
    with Output("figures") as out:
        draws = 10 if out.quick else DRAWS
        tasks = [setting for setting in EARLIER for _ in range(draws)]
        found = np.array(parallel.run(errors, tasks, seed=SEED)).reshape(len(EARLIER), draws, len(METHODS))
        title = "The paper's settings, summed squared errors, next to an earlier prototype"
        table = out.table("paper", title, columns(), keys=2, seeds=SEED, draws=draws)
        for (name, point), rows in zip(EARLIER, found, strict=True):
            cells: list[object] = []
            for place in range(len(METHODS)):
                mean, error = rows[:, place].mean(), rows[:, place].std(ddof=1) / math.sqrt(draws)
                before = EARLIER[name, point][min(place, 4)]
                cells += [mean_of(rows[:, place]), before, (mean - before) / math.hypot(error, 0.1 * before)]
            table.add(name, point, *cells)
        for (name, point), rows in zip(EARLIER, found, strict=True):
            for place in range(1, 5):
                gap = rows[:, place] - rows[:, place - 1]
                if gap.mean() > 2 * gap.std(ddof=1) / math.sqrt(draws):
                    pair = f"{METHODS[place]} above {METHODS[place - 1]}"
                    table.note(f"{name} {point}: {pair} by more than two paired standard errors.")


if __name__ == "__main__":
    main()
