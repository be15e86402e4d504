"""Series of conferences: one budget for what all their releases reveal about a person.

A series has members, which are data sets of the ledger. What it has spent follows from their charges for the unit
reviewer, so nothing is charged twice and nothing can be missing. The cost to a person is that of the members on whose
public list they are; a member without a list counts for everyone. A release of several members costs a person once: its
claim covers their reviews in all of these. The series has spent the most that any person has.
The proof is in docs/mathematics.md, "Several conferences".
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import sqlalchemy as sa

from peerveil.errors import BudgetError, Phrase
from peerveil.mechanisms import kind_of
from peerveil.privacy.budget import TOLERANCE, Budget, Spend
from peerveil.privacy.guarantee import Guarantee, upward
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.private.ledger.accounts import Quote, admit, budget_of, check_row, read_accounts, room, spend_of
from peerveil.private.ledger.tables import BUDGETS, CHARGES, MEMBERS, SERIES
from peerveil.record.committees import Committee


class Member(NamedTuple):
    """A data set of a series: where it joined the chain, and the hashes of those on its list; ``None`` for everyone."""

    dataset: str
    joined: int
    people: frozenset[str] | None


class Cost(NamedTuple):
    """A charge of a member: where it is on the chain, and what it costs those who review for that member."""

    dataset: str
    charged: int
    release: str
    spend: Spend
    float_safe: bool


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series with its members and their charges.

    Attributes:
        name: the declared name.
        budget: the limit for a person.
        members: the data sets, in the order in which they joined.
        costs: the charges of all members for the unit reviewer, oldest first.
    """

    name: str
    budget: Budget
    members: tuple[Member, ...] = ()
    costs: tuple[Cost, ...] = ()

    @property
    def lists(self) -> bool:
        """Whether some member has a list."""
        return any(member.people is not None for member in self.members)

    @cached_property
    def kinds(self) -> frozenset[frozenset[str]]:
        """The kinds of people: the data sets that each may review for, by the lists."""
        everyone = frozenset(member.dataset for member in self.members if member.people is None)
        of_person: dict[str, set[str]] = defaultdict(set)
        for member in self.members:
            for person in member.people or ():
                of_person[person].add(member.dataset)
        return frozenset({everyone} | {everyone | datasets for datasets in map(frozenset, of_person.values())})

    def _spends(self, dataset: str | None = None) -> list[tuple[Spend, ...]]:
        """The costs of each kind of people, or of those who may review for a data set; each once."""
        kinds = [kind for kind in self.kinds if dataset is None or dataset in kind]
        return list(dict.fromkeys(map(self._spends_of, kinds))) or [()]

    def _spends_of(self, kind: frozenset[str]) -> tuple[Spend, ...]:
        """The costs of people of a kind; a release of several members once."""
        charged = dict.fromkeys((cost.release, cost.spend) for cost in self.costs if cost.dataset in kind)
        return tuple(spend for _, spend in charged)

    # Theorem C7.
    @property
    def spent(self) -> float:
        """The most that has been spent on any person, in epsilon or rho."""
        return max(map(self.budget.total, self._spends()))

    @property
    def overspent(self) -> bool:
        """Whether more than the limit has been spent on some person, which only an incomplete list can bring about."""
        return not self.spent <= self.budget.limit * (1 + TOLERANCE)

    @property
    def left(self) -> float:
        """The amount left for everyone, in epsilon or rho."""
        return min(room(self.budget, spends) for spends in self._spends())

    def left_for(self, dataset: str) -> float:
        """Return the amount left for all who may review for a data set: what its next release may cost."""
        return min(room(self.budget, spends) for spends in self._spends(dataset))

    @property
    def releases(self) -> int:
        """The number of releases that it counts."""
        return len({cost.release for cost in self.costs})

    @property
    def spends(self) -> tuple[Spend, ...]:
        """The costs of a person on whom the most has been spent."""
        return max(self._spends(), key=self.budget.total)

    def check(self, dataset: str, spend: Spend, release: str | None = None) -> None:
        """Raise ``BudgetError`` if a release of a member would exceed the limit for some person.

        Those whom it costs the same as a release of another member already, by its number, are not charged twice.
        """
        spend = spend.in_any_order
        others = {cost.dataset for cost in self.costs if (cost.release, cost.spend) == (release, spend)}
        for kind in self.kinds:
            if dataset in kind and not others & kind:
                admit(self.budget, self._spends_of(kind), spend, f"the series {self.name!r} (person)")

    @property
    def exact(self) -> bool:
        """Whether releases stated its promise without an exception for noise that is drawn in floating point."""
        joined = {member.dataset: member.joined for member in self.members}
        stating = any(cost.charged > joined[cost.dataset] for cost in self.costs)
        return stating and all(cost.float_safe for cost in self.costs)

    def check_exact(self, *, float_safe: bool) -> None:
        """Raise ``BudgetError`` for noise drawn in floating point if releases stated the promise without exception."""
        if self.exact and not float_safe:
            raise BudgetError(
                f"its noise is drawn in floating point, and earlier releases state the promise of the series "
                f"{self.name!r} without an exception for last digits; use other noise, such as Gaussian; nothing was "
                "charged"
            )

    def compared(self, dataset: str, committee: Committee | None) -> tuple[str, ...]:
        """Return a remark if reviewers were not compared with the list of a member; refuse people who are not on it.

        ``committee`` is a list on which all reviewers are.
        """
        listed = next(member.people for member in self.members if member.dataset == dataset)
        if listed is None:
            return ()
        if committee is None:
            remark = (
                f"the reviewers were not compared with the list of {dataset!r} in the series {self.name!r}, which "
                "counts only for those on it; read the reviews with that list (committee) to be sure that nobody is "
                "missing"
            )
            return (remark,)
        if not committee.people <= listed:
            raise BudgetError(
                "the list that the reviewers were compared with names people who are not on that of "
                f"{dataset!r} in the series {self.name!r}; add them there ",
                Phrase("ledger_join", "with `peerveil ledger join`"),
                ", or compare with that list; nothing was charged",
            )
        return ()

    def counts(self, dataset: str) -> bool:
        """Return whether a data set is a member."""
        return any(member.dataset == dataset for member in self.members)

    def quote(self, dataset: str, spend: Spend, *, float_safe: bool = True) -> Quote:
        """Return the cost of a release of a member; raises as :meth:`check` and :meth:`check_exact`."""
        self.check_exact(float_safe=float_safe)
        self.check(dataset, spend)
        spend = spend.in_any_order
        now = max(self._spends(dataset), key=lambda spends: self.budget.total([*spends, spend]))
        return Quote(
            dataset=self.name,
            unit="person",
            currency=self.budget.currency,
            cost=self.budget.total([*now, spend]) - self.budget.total(now),
            left=room(self.budget, now),
            after=room(self.budget, [*now, spend]),
        )

    def joined_by(self, member: Member, costs: Iterable[Cost]) -> Series:
        """Return the series with a new member and its charges."""
        every = sorted((*self.costs, *costs), key=lambda cost: cost.charged)
        return replace(self, members=(*self.members, member), costs=tuple(every))

    def claim(self, position: int) -> SeriesClaim | None:
        """Return what the series promises, with its members and costs up to a place on the chain.

        ``None`` if people were added to a list later such that the limit is exceeded for them: then it does not hold.
        """
        return None if self.overspent else SeriesClaim(name=self.name, guarantee=self.stated_at(position))

    def stated_at(self, position: int) -> Guarantee:
        """Return the claim for a person that a release at a place on the chain states, even if it no longer holds."""
        lists = any(member.people is not None for member in self.members if member.joined <= position)
        safe = all(cost.float_safe for cost in self.costs if cost.charged <= position)
        return self.budget.claim("person", Neighbours(lists=lists), float_safe=safe)


