"""The one function that prices a rental: preview, estimate and posted charges all come from here.

Prepaid plans (day, month, quarter, year) are charged when a period begins, hourly plans when a
line of their `bill` cut is over (`Line.due`). A fact recorded later never changes a line that was
due before: it adds credits and charges that are due when it became known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from governance.kernel.money import Money, round_exact, split
from governance.kernel.periods import (
    Period,
    anchored,
    calendar_end,
    calendar_start,
    index_at,
    seconds,
)
from governance.rentals.domain.termination import UsedTerm, refund
from governance.rentals.domain.terms import (
    SETTLEMENT_SECONDS,
    Change,
    EndChange,
    Plan,
    Tax,
    Terms,
)

LineKind = Literal["charge", "credit", "tax"]


@dataclass(frozen=True, slots=True)
class Line:
    """A priced stretch of a rental; `amount` is rounded, a credit's is negative.

    `quantity` times `unit_price` is the exact amount (not for taxes, and for a credit only in the
    units given back); `due` is the instant from which the line may be posted.
    """

    kind: LineKind
    period: Period
    quantity: Fraction | None
    unit: str | None
    unit_price: Decimal | None
    amount: Decimal
    formula: str
    due: datetime
    tax: Tax | None = None


@dataclass(slots=True)
class _Piece:
    """A charged stretch that still stands: what a later credit is measured against."""

    start: datetime
    end: datetime
    units: Fraction
    amount: Decimal
    price: Decimal
    quantity: int


def listed_lines(terms: Terms, until: datetime | None = None) -> list[Line]:
    """Every line that begins before `until`, in order of time; without an end `until` is needed."""
    if until is not None:
        listed = (line for line in _lines(terms, terms.start, until) if line.period.start < until)
        return sorted(listed, key=lambda line: line.due)
    known = [terms.end] if terms.end else []
    known += [moment for revision in terms.ends for moment in (revision.end, revision.known_at)]
    if not known:
        raise ValueError("a rental without an end is listed up to a given time")
    return sorted(_lines(terms, terms.start, max(known)), key=lambda line: line.due)


def due_lines(terms: Terms, *, after: datetime | None, until: datetime) -> list[Line]:
    """The lines due later than `after` and not later than `until`, in the order of posting.

    Any run of calls with adjoining bounds gives the same lines as one call over the whole.
    """
    first = terms.start
    if after is not None:
        late = [revision.end for revision in terms.ends if revision.known_at > after]
        late += [change.at for change in terms.changes if change.due > after]
        first = max(terms.start, min([after, *late]))
    lines = [
        line
        for line in _lines(terms, first, until)
        if line.due <= until and (after is None or line.due > after)
    ]
    return sorted(lines, key=lambda line: line.due)


def next_due(terms: Terms, after: datetime) -> datetime | None:
    """The first instant later than `after` at which a line falls due; None when all is charged."""
    probe = after
    for step in (1, 32, 93, 367):
        probe = after + timedelta(days=step)
        lines = due_lines(terms, after=after, until=max(probe, terms.start))
        if lines:
            return lines[0].due
    return None


def _lines(terms: Terms, first: datetime, until: datetime) -> Iterator[Line]:
    """Lines of all periods from the one that holds `first`, as far as `until` may need them."""
    if terms.plan.unit == "hour":
        return _hourly(terms, first, until)
    return _prepaid(terms, first, until)


def _prepaid(terms: Terms, first: datetime, until: datetime) -> Iterator[Line]:
    i = terms.index_at(max(first, terms.start))
    while True:
        whole = Period(terms.boundary(i), terms.boundary(i + 1))
        begin = max(whole.start, terms.start.astimezone(UTC))
        end = terms.end_known(begin)
        if begin > until or (end is not None and end <= begin):
            return
        yield from _PrepaidPeriod(terms, whole, begin, i).lines()
        i += 1


class _PrepaidPeriod:
    """One period of a prepaid plan: the charge at its beginning and what later facts do to it."""

    def __init__(self, terms: Terms, whole: Period, begin: datetime, index: int) -> None:
        self.terms, self.whole, self.begin, self.index = terms, whole, begin, index
        known_end = terms.end_known(begin)
        self.end = whole.end if known_end is None else min(whole.end, known_end.astimezone(UTC))
        self.pieces: list[_Piece] = []

    def lines(self) -> Iterator[Line]:
        terms, begin = self.terms, self.begin
        units = terms.units(begin, self.end)
        yield self._charge(begin, units, terms.share(units, self.whole), begin)
        later: list[tuple[datetime, Change | EndChange]] = [
            (change.due, change) for change in terms.changes if change.due > begin
        ]
        later += [
            (revision.known_at, revision) for revision in terms.ends if revision.known_at > begin
        ]
        for due, fact in sorted(later, key=lambda entry: entry[0]):
            if isinstance(fact, EndChange):
                yield from self._move_end(fact, due)
            elif fact.at < self.end and terms.plan.proration != "none":
                yield from self._reprice(max(fact.at.astimezone(UTC), begin), due)

    def _charge(self, start: datetime, units: Fraction, share: Fraction, due: datetime) -> Line:
        terms, plan = self.terms, self.terms.plan
        price, quantity = terms.price_at(start, due)
        if plan.instalments:
            parts = split(Money(price, terms.currency), [1] * 12, range(12), plan.places)
            price = parts[self.index % 12].amount
        exact = Fraction(price) * quantity * share
        amount = round_exact(exact, plan.places, plan.rounding)
        if exact > 0:
            amount = max(amount, plan.minimum)
        self.pieces.append(_Piece(start, self.end, units, amount, price, quantity))
        return Line(
            kind="charge",
            period=Period(start, self.end),
            quantity=quantity * share,
            unit=plan.unit,
            unit_price=price,
            amount=amount,
            formula=self._formula(price, quantity, units, share),
            due=due,
            tax=plan.tax,
        )

    def _formula(self, price: Decimal, quantity: int, units: Fraction, share: Fraction) -> str:
        text = f"{price} x {quantity}"
        if share == 1:
            return text
        if self.terms.plan.proration == "fixed30":
            days = {"month": 30, "quarter": 90, "year": 360, "day": 1}[self.terms.plan.unit]
            return f"{text} x {_number(self.terms.days(units))} d / {days} d"
        whole = self.terms.units(self.whole.start, self.whole.end)
        return f"{text} x {self._ratio(units, whole)}"

    def _ratio(self, part: Fraction, whole: Fraction) -> str:
        basis = self.terms.plan.basis
        if basis == "second":
            for unit, length in (("d", 86400), ("h", 3600)):
                if part % length == 0 and whole % length == 0:
                    return f"{part // length} {unit} / {whole // length} {unit}"
            return f"{_number(part)} s / {_number(whole)} s"
        unit = {"hour": "h", "day": "d"}[basis]
        return f"{_number(part)} {unit} / {_number(whole)} {unit}"

    def _reprice(self, at: datetime, due: datetime) -> Iterator[Line]:
        """Credits what stands from `at` on and charges the new price for it."""
        before = sum((piece.units for piece in self.pieces), Fraction(0))
        yield from self._give_back(at, due)
        units = before - sum((piece.units for piece in self.pieces), Fraction(0))
        if units > 0:
            yield self._charge(at, units, self.terms.share(units, self.whole), due)

    def _move_end(self, revision: EndChange, due: datetime) -> Iterator[Line]:
        plan, new_end = self.terms.plan, revision.end.astimezone(UTC)
        if new_end < self.end:
            at = max(new_end, self.begin)
            if revision.rule is not None and revision.rule.name != "straight":
                yield from self._settle(revision, at, due)
            elif plan.proration != "none" or revision.rule is not None:
                yield from self._give_back(at, due)
            self.end = at
        elif self.end < min(new_end, self.whole.end) and plan.proration != "none":
            start, self.end = self.end, min(new_end, self.whole.end)
            before = self.terms.units(self.begin, start)
            after = self.terms.units(self.begin, self.end)
            share = self.terms.share(after, self.whole) - self.terms.share(before, self.whole)
            if after > before:
                yield self._charge(start, after - before, share, due)

    def _give_back(self, at: datetime, due: datetime) -> Iterator[Line]:
        """Credits, piece by piece, the share of each standing amount that lies after `at`."""
        kept: list[_Piece] = []
        for piece in self.pieces:
            start = max(at, piece.start)
            used = min(self.terms.units_used(piece.start, start), piece.units)
            unused = piece.units - used
            if unused > 0 and start < piece.end:
                exact = Fraction(piece.amount) * unused / piece.units
                credit = min(self._rounded(exact), piece.amount)
                yield self._credit(piece, Period(start, piece.end), credit, unused, due)
                piece.end, piece.units, piece.amount = start, used, piece.amount - credit
            if piece.units > 0:
                kept.append(piece)
        self.pieces = kept

    def _settle(self, revision: EndChange, at: datetime, due: datetime) -> Iterator[Line]:
        """One credit by the vendor's early-termination rule over all that was paid."""
        if revision.rule is None or not self.pieces:
            return
        paid = sum((piece.amount for piece in self.pieces), Decimal(0))
        credit = self._rounded(refund(revision.rule, paid, self._used(at)))
        piece = self.pieces[-1]
        if credit:
            whole = _Piece(self.begin, piece.end, Fraction(1), paid, piece.price, piece.quantity)
            line = self._credit(whole, Period(at, self.end), credit, Fraction(0), due)
            yield Line(
                kind=line.kind, period=line.period, quantity=None, unit=None, unit_price=None,
                amount=line.amount, formula=f"{paid} - consumed ({revision.rule.name})",
                due=due, tax=line.tax,
            )  # fmt: skip
        self.pieces = []

    def _used(self, at: datetime) -> UsedTerm:
        terms = self.terms
        months = index_at(self.begin, "month", at, terms.zone)
        rest = seconds(at - anchored(self.begin, "month", months, terms.zone))
        units, charged = terms.units_used(self.begin, at), terms.units(self.begin, self.end)
        return UsedTerm(
            months=months,
            rest_seconds=rest,
            days=seconds(at - self.begin) / 86400,
            term_days=seconds(self.end - self.begin) / 86400,
            unused_share=max(Fraction(0), 1 - units / charged),
        )

    def _credit(
        self, piece: _Piece, period: Period, credit: Decimal, unused: Fraction, due: datetime
    ) -> Line:
        whole = self.terms.units(self.whole.start, self.whole.end)
        return Line(
            kind="credit",
            period=period,
            quantity=-piece.quantity * unused / whole,
            unit=self.terms.plan.unit,
            unit_price=piece.price,
            amount=-credit,
            formula=f"-{piece.amount} x {self._ratio(unused, piece.units)}",
            due=due,
            tax=self.terms.plan.tax,
        )

    def _rounded(self, exact: Fraction) -> Decimal:
        return round_exact(exact, self.terms.plan.places, self.terms.plan.rounding)


