"""Charge preview from a plain description: every charge, credit and tax line of a whole term."""

from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from governance.kernel.money import ROUNDING_MODES, currency_places, round_exact
from governance.rentals.domain.charges import Line, listed_lines
from governance.rentals.domain.reading import Faults, Reader, parse_instant, raise_faults
from governance.rentals.domain.taxes import Totals, totals, with_tax
from governance.rentals.domain.terms import UNIT_OF, Change, Plan, Tax, Terms

MOST_LINES_HOURS = 24 * 366 * 20


def preview(data: Any, *, until: str | None = None) -> dict[str, Any]:
    """The answer of `preview_charges` for the described rental; `Faults` if it is refused."""
    faults: list[tuple[str, str]] = []
    terms = read_terms(data, faults)
    limit = None
    if until is not None:
        try:
            limit = parse_instant(until, terms.zone)
        except ValueError as error:
            faults.append(("--until", str(error)))
    elif terms.end is None:
        faults.append(("end", "missing: give an end, or say with --until how far to list"))
    raise_faults(faults)
    horizon = limit if terms.end is None else terms.end
    if horizon is not None and (horizon - terms.start).total_seconds() > MOST_LINES_HOURS * 3600:
        raise Faults([("end", "more than 20 years after the start")])
    if limit is not None and limit <= terms.start:
        lines: list[Line] = []
    else:
        lines = listed_lines(terms, limit)
    taxed = with_tax(lines, terms.plan.places, terms.plan.rounding)
    return answer(taxed, totals(taxed), terms.zone, terms.plan.places)


def read_terms(data: Any, faults: list[tuple[str, str]]) -> Terms:
    """Terms from JSON data by the fields of the contract; faults are added to the list."""
    reader = Reader.of(data, "", faults)
    currency = reader.raw("currency", required=True)
    places = 2
    try:
        places = currency_places(currency) if isinstance(currency, str) else 2
    except ValueError as error:
        reader.fault("currency", str(error))
    zone = read_zone(reader)
    plan_data = reader.raw("plan", required=True)
    plan_reader = Reader.of({} if plan_data is None else plan_data, "plan", faults)
    if plan_data is None:
        plan = Plan(kind="hourly", price=Decimal(0))
    else:
        plan = read_plan(plan_reader, places)
    quantity = reader.integer("quantity", 1, 1_000_000, 1)
    start = reader.instant("start", zone, required=True)
    end = reader.instant("end", zone)
    if start is not None and end is not None and end <= start:
        reader.fault("end", "must lie after the start (it is exclusive: a last day D is D+1)")
    changes = read_changes(reader, zone, start, end)
    reader.finish()
    return Terms(
        currency=str(currency),
        zone=zone,
        plan=plan,
        start=datetime(2000, 1, 1, tzinfo=zone) if start is None else start,
        end=end,
        quantity=quantity,
        changes=changes,
    )


def read_zone(reader: Reader) -> ZoneInfo:
    name = reader.raw("timezone", required=True)
    try:
        if isinstance(name, str) and name:
            return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        pass
    if name is not None:
        reader.fault("timezone", f"{name!r} is not a zone such as Asia/Shanghai")
    return ZoneInfo("UTC")


def read_plan(reader: Reader, places: int) -> Plan:
    plan = Plan(
        kind=reader.choice("kind", tuple(UNIT_OF)),
        price=reader.decimal("price"),
        anchor=read_anchor(reader),
        settlement=reader.choice("settlement", ("second", "minute", "hour"), "second"),
        bill=reader.choice("bill", ("segment", "hour", "day", "month"), "segment"),
        proration=reader.choice("proration", ("actual", "fixed30", "none"), "actual"),
        basis=reader.choice("basis", ("second", "hour", "day"), "second"),
        rounding=reader.choice("rounding", ROUNDING_MODES, "half_up"),
        places=reader.integer("places", 0, 8, places),
        tax=read_tax(reader.nested("tax")),
    )
    reader.finish()
    return plan


def read_anchor(reader: Reader) -> Any:
    value = reader.raw("anchor")
    if value is None or value == "start":
        return "start"
    if value == "calendar":
        return "calendar"
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        reader.fault("anchor", f"{value!r} is not start, calendar or a date such as 2026-01-31")
        return "start"


def read_tax(reader: Reader | None) -> Tax | None:
    if reader is None:
        return None
    rate = reader.decimal("rate", below=Decimal(10))
    inclusive = reader.flag("inclusive", False)
    reader.finish()
    return Tax(rate, inclusive)


def read_changes(
    reader: Reader, zone: tzinfo, start: datetime | None, end: datetime | None
) -> tuple[Change, ...]:
    data = reader.raw("changes")
    if data is None:
        return ()
    if not isinstance(data, list):
        reader.fault("changes", "a list [...] is needed")
        return ()
    changes: list[Change] = []
    for i, entry in enumerate(data):
        one = Reader.of(entry, f"changes[{i}]", reader.faults)
        at = one.instant("at", zone, required=True)
        price = None if one.data.get("price") is None else one.decimal("price")
        quantity = None
        if one.data.get("quantity") is not None:
            quantity = one.integer("quantity", 1, 1_000_000, 1)
        one.read |= {"price", "quantity"}
        if price is None and quantity is None:
            one.fault("price", "missing: a change gives a new price, a new quantity, or both")
        if at is not None:
            if start is not None and at < start:
                one.fault("at", "lies before the start")
            if end is not None and at >= end:
                one.fault("at", "does not lie before the end")
            if any(change.at == at for change in changes):
                one.fault("at", "is the time of another change; give one change for both")
            changes.append(Change(at, price, quantity))
        one.finish()
    return tuple(sorted(changes, key=lambda change: change.at))


def answer(lines: Sequence[Line], sums: Totals, zone: tzinfo, places: int) -> dict[str, Any]:
    """Lines and totals as plain JSON values; money has exactly the plan's decimals."""
    return {
        "lines": [
            {
                "kind": line.kind,
                "period_start": line.period.start.astimezone(zone).isoformat(),
                "period_end": line.period.end.astimezone(zone).isoformat(),
                "quantity": None if line.quantity is None else quantity_text(line.quantity),
                "unit": line.unit,
                "unit_price": None if line.unit_price is None else f"{line.unit_price:f}",
                "amount": amount_text(line.amount, places),
                "formula": f"{line.formula} = {amount_text(line.amount, places)}",
            }
            for line in lines
        ],
        "totals": {
            "net": amount_text(sums.net, places),
            "tax": amount_text(sums.tax, places),
            "gross": amount_text(sums.gross, places),
        },
    }


def amount_text(amount: Decimal, places: int) -> str:
    return f"{round_exact(amount, places):f}"


def quantity_text(quantity: Fraction) -> str:
    """At most eight decimals, without trailing zeros."""
    return f"{round_exact(quantity, 8).normalize():f}"
