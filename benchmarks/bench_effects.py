"""Coverage and width of the intervals of effects, and the level of the randomisation test.

Simulated conferences of 3,000 reviewers with four reviews each, three reviews per paper, whole scores from 1 to 10,
epsilon 1 per reviewer, all scores public. Arms are randomised over reviewers. Five settings: no effect; 0.1 points; 0.8
points; 0.3 points with a quarter of the reviewers treated; 0.3 points on average, with a deviation of 0.5 between
papers. Leniency is 12 % of the variance of scores. The true effect is the mean difference that scores would have on
the scale, from a large simulation of its own. The noise is Laplace noise of the stated scale, seeded. Widths are
relative to those of an interval without privacy, whose variance is that of the reviewers' sums.

With `pairs` instead, the effect is one of a property that reviewer and paper share: 0.2 points of half the deviations,
values with the frequencies 60, 30 and 10 %, and better papers where the value is rare.

With `unequal` one group has reviewers of more, or less, leniency, or with more reviews; there is no effect.

Arguments: number of trials (500), then any of ratings, miscalibration, pairs and unequal; all by default.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.effects import Estimate, estimate  # noqa: E402
from peerveil.privacy.group_sums import GroupSums, default_limits  # noqa: E402
from peerveil.private.effects import true_numbers  # noqa: E402
from peerveil.quantities.weights import review_weights  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402
from results import Column, mean_of  # noqa: E402

#: Fixed before any trial was run.
SEED = 20_261_116

#: Deviations of papers' quality, reviewers' leniency and the rest of a score, and the mean score.
QUALITY, LENIENCY, REST, MEAN = 1.2, 0.6, 1.1, 5.5


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A simulated trial.

    Attributes:
        effect: the effect in points.
        share: the share of treated reviewers.
        deviation: the deviation of the effect between papers.
        wider: how many times the deviation of leniency of the others treated reviewers have.
        busy: the load of treated reviewers, if it is another.
    """

    effect: float = 0.0
    share: float = 0.5
    deviation: float = 0.0
    wider: float = 1.0
    busy: int | None = None


