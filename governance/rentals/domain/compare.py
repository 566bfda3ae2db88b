"""Plans side by side: what each costs for a use, and where one overtakes the other."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from governance.kernel.money import currency_places, round_exact
from governance.rentals.domain.reading import Reader, raise_faults

KINDS = ("hourly", "monthly", "annual")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Costs for `months`, rounded, of the plans that have a price.

    A break-even is None where a price is missing or the point never comes.
    """

    costs: dict[str, Decimal]
    break_even_hours_per_month: dict[str, Fraction | None]
    break_even_months: dict[str, int | None]
    advice: str
    formulas: dict[str, str]


def compare(
    prices: dict[str, Decimal], hours_per_month: Decimal, months: int, places: int
) -> Comparison:
    """Hourly, monthly and annual prices at a use of so many hours a month for so many months.

    A monthly plan is paid in whole months and an annual one in whole years. Advice is the least
    cost; ties go to the shorter commitment. `prices` holds at least one plan.
    """
    years = -(-months // 12)
    exact = {kind: Fraction(price) for kind, price in prices.items()}
    costs: dict[str, Fraction] = {}
    formulas: dict[str, str] = {}
    if "hourly" in exact:
        costs["hourly"] = exact["hourly"] * Fraction(hours_per_month) * months
        formulas["hourly"] = f"{prices['hourly']} x {hours_per_month} h x {months} months"
    if "monthly" in exact:
        costs["monthly"] = exact["monthly"] * months
        formulas["monthly"] = f"{prices['monthly']} x {months} months"
    if "annual" in exact:
        costs["annual"] = exact["annual"] * years
        formulas["annual"] = f"{prices['annual']} x {years} years"
    hours: dict[str, Fraction | None] = {"monthly_vs_hourly": None, "annual_vs_hourly": None}
    if exact.get("hourly"):
        if "monthly" in exact:
            hours["monthly_vs_hourly"] = exact["monthly"] / exact["hourly"]
            formulas["monthly_vs_hourly"] = f"{prices['monthly']} / {prices['hourly']}"
        if "annual" in exact:
            hours["annual_vs_hourly"] = exact["annual"] / 12 / exact["hourly"]
            formulas["annual_vs_hourly"] = f"{prices['annual']} / 12 / {prices['hourly']}"
    overtaken: dict[str, int | None] = {"annual_vs_monthly": None}
    if "monthly" in exact and "annual" in exact:
        overtaken["annual_vs_monthly"] = next(
            (m for m in range(1, 13) if exact["annual"] < m * exact["monthly"]), None
        )
        formulas["annual_vs_monthly"] = f"least m with {prices['annual']} < m x {prices['monthly']}"
    rounded = {kind: round_exact(cost, places) for kind, cost in costs.items()}
    advice = min((kind for kind in KINDS if kind in rounded), key=lambda kind: rounded[kind])
    return Comparison(rounded, hours, overtaken, advice, formulas)


def compare_plans(data: Any) -> dict[str, Any]:
    """The answer of `compare_plans` for JSON input; `Faults` if it is refused."""
    faults: list[tuple[str, str]] = []
    reader = Reader.of(data, "", faults)
    currency = reader.raw("currency", required=True)
    places = 2
    try:
        places = currency_places(currency) if isinstance(currency, str) else 2
        if currency is not None and not isinstance(currency, str):
            reader.fault("currency", f"{currency!r} is not a code such as CNY")
    except ValueError as error:
        reader.fault("currency", str(error))
    prices: dict[str, Decimal] = {}
    plans = reader.raw("plans", required=True)
    if not isinstance(plans, list) or not plans:
        if plans is not None:
            reader.fault("plans", "a list with at least one plan is needed")
        plans = []
    for i, entry in enumerate(plans):
        one = Reader.of(entry, f"plans[{i}]", faults)
        kind = one.choice("kind", KINDS)
        price = one.decimal("price")
        one.finish()
        if kind in prices and isinstance(entry, dict) and entry.get("kind") in KINDS:
            one.fault("kind", f"{kind} is given twice")
        prices[kind] = price
    hours = reader.decimal("hours_per_month")
    months = reader.integer("months", 1, 1200, 12)
    reader.finish()
    raise_faults(faults)
    result = compare(prices, hours, months, places)
    return {
        "costs": {kind: f"{cost:f}" for kind, cost in result.costs.items()},
        "break_even_hours_per_month": {
            name: None if value is None else f"{round_exact(value, 2):f}"
            for name, value in result.break_even_hours_per_month.items()
        },
        "break_even_months": result.break_even_months,
        "advice": result.advice,
        "formulas": result.formulas,
    }