def _hourly(terms: Terms, first: datetime, until: datetime) -> Iterator[Line]:
    """Metered lines, each over with its price segment, its local hour, day or month, or the end."""
    turns = sorted(
        {change.at.astimezone(UTC) for change in terms.changes if change.at > terms.start}
    )
    start = terms.start.astimezone(UTC)
    if terms.plan.bill == "segment":
        start = max([start, *(turn for turn in turns if turn <= first)])
    else:
        start = max([start, calendar_start(first, terms.plan.bill, terms.zone)])
        start = max([start, *(turn for turn in turns if start < turn <= first)])
    while start < until:
        end = (
            until
            if terms.plan.bill == "segment"
            else calendar_end(start, terms.plan.bill, terms.zone)
        )
        open_ended = terms.plan.bill == "segment"
        turn = next((turn for turn in turns if turn > start), None)
        if turn is not None and (open_ended or turn < end):
            end, open_ended = turn, False
        known = terms.final_end if open_ended else terms.end_known(end)
        if known is not None and (open_ended or known < end):
            end = known.astimezone(UTC)
        if end <= start:
            return
        yield from _metered(terms, start, end)
        start = end


@lru_cache(maxsize=1_024)
def _meter(price: Decimal, elapsed: timedelta, plan: Plan) -> tuple[Fraction, Decimal]:
    """Hours by the settlement unit and the rounded amount; days of one price repeat a lot."""
    length = SETTLEMENT_SECONDS[plan.settlement]
    hours = Fraction(-(-seconds(elapsed) // length) * length, 3600)
    exact = Fraction(price) * hours
    amount = round_exact(exact, plan.places, plan.rounding)
    return hours, max(amount, plan.minimum) if exact > 0 else amount


def _metered(terms: Terms, start: datetime, end: datetime) -> Iterator[Line]:
    plan = terms.plan
    price, quantity = terms.price_at(start, end)
    elapsed = seconds(end - start)
    hours, amount = _meter(price * quantity, end - start, plan)
    yield Line(
        kind="charge",
        period=Period(start, end),
        quantity=quantity * hours,
        unit="hour",
        unit_price=price,
        amount=amount,
        formula=f"{price} x {quantity} x {_hours(hours)}",
        due=end,
        tax=plan.tax,
    )
    for revision in terms.ends:
        if revision.known_at > end and revision.end < end:
            at = max(revision.end.astimezone(UTC), start)
            unused = seconds(end - at)
            credit = min(
                amount, round_exact(Fraction(amount) * unused / elapsed, plan.places, plan.rounding)
            )
            if credit:
                yield Line(
                    kind="credit",
                    period=Period(at, end),
                    quantity=-quantity * unused / 3600,
                    unit="hour",
                    unit_price=price,
                    amount=-credit,
                    formula=f"-{amount} x {_number(unused)} s / {_number(elapsed)} s",
                    due=revision.known_at,
                    tax=plan.tax,
                )
            return


@lru_cache(maxsize=1_024)
def _hours(hours: Fraction) -> str:
    text = _number(hours)
    return f"{text} h" if "/" not in text else f"{_number(hours * 3600)} s / 3600 s"


def _number(value: Fraction) -> str:
    """A fraction as a plain decimal where it has one of at most six places, else as n/d."""
    if value.denominator == 1:
        return str(value.numerator)
    scaled = value * 10**6
    if scaled.denominator == 1:
        return format(Decimal(scaled.numerator).scaleb(-6).normalize(), "f")
    return f"{value.numerator}/{value.denominator}"
