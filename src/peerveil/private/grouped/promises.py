"""Promises of releases about groups of reviewers: what they would state, cost and show, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from peerveil.inference.effects import LEVEL
from peerveil.mechanisms import Laplace
from peerveil.planning.crosstabs import CrosstabPlan
from peerveil.planning.effects import EffectPlan
from peerveil.planning.linked import CorrelationPlan
from peerveil.privacy.guarantee import Guarantee, caution
from peerveil.private.answers import ReadyAnswer
from peerveil.private.effects import prepare_effect
from peerveil.private.grouped.tracks import ReadyTracks
from peerveil.private.ledger import Quote
from peerveil.private.promises import cost_facts, quotes_of
from peerveil.private.release import check_dataset
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone, words_of
from peerveil.quantities.functions import QuantityLike
from peerveil.record.public_record import PublicRecord
from peerveil.releases.release import Release
from peerveil.support.html_tables import table


@dataclass(frozen=True, kw_only=True)
class AnswerPromise:
    """What a release about groups of reviewers would state, cost and show. Nothing in it comes from private data.

    Attributes:
        what: what would be released, in words.
        public: what was stated to be public, in words.
        guarantee: the privacy claim.
        mechanism: name and parameters of the mechanism.
        plan: the smallest effect that would be seen, or how precise shares of groups or a correlation would be.
        quotes: the cost to each budget of the data set; empty without a ledger.
        notes: what was left out, and what is not protected.

    >>> import peerveil as pv
    >>> plan = pv.plan_effect(pv.PublicWeights.from_rows([[0, 1]] * 400, load=2), epsilons=(1.0,))
    >>> claim = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> made = AnswerPromise(what="ratings by arm", public="all scores", guarantee=claim, mechanism={}, plan=plan)
    >>> dict(made.facts())["precision"]
    'an effect of 0.105 would be seen, with an interval of ±0.0699; without noise one of 0.0963'
    """

    what: str
    public: str
    guarantee: Guarantee
    mechanism: dict[str, Any]
    plan: EffectPlan | CrosstabPlan | CorrelationPlan
    quotes: tuple[Quote, ...] = ()
    notes: tuple[str, ...] = ()

    def facts(self) -> list[tuple[str, str]]:
        """Return the promise as names and sentences."""
        claim = self.guarantee
        facts = [
            ("release", self.what),
            ("claim", claim.summary),
            ("that is", claim.human),
            ("caution", caution(claim.epsilon)),
            *cost_facts(self.quotes),
            ("precision", self.plan.sentence),
            ("assumed", self.plan.assumption.removeprefix("Assumed: ")),
            ("public", self.public),
            *(("note", note) for note in self.notes),
            ("promise", claim.promise),
            ("limits", claim.not_protected),
        ]
        return [(name, words) for name, words in facts if words]

    def to_document(self) -> dict[str, Any]:
        """Return the promise as JSON."""
        claim = self.guarantee
        return {name: getattr(self, name) for name in ("what", "public", "mechanism")} | {
            "guarantee": claim.summary,
            "promise": claim.promise,
            "not_protected": claim.not_protected,
            "caution": caution(claim.epsilon),
            "plan": asdict(self.plan),
            "costs": [asdict(quote) for quote in self.quotes],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"AnswerPromise({self.what}; {self.guarantee.summary}; {self.plan.sentence})"

    def _repr_html_(self) -> str:
        return table("Promise: nothing was drawn or charged", self.facts())


def promised(
    ready: ReadyAnswer, plan: EffectPlan | CrosstabPlan, ledger: str | None, dataset: str | None
) -> AnswerPromise:
    """Return what a checked release about groups would state, with its plan; refused as the release would be."""
    check_dataset(dataset, ledger)
    return AnswerPromise(
        what=f"{words_of(ready.weights.quantity).label} by {ready.question.by}: {ready.released}",
        public=ready.public,
        guarantee=ready.noise.guarantee,
        mechanism=ready.noise.mechanism.describe(),
        plan=plan,
        quotes=quotes_of(ledger, dataset, ready.claim_for, ready.statement),
        notes=ready.notes,
    )


@dataclass(frozen=True, kw_only=True)
class TrackPromises:
    """What releases about groups of reviewers in each group of papers would state, and their joint claim and cost.

    Attributes:
        plans: what would be seen in each group of papers.
        claims: the claim of each group of papers.
        guarantee: the joint claim of all.
        quotes: the joint cost to each budget of the data set; empty without a ledger.
    """

    plans: dict[str, EffectPlan | CrosstabPlan]
    claims: dict[str, str]
    guarantee: Guarantee
    quotes: tuple[Quote, ...] = ()

    def facts(self) -> list[tuple[str, str]]:
        """Return the promises as names and sentences."""
        each = [(name, f"{plan.sentence}; {self.claims[name]}") for name, plan in self.plans.items()]
        claim = self.guarantee
        joint = [("claim of all", claim.summary), ("that is", claim.human), *cost_facts(self.quotes)]
        return [*each, *joint, ("promise", claim.promise), ("limits", claim.not_protected)]

    def to_document(self) -> dict[str, Any]:
        """Return the promises as JSON."""
        groups = [
            {"group": name, "guarantee": self.claims[name], "plan": asdict(plan)} for name, plan in self.plans.items()
        ]
        costs = [asdict(quote) for quote in self.quotes]
        return {"groups": groups, "guarantee": self.guarantee.summary, "costs": costs}


def promised_tracks(
    joint: ReadyTracks[Any], plans: Mapping[str, EffectPlan | CrosstabPlan], ledger: str | None, dataset: str | None
) -> TrackPromises:
    """Return what checked releases by group of papers would state; refused as the release would be."""
    return TrackPromises(
        plans=dict(plans),
        claims={name: ready.noise.guarantee.summary for name, ready in joint.ready.items()},
        guarantee=joint.claim_for(joint.unit),
        quotes=joint.quotes(ledger, dataset),
    )


def promise_effect(
    reviews: Reviews,
    *,
    by: str,
    compare: Sequence[str] | None = None,
    same: Mapping[str, str] | None = None,
    epsilon: float,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    others: bool = False,
    randomised: bool = False,
    limits: tuple[float, float] | None = None,
    icc: float | Release | None = None,
    level: float = LEVEL,
    sizes: Sequence[int] | None = None,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    first_share: float = 0.5,
    ledger: str | None = None,
    dataset: str | None = None,
) -> AnswerPromise:
    r"""Return what :func:`peerveil.effect` with these arguments would state, cost and show; nothing is drawn.

    Errors are those of the release: if a budget does not suffice, this is refused as well. The smallest effect that
    would be seen follows from public data alone; ``first_share`` is the share of reviews of the first group that it
    assumes, unless ``sizes`` are public.

    >>> import io
    >>> import peerveil as pv
    >>> rows = [f"p{i},r{(i + j) % 80},{(i * j) % 5 + 1}" for i in range(80) for j in range(3)]
    >>> people = [f"r{j},{'senior' if j % 2 else 'junior'}" for j in range(80)]
    >>> table = io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode())
    >>> reviewers = io.BytesIO("\n".join(["reviewer,seniority", *people]).encode())
    >>> reviews = pv.read(table, attributes=reviewers, scale=(1, 5))
    >>> made = pv.promise_effect(reviews, by="seniority", compare=("senior", "junior"), public="all", epsilon=1.0)
    >>> made.guarantee.summary, made.plan.smallest[0] > 0.5, made.quotes
    ('epsilon = 1 per reviewer (pure differential privacy)', True, ())
    """
    ready = prepare_effect(
        reviews,
        by=by,
        compare=compare,
        same=same,
        mechanism=Laplace(epsilon=epsilon),
        public=public,
        quantity=quantity,
        others=others,
        randomised=randomised,
        limits=limits,
        icc=icc,
        level=level,
        sizes=sizes,
        unit=unit,
        lone=lone,
    )
    return promised(ready, ready.plan(first_share), ledger, dataset)
