"""Published distributions of a statistic for each value of an attribute of reviewers, from one table of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.effects import LEVEL, check_level
from peerveil.inference.effects.crosstabs import GroupEstimate, estimate_groups
from peerveil.mechanisms import Histogram, mechanism_from
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.bins import Bins, span_words
from peerveil.privacy.group_sums import checked_sizes
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import GroupClaim, counts_claim
from peerveil.privacy.sensitivity import Sensitivity, crosstab_sensitivity
from peerveil.privacy.stated_facts import attribute_facts
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Ints
from peerveil.releases import documents
from peerveil.releases.effects.answers import Answer, check_names, percent, record_facts, sizes_words
from peerveil.reporting.terms import Terms
from peerveil.support.frames import Backend, make_frame

#: The name of the group of all reviewers with another value than those stated.
OTHERS = "others"


@dataclass(frozen=True, kw_only=True)
class CrosstabQuestion:
    """By which attribute reviewers are counted.

    Attributes:
        by: the attribute of reviewers.
        values: its values, each of which is a group.
        others: whether reviewers with other values exist, who are one more group.
        level: the level of intervals.
        sizes: the public number of reviewers with each value; ``None`` if these are not public.

    >>> CrosstabQuestion(by="seniority", values=("senior", "junior"), others=True).groups
    ('senior', 'junior', 'others')
    """

    by: str
    values: tuple[str, ...]
    others: bool = False
    level: float = LEVEL
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_names(self.by, self.groups, "values")
        check_level(self.level)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return (*self.values, OTHERS) if self.others else self.values

    @property
    def declared(self) -> str:
        """What is declared public about groups, in words."""
        *first, last = map(repr, self.values)
        among = f"{', '.join(first)} or {last}" if first else last
        third = ", or anything else" if self.others else ""
        also = "each of these groups has reviews" if self.sizes is None else sizes_words(self.values, self.sizes)
        return f"that every reviewer's {self.by} is {among}{third}, and that {also}"

    @property
    def stated(self) -> tuple[str, ...]:
        """The same as single facts, for a ledger."""
        return attribute_facts(self.by, self.values, others=self.others, sizes=self.sizes)

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON."""
        stated = asdict(self) | {"values": list(self.values)}
        sizes = stated.pop("sizes")
        return stated if sizes is None else stated | {"sizes": list(sizes)}

    def all_sizes(self, weights: PublicWeights) -> tuple[int, ...] | None:
        """Return the public sizes of all groups, others included; ``None`` if they are not public."""
        if self.sizes is None:
            return None
        sizes = checked_sizes(self.sizes, len(self.values), weights, others=self.others)
        return (*sizes, weights.reviewers - sum(sizes)) if self.others else sizes


