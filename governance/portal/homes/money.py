"""Budgets on the homes: where each stands this month, and which will not hold."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from governance.budgets import queries as budgets
from governance.kernel.policy import Actor, can
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window
from governance.portal.homes.shapes import Button, Tile, Work
from governance.ui import formats

DANGER = Decimal("0.9")
"""Share of a limit from which a budget is brought up."""

EARLY = 0.2
"""Part of the month before which its pace says nothing."""


def this_month(viewer: Actor, window: Window) -> list[tuple[Any, budgets.Position]]:
    """Budgets in force now that the viewer may see, with their positions."""
    rows = budgets.visible_to(viewer).filter(
        starts_at__lte=window.now, ends_at__gt=window.now, unit="month"
    )
    return budgets.positions(rows, window.now)


def forecast(position: budgets.Position, elapsed: float) -> Decimal | None:
    """What will have been spent by the month's end at the pace so far; None early in a month."""
    if elapsed < EARLY:
        return None
    return (position.spent / Decimal(str(elapsed))).quantize(Decimal("0.01"))


def budget_tile(found: list[tuple[Any, budgets.Position]], window: Window) -> Tile:
    """Spent of this month's team budgets, against the time gone by. One currency at a time: the
    one with most budgets."""
    label = _("Budget used")
    rows = [(b, p) for b, p in found if b.scope == "team"] or found
    currencies = [b.currency for b, _p in rows]
    if not rows:
        return Tile(label, None, cover=_("no budget for this month"))
    currency = max(sorted(set(currencies)), key=currencies.count)
    own = [p for b, p in rows if b.currency == currency]
    spent, held = sum((p.spent for p in own), Decimal(0)), sum((p.held for p in own), Decimal(0))
    limit = sum((p.limit for p in own), Decimal(0))
    total = budgets.Position(limit, held, spent, Decimal(0))
    expected = forecast(total, window.elapsed)
    return Tile(
        label,
        formats.number(100 * spent / limit, 1) if limit else None,
        unit=_("%% at %(elapsed)s of time") % {"elapsed": formats.percent(window.elapsed)},
        change=formats.money(expected, currency) if expected is not None else "",
        change_note=_("forecast for the month")
        if expected is not None
        else _("too early in the month for a forecast"),
        meter={
            "spent": spent,
            "held": held,
            "limit": limit,
            "forecast": expected,
            "elapsed": window.elapsed,
        },
        cover=_("%(spent)s of %(limit)s, %(held)s held")
        % {
            "spent": formats.amount(spent, currency),
            "limit": formats.money(limit, currency),
            "held": formats.amount(held, currency),
        },
        formula=_("Charges of the month / its budgets. Holds are not counted as used."),
        href=link("budgets:list"),
    )


def in_danger(
    viewer: Actor, found: list[tuple[Any, budgets.Position]], window: Window
) -> list[Work]:
    """Budgets nearly used up or on the way past their limit."""
    rows = []
    for budget, position in found:
        expected = forecast(position, window.elapsed)
        worst = max(position.committed, expected or Decimal(0))
        if not position.limit or worst < position.limit * DANGER:
            continue
        over = worst - position.limit
        names = {"owner": str(budget.owner), "period": budget.label}
        title = (
            _("%(owner)s will pass its budget %(period)s")
            if over > 0
            else _("%(owner)s has nearly used its budget %(period)s")
        ) % names
        detail = _("%(spent)s spent, %(held)s held of %(limit)s at %(elapsed)s of the month")
        rows.append(
            Work(
                kind=_("Budget"),
                tone="act" if over > 0 else "watch",
                title=title,
                detail=detail
                % {
                    "spent": formats.amount(position.spent, budget.currency),
                    "held": formats.amount(position.held, budget.currency),
                    "limit": formats.amount(position.limit, budget.currency),
                    "elapsed": formats.percent(window.elapsed, 0),
                },
                amount=formats.money(abs(over), budget.currency),
                amount_note=_("over by the month's end") if over > 0 else _("left"),
                when=_("ends %(day)s") % {"day": formats.short_day(window.month.end)},
                href=link("budgets:detail", budget_id=budget.pk) or link("budgets:list"),
                buttons=[
                    Button(_("See charges"), link("budgets:list"), method="get"),
                    Button(
                        _("Change budget"),
                        link("budgets:list"),
                        may=can(viewer, "budgets.manage", budget),
                        method="get",
                        look="quiet",
                    ),
                ],
            )
        )
    return rows


def state(
    position: budgets.Position | None, expected: Decimal | None, budget: Any
) -> tuple[str, str] | None:
    """Within, nearly used, or over by how much, counting the forecast."""
    if position is None:
        return None
    worst = max(position.committed, expected or Decimal(0))
    if worst > position.limit:
        over = formats.amount(worst - position.limit, budget.currency)
        return "act", _("over by %(amount)s") % {"amount": over}
    if worst > position.limit * DANGER:
        return "watch", _("nearly used")
    return "good", _("within")
