"""The published correlation between people's means in two conferences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL
from peerveil.inference.linked import UNKNOWN, Correlations, Interval
from peerveil.inference.linked.tables import estimated
from peerveil.privacy.claims import linked_claim
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import LEAST, LinkedSums, side_of
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.stated_facts import attribute_facts
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.parts import Part
from peerveil.record.public_record import Floats
from peerveil.releases import documents
from peerveil.releases.checking.document import check_public
from peerveil.releases.checking.results import RefusedError
from peerveil.releases.effects.answers import (
    Answer,
    adopted_weights,
    caveats,
    check_names,
    check_weights,
    percent,
    record_document,
    record_facts,
)
from peerveil.releases.effects.crosstabs import count_scale
from peerveil.releases.effects.published import noise_law
from peerveil.releases.linked.tables import Cell, cells_of
from peerveil.reporting.terms import Terms
from peerveil.support.frames import Backend, make_frame

#: Said of a release that protects single reviews.
NOTE_REVIEW = "Who reviewed for both conferences is not protected: the protected unit is a single review."


@dataclass(frozen=True, kw_only=True)
class LinkQuestion:
    """What is correlated.

    Attributes:
        names: the names of both conferences.
        least: people with fewer reviews in one of them do not count.
        level: the level of intervals.
        bins: the number of bins of means in each conference, if people are counted by both; ``None`` if sums over
            people are released, from which the correlation alone follows.
    """

    names: tuple[str, str]
    least: int = LEAST
    level: float = LEVEL
    bins: int | None = None

    #: As of a question about groups.
    by: ClassVar[str] = "conference"
    sizes: ClassVar[None] = None

    def __post_init__(self) -> None:
        if len(set(self.names)) != 2:
            raise InputError(Argument("names"), " must be two different names, one for each conference")
        check_names(self.by, self.names, "names")

    def numbers(self, weights: Sequence[PublicWeights]) -> LinkedSums | LinkedCounts:
        """Return the numbers that are made private, for the public weights of both conferences."""
        first, second = (side_of(each, least=self.least) for each in weights)
        if self.bins is None:
            return LinkedSums(sides=(first, second))
        return LinkedCounts(sides=(first, second), number=self.bins)

    @property
    def declared(self) -> str:
        """What is declared public about people, in words."""
        return "that some people reviewed for both conferences"

    @property
    def stated(self) -> tuple[str, ...]:
        """The same as single facts about the first conference, for a ledger."""
        return self.stated_of(0)

    def stated_of(self, place: int) -> tuple[str, ...]:
        """Return what is declared about one of the conferences, for a ledger."""
        return attribute_facts(f"also reviewed for {self.names[1 - place]}", ("yes",), others=True)

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON."""
        stated = asdict(self) | {"names": list(self.names)}
        return stated if self.bins is not None else {name: stated[name] for name in stated if name != "bins"}


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a release states about the public record of a conference.

    Attributes:
        papers: number of papers.
        loads: public information about loads.
        part: the whole conference, if the release covers a part of its reviews.
        public: what was declared public, in words.
        record_digest: fingerprint of the public weights.
    """

    papers: int
    loads: Loads
    part: Part | None
    public: str
    record_digest: str

    @classmethod
    def of(cls, weights: PublicWeights, public: str) -> Recorded:
        """Return what is stated about public weights."""
        facts = record_facts(weights)
        return cls(public=public, **{name: facts[name] for name in ("papers", "loads", "part", "record_digest")})

    def to_document(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "record": record_document(self),
            "part": None if self.part is None else self.part.to_document(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Recorded:
        """Return what :meth:`to_document` describes."""
        record, part = document["record"], document["part"]
        documents.check_plain(part, "part")
        return cls(
            papers=record["papers"],
            loads=documents.loads_from(record),
            part=None if part is None else Part.from_document(part),
            public=record["public"],
            record_digest=record["digest"],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Answer):
    """The correlation between people's means in two conferences, as published, from :func:`peerveil.correlate`.

    Attributes:
        question: what is correlated.
        estimated: both correlations with their intervals.
        noisy: the noisy numbers, from which these follow.
        second: the public record of the second conference; other attributes describe the first.
        cells: the table of people by their means in both conferences, if they were counted by bins of these.

    The other attributes are those of every answer: claim, public record, terms.

    >>> from peerveil.mechanisms import Laplace
    >>> question = LinkQuestion(names=("2025", "2026"))
    >>> weights = PublicWeights.from_rows([[0, 1]] * 800, load=4)
    >>> sums = question.numbers([weights, weights])
    >>> noise = Laplace(epsilon=3.0).settle(sums.sensitivity("reviewer")).mechanism
    >>> claim = noise.guarantee(sums.sensitivity("reviewer"), "reviewer")
    >>> noisy = np.array([400, 0, 0, 100, 40, 0]) * list(sums.units.values())
    >>> how = {"mechanism": noise.describe(), "guarantee": claim, "public": "all scores", "second_public": "all scores"}
    >>> made = publish(noisy, sums, question, **how)
    >>> round(made.estimate, 2), made.low > 0
    (0.44, True)
    """

    question: LinkQuestion
    estimated: Correlations
    noisy: Floats
    second: Recorded
    cells: tuple[Cell, ...] = ()

    kind: ClassVar[str] = "correlation"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noisy.flags.writeable = False

    @property
    def estimate(self) -> float | None:
        """The correlation of observed means; ``None`` if nothing is known about it."""
        return self.estimated.observed.value

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.estimated.observed.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.estimated.observed.high

    @property
    def trait(self) -> Interval | None:
        """The correlation of the trait behind observed means; ``None`` if scores are hidden."""
        return self.estimated.trait

    @property
    def charged_as(self) -> str:
        """What a ledger calls the release."""
        return charged_as(self.question, self.quantity)

    @property
    def venue(self) -> str:
        """Conference and year, as far as stated."""
        return self.terms.about.venue

    @property
    def title(self) -> str:
        """The title of the report."""
        first, second = self.question.names
        return self.terms.about.title or f"{words_of(self.quantity).label} of the same people: {first} and {second}"

    @property
    def claim(self) -> dict[str, Any] | None:
        """The privacy claim in standard terms."""
        return linked_claim(self.guarantee, dict(zip(self.question.names, (self, self.second), strict=True)))

    @property
    def sentence(self) -> str:
        """The correlation of observed means in words."""
        first, second = self.question.names
        between = f"between people's mean {words_of(self.quantity).label.lower()} in {first} and in {second}"
        observed = self.estimated.observed
        if observed.value is None:
            return f"The correlation {between} is not known: there are too few people in both, or too much noise."
        interval = f"{percent(self.question.level)} interval: {observed.low:.2f} to {observed.high:.2f}"
        sentence = f"The correlation {between} is {observed.value:.2f} ({interval})."
        if observed.low <= 0 <= observed.high:
            sentence += " The interval includes zero: this is no evidence that one tells anything about the other."
        return sentence

    @property
    def trait_sentence(self) -> str:
        """The correlation of the trait in words; empty if scores are hidden."""
        trait = self.trait
        if trait is None:
            return ""
        if trait.value is None:
            return "How much of it is a trait of people cannot be told: the interval of its correlation is -1 to 1."
        ends = [f"{end:.2f}" for end in (trait.low, trait.high)]
        open_ends = [end for end, beyond in zip(ends, (-1, 1), strict=True) if float(end) == beyond]
        sentence = (
            f"The correlation of the trait behind it, which means over very many reviews would have, is "
            f"{trait.value:.2f} ({percent(self.question.level)} interval: {ends[0]} to {ends[1]})."
        )
        if open_ends:
            sentence += f" The interval ends at {' and '.join(open_ends)} because no correlation is beyond."
        return sentence

    @property
    def meaning(self) -> str:
        """What the numbers mean, and what they do not."""
        least = "" if self.question.least == 1 else f" with at least {self.question.least} reviews in each"
        clipped = "Reviews far out are clipped at public limits. " if self.question.bins is None else ""
        words = (
            f"It is about people who reviewed for both conferences{least}. {clipped}Intervals cover both the noise "
            "that was added for privacy and the chance by which these people, and not others, reviewed for both; they "
            "take means to be about normally distributed."
        )
        if self.cells:
            words += " Those of shares in the table cover the noise only."
        if self.trait is not None:
            words += (
                " The trait's correlation rests on the public variance of all weights, and takes it to be the same "
                "among those who reviewed for both."
            )
        return words

    def facts(self) -> list[tuple[str, str]]:
        """Return the correlations as names and sentences."""
        share = self.estimated.reliability
        reliable = "" if share is None else f"about {100 * share:.0f} % of the variance of means is the trait's"
        facts = [
            ("correlation", self.sentence),
            ("trait", self.trait_sentence),
            ("reliability", reliable),
            (
                "table",
                "shares of people by their means in both, in the report and in release.json" if self.cells else "",
            ),
            ("people", f"about {self.estimated.people:,.0f} in both (noisy)"),
            ("meaning", self.meaning),
            ("claim", self.guarantee.summary),
            ("that is", self.guarantee.human),
            *(("note", note) for note in self.notes),
        ]
        return [(name, words) for name, words in facts if words]

    @property
    def noise_scale(self) -> float:
        """The scale of the noise."""
        return linked_scale(self.question, self.mechanism)

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return a frame with one row per pair of bins, if people were counted by them."""
        if not self.cells:
            raise InputError(
                "people were not counted by bins of means; release such a table (", Argument("bins", 3), ")"
            )
        rows = [asdict(cell) for cell in self.cells]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def adopted(self, given: Any) -> tuple[PublicWeights, PublicWeights]:
        """Return the given weights, with what the answer states about the whole conferences."""
        if not isinstance(given, tuple) or len(given) != 2:
            raise RefusedError("the release is of two conferences; give the public scores of both")
        return adopted_weights(self, given[0]), adopted_weights(self.second, given[1])

    def check_record(self, weights: Any) -> str:
        """Return that weights are those of both public records, in words; refuses others."""
        first, second = (
            check_weights(self, weights[0], self.quantity),
            check_weights(self.second, weights[1], self.quantity),
        )
        return f"{self.question.names[0]}: {first}; {self.question.names[1]}: {second}"

    def check_public(self, weights: Any) -> None:
        """Refuse words on what is public that do not fit question and records."""
        super().check_public(weights[0])
        check_public(self.second.public, self.quantity, hidden=weights[1].hidden_span > 0)

    def neighbours(self, weights: Any, unit: Unit) -> Neighbours:
        """Return the neighbour relation of the claim."""
        del unit  # its words differ, not the relation
        return linked_neighbours(weights)

    def caveats(self, weights: Any, unit: Unit) -> tuple[str, ...]:
        """Return the notes that the answer must have."""
        return linked_caveats(weights, unit)

    def sensitivity(self, weights: Any, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the numbers that were made private."""
        return self.question.numbers(weights).sensitivity(unit)

    def again(self, weights: Any, guarantee: Guarantee) -> Correlation:
        """Return the correlations, recomputed from noisy numbers and public records."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("mechanism", "public", "notes", "terms")}
        return publish(
            self.noisy.copy(),
            self.question.numbers(weights),
            self.question,
            guarantee=guarantee,
            charge=self.charge,
            second_public=self.second.public,
            **facts,
        )

    def numbers(self) -> list[float | None]:
        """Return all estimates."""
        made = self.estimated
        trait = made.trait or Interval(value=None, low=math.nan, high=math.nan)
        ends = [None if made.trait is None else end for end in (trait.low, trait.high)]
        observed = made.observed
        cells = [number for cell in self.cells for number in cell.numbers()]
        return [observed.value, observed.low, observed.high, trait.value, *ends, made.people, made.reliability, *cells]

    def noise_limits(self, weights: Any, rare: float) -> Iterator[tuple[str, float, float, float]]:
        """Yield each noisy number with limits beyond which no conference has it, whatever the noise."""
        sums = self.question.numbers(weights)
        most = float(min(side.people for side in sums.sides))
        if isinstance(sums, LinkedCounts):
            slack = self.noise_scale * float(np.log(2 * rare * self.noisy.size))
            yield from (("a count", count, -slack, most + slack) for count in self.noisy.tolist())
            return
        ranges = {
            **dict.fromkeys(("people", "loads_1", "loads_2", "loads", "alike", "apart"), (0.0, most)),
            **dict.fromkeys(("sum_1", "sum_2"), (-most, most)),
            "difference": (-most / 2, most / 2),
        }
        slack = self.noise_scale * np.log(rare)
        for (name, unit), number in zip(sums.units.items(), self.noisy.tolist(), strict=True):
            low, high = ranges[name]
            yield name, number, low * unit - slack, high * unit + slack

    def statements(self) -> tuple[str, ...]:
        """Return the correlations in words, and what they mean."""
        return tuple(filter(None, (self.sentence, self.trait_sentence, self.meaning)))

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of release.csv: the correlation of observed means and, if it is known, that of the trait."""
        made = {"observed": self.estimated.observed, "trait": self.estimated.trait}
        return [{"what": what} | asdict(interval) for what, interval in made.items() if interval is not None]

    def html(self) -> str:
        """Return the report."""
        from peerveil.releases.linked.page import correlation_html  # noqa: PLC0415 - slow to load

        return correlation_html(self)

    def _chart(self) -> Any:
        """Return the chart of the report."""
        from peerveil.releases.linked.page import correlation_chart  # noqa: PLC0415 - slow to load

        return correlation_chart(self)

    def _own_document(self) -> dict[str, Any]:
        stated = asdict(self.estimated) | {"sentence": self.sentence}
        cells = {"cells": [asdict(cell) for cell in self.cells]} if self.cells else {}
        return {"correlation": stated, "noisy": self.noisy.tolist(), "second": self.second.to_document()} | cells

    @classmethod
    def _own_fields(cls, document: dict[str, Any]) -> dict[str, Any]:
        question, stated = document["question"], document["correlation"]
        people, share = documents.vector_from([stated["people"]], "people"), stated["reliability"]
        return {
            "question": LinkQuestion(**question | {"names": tuple(question["names"])}),
            "estimated": Correlations(
                people=float(people[0]),
                observed=_interval_from(stated["observed"]) or UNKNOWN,
                trait=_interval_from(stated["trait"]),
                reliability=None if share is None else float(share),
            ),
            "noisy": documents.vector_from(document["noisy"], "noisy"),
            "second": Recorded.from_document(document["second"]),
            "cells": tuple(Cell.from_document(cell) for cell in document.get("cells", ())),
        }

    def __repr__(self) -> str:
        found = "unknown" if self.estimate is None else f"{self.estimate:.2f}"
        interval = f"{found} ({self.low:.2f} to {self.high:.2f})"
        return (
            f"Correlation({self.quantity} of {' and '.join(self.question.names)}: {interval}; {self.guarantee.summary})"
        )


def _interval_from(stated: dict[str, Any] | None) -> Interval | None:
    if stated is None:
        return None
    value = stated["value"]
    ends = {name: float(stated[name]) for name in ("low", "high")}
    return Interval(value=None if value is None else float(value), **ends)


def charged_as(question: LinkQuestion, quantity: str) -> str:
    """Return what a ledger calls the release of a correlation."""
    return f"correlation of {quantity} in {' and '.join(question.names)}"


def linked_neighbours(weights: Sequence[PublicWeights]) -> Neighbours:
    """Return the neighbour relation of a release of two conferences."""
    parts = [each.part for each in weights if each.part is not None]
    return Neighbours(
        hidden=any(each.hidden_span > 0 for each in weights),
        part=bool(parts),
        declared=any(part.number == "declared" for part in parts),
        linked=True,
    )


def linked_caveats(weights: Sequence[PublicWeights], unit: Unit) -> tuple[str, ...]:
    """Return the notes that a correlation must have."""
    notes = [note for each in weights for note in caveats(each, "reviewer")]
    return tuple(dict.fromkeys(([NOTE_REVIEW] if unit == "review" else []) + notes))


def linked_scale(question: LinkQuestion, mechanism: dict[str, Any]) -> float:
    """Return the scale of the noise in sums, or in counts with the number of bins of the question."""
    if question.bins is None:
        return noise_law(mechanism).scale
    if mechanism.get("bins") != question.bins:
        raise InputError(f"a table of {question.bins} bins in each conference must have noise on so many")
    return count_scale(mechanism)


def publish(
    noisy: Floats,
    sums: LinkedSums | LinkedCounts,
    question: LinkQuestion,
    *,
    mechanism: dict[str, Any],
    guarantee: Guarantee,
    public: str,
    second_public: str,
    notes: tuple[str, ...] = (),
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
    charge: str | None = None,
) -> Correlation:
    """Return the correlation that follows from noisy numbers and both public records."""
    first, second = (side.weights for side in sums.sides)
    scale, level = linked_scale(question, mechanism), question.level
    return Correlation(
        question=question,
        estimated=estimated(sums, noisy, scale, level=level),
        noisy=noisy,
        cells=cells_of(sums, noisy, scale, level=level) if isinstance(sums, LinkedCounts) else (),
        second=Recorded.of(second, second_public),
        guarantee=guarantee,
        mechanism=mechanism,
        public=public,
        notes=notes,
        terms=terms,
        charge=charge,
        **record_facts(first),
    )
