"""The published effect: the difference between two groups of reviewers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.effects import LEVEL, Estimate, estimate
from peerveil.mechanisms import mechanism_from
from peerveil.privacy.group_sums import GroupSums
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import GroupClaim
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.stated_facts import attribute_facts
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.releases import documents
from peerveil.releases.effects.answers import (
    FILES,
    NOTE_REVIEW,
    OWN_FILES,
    Answer,
    check_names,
    percent,
    record_facts,
    sizes_words,
)
from peerveil.reporting.terms import Terms

__all__ = ["FILES", "NOTE_REVIEW", "OWN_FILES", "Effect", "Question", "charged_as", "noise_law", "publish"]

#: The names of the groups where reviewer and paper share a property, or do not.
PAIRS = ("same", "other")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an effect compares.

    Attributes:
        by: the attribute of reviewers that defines the groups.
        groups: the values of the attribute for the two groups.
        others: whether reviewers may be in neither group.
        randomised: whether the groups were assigned at random, independently of papers.
        limits: the limits at which weights were clipped.
        icc: the stated intraclass correlation; ``None`` if it was learnt.
        level: the level of the interval.
        sizes: the public number of reviewers of each group; ``None`` if these are not public.
        pairs: whether reviews are compared whose reviewer and paper have the same value of the attribute.
    """

    by: str
    groups: tuple[str, str]
    others: bool = False
    randomised: bool = False
    limits: tuple[float, float]
    icc: float | None = None
    level: float = LEVEL
    sizes: tuple[int, int] | None = None
    pairs: bool = False

    def __post_init__(self) -> None:
        check_names(self.by, self.groups, "compare")
        if len(self.groups) != 2 or (self.pairs and self.groups != PAIRS):
            raise InputError("an effect compares two groups")

    def sums(self, weights: Any) -> GroupSums:
        """Return the numbers that are made private, for public weights."""
        return GroupSums(
            weights=weights,
            limits=self.limits,
            others=self.others,
            randomised=self.randomised,
            icc=self.icc,
            sizes=self.sizes,
            pairs=self.pairs,
        )

    @property
    def declared(self) -> str:
        """What is declared public about groups, in words."""
        if self.pairs:
            return f"the {self.by} of every paper"
        first, second = self.groups
        third = ", or anything else" if self.others else ""
        also = "both groups have reviews" if self.sizes is None else sizes_words(self.groups, self.sizes)
        return f"that every reviewer's {self.by} is {first!r} or {second!r}{third}, and that {also}"

    @property
    def stated(self) -> tuple[str, ...]:
        """The same as single facts, for a ledger; properties of papers are no facts about reviewers."""
        if self.pairs:
            return ()
        return attribute_facts(self.by, self.groups, others=self.others, sizes=self.sizes)

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON."""
        stated = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return {key: value for key, value in stated.items() if value or key not in ("sizes", "pairs")}


@dataclass(frozen=True, kw_only=True, eq=False)
class Effect(Answer):
    """The difference between two groups of reviewers, as it is published, from :func:`peerveil.effect`.

    Attributes:
        question: what is compared.
        estimated: the estimate and its interval, with estimated sizes of the groups.
        noisy: the noisy numbers, from which the estimate follows.

    The other attributes are those of every answer: claim, public record, terms.

    >>> import numpy as np
    >>> from peerveil.mechanisms import Laplace
    >>> from peerveil.quantities.weights import PublicWeights
    >>> question = Question(by="arm", groups=("treated", "control"), limits=(0.0, 1.0), icc=0.2)
    >>> sums = question.sums(PublicWeights.from_rows([[0, 1]] * 800, load=4))
    >>> noise = Laplace(epsilon=1.0).settle(sums.sensitivity("reviewer")).mechanism
    >>> claim = noise.guarantee(sums.sensitivity("reviewer"), "reviewer")
    >>> noisy = np.array([80.0, 800.0]) * list(sums.units.values())
    >>> made = publish(noisy, sums, question, mechanism=noise.describe(), guarantee=claim, public="all scores")
    >>> made.groups, round(made.estimate, 2), made.low > 0
    (('treated', 'control'), 0.2, True)
    """

    question: Question
    estimated: Estimate
    noisy: Floats

    kind: ClassVar[str] = "effect"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noisy.flags.writeable = False

    @property
    def estimate(self) -> float:
        """The difference of the mean weight: first group minus second."""
        return self.estimated.value

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.estimated.low

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.estimated.high

    @property
    def p_value(self) -> float | None:
        """The p-value of the randomisation test; ``None`` unless groups were randomised."""
        return self.estimated.p_value

    @property
    def groups(self) -> tuple[str, str]:
        """The two groups: the difference is that of the first from the second."""
        return self.question.groups

    @property
    def labels(self) -> tuple[str, str]:
        """The words by which both groups of reviews are told apart."""
        first, second = self.groups
        by = self.question.by
        return (
            (f"with the same {by}", f"with another {by}")
            if self.question.pairs
            else (f"by {first!r}", f"by {second!r}")
        )

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release; those of groups of papers share one charge."""
        return self.charged_jointly(charged_as(self.question, self.quantity))

    @property
    def title(self) -> str:
        """The title of the report."""
        asked = f"by {self.question.by}: {' and '.join(self.groups)}"
        if self.question.pairs:
            asked = f"where reviewer and paper have the same {self.question.by}"
        return self.terms.about.title or f"{words_of(self.quantity).label} {asked}"

    @property
    def sentence(self) -> str:
        """The effect in words."""
        first, second = self.groups
        by, than = f"by {first!r} reviewers", f"by {second!r}"
        if self.question.pairs:
            by, than = f"by reviewers with the {self.question.by} of the paper", "by other reviewers of that paper"
        unit, interval = words_of(self.quantity).unit, f"{self.low:.2f} to {self.high:.2f}"
        way = "higher" if self.estimate >= 0 else "lower"
        seen = f"{abs(self.estimate):.2f}{unit} {way} on average than {than}"
        sentence = f"{words_of(self.quantity).label} {by}: {seen} "
        sentence += f"({percent(self.question.level)} interval of the difference: {interval})."
        if self.low <= 0 <= self.high:
            sentence += " The interval includes zero: this is no evidence of a difference."
        return sentence

    @property
    def meaning(self) -> str:
        """What the number means, and what it does not."""
        cause = "Groups were not assigned at random: the difference need not be caused by what defines them."
        if self.question.randomised:
            cause = "Groups were assigned at random, so the difference is an effect of the assignment."
        spread = ", and for groups that are not equally spread"
        if self.question.icc is not None:
            spread = " as stated, and takes loads and spread of reviewers to be the same in both groups"
        if self.question.pairs:
            spread = ""
        return (
            f"{cause} The interval covers both the noise that was added for privacy and the chance by which these "
            f"reviewers, and not others, reviewed; it allows for how alike the reviews of one reviewer are{spread}."
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return the effect as names and sentences."""
        first, second = (f"{size:,.0f}" for size in self.estimated.sizes)
        about, known = ("about ", "noisy") if self.question.sizes is None else ("", "public")
        test = "" if self.p_value is None else f"p = {self.p_value:.3g} (randomisation test)"
        facts = [
            ("effect", self.sentence),
            ("test", test),
            ("groups", f"{about}{first} reviews {self.labels[0]}, {second} {self.labels[1]} ({known})"),
            ("meaning", self.meaning),
            ("claim", self.guarantee.summary),
            ("that is", self.guarantee.human),
            *(("note", note) for note in self.notes),
        ]
        return [(name, words) for name, words in facts if words]

    @property
    def noise_scale(self) -> float:
        """The scale of the Laplace noise."""
        return noise_law(self.mechanism).scale

    def sensitivity(self, weights: PublicWeights, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the sums, counts and squares."""
        return self.question.sums(weights).sensitivity(unit)

    def group_claim(self, weights: PublicWeights) -> GroupClaim:
        """Return its claim with what determines the joint claim of several groups of papers."""
        return sums_claim(self.guarantee, self.question.sums(weights), self.noise_scale)

    def again(self, weights: PublicWeights, guarantee: Guarantee) -> Effect:
        """Return the effect, recomputed from its noisy numbers and the public record."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("mechanism", "public", "notes", "terms")}
        sums = self.question.sums(weights)
        return publish(self.noisy.copy(), sums, self.question, guarantee=guarantee, charge=self.charge, **facts)

    def numbers(self) -> list[float | None]:
        """Return estimate, interval, sizes and p-value."""
        return [self.estimate, self.low, self.high, *self.estimated.sizes, self.p_value]

    def noise_limits(self, weights: PublicWeights, rare: float) -> Iterator[tuple[str, float, float, float]]:
        """Yield each noisy number with limits beyond which no conference has it, whatever the noise."""
        sums = self.question.sums(weights)
        reviews, half = weights.low.size, sums.width / 2
        ranges = {
            **dict.fromkeys(("sum_1", "sum_2"), (-half * reviews, half * reviews)),
            **dict.fromkeys(("reviews_1", "reviews_2", "mixed"), (0.0, float(reviews))),
            **dict.fromkeys(("squares", "squares_1", "squares_2"), (0.0, sums.cap * weights.reviewers)),
        }
        slack = self.noise_scale * np.log(rare)
        for (name, unit), number in zip(sums.units.items(), self.noisy.tolist(), strict=True):
            low, high = ranges[name]
            yield name, number, low * unit - slack, high * unit + slack

    def statements(self) -> tuple[str, ...]:
        """Return the effect in words, and what it means."""
        return (self.sentence, self.meaning)

    def rows(self) -> list[dict[str, Any]]:
        """Return the row of release.csv: groups, estimate, interval, p-value and sizes."""
        names = ("estimate", "low", "high", "first_reviews", "second_reviews", "p_value")
        first, second = self.groups
        return [{"first": first, "second": second} | dict(zip(names, self.numbers(), strict=True))]

    def html(self) -> str:
        """Return the report."""
        from peerveil.releases.effects.page import effect_html  # noqa: PLC0415 - slow to load

        return effect_html(self)

    def _chart(self) -> Any:
        """Return the chart of the report."""
        from peerveil.releases.effects.page import effect_chart  # noqa: PLC0415 - slow to load

        return effect_chart(self)

    def _own_document(self) -> dict[str, Any]:
        stated = asdict(self.estimated) | {"sizes": list(self.estimated.sizes), "sentence": self.sentence}
        return {"effect": stated, "noisy": self.noisy.tolist()}

    @classmethod
    def _own_fields(cls, document: dict[str, Any]) -> dict[str, Any]:
        question, stated = document["question"], document["effect"]
        numbers = {key: float(documents.vector_from([stated[key]], key)[0]) for key in ("value", "low", "high")}
        sizes = tuple(documents.vector_from(stated["sizes"], "sizes").tolist())
        parts = {"groups": tuple(question["groups"]), "limits": tuple(map(float, question["limits"]))}
        if question.get("sizes") is not None:
            parts["sizes"] = tuple(question["sizes"])
        return {
            "question": Question(**question | parts),
            "estimated": Estimate(**numbers, sizes=sizes, p_value=stated["p_value"]),
            "noisy": documents.vector_from(document["noisy"], "noisy"),
        }

    def __repr__(self) -> str:
        difference = f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"
        return f"Effect({self.quantity} by {self.question.by}: {difference}; {self.guarantee.summary})"


def sums_claim(claim: Guarantee, sums: GroupSums, scale: float) -> GroupClaim:
    """Return the claim of an effect with what determines the joint claim of several groups of papers."""
    return GroupClaim(claim=claim, sums=sums.costs(scale) if claim.unit == "reviewer" else None)


def charged_as(question: Question, quantity: str) -> str:
    """Return what a ledger calls the release of an effect."""
    return f"effect of {'the same ' if question.pairs else ''}{question.by} on {quantity}"


def publish(
    noisy: Floats,
    sums: GroupSums,
    question: Question,
    *,
    mechanism: dict[str, Any],
    guarantee: Guarantee,
    public: str,
    notes: tuple[str, ...] = (),
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
    charge: str | None = None,
) -> Effect:
    """Return the effect that follows from noisy numbers and the public record."""
    return Effect(
        question=question,
        estimated=estimate(sums, noisy, noise_law(mechanism).scale, level=question.level),
        noisy=noisy,
        guarantee=guarantee,
        mechanism=mechanism,
        public=public,
        notes=notes,
        terms=terms,
        charge=charge,
        **record_facts(sums.weights),
    )


def noise_law(mechanism: dict[str, Any]) -> LaplaceLaw:
    """Return the law of the noise of an effect, which is Laplace."""
    known = mechanism_from(mechanism)
    law = None if known is None or known.stated is None else known.stated.law
    if not isinstance(law, LaplaceLaw):
        raise InputError("an effect has Laplace noise of a stated scale")
    return law