def read_series(connection: sa.Connection, *, name: str | None = None, dataset: str | None = None) -> list[Series]:
    """Return all series, the one of a name, or those with a data set as member."""
    wanted = sa.select(SERIES).order_by(SERIES.c.id)
    if name is not None:
        wanted = wanted.where(SERIES.c.series == name)
    if dataset is not None:
        wanted = wanted.where(SERIES.c.series.in_(sa.select(MEMBERS.c.series).where(MEMBERS.c.dataset == dataset)))
    series = connection.execute(wanted).all()
    if not series:
        return []
    of_these = MEMBERS.c.series.in_([row.series for row in series])
    members = connection.execute(sa.select(MEMBERS).where(of_these).order_by(MEMBERS.c.id)).all()
    costs = read_costs(connection, {member.dataset for member in members})
    return [series_of(row, members, costs) for row in series]


def read_costs(connection: sa.Connection, datasets: Iterable[str]) -> list[Cost]:
    """Return the charges of data sets for the unit reviewer, oldest first."""
    query = (
        sa.select(CHARGES, BUDGETS.c.dataset)
        .join_from(CHARGES, BUDGETS, CHARGES.c.budget == BUDGETS.c.id)
        .where(BUDGETS.c.dataset.in_(sorted(datasets)), BUDGETS.c.unit == "reviewer")
        .order_by(CHARGES.c.id)
    )
    rows = connection.execute(query).all()
    for row in rows:
        check_row(CHARGES, row)
    return [cost_of(row, row.dataset) for row in rows]