SETTINGS = {
    "none": Setting(),
    "small": Setting(effect=0.1),
    "large": Setting(effect=0.8),
    "unbalanced": Setting(effect=0.3, share=0.25),
    "by paper": Setting(effect=0.3, deviation=0.5),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """A conference: reviewer and score of each review, by paper, and who is treated."""

    reviewer: Ints
    score: Floats
    treated: Ints

    @property
    def arm(self) -> Ints:
        """Whether each review is by a treated reviewer."""
        return self.treated[self.reviewer]

    def reviews(self) -> pv.Reviews:
        """The private reviews."""
        papers, size = self.score.shape
        paper = np.repeat(np.arange(papers), size)
        order = np.lexsort((self.reviewer.ravel(), self.score.ravel(), paper))
        return pv.Reviews(
            papers=tuple(f"{number:06d}" for number in range(papers)),
            paper=paper,
            reviewer=self.reviewer.ravel()[order],
            score=self.score.ravel()[order],
            scale=(1.0, 10.0),
        )

    def weights(self, quantity: str) -> Floats:
        """The weight of each review, by paper."""
        size = self.score.shape[1]
        if quantity == "ratings":
            return self.score
        return np.asarray(self.score - (self.score.sum(axis=1, keepdims=True) - self.score) / (size - 1))


def dealt(rng: np.random.Generator, reviewers: int, load: int | Ints, size: int) -> Ints:
    """Reviewers dealt to papers at random, nobody twice to one; with one load for all, or each their own."""
    cards = rng.permutation(np.repeat(np.arange(reviewers), load)).reshape(-1, size)
    while True:
        ordered = np.sort(cards, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not twice.size:
            return cards
        for paper in twice.tolist():
            here, there, other = rng.integers(size), rng.integers(size), rng.integers(cards.shape[0])
            cards[paper, here], cards[other, there] = cards[other, there], cards[paper, here]


def trial(rng: np.random.Generator, setting: Setting, *, reviewers: int = 3_000, load: int = 4, size: int = 3) -> Trial:
    """A conference in which reviewers were treated at random; each has the same load unless the treated are busy."""
    treated = np.zeros(reviewers, dtype=np.int64)
    treated[rng.permutation(reviewers)[: round(setting.share * reviewers)]] = 1
    reviewer = dealt(rng, reviewers, load if setting.busy is None else np.where(treated == 1, setting.busy, load), size)
    effect: Floats = np.asarray(setting.effect + setting.deviation * rng.standard_normal(reviewer.shape[0]))
    quality = rng.normal(0, QUALITY, (reviewer.shape[0], 1))
    lenience: Floats = np.asarray(rng.normal(0, LENIENCY, reviewers)) * np.where(treated == 1, setting.wider, 1.0)
    score = (
        MEAN + quality + lenience[reviewer] + rng.normal(0, REST, reviewer.shape) + treated[reviewer] * effect[:, None]
    )
    return Trial(reviewer=reviewer, score=np.clip(np.rint(score), 1, 10), treated=treated)


def true_effect(setting: Setting) -> float:
    """The mean difference of scores on the scale, with and without treatment."""
    rng = np.random.default_rng(SEED)
    plain = MEAN + math.sqrt(QUALITY**2 + LENIENCY**2 + REST**2) * rng.standard_normal(4_000_000)
    moved = plain + setting.effect + setting.deviation * rng.standard_normal(plain.size)
    return float(np.mean(np.clip(np.rint(moved), 1, 10) - np.clip(np.rint(plain), 1, 10)))


def private(rng: np.random.Generator, made: Trial, quantity: str, *, epsilon: float = 1.0) -> Estimate:
    """The estimate of a release of a trial."""
    return released(rng, made.reviews(), np.where(made.treated == 1, 1, 2), quantity, epsilon=epsilon, randomised=True)


def released(
    rng: np.random.Generator,
    reviews: pv.Reviews,
    group: Ints,
    quantity: str,
    *,
    epsilon: float = 1.0,
    randomised: bool = False,
) -> Estimate:
    """The estimate of a release, by the code of a release except for the source of its noise."""
    weights = pv.weigh(reviews.public("all"), quantity, lone="zero")
    sums = GroupSums(weights=weights, limits=default_limits(weights), randomised=randomised)
    weight = review_weights(reviews, quantity, record=reviews.public("all"), lone="zero")
    scale = sums.sensitivity("reviewer").l1 / epsilon
    truth = true_numbers(sums, reviews, weight, group[reviews.reviewer])
    return estimate(sums, truth + rng.laplace(scale=scale, size=truth.size), scale)


def open_interval(made: Trial, quantity: str) -> tuple[float, float]:
    """The estimate without privacy, and half the width of its 90 % interval."""
    weight, treated = made.weights(quantity), made.arm == 1
    sizes = np.count_nonzero(treated), np.count_nonzero(~treated)
    means = weight[treated].mean(), weight[~treated].mean()
    own, load = np.bincount(made.reviewer.ravel(), weights=weight.ravel()), np.bincount(made.reviewer.ravel())
    variance = sum(
        float(np.sum((own - load * mean)[made.treated == arm] ** 2)) / count**2
        for arm, mean, count in zip((1, 0), means, sizes, strict=True)
    )
    attenuation = 1.0
    if quantity != "ratings":
        first, size = treated.sum(axis=1), weight.shape[1]
        attenuation = float((first * (size - first)).sum() / (size - 1) / (sizes[0] * sizes[1] / weight.size))
    return float(means[0] - means[1]) / attenuation, 1.645 * math.sqrt(variance) / attenuation


def alike(rng: np.random.Generator, *, reviewers: int = 3_000, epsilon: float = 1.0) -> Estimate:
    """The estimated effect of a property that reviewer and paper share, from a release of a conference; 0.2 points."""
    cards = dealt(rng, reviewers, 4, 3)
    values, papers = (rng.choice(3, size, p=(0.6, 0.3, 0.1)) for size in (reviewers, cards.shape[0]))
    score = 10 + papers[:, None] + rng.normal(0, QUALITY, (papers.size, 1)) + 0.4 * (values[cards] == papers[:, None])
    score = score + rng.normal(0, LENIENCY, reviewers)[cards] + rng.normal(0, REST, cards.shape)
    reviews = Trial(reviewer=cards, score=np.clip(np.rint(score / 2), 1, 10), treated=values).reviews()
    weights = pv.weigh(reviews.public("all"), "miscalibration")
    sums = GroupSums(weights=weights, limits=default_limits(weights), pairs=True)
    scale = sums.sensitivity("reviewer").l1 / epsilon
    mine = np.where(values[reviews.reviewer] == papers[reviews.paper], 1, 2)
    weight = review_weights(reviews, "miscalibration", record=reviews.public("all"))
    truth = true_numbers(sums, reviews, weight, mine)
    return estimate(sums, truth + rng.laplace(scale=scale, size=truth.size), scale)


COVERED = Column("covered", "covered", "%", ".1f", target=90.0)
WIDTH = Column("width", "width over that without privacy", digits=".3f", better="lower")
OPEN = Column("open", "covered without privacy", "%", ".1f")
BIAS = Column("bias", "bias", "points", ".4f", target=0.0)


def pairs(out: Output, trials: int) -> None:
    """Coverage of intervals for a property that reviewer and paper share."""
    rng = np.random.default_rng(20_261_118)
    made = [alike(rng) for _ in range(trials)]
    covered, errors = [one.low <= 0.2 <= one.high for one in made], [one.value - 0.2 for one in made]
    width = mean_of([one.high - one.low for one in made])
    columns = Column("effect", "effect", "points"), COVERED, BIAS, Column("width", "width", "points", ".3f")
    table = out.table("pairs", "A property that reviewer and paper share", columns, seeds=20_261_118, draws=trials)
    table.add(0.2, mean_of(covered, 100), mean_of(errors), width)


#: Groups that are not equally spread: name, setting, reviewers, load of the others, reviews per paper and epsilon.
UNEQUAL = (
    ("half, twice the leniency", Setting(wider=2.0), 3_000, 4, 3, 1.0),
    ("quarter, twice the leniency", Setting(share=0.25, wider=2.0), 3_000, 4, 3, 1.0),
    ("tenth, three times the leniency", Setting(share=0.1, wider=3.0), 3_000, 4, 3, 1.0),
    ("tenth, no leniency", Setting(share=0.1, wider=0.0), 3_000, 4, 3, 1.0),
    ("75 of 1,500, 4.5 times the leniency", Setting(share=0.05, wider=4.5), 1_500, 4, 3, 10.0),
    ("100 of 1,500 with ten reviews, others three", Setting(share=1 / 15, busy=10), 1_500, 3, 4, 10.0),
)


def unequal(out: Output, trials: int) -> None:
    """Coverage of intervals where one group is more spread, or has more reviews, than the other."""
    columns = Column("groups", "groups"), Column("random", "randomised"), COVERED, WIDTH, OPEN
    title = "Groups that are not equally spread, without an effect"
    table = out.table("unequal", title, columns, keys=2, seeds="[20261119, row]", draws=trials)
    for number, (name, setting, reviewers, load, size, epsilon) in enumerate(UNEQUAL):
        for randomised in (True, False):
            rng = np.random.default_rng([20_261_119, number])
            covered, ratios, plain = [], [], []
            for _ in range(trials):
                made = trial(rng, setting, reviewers=reviewers, load=load, size=size)
                group = np.where(made.treated == 1, 1, 2)
                how: dict[str, Any] = {"epsilon": epsilon, "randomised": randomised}
                ours = released(rng, made.reviews(), group, "ratings", **how)
                middle, half = open_interval(made, "ratings")
                covered.append(ours.low <= 0 <= ours.high)
                ratios.append((ours.high - ours.low) / (2 * half))
                plain.append(abs(middle) <= half)
            group_way = "yes" if randomised else "no"
            table.add(name, group_way, mean_of(covered, 100), mean_of(ratios), mean_of(plain, 100))


def randomised_trials(out: Output, trials: int, quantity: str) -> None:
    """Coverage, bias and width in each setting, and how often the test finds something."""
    columns = Column("setting", "setting"), Column("effect", "effect", "points", ".3f"), COVERED, BIAS, WIDTH, OPEN
    found = Column("found", "p below 0.1", "%", ".1f")
    title = f"Randomised groups, {quantity}"
    table = out.table(quantity, title, (*columns, found), seeds=f"[{SEED}, setting]", draws=trials)
    for number, (name, setting) in enumerate(SETTINGS.items()):
        truth = true_effect(setting)
        rng = np.random.default_rng([SEED, number])
        covered, errors, ratios, plain, small = [], [], [], [], []
        for _ in range(trials):
            made = trial(rng, setting)
            ours, (middle, half) = private(rng, made, quantity), open_interval(made, quantity)
            covered.append(ours.low <= truth <= ours.high)
            errors.append(ours.value - truth)
            ratios.append((ours.high - ours.low) / (2 * half))
            plain.append(abs(middle - truth) <= half)
            small.append(ours.p_value is not None and ours.p_value < 0.1)
        shares = [mean_of(each, 100) for each in (covered, plain, small)]
        table.add(name, truth, shares[0], mean_of(errors), mean_of(ratios), shares[1], shares[2])


def main() -> None:
    with Output("effects") as out:
        trials = int(out.arguments[0]) if out.arguments else 20 if out.quick else 500
        for what in out.arguments[1:] or ("ratings", "miscalibration", "pairs", "unequal"):
            if what in ("pairs", "unequal"):
                {"pairs": pairs, "unequal": unequal}[what](out, trials)
            else:
                randomised_trials(out, trials, what)


if __name__ == "__main__":
    main()