@dataclass(frozen=True, kw_only=True, eq=False)
class Crosstab(Answer):
    """How a statistic is distributed in each group of reviewers, as published, from :func:`peerveil.release_by`.

    Attributes:
        question: by which attribute reviewers are counted.
        estimated: the estimated distribution of each group, with intervals for the noise.
        noisy: the noisy counts, one row per group and one column per bin.
        outside: the noisy number of reviewers without a kept review; ``None`` if that of the others is public.
        bins: the bins, from public data.

    The other attributes are those of every answer: claim, public record, terms.

    >>> from peerveil.mechanisms import Histogram
    >>> weights = PublicWeights.from_rows([[1, 2]] * 100, load=2, quantity="ratings")
    >>> question = CrosstabQuestion(by="arm", values=("treated", "control"))
    >>> noise = Histogram(scale=6.0, bins=3)
    >>> claim = noise.guarantee(crosstab_sensitivity(weights, "reviewer"), "reviewer")
    >>> noisy = np.array([[10, 20, 20], [20, 20, 10]])
    >>> made = publish(noisy, None, weights, question, mechanism=noise.describe(), guarantee=claim, public="all scores")
    >>> made.to_frame().columns
    ['group', 'from', 'to', 'noisy', 'reviewers', 'share', 'share_lower', 'share_upper']
    """

    question: CrosstabQuestion
    estimated: tuple[GroupEstimate, ...]
    noisy: Ints
    outside: int | None = None
    bins: Bins

    kind: ClassVar[str] = "crosstab"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noisy.shape != (len(self.groups), self.bins.number) or len(self.estimated) != len(self.groups):
            raise InputError("counts must have one row per group and one column per bin")
        self.noisy.flags.writeable = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return self.question.groups

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release; those of groups of papers share one charge."""
        return self.charged_jointly(charged_as(self.question, self.quantity))

    @property
    def title(self) -> str:
        """The title of the report."""
        return self.terms.about.title or f"{words_of(self.quantity).title}, by {self.question.by}"

    @property
    def noise_scale(self) -> float:
        """The scale of the noise in each count."""
        return count_scale(self.mechanism)

    @property
    def meaning(self) -> str:
        """What the numbers mean, and what they do not."""
        but = "" if self.question.sizes is None else "; the sizes of groups are public"
        return (
            f"Reviewers were counted by {self.question.by} and by {words_of(self.quantity).mean}, and noise was added "
            f"to every count{but}. The {percent(self.question.level)} intervals cover this noise only: they are about "
            "these reviewers, not about others who might have reviewed. Differences between groups need not be caused "
            "by what defines the groups."
        )

    @property
    def precision(self) -> str:
        """How well the shares of each group are known, in words."""
        each = ", ".join(f"{group} {one.reach:d}" for group, one in zip(self.groups, self.estimated, strict=True))
        level = percent(self.question.level)
        return f"the {level} intervals of shares reach at most so many percentage points from the estimates: {each}"

    def __getitem__(self, group: str) -> GroupEstimate:
        """Return the estimate of a group by its name."""
        if group not in self.groups:
            raise InputError(f"group must be one of {', '.join(map(repr, self.groups))}, got {group!r}")
        return self.estimated[self.groups.index(group)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per group and bin."""
        return [
            {
                "group": group,
                "from": float(self.bins.low[place]),
                "to": float(self.bins.high[place]),
                "noisy": int(self.noisy[number, place]),
                "reviewers": one.counts[place],
                "share": one.shares[place],
                "share_lower": one.low[place],
                "share_upper": one.high[place],
            }
            for number, (group, one) in enumerate(zip(self.groups, self.estimated, strict=True))
            for place in range(self.bins.number)
        ]

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return a frame with one row per group and bin."""
        rows = self.rows()
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def facts(self) -> list[tuple[str, str]]:
        """Return sizes of groups, the most frequent bin of each, and the claim, as names and sentences."""
        return [
            *((group, self._summary(one)) for group, one in zip(self.groups, self.estimated, strict=True)),
            ("meaning", self.meaning),
            ("claim", self.guarantee.summary),
            ("that is", self.guarantee.human),
            *(("note", note) for note in self.notes),
        ]

    def _summary(self, one: GroupEstimate) -> str:
        place = int(np.argmax(one.shares))
        share, low, high = (100 * ends[place] for ends in (one.shares, one.low, one.high))
        between = f"about {one.size:,.0f} reviewers ({one.size_low:,.0f} to {one.size_high:,.0f})"
        return (
            f"{between if self.question.sizes is None else f'{one.size:,.0f} reviewers (public)'}; "
            f"{share:.0f} % ({low:.0f} to {high:.0f} %) of them {span_words(self.bins, place)}"
        )

    def sensitivity(self, weights: PublicWeights, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the counts."""
        return crosstab_sensitivity(weights, unit, sizes=self.question.sizes is not None)

    def group_claim(self, weights: PublicWeights) -> GroupClaim:
        """Return its claim with what determines the joint claim of several groups of papers."""
        assert self.guarantee.unit is not None  # noqa: S101 - our own claims have one
        counts = self.sensitivity(weights, self.guarantee.unit).counts
        return counts_claim(self.guarantee, weights, counts=counts, scale=self.noise_scale)

    def again(self, weights: PublicWeights, guarantee: Guarantee) -> Crosstab:
        """Return the release, recomputed from its noisy counts and the public record."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("mechanism", "public", "notes", "terms")}
        counts = (self.noisy.copy(), self.outside, weights, self.question)
        return publish(*counts, guarantee=guarantee, charge=self.charge, **facts)

    def numbers(self) -> list[float | None]:
        """Return the ends of bins, and all estimated numbers."""
        ends = [*self.bins.low.tolist(), *self.bins.high.tolist()]
        return [*ends, *(number for group in self.estimated for number in group.numbers())]

    def noise_limits(self, weights: PublicWeights, rare: float) -> Iterator[tuple[str, float, float, float]]:
        """Yield each count, and their sum, with limits that noise exceeds rarely."""
        cells = [*self.noisy.ravel().tolist(), *([] if self.outside is None else [self.outside])]
        rarely = np.log(2 * rare * (len(cells) + 1))  # any of them
        total, slack = float(people(weights)), self.noise_scale * rarely
        for cell in cells:
            yield "a count", float(cell), -slack, total + slack
        # Chernoff's bound: the exponent x / scale makes it exp(4/3 C x^2 - x t) for C counts, if x is at most 1/2.
        spread = self.noise_scale * max(np.sqrt(16 / 3 * len(cells) * rarely), 4 * rarely)
        yield "the sum of counts", float(sum(cells)), total - spread, total + spread

    def statements(self) -> tuple[str, ...]:
        """Return what the report says about the numbers."""
        return (self.meaning,)

    def html(self) -> str:
        """Return the report."""
        from peerveil.releases.effects.page import crosstab_html  # noqa: PLC0415 - slow to load

        return crosstab_html(self)

    def _chart(self) -> Any:
        """Return the chart of the report."""
        from peerveil.releases.effects.page import crosstab_chart  # noqa: PLC0415 - slow to load

        return crosstab_chart(self)

    def _own_document(self) -> dict[str, Any]:
        groups = [
            {"name": group, "noisy": noisy} | {key: _listed(value) for key, value in asdict(one).items()}
            for group, one, noisy in zip(self.groups, self.estimated, self.noisy.tolist(), strict=True)
        ]
        bins = {name: getattr(self.bins, name).tolist() for name in ("low", "high")}
        return {"bins": bins, "groups": groups, "outside": self.outside}

    @classmethod
    def _own_fields(cls, document: dict[str, Any]) -> dict[str, Any]:
        stated, groups = document["question"], document["groups"]
        lists = {key: tuple(stated[key]) for key in ("values", "sizes") if stated.get(key) is not None}
        question = CrosstabQuestion(**stated | lists)
        if tuple(group["name"] for group in groups) != question.groups:
            raise InputError("groups must be those of the question, in the same order")
        bins = Bins.even(*(documents.vector_from(document["bins"][end], f"bins/{end}") for end in ("low", "high")))
        estimated = tuple(_estimate_from(group) for group in groups)
        if any(
            len({len(one.counts), len(one.shares), len(one.low), len(one.high), bins.number}) > 1 for one in estimated
        ):
            raise InputError("every group must have one number per bin")
        return {
            "question": question,
            "estimated": estimated,
            "noisy": np.array([group["noisy"] for group in groups], dtype=np.int64),
            "outside": document["outside"],
            "bins": bins,
        }

    def __repr__(self) -> str:
        return f"Crosstab({self.quantity} by {self.question.by}: {', '.join(self.groups)}; {self.guarantee.summary})"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _estimate_from(group: dict[str, Any]) -> GroupEstimate:
    numbers: dict[str, Any] = {}
    for key in group.keys() - {"name", "noisy"}:
        several = isinstance(group[key], list)
        vector = documents.vector_from(group[key] if several else [group[key]], f"groups/{key}").tolist()
        numbers[key] = tuple(vector) if several else vector[0]
    return GroupEstimate(**numbers)


def charged_as(question: CrosstabQuestion, quantity: str) -> str:
    """Return what a ledger calls the release by an attribute."""
    return f"{quantity} by {question.by}"


def people(weights: PublicWeights) -> int:
    """Return the public number of reviewers who are counted, those without a kept review included if they are."""
    return weights.part.whole.reviewers if is_open(weights.part) else weights.reviewers


def count_scale(mechanism: dict[str, Any]) -> float:
    """Return the scale of the noise in counts, with a stated number of bins."""
    known = mechanism_from(mechanism)
    scale = known.scale_on_counts if isinstance(known, Histogram) and known.bins is not None else None
    if scale is None:
        raise InputError("a release by an attribute has histogram noise of a stated scale, with a number of bins")
    return scale


def publish(
    noisy: Ints,
    outside: int | None,
    weights: PublicWeights,
    question: CrosstabQuestion,
    *,
    mechanism: dict[str, Any],
    guarantee: Guarantee,
    public: str,
    notes: tuple[str, ...] = (),
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
    charge: str | None = None,
) -> Crosstab:
    """Return the release that follows from noisy counts and the public record."""
    if (outside is not None) != is_open(weights.part):
        raise InputError("reviewers without a kept review are counted exactly if their number is not public")
    scale, sizes = count_scale(mechanism), question.all_sizes(weights)
    return Crosstab(
        question=question,
        estimated=estimate_groups(noisy, people(weights), scale, level=question.level, outside=outside, sizes=sizes),
        noisy=noisy,
        outside=outside,
        bins=bins_of(weights, mechanism["bins"]),
        guarantee=guarantee,
        mechanism=mechanism,
        public=public,
        notes=notes,
        terms=terms,
        charge=charge,
        **record_facts(weights),
    )
