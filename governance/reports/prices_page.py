"""The page of price comparison: cost against hours, monthly against annual."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from governance.kernel.money import currency_places, round_exact
from governance.reports.queries.prices import KINDS, MONTH_HOURS, Compared, per_gb_s
from governance.ui import charts, formats
from governance.ui.palette import ink

HOURS = int(MONTH_HOURS)


def plan_word(kind: str) -> str:
    """A plan in the reader's language."""
    return {"hourly": _("hourly"), "monthly": _("monthly"), "annual": _("annual")}[kind]


@dataclass(frozen=True)
class PlanLine:
    """A plan of the table under the curves, for the whole rental and a month."""

    kind: str
    word: str
    price: str
    formula: str
    cost: Decimal
    against: Decimal | None
    now: bool
    best: bool
    per_used_hour: Decimal | None
    per_gb_s: Decimal | None
    break_even: str
    break_even_formula: str


def rounded(one: Compared, value: Fraction | Decimal) -> Decimal:
    return round_exact(value, currency_places(one.rental.currency))


def monthly_cost(one: Compared, kind: str, hours: Decimal) -> Decimal:
    """One unit, one month."""
    price = Fraction(one.prices[kind])
    return rounded(
        one, {"hourly": price * Fraction(hours), "monthly": price, "annual": price / 12}[kind]
    )


def plan_lines(one: Compared) -> list[PlanLine]:
    """Every plan with its cost a month at the hours used, formula by formula; one unit."""
    used = one.use.hours if one.use.hours is not None else MONTH_HOURS
    costs = {kind: monthly_cost(one, kind, used) for kind in one.prices}
    least = min(costs.values())
    now = costs.get(one.rental.plan_kind)
    unit = {"hourly": _("an hour"), "monthly": _("a month"), "annual": _("a year")}
    found = []
    for kind in KINDS:
        if kind not in costs:
            continue
        cost = costs[kind]
        price = formats.number(one.prices[kind], 2)
        told = one.comparison.break_even_hours_per_month if one.comparison else {}
        point = told.get(f"{kind}_vs_hourly")
        formulas = one.comparison.formulas if one.comparison else {}
        found.append(
            PlanLine(
                kind=kind,
                word=plan_word(kind),
                price=f"{price} {unit[kind]}",
                formula={
                    "hourly": f"{one.prices['hourly'] if kind == 'hourly' else ''} × {used}",
                    "monthly": f"{one.prices[kind]}",
                    "annual": f"{one.prices[kind]} / 12",
                }[kind],
                cost=cost,
                against=None if now is None or kind == one.rental.plan_kind else cost - now,
                now=kind == one.rental.plan_kind,
                best=cost == least,
                per_used_hour=(round_exact(Fraction(cost) / Fraction(used), 4) if used else None),
                per_gb_s=per_gb_s(one, cost * one.quantity),
                break_even=(
                    ""
                    if point is None
                    else _("%(hours)s h a month")
                    % {"hours": formats.number(round(float(point), 1))}
                ),
                break_even_formula=formulas.get(f"{kind}_vs_hourly", ""),
            )
        )
    return found


def curves(one: Compared) -> charts.Chart:
    """Cost of one unit in a month against the hours used; break-evens in words on the lines, the
    use measured as a line with its P10-P90 band."""
    top = max(monthly_cost(one, kind, MONTH_HOURS) for kind in one.prices)
    high = float(top) * 1.12
    xs = [0, HOURS]
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for kind in one.prices:
        drawn = ink("plan", kind)
        ys = [float(monthly_cost(one, kind, Decimal(x))) for x in xs]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": xs,
                "y": ys,
                "name": plan_word(kind),
                "line": {"color": drawn.colour, "dash": drawn.dash, "width": 2},
                "hovertext": [f"{plan_word(kind)} {formats.amount(y)}" for y in ys],
                "hoverinfo": "text",
            }
        )
        text = f"<b>{plan_word(kind)}</b> {formats.amount(ys[-1])}"
        notes.append(
            charts.words(HOURS, ys[-1], text, xanchor="left", xshift=6, color=f"{drawn.colour}+ink")
        )
    shapes: list[dict[str, Any]] = []
    for kind, point in _points(one):
        cost = float(monthly_cost(one, kind, MONTH_HOURS))
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [float(point)],
                "y": [cost],
                "marker": {"color": "$raised", "size": 9, "line": {"color": "$text", "width": 2}},
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
        told = _("%(hours)s h: %(plan)s pays") % {
            "hours": formats.number(round(float(point), 1)),
            "plan": plan_word(kind),
        }
        left = float(point) > HOURS * 0.55
        notes.append(
            charts.words(
                float(point), cost, f"<b>{told}</b>", yshift=14, xanchor="right" if left else "left"
            )
        )
        shapes.append(
            {
                "type": "line",
                "x0": float(point),
                "x1": float(point),
                "y0": 0,
                "y1": cost,
                "line": {"color": "$line-strong", "width": 1, "dash": "dot"},
            }
        )
    if one.use.hours is not None:
        shapes += _today(one)
        band = ""
        if one.use.low is not None and one.use.high is not None:
            band = f" ({formats.number(one.use.low, 0)}–{formats.number(one.use.high, 0)})"
        said = _("used now %(hours)s h") % {"hours": formats.number(one.use.hours, 1)}
        notes.append(
            charts.words(
                float(one.use.hours),
                1,
                f"<b>{said}{band}</b>",
                yref="paper",
                yanchor="bottom",
                color="$accent",
            )
        )
    write = partial(formats.number, places=0)
    grid = list(range(0, HOURS + 1, 120))
    return charts.Chart(
        key="curves",
        title=_("Cost against hours"),
        note=_("One unit, %(currency)s a month, hours used per month")
        % {"currency": formats.currency_word(one.rental.currency)},
        traces=traces,
        layout={
            "margin": {"l": 64, "r": 130, "t": 26, "b": 34},
            "xaxis": {"range": [0, HOURS], "tickvals": grid},
            "yaxis": {"range": [0, high], **charts.value_ticks(0, high, write)},
            "annotations": notes,
            "shapes": shapes,
        },
        height=300,
        heads=[_("Hours"), *[plan_word(kind) for kind in one.prices]],
        rows=[
            [str(x), *[formats.amount(monthly_cost(one, kind, Decimal(x))) for kind in one.prices]]
            for x in grid
        ],
    )


