"""Promises of correlations: what they would state, cost and show, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from peerveil.inference.effects import LEVEL
from peerveil.privacy.linked.sums import LEAST
from peerveil.private.grouped.promises import AnswerPromise
from peerveil.private.ledger import Quote
from peerveil.private.linked.correlation import (
    PublicPair,
    ReadyCorrelation,
    check_datasets,
    linked_noise,
    prepare_correlation,
)
from peerveil.private.promises import quotes_of
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone, words_of
from peerveil.quantities.functions import QuantityLike
from peerveil.tables.opening import Readable


def promise_correlation(
    first: Reviews,
    second: Reviews,
    *,
    epsilon: float,
    public: PublicPair = None,
    quantity: QuantityLike = "miscalibration",
    links: Readable | None = None,
    merge_names: bool = False,
    names: Sequence[str] | None = None,
    least: int = LEAST,
    bins: int | None = None,
    level: float = LEVEL,
    unit: str = "reviewer",
    lone: Lone = "refuse",
    people: int | None = None,
    ledger: str | None = None,
    datasets: Sequence[str] | None = None,
) -> AnswerPromise:
    r"""Return what :func:`peerveil.correlate` with these arguments would state, cost and show; nothing is drawn.

    Errors are those of the release: if a budget does not suffice, this is refused as well. The intervals to expect
    follow from public data alone; ``people`` is the number of people in both conferences that they assume, by default
    half of the reviewers of the smaller one.

    >>> import io
    >>> import peerveil as pv
    >>> def conference(step):
    ...     rows = [f"p{i},r{(i + j * step) % 40},{(i * j) % 5 + 1}" for i in range(40) for j in range(3)]
    ...     return pv.read(io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode()), scale=(1, 5))
    >>> made = pv.promise_correlation(conference(1), conference(3), public="all", epsilon=1.0)
    >>> made.guarantee.summary, made.plan.people, made.quotes
    ('epsilon = 1 per reviewer (pure differential privacy)', 20, ())
    """
    check_datasets(datasets, ledger)
    ready = prepare_correlation(
        first,
        second,
        mechanism=linked_noise(epsilon, bins),
        public=public,
        quantity=quantity,
        links=links,
        merge_names=merge_names,
        names=datasets if names is None else names,
        least=least,
        bins=bins,
        level=level,
        unit=unit,
        lone=lone,
    )
    return promised_correlation(ready, people, ledger, datasets)


def promised_correlation(
    ready: ReadyCorrelation, people: int | None, ledger: str | None, datasets: Sequence[str] | None
) -> AnswerPromise:
    """Return what a checked correlation would state, with its plan; refused as the release would be."""
    return AnswerPromise(
        what=f"{words_of(ready.weights.quantity).label}: {ready.released}",
        public=ready.public,
        guarantee=ready.noise.guarantee,
        mechanism=ready.noise.mechanism.describe(),
        plan=ready.plan(people),
        quotes=quotes_of_both(ready, ledger, datasets),
        notes=ready.notes,
    )


def quotes_of_both(ready: ReadyCorrelation, ledger: str | None, datasets: Sequence[str] | None) -> tuple[Quote, ...]:
    """Return the cost of a correlation to every budget of both data sets; refused as the release would be.

    A series of both has one quote, for those who have the least left: it counts the release once.
    """
    check_datasets(datasets, ledger)
    both = zip(datasets or (), ready.statements(), strict=False)  # there is no data set without a ledger
    quotes: dict[tuple[str, str], Quote] = {}
    for name, said in both:
        for quote in quotes_of(ledger, name, ready.claim_for, said):
            known = quotes.setdefault((quote.dataset, quote.unit), quote)
            if quote.after < known.after:
                quotes[quote.dataset, quote.unit] = quote
    return tuple(quotes.values())
