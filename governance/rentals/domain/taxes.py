"""Tax on charge lines: rounded once per rate on the sum, then divided over the lines.

Exclusive quotes: tax = rate x net. Inclusive quotes: net = gross / (1 + rate), tax = gross - net,
so that the total stays what was quoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from governance.kernel.money import RoundingMode, apportion, round_exact
from governance.rentals.domain.charges import Line
from governance.rentals.domain.terms import Tax


@dataclass(frozen=True, slots=True)
class Totals:
    net: Decimal
    tax: Decimal
    gross: Decimal


def tax_of(amount: Decimal, tax: Tax, places: int, mode: RoundingMode) -> Decimal:
    """The tax on (or, inclusive, in) an amount."""
    if tax.inclusive:
        return amount - round_exact(Fraction(amount) / (1 + Fraction(tax.rate)), places, mode)
    return round_exact(Fraction(amount) * Fraction(tax.rate), places, mode)


def with_tax(lines: Sequence[Line], places: int, mode: RoundingMode) -> list[Line]:
    """The lines net of tax, each followed by its tax line where it has one.

    One total per rate, split by largest remainder, ties to the earlier line.
    """
    shares = dict.fromkeys(range(len(lines)), Decimal(0))
    for tax in dict.fromkeys(line.tax for line in lines):
        if tax is None or not tax.rate:
            continue
        mine = [i for i, line in enumerate(lines) if line.tax == tax]
        whole = sum((lines[i].amount for i in mine), Decimal(0))
        rate = Fraction(tax.rate)
        factor = rate / (1 + rate) if tax.inclusive else rate
        exact = [Fraction(lines[i].amount) * factor for i in mine]
        parts = apportion(exact, tax_of(whole, tax, places, mode), places)
        shares.update(zip(mine, parts, strict=True))
    taxed: list[Line] = []
    for i, line in enumerate(lines):
        share = shares[i]
        if line.tax is not None and line.tax.inclusive:
            line = replace(line, amount=line.amount - share)
        taxed.append(line)
        if share and line.tax is not None:
            taxed.append(
                replace(
                    line,
                    kind="tax",
                    quantity=None,
                    unit=None,
                    unit_price=None,
                    amount=share,
                    formula=f"{format(line.tax.rate * 100, 'f')} % "
                    + ("included in" if line.tax.inclusive else "of")
                    + f" {line.amount + share if line.tax.inclusive else line.amount}",
                )
            )
    return taxed


def totals(lines: Sequence[Line]) -> Totals:
    """Sums of lines that `with_tax` made."""
    net = sum((line.amount for line in lines if line.kind != "tax"), Decimal(0))
    tax = sum((line.amount for line in lines if line.kind == "tax"), Decimal(0))
    return Totals(net, tax, net + tax)
