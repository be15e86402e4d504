"""Budgets: limits on the total privacy loss of the releases of a data set.

A limit must hold even if later releases are chosen adaptively. Each budget is therefore a sum with a limit that is
fixed before the first release. Proofs are in docs/mathematics.md, "Accounting".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from peerveil.errors import Argument, BudgetError, InputError
from peerveil.privacy.accounting import best_order, check_delta, conversion_cost, epsilon_at
from peerveil.privacy.gdp import gaussian_epsilon, mu_of_pure
from peerveil.privacy.guarantee import DELTA, Guarantee, Unit
from peerveil.privacy.neighbours import Neighbours
from peerveil.support.arguments import real

#: A sum of charges may exceed its limit by this share, for round-off.
TOLERANCE = 1e-9


class Spend(NamedTuple):
    """The cost of a release: epsilon if it is pure, rho for orders below omega, and whether it is Gaussian."""

    epsilon: float | None
    rho: float
    omega: float
    gaussian: bool = False

    @classmethod
    def of(cls, claim: Guarantee) -> Spend:
        """Return the cost of a claim.

        >>> Spend.of(Guarantee(kind="pure", unit="review", epsilon=1.0))
        Spend(epsilon=1.0, rho=0.5, omega=inf, gaussian=False)
        """
        concentrated = claim.as_concentrated()
        return cls(
            epsilon=claim.epsilon if claim.kind == "pure" or not concentrated.rho else None,
            rho=concentrated.rho or 0.0,
            omega=concentrated.omega or math.inf,
            gaussian=claim.kind == "gdp",
        )

    @property
    def mu_squared(self) -> float:
        """The square of mu, of a Gaussian or pure claim; infinite for others.

        >>> round(Spend.of(Guarantee(kind="gdp", unit="review", rho=0.5)).mu_squared, 12)
        1.0
        """
        if self.rho == 0:
            return 0.0
        by_rho = 2 * self.rho if self.gaussian else math.inf
        return by_rho if self.epsilon is None else min(by_rho, mu_of_pure(self.epsilon) ** 2)

    @property
    def in_any_order(self) -> Spend:
        """The cost in a series: normal noise counts with its rho, not with squares of mu.

        Which of the two holds is decided by the first release of a budget; conferences could join a series in an order
        that is chosen when results are known.
        """
        return self._replace(gaussian=False)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A limit on epsilon (pure), on epsilon at a delta, or on rho, made by :meth:`of`.

    Attributes:
        epsilon: the limit; of a budget in rho, the corresponding epsilon at ``delta``.
        delta: 0 for a budget of pure releases.
        rho: the limit on rho, or ``None``.
        omega: of a budget in rho, the least omega of a release.
        order: of a limit on epsilon at a delta, the order of the Rényi divergences that are added up, unless
            :meth:`adds_mu` holds.
    """

    epsilon: float
    delta: float
    rho: float | None = None
    omega: float = math.inf
    order: float | None = None

    @classmethod
    def of(
        cls,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        omega: float | None = None,
    ) -> Budget:
        """Return a budget of ``epsilon`` (pure releases only), ``epsilon`` with ``delta``, or ``rho``.

        ``omega`` admits truncated concentrated releases with at least that omega.

        >>> round(Budget.of(epsilon=3.0, delta=1e-6).order, 3)
        8.926
        """
        if (epsilon is None) == (rho is None):
            with_delta = (" (with ", Argument("delta", ...), " to admit concentrated releases) or ")
            raise InputError(
                "a budget needs ", Argument("epsilon", ...), *with_delta, Argument("rho", ...), ", one of the two"
            )
        epsilon, delta, rho, omega = (
            None if value is None else real(name, value)
            for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho), ("omega", omega))
        )
        for name, value in (("epsilon", epsilon), ("rho", rho)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(Argument(name), f" must be a finite number > 0, got {value}")
        if omega is not None and not (math.isfinite(omega) and omega > 1):
            raise InputError(Argument("omega"), f" must be a finite number > 1, got {omega}")
        if delta is not None:
            check_delta(delta)
        if rho is not None:
            at, top = DELTA if delta is None else delta, omega or math.inf
            return cls(epsilon=epsilon_at(at, rho, top), delta=at, rho=rho, omega=top)
        assert epsilon is not None  # noqa: S101 - one of the two
        if delta is None:
            if omega is not None:
                either = (Argument("delta", ...), " or ", Argument("rho", ...))
                pure = ": a budget of pure epsilon takes pure releases only"
                raise InputError(Argument("omega", ...), " goes with ", *either, pure)
            return cls(epsilon=epsilon, delta=0.0)
        return cls(epsilon=epsilon, delta=delta, order=best_order(epsilon, delta, omega or math.inf))

    @property
    def currency(self) -> str:
        """The limited parameter: epsilon or rho."""
        return "epsilon" if self.rho is None else "rho"

    @property
    def limit(self) -> float:
        """The limit, in epsilon or in rho."""
        return self.epsilon if self.rho is None else self.rho

    def claim(self, unit: Unit, neighbours: Neighbours, *, float_safe: bool = True) -> Guarantee:
        """Return what all releases within the budget promise together.

        >>> Budget.of(epsilon=5.0).claim("person", Neighbours()).summary
        'epsilon = 5 per person (pure differential privacy)'
        """
        about = partial(Guarantee, unit=unit, neighbours=neighbours, float_safe=float_safe)
        if self.rho is None:
            return about(kind="approximate" if self.delta else "pure", epsilon=self.epsilon, delta=self.delta)
        if math.isinf(self.omega):
            return about(kind="zcdp", rho=self.rho, delta=self.delta)
        return about(kind="tcdp", rho=self.rho, omega=self.omega, delta=self.delta)

    # Theorem C5.
    def adds_mu(self, spends: Iterable[Spend]) -> bool:
        """Return whether releases are composed as Gaussian ones, by squares of mu, instead of by Rényi divergences.

        The first release with a cost decides this before its noise is drawn: it must be Gaussian, and its divergence
        must exceed the budget.

        >>> budget = Budget.of(epsilon=1.0, delta=1e-6)
        >>> budget.adds_mu([Spend.of(Guarantee(kind="gdp", unit="review", rho=0.02))])
        False
        >>> most = Spend.of(Guarantee(kind="gdp", unit="review", rho=0.028))
        >>> budget.adds_mu([most]), budget.total([most]) < 1
        (True, True)
        """
        first = next((spend for spend in spends if spend.rho), None)
        if first is None or not first.gaussian or self.order is None:
            return False
        return self._by_divergence([first]) > self.epsilon * (1 + TOLERANCE)

    def refuse(self, spend: Spend, before: Sequence[Spend] = ()) -> str:
        """Return why such a release cannot be charged after those before; empty if it can."""
        if self.rho is not None:
            if spend.rho and spend.omega < self.omega * (1 - TOLERANCE):
                return f"it takes releases with omega of at least {self.omega:g}, and this one has {spend.omega:g}"
        elif self.adds_mu(chain(before, [spend])):
            if math.isinf(spend.mu_squared):
                return (
                    "its first release, with normal noise, took most of it; what is left takes normal, Laplace and "
                    "histogram noise only"
                )
        elif self.order is not None:
            if spend.rho and spend.omega <= self.order:
                return f"it takes releases with omega above {self.order:.4g}, and this one has {spend.omega:g}"
        elif spend.epsilon is None:
            return (
                "it is one of epsilon without delta, and a release with concentrated noise has no epsilon of that "
                "kind; use Laplace noise, or open a budget with delta or rho"
            )
        return ""

    def total(self, spends: Sequence[Spend]) -> float:
        """Return the total cost of releases, in epsilon or in rho.

        >>> one = Spend(epsilon=1.0, rho=0.5, omega=math.inf)
        >>> Budget.of(epsilon=3.0, delta=1e-6).total([one, one, one])
        3.0
        """
        for spend in spends:
            if reason := self.refuse(spend, spends):
                raise BudgetError(f"the release does not fit the budget: {reason}")
        if self.rho is not None:
            return math.fsum(spend.rho for spend in spends)
        pure = [spend.epsilon for spend in spends if spend.epsilon is not None]
        plain = math.fsum(pure) if len(pure) == len(spends) else math.inf
        if self.order is None or not spends:
            return plain
        if self.adds_mu(spends):
            mu = math.sqrt(math.fsum(spend.mu_squared for spend in spends))
            return gaussian_epsilon(self.delta, mu)
        return min(plain, self._by_divergence(spends))

    # Theorem C4.
    def _by_divergence(self, spends: Sequence[Spend]) -> float:
        """Return the epsilon of releases by the sum of their Rényi divergences of the fixed order."""
        assert self.order is not None  # noqa: S101 - callers check
        divergence = math.fsum(
            min(self.order * spend.rho, math.inf if spend.epsilon is None else spend.epsilon) for spend in spends
        )
        return divergence + max(0.0, conversion_cost(self.order, self.delta))

    def spent_epsilon(self, spends: Sequence[Spend]) -> float:
        """Return the total cost of releases as an epsilon at the budget's delta."""
        total = self.total(spends)
        return total if self.rho is None else epsilon_at(self.delta, total, self.omega)