def series_of(row: Any, members: Sequence[Any], costs: Sequence[Cost]) -> Series:
    """Return the series of a row, with the rows of members of all series and the costs of all data sets.

    A data set may have several rows: later ones add people to its list.
    """
    check_row(SERIES, row)
    joined: dict[str, Member] = {}
    for each in members:
        if each.series == row.series:
            check_row(MEMBERS, each)
            people = None if each.people is None else frozenset(json.loads(each.people))
            before = joined.get(each.dataset)
            if before is not None:
                people = None if people is None or before.people is None else people | before.people
            first = each.position if before is None else before.joined
            joined[each.dataset] = Member(each.dataset, first, people)
    own = tuple(cost for cost in costs if cost.dataset in joined)
    return Series(name=row.series, budget=budget_of(row), members=tuple(joined.values()), costs=own)


def cost_of(row: Any, dataset: str) -> Cost:
    """Return the cost of a row of a charge."""
    safe = bool(getattr(kind_of(json.loads(row.mechanism).get("name")), "float_safe", False))
    return Cost(dataset, row.position, row.release, spend_of(row).in_any_order, safe)


# Theorem C8.
def check_joining(connection: sa.Connection, series: Series, member: Member, *, place: str) -> None:
    """Raise ``BudgetError`` if the charges of a new member are not known per reviewer, or do not fit a series."""
    name = member.dataset
    accounts = {account.unit: account for _, account in read_accounts(connection, name)}
    if "reviewer" not in accounts:
        reason = f"{name!r} has a budget per review only, and a series counts what each release costs a reviewer; "
        if any(account.spends for account in accounts.values()):
            raise BudgetError(f"{reason}what its releases so far cost one is not known, so it cannot join")
        command = shlex.join(["peerveil", "ledger", "open", place, "--dataset", name, "--unit", "reviewer"])
        raise BudgetError(f"{reason}open a budget per reviewer as well, then join: `{command} --epsilon …`")
    if any(len(account.spends) > len(accounts["reviewer"].spends) for account in accounts.values()):
        raise BudgetError(
            f"{name!r} has releases that were charged per review before its budget per reviewer was opened; what they "
            "cost a reviewer is not known, so it cannot join"
        )
    costs = read_costs(connection, [name])
    if series.exact and not all(cost.float_safe for cost in costs):
        raise BudgetError(
            f"{name!r} has releases whose noise was drawn in floating point, and releases state the promise of the "
            f"series {series.name!r} without an exception for last digits, so it cannot join; nothing was changed"
        )
    after = series.joined_by(member, costs)
    try:
        fits = not after.overspent
    except BudgetError as error:  # noise that the series does not take
        raise BudgetError(f"{name!r} cannot join the series {series.name!r}: {error}; nothing was changed") from None
    if not fits:
        raise BudgetError(
            f"with the releases of {name!r} so far, {series.budget.currency} {upward(after.spent)} of "
            f"{series.budget.limit:.6g} would be spent on some person in the series {series.name!r}; nothing was "
            "changed. A series cannot be changed: open one with a larger budget, and let all data sets join that"
        )
