"""What does not add up between charges, the ledger, the roll-up and the rules."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from governance.budgets import queries as budgets
from governance.rentals.domain.charges import due_lines
from governance.rentals.models import ZERO, Charge, CostDay, Rental
from governance.rentals.queries.terms import rental_terms


def faults() -> list[str]:
    """One line per difference; empty when ledger, budgets, charges and roll-up agree."""
    found = budgets.faults()
    charged = _sums(Charge.objects.values("rental_id", "currency"), "net", "tax")
    rolled = _sums(CostDay.objects.values("rental_id", "currency"), "billed", "billed_tax")
    spread = _sums(CostDay.objects.values("rental_id", "currency"), "amortised", "amortised_tax")
    for key in sorted({*charged, *rolled}):
        rental_id, currency = key
        for name, other in (("billed", rolled), ("amortised", spread)):
            if charged.get(key) != other.get(key):
                found.append(
                    f"rental {rental_id}: charges are {_text(charged.get(key))} {currency}, "
                    f"its days say {_text(other.get(key))} {name}"
                )
    posted = budgets.posted_by_prefix("payable:")
    owed: dict[str, Decimal] = {}
    for row in Charge.objects.values("currency").annotate(
        total=Sum(F("net") + F("tax"), default=ZERO)
    ):
        owed[row["currency"]] = row["total"]
    found += [
        f"ledger: payable is {-posted.get(currency, ZERO)} {currency}, charges are {total}"
        for currency, total in sorted(owed.items())
        if -posted.get(currency, ZERO) != total
    ]
    for rental in Rental.objects.exclude(charged_until=None).order_by("pk"):
        found += _recomputed(rental)
    return found


def _sums(rows: object, first: str, second: str) -> dict[tuple[int, str], tuple[Decimal, Decimal]]:
    grouped = rows.annotate(  # type: ignore[attr-defined]
        a=Coalesce(Sum(first), ZERO), b=Coalesce(Sum(second), ZERO)
    )
    return {(row["rental_id"], row["currency"]): (row["a"], row["b"]) for row in grouped}


def _text(pair: tuple[Decimal, Decimal] | None) -> str:
    return "nothing" if pair is None else f"{pair[0].normalize():f} + {pair[1].normalize():f} tax"


def _recomputed(rental: Rental) -> list[str]:
    """Charges that the rules do not give, or amounts that differ from theirs."""
    assert rental.charged_until is not None
    rows = rental.charges.values("component_id").annotate(total=Sum(F("net")), taxed=Sum(F("tax")))
    stored = {row["component_id"]: (row["total"], row["taxed"]) for row in rows}
    found = []
    for component, terms in rental_terms(rental):
        lines = due_lines(terms, after=rental.charged_from, until=rental.charged_until)
        quoted = sum((line.amount for line in lines), ZERO)
        net, tax = stored.get(component.pk, (ZERO, ZERO))
        inclusive = terms.plan.tax is not None and terms.plan.tax.inclusive
        kept = net + tax if inclusive else net
        if kept != quoted:
            found.append(
                f"rental {rental.pk} {component.code}: charged {kept.normalize():f}, "
                f"its terms say {quoted:f} {rental.currency}"
            )
    return found