def _points(one: Compared) -> list[tuple[str, Fraction]]:
    told = one.comparison.break_even_hours_per_month if one.comparison else {}
    found = [(kind, told.get(f"{kind}_vs_hourly")) for kind in ("annual", "monthly")]
    return [(kind, point) for kind, point in found if point is not None and point <= HOURS]


def _today(one: Compared) -> list[dict[str, Any]]:
    shapes: list[dict[str, Any]] = []
    low, high = one.use.low, one.use.high
    if low is not None and high is not None:
        shapes.append(
            {
                "type": "rect",
                "x0": float(low),
                "x1": float(high),
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "fillcolor": "$accent",
                "opacity": 0.15,
                "line": {"width": 0},
            }
        )
    x = float(one.use.hours or 0)
    shapes.append(
        {
            "type": "line",
            "x0": x,
            "x1": x,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"color": "$accent", "width": 2},
        }
    )
    return shapes


def steps(one: Compared) -> charts.Chart | None:
    """Monthly fees added up against the annual price, month by month; one unit."""
    if "monthly" not in one.prices or "annual" not in one.prices:
        return None
    months = list(range(1, 13))
    fee, year = one.prices["monthly"], one.prices["annual"]
    paid = [float(fee * m) for m in months]
    point = one.comparison.break_even_months.get("annual_vs_monthly") if one.comparison else None
    high = max(paid[-1], float(year)) * 1.12
    notes = [
        charts.words(
            12,
            paid[-1],
            f"<b>{plan_word('monthly')}</b> {formats.amount(fee * 12)}",
            xanchor="right",
            yshift=12,
            color="$series-blue+ink",
        ),
        charts.words(
            1,
            float(year),
            f"<b>{plan_word('annual')}</b> {formats.amount(year)}",
            xanchor="left",
            yshift=12,
            color="$series-green+ink",
        ),
    ]
    if point is not None:
        told = _("annual pays from month %(month)d") % {"month": point}
        notes.append(
            charts.words(
                1,
                float(year),
                f"<b>{told}</b>",
                yshift=-14,
                xanchor="left",
            )
        )
    blue, green = ink("plan", "monthly"), ink("plan", "annual")
    return charts.Chart(
        key="steps",
        title=_("Monthly against annual"),
        note=_("One unit, paid since the start"),
        traces=[
            {
                "type": "scatter",
                "mode": "lines",
                "x": months,
                "y": paid,
                "name": plan_word("monthly"),
                "line": {"shape": "hv", "color": blue.colour, "width": 2},
                "hoverinfo": "text",
                "hovertext": [formats.amount(y) for y in paid],
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": [1, 12],
                "y": [float(year)] * 2,
                "name": plan_word("annual"),
                "line": {"color": green.colour, "width": 2},
                "hoverinfo": "skip",
            },
        ],
        layout={
            "margin": {"l": 64, "r": 20, "t": 16, "b": 34},
            "xaxis": {"tickvals": months},
            "yaxis": {
                "range": [0, high],
                **charts.value_ticks(0, high, partial(formats.number, places=0)),
            },
            "annotations": notes,
        },
        height=300,
        heads=[_("Month"), plan_word("monthly"), plan_word("annual")],
        rows=[[str(m), formats.amount(fee * m), formats.amount(year)] for m in months],
    )
