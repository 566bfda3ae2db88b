"""What a job costs when its cards are bought by the hour, day, month, quarter or year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from governance.catalog.domain import TermPrice
from governance.kernel.money import currency_places, round_exact

HOURS = {"hourly": 1.0, "spot": 1.0, "daily": 24.0, "monthly": 730.0, "quarterly": 2190.0}
HOURS_A_YEAR = 8760.0
BY_USE = ("hourly", "spot")
"""Terms paid by the time used; the others are paid in whole periods."""


@dataclass(frozen=True, slots=True)
class Term:
    """A price ready for ranking: floats, in the currency of the comparison."""

    kind: str
    hours: float
    price: float
    exact: Decimal
    price_id: int | None


def terms(prices: Sequence[TermPrice], rates: Mapping[str, Decimal]) -> list[Term]:
    """The prices that `rates` (currency -> units of the comparison's currency) can compare; of
    two for one term the cheaper."""
    found: dict[str, Term] = {}
    for price in prices:
        rate = rates.get(price.currency)
        if rate is None:
            continue
        exact = price.gross * rate
        known = found.get(price.kind)
        if known is None or exact < known.exact:
            hours = HOURS.get(price.kind, HOURS_A_YEAR)
            found[price.kind] = Term(price.kind, hours, float(exact), exact, price.id)
    return list(found.values())


def cheapest(offered: Sequence[Term], hours: float, units: int) -> tuple[float, Term]:
    """Cost and term of the cheapest way to hold `units` units for `hours`; the shorter term wins
    a tie. Spot is taken only where nothing else is sold: it may be taken away."""
    best: tuple[float, float, Term] | None = None
    for term in offered:
        if term.kind == "spot" and len(offered) > 1:
            continue
        cost = units * term.price * periods(term, hours)
        if best is None or (cost, term.hours) < best[:2]:
            best = (cost, term.hours, term)
    if best is None:
        raise ValueError("no price")
    return best[0], best[2]


def periods(term: Term, hours: float) -> float:
    """Periods paid for `hours`: the time used, or whole periods."""
    return hours / term.hours if term.kind in BY_USE else float(ceil(hours / term.hours - 1e-9))


def exact_cost(term: Term, hours: float, units: int, currency: str) -> Decimal:
    """The cost as money, rounded once."""
    paid = Decimal(repr(round(periods(term, hours), 6)))
    return round_exact(term.exact * units * paid, currency_places(currency))
