"""Cost on the homes: what was paid, what of it bought bandwidth that nobody used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from governance.kernel.periods import add_months
from governance.portal.homes.bandwidth import formula
from governance.portal.homes.decisions import term
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window
from governance.portal.homes.shapes import Tile
from governance.rentals import queries as rentals
from governance.reports.domain import kpis
from governance.telemetry import queries as telemetry
from governance.telemetry.domain.sources import Fidelity
from governance.ui import charts, formats
from governance.ui.palette import ink

COMMITTED = ("monthly", "quarterly", "annual")
MONTHS = 4


@dataclass(frozen=True)
class Use:
    """A rental's measured time in the window: hours known of hours held, share and activity."""

    known: float
    held: float
    share: float | None
    active_hours: float | None


def measured_use(viewer: Any, at: Window) -> dict[int, Use]:
    """Use by rental, of rentals with measured bandwidth only (an upper bound proves no loss)."""
    rows = telemetry.usage(
        viewer, period=at.period, tz=at.zone.key, now=at.now, group_by=("rental",)
    )
    found: dict[int, Use] = {}
    for row in rows:
        rental = row.group["rental"]
        if rental is None or row.fidelity != Fidelity.DRAM_BW:
            continue
        best = found.get(int(str(rental)))
        if best is None or row.card_hours > best.known:
            found[int(str(rental))] = Use(
                row.card_hours,
                row.expected_card_hours,
                row.figures["bandwidth_share_mean"],
                row.figures["active_hours"],
            )
    return found


def main_currency(rows: Sequence[Any]) -> str:
    """The currency of most rows; figures of others are not added to it."""
    codes = [row.currency for row in rows]
    return max(sorted(set(codes)), key=codes.count) if codes else ""


def unused_tile(viewer: Any, at: Window) -> Tile:
    """Amortised cost of measured time, times the bandwidth not used in it."""
    label = _("Paid bandwidth not used")
    rows = rentals.cost_rows(viewer, first=at.days[0], last=at.today, group_by=("rental",))
    currency = main_currency(rows)
    used = measured_use(viewer, at)
    lost, paid, counted = Decimal(0), Decimal(0), 0
    for row in rows:
        use = used.get(int(row.group[0])) if row.group[0] else None
        if row.currency != currency or use is None or use.share is None or not use.held:
            continue
        cost = row.amortised * Decimal(str(min(1.0, use.known / use.held)))
        missing = kpis.paid_bandwidth_not_used(cost, Decimal(str(use.share)))
        if missing is not None:
            lost, paid, counted = lost + missing, paid + cost, counted + 1
    if not counted:
        return Tile(
            label,
            None,
            cover=_("no rental with measured bandwidth"),
            formula=formula("paid_bandwidth_not_used"),
        )
    return Tile(
        label,
        formats.amount(lost, currency),
        unit=formats.currency_word(currency),
        change=formats.percent(lost / paid) if paid else "",
        change_note=_("of what the measured time cost"),
        cover=_("of %(paid)s paid for %(count)s measured rentals, net of tax")
        % {"paid": formats.amount(paid, currency), "count": counted},
        formula=formula("paid_bandwidth_not_used"),
        href=link("reports:flags"),
    )


def commitment_tile(viewer: Any, at: Window) -> Tile:
    """Active hours of the cards held by monthly or longer contracts against the hours held."""
    label = _("Commitment utilisation")
    committed = set(
        rentals.rentals_visible_to(viewer)
        .filter(plan_kind__in=COMMITTED)
        .values_list("pk", flat=True)
    )
    uses = [use for pk, use in measured_use(viewer, at).items() if pk in committed]
    active = sum(use.active_hours or 0.0 for use in uses)
    known, held = sum(use.known for use in uses), sum(use.held for use in uses)
    share = kpis.commitment_utilisation(
        Decimal(str(active)), Decimal(str(max(0.0, known - active)))
    )
    if share is None:
        return Tile(
            label,
            None,
            cover=_("no committed card was measured"),
            formula=formula("commitment_utilisation"),
        )
    return Tile(
        label,
        formats.number(share * 100, 1),
        unit="%",
        cover=_("%(active)s of %(known)s GPU-h active; %(unknown)s unknown")
        % {
            "active": formats.number(active, 0),
            "known": formats.number(known, 0),
            "unknown": formats.number(max(0.0, held - known), 0),
        },
        formula=formula("commitment_utilisation"),
        href=link("reports:prices"),
    )


def spent_tile(viewer: Any, at: Window) -> Tile:
    """What was billed in the window, net of tax, beside what it amortises to."""
    rows = rentals.cost_rows(viewer, first=at.days[0], last=at.today)
    label = _("Billed")
    if not rows:
        return Tile(label, None, cover=_("no charge in these days"))
    currency = main_currency(rows)
    own = [row for row in rows if row.currency == currency]
    billed = sum((row.billed for row in own), Decimal(0))
    amortised = sum((row.amortised for row in own), Decimal(0))
    daily = rentals.cost_rows(viewer, first=at.days[0], last=at.today, group_by=("day",))
    by_day = {row.group[0]: row.amortised for row in daily if row.currency == currency}
    return Tile(
        label,
        formats.amount(billed, currency),
        unit=formats.currency_word(currency),
        change=formats.amount(amortised, currency),
        change_note=_("amortised"),
        spark=[by_day.get(day.isoformat()) for day in at.days[:-1]],
        cover=_("%(count)s charges, net of tax") % {"count": sum(row.charges for row in own)},
        href=link("reports:report", name="cost"),
    )


def months(at: Window) -> list[date]:
    first = at.today.replace(day=1)
    return [add_months(first, -n) for n in range(MONTHS - 1, -1, -1)]


def by_plan(viewer: Any, at: Window) -> charts.Chart | None:
    """Amortised cost by month and plan."""
    shown = months(at)
    rows = rentals.cost_rows(viewer, first=shown[0], last=at.today, group_by=("month", "plan"))
    if not rows:
        return None
    currency = main_currency(rows)
    cells = {(r.group[0][:10], r.group[1]): r.amortised for r in rows if r.currency == currency}
    plans = [
        plan
        for plan in ("annual", "quarterly", "monthly", "daily", "hourly")
        if any(p == plan for _m, p in cells)
    ]
    return charts.bars(
        "cost",
        _("Cost by month and plan"),
        [formats.month(month) for month in shown],
        [
            charts.Series(
                term(plan),
                [cells.get((m.isoformat(), plan), Decimal(0)) for m in shown],
                ink("plan", plan),
            )
            for plan in plans
        ],
        note=_("Amortised, net of tax, %(currency)s. The last month is under way.")
        % {"currency": formats.currency_word(currency)},
        head=_("Month"),
    )
