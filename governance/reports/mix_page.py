"""How much of a card model to commit to: the exact mix, its chart and its alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _

from governance.kernel.money import currency_places, round_exact
from governance.kernel.policy import Actor
from governance.reports.domain.commitment import (
    Mix,
    Month,
    Prices,
    advise,
    backtest,
    cheapest_mix,
    cost_of,
)
from governance.reports.prices_page import HOURS, plan_word
from governance.reports.queries import Params
from governance.reports.queries.prices import Compared, shortest
from governance.telemetry.queries.demand import demand
from governance.ui import charts, formats
from governance.ui.palette import ink


@dataclass(frozen=True)
class MixLine:
    """One way to cover the demand, with what it costs a month."""

    name: str
    formula: str
    cost: Decimal
    saving: Decimal | None
    share: float | None
    best: bool = False


@dataclass(frozen=True)
class MixPage:
    """How much of a card model to commit to."""

    card_model: str
    chart: charts.Chart
    lines: list[MixLine]
    mix: Mix
    annual: int
    monthly: int
    coverage: float | None
    days: int
    saved_before: Decimal | None
    utilisation: float | None
    committed_coverage: float | None


def months_of(hours: Sequence[int]) -> list[Month]:
    """An hourly demand in stretches of 720 hours, counted back from its end."""
    pieces = []
    end = len(hours)
    while end > 0:
        start = max(0, end - HOURS)
        pieces.append(Month(hours[start:end], Fraction(end - start, HOURS)))
        end = start
    return list(reversed(pieces))


def mix_of(viewer: Actor, params: Params, found: Sequence[Compared]) -> MixPage | None:
    """The exact commitment mix for the card model of the largest rental with an hourly price: the
    last 30 days beside the 90 before, the smaller quantity advised."""
    priced = [one for one in found if "hourly" in one.prices]
    if not priced:
        return None
    base = max(priced, key=lambda one: one.rental.cards)
    model = base.rental.card_model
    last = params.period
    asked = Params(
        params.last - timedelta(days=119), params.last, params.timezone, params.now, params.currency
    )
    seen = demand(viewer, card_model=model, period=asked.period)
    recent = demand(viewer, card_model=model, period=last)
    known = _trimmed(seen.cards)
    if not any(known):
        return None
    units = Decimal(base.rental.cards) / base.quantity
    each = {
        kind: shortest(Fraction(price) / Fraction(units)) for kind, price in base.prices.items()
    }
    prices = Prices(each["hourly"], each.get("monthly"), each.get("annual"))
    months = months_of(known)
    short, long = months[-1:], months
    advice = advise(short, long, prices)
    mix = cheapest_mix(short, prices)
    places = currency_places(base.rental.currency)
    hourly = round_exact(mix.all_hourly, places)
    chosen = round_exact(
        cost_of(short, prices, annual=advice.annual, monthly=advice.monthly), places
    )
    covered = _committed(short, advice.annual + advice.monthly)
    lines = [
        MixLine(
            _("All by the hour, released when idle"),
            f"{mix.used_hours} × {prices.hourly}",
            hourly,
            None,
            None,
        ),
        MixLine(
            _("Proposed: %(annual)d annual, %(monthly)d monthly, the rest by the hour")
            % {"annual": advice.annual, "monthly": advice.monthly},
            _formula(prices, advice.annual, advice.monthly, mix.used_hours - covered[0]),
            chosen,
            hourly - chosen,
            float((hourly - chosen) / hourly) if hourly else None,
            best=chosen <= hourly,
        ),
        MixLine(
            _("Cheapest in hindsight: %(annual)d annual, %(monthly)d monthly")
            % {"annual": mix.annual, "monthly": mix.monthly[0] if mix.monthly else 0},
            _("each level by its own hours"),
            round_exact(mix.cost, places),
            hourly - round_exact(mix.cost, places),
            float(mix.saving / mix.all_hourly) if mix.all_hourly else None,
        ),
    ]
    saved = None
    if len(months) >= 2:
        saved = round_exact(backtest(months[:-1], short, prices).saved, places)
    return MixPage(
        card_model=model,
        chart=_levels(mix, short, advice.annual, advice.monthly, prices),
        lines=lines,
        mix=mix,
        annual=advice.annual,
        monthly=advice.monthly,
        coverage=recent.coverage,
        days=len(known) // 24,
        saved_before=saved,
        utilisation=covered[0] / covered[1] if covered[1] else None,
        committed_coverage=covered[0] / mix.used_hours if mix.used_hours else None,
    )


def _trimmed(hours: list[int]) -> list[int]:
    """Without the hours before the first demand: nothing was known of them."""
    first = next((i for i, cards in enumerate(hours) if cards), len(hours))
    return hours[first:]


def _committed(months: Sequence[Month], units: int) -> tuple[int, int]:
    """Committed hours in use, and committed hours."""
    used = sum(min(cards, units) for month in months for cards in month.demand)
    return used, units * sum(len(month.demand) for month in months)


def _formula(prices: Prices, annual: int, monthly: int, over: int) -> str:
    parts = []
    if annual and prices.annual is not None:
        parts.append(f"{annual} × {prices.annual} / 12")
    if monthly and prices.monthly is not None:
        parts.append(f"{monthly} × {prices.monthly}")
    parts.append(f"{over} × {prices.hourly}")
    return " + ".join(parts)


def _levels(
    mix: Mix, months: Sequence[Month], annual: int, monthly: int, prices: Prices
) -> charts.Chart:
    """Hours in use per level, painted by the plan that is proposed to pay it."""
    whole = sum(len(month.demand) for month in months)
    names = [str(level.number) for level in mix.levels]
    plans = [
        "annual" if n <= annual else "monthly" if n <= annual + monthly else "hourly"
        for n in range(1, len(mix.levels) + 1)
    ]
    traces: list[dict[str, Any]] = []
    for kind in ("annual", "monthly", "hourly"):
        if kind not in plans:
            continue
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": plan_word(kind),
                "y": names,
                "x": [
                    level.used if plan == kind else None
                    for level, plan in zip(mix.levels, plans, strict=True)
                ],
                "marker": {"color": ink("plan", kind).colour},
                "hoverinfo": "x+name",
            }
        )
    idle = [
        whole - level.used if plan != "hourly" else None
        for level, plan in zip(mix.levels, plans, strict=True)
    ]
    if any(idle):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _("committed, not in use"),
                "y": names,
                "x": idle,
                "hoverinfo": "x+name",
                "marker": {
                    "color": "$clear",
                    "line": {"color": "$line-strong", "width": 1},
                    "pattern": {
                        "shape": "/",
                        "size": 5,
                        "solidity": 0.2,
                        "fgcolor": "$line-strong",
                    },
                },
            }
        )
    marks, notes = [], []
    for kind, fee in (
        ("annual", prices.annual and prices.annual / 12),
        ("monthly", prices.monthly),
    ):
        if fee is None:
            continue
        point = float(fee / prices.hourly)
        if point <= whole:
            marks.append(
                {
                    "type": "line",
                    "x0": point,
                    "x1": point,
                    "y0": 0,
                    "y1": 1,
                    "yref": "paper",
                    "line": {"color": "$text", "width": 1, "dash": "dash"},
                }
            )
            told = _("%(hours)s h: %(plan)s pays") % {
                "hours": formats.number(point, 0),
                "plan": plan_word(kind),
            }
            notes.append(charts.words(point, 1, told, yref="paper", yanchor="bottom"))
    return charts.Chart(
        key="levels",
        title=_("Cards in use at once"),
        note=_("Hours of the last %(hours)d with at least so many cards in use") % {"hours": whole},
        traces=traces,
        layout={
            "barmode": "stack",
            "showlegend": True,
            "annotations": notes,
            "shapes": marks,
            "margin": {"l": 48, "r": 20, "t": 46, "b": 34},
            "xaxis": {"range": [0, whole]},
            "yaxis": {"type": "category"},
        },
        height=max(200, 90 + 24 * len(names)),
        heads=[_("Card"), _("Hours in use"), _("Plan")],
        rows=[
            [name, formats.number(level.used), plan_word(plan)]
            for name, level, plan in zip(names, mix.levels, plans, strict=True)
        ],
    )
