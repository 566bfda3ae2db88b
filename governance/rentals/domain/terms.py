"""What a rental agreed: plan, quantity, start, and everything that changed since.

All values are frozen and complete, so the same terms always give the same charges.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal
from zoneinfo import ZoneInfo

from governance.kernel.money import RoundingMode
from governance.kernel.periods import (
    Period,
    Unit,
    anchored,
    calendar_start,
    index_at,
    local_date,
    local_days,
    local_midnight,
    seconds,
)
from governance.rentals.domain.termination import TerminationRule

PlanKind = Literal["hourly", "daily", "monthly", "quarterly", "annual"]
Settlement = Literal["second", "minute", "hour"]
Bill = Literal["segment", "hour", "day", "month"]
Proration = Literal["actual", "fixed30", "none"]
Basis = Literal["second", "hour", "day"]

UNIT_OF: dict[PlanKind, Unit] = {
    "hourly": "hour",
    "daily": "day",
    "monthly": "month",
    "quarterly": "quarter",
    "annual": "year",
}
SETTLEMENT_SECONDS: dict[Settlement, int] = {"second": 1, "minute": 60, "hour": 3600}
FIXED_DAYS: dict[Unit, int] = {"day": 1, "month": 30, "quarter": 90, "year": 360}


@dataclass(frozen=True, slots=True)
class Tax:
    """A rate as a share (0.06) and whether quoted prices contain it."""

    rate: Decimal
    inclusive: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A price for each period of `kind` and the vendor's way of charging it.

    `anchor`: periods count from the rental's start, the calendar, or a date. `bill` cuts hourly
    plans into lines. `change_day`: under basis day, who pays the day on which a change falls.
    `day_end`: a term ends at the end of the local day on which its boundary falls (23:59:59).
    `instalments`: an annual price paid in twelve monthly parts.
    `minimum`: the least amount of a line that charges anything.
    """

    kind: PlanKind
    price: Decimal
    anchor: Literal["start", "calendar"] | date = "start"
    settlement: Settlement = "second"
    bill: Bill = "segment"
    proration: Proration = "actual"
    basis: Basis = "second"
    rounding: RoundingMode = "half_up"
    places: int = 2
    tax: Tax | None = None
    change_day: Literal["old", "new"] = "old"
    day_end: bool = False
    instalments: bool = False
    minimum: Decimal = Decimal(0)

    @property
    def unit(self) -> Unit:
        return "month" if self.instalments else UNIT_OF[self.kind]


@dataclass(frozen=True, slots=True)
class Change:
    """New price or quantity from `at` on; `known_at` is when it was recorded, if later."""

    at: datetime
    price: Decimal | None = None
    quantity: int | None = None
    known_at: datetime | None = None

    @property
    def due(self) -> datetime:
        return self.at if self.known_at is None else max(self.at, self.known_at)


@dataclass(frozen=True, slots=True)
class EndChange:
    """A new end, recorded at `known_at`; `rule` says what an early end refunds."""

    known_at: datetime
    end: datetime
    rule: TerminationRule | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """A rental's agreement. `end` is exclusive and as agreed at the start; None runs on."""

    currency: str
    zone: ZoneInfo
    plan: Plan
    start: datetime
    end: datetime | None = None
    quantity: int = 1
    changes: tuple[Change, ...] = ()
    ends: tuple[EndChange, ...] = ()

    def end_known(self, moment: datetime) -> datetime | None:
        """The end as it was known at a moment."""
        end = self.end
        for revision in self.ends:
            if revision.known_at <= moment:
                end = revision.end
        return end

    @property
    def final_end(self) -> datetime | None:
        return self.ends[-1].end if self.ends else self.end

    def price_at(self, effective: datetime, known: datetime) -> tuple[Decimal, int]:
        """Price and quantity in force at `effective`, by what was recorded until `known`."""
        price, quantity = self.plan.price, self.quantity
        for change in self.changes:
            if change.at <= effective and change.due <= known:
                price = price if change.price is None else change.price
                quantity = quantity if change.quantity is None else change.quantity
        return price, quantity

    def anchor(self) -> datetime:
        """The instant from which periods are counted."""
        if self.plan.anchor == "start":
            return self.start
        if self.plan.anchor == "calendar":
            return calendar_start(self.start, self.plan.unit, self.zone)
        return local_midnight(self.plan.anchor, self.zone)

    def boundary(self, i: int) -> datetime:
        """The i-th period boundary, computed from the anchor."""
        moment = anchored(self.anchor(), self.plan.unit, i, self.zone)
        if not self.plan.day_end or i <= 0:
            return moment
        return local_midnight(local_date(moment, self.zone) + timedelta(days=1), self.zone)

    def index_at(self, moment: datetime) -> int:
        """The number of the period that holds the moment."""
        i = index_at(self.anchor(), self.plan.unit, moment, self.zone)
        return i - 1 if self.boundary(i) > moment else i

    def units(self, start: datetime, until: datetime) -> Fraction:
        """The time from `start` to `until` in the plan's basis: seconds, started hours or days."""
        if until <= start:
            return Fraction(0)
        if self.plan.basis == "day":
            return Fraction(local_days(Period(start, until), self.zone))
        elapsed = seconds(until - start)
        if self.plan.basis == "hour":
            return Fraction(-(-elapsed // 3600))
        return elapsed

    def units_used(self, start: datetime, change: datetime) -> Fraction:
        """The part of a charged stretch that was used when a change came."""
        if self.plan.basis == "day" and self.plan.change_day == "new":
            days = local_date(change, self.zone) - local_date(start, self.zone)
            return Fraction(max(days.days, 0))
        return self.units(start, change)

    def days(self, units: Fraction) -> Fraction:
        """Units of the plan's basis as days."""
        per_day = {"second": 86400, "hour": 24, "day": 1}[self.plan.basis]
        return units / per_day

    def share(self, units: Fraction, period: Period) -> Fraction:
        """The share of the period's price that a part of so many units costs."""
        whole = self.units(period.start, period.end)
        if self.plan.proration == "none" or units >= whole:
            return Fraction(1)
        if self.plan.proration == "actual":
            return units / whole
        return min(Fraction(1), self.days(units) / FIXED_DAYS[self.plan.unit])

    def with_end(
        self, end: datetime, *, known_at: datetime, rule: TerminationRule | None
    ) -> "Terms":
        """The terms with a new end recorded."""
        return replace(self, ends=(*self.ends, EndChange(known_at, end, rule)))
