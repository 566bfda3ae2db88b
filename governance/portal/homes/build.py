"""Which home a viewer gets, and what stands on it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from governance.accounts import queries as accounts
from governance.kernel.policy import Actor, can
from governance.portal.homes import bandwidth, money
from governance.portal.homes.bandwidth import link
from governance.portal.homes.periods import Window, window
from governance.portal.homes.shapes import Button, Home
from governance.ui import formats
from governance.ui.tables import Column, Table


def home_for(viewer: Any, params: QueryDict, now: datetime) -> Home:
    """The first home whose ability the viewer has; researchers' otherwise."""
    abilities = viewer.abilities()
    for ability, build in HOMES:
        if ability in abilities:
            return build(viewer, params, window(now))
    return researcher(viewer, params, window(now))


def heading(at: Window) -> str:
    return formats.long_day(at.today)


def manager(viewer: Actor, params: QueryDict, at: Window) -> Home:
    """Decisions first, then four figures, then the teams."""
    found = money.this_month(viewer, at)
    trend = bandwidth.trend(viewer, at)
    return Home(
        heading=heading(at),
        lede=_("What needs a decision today, and whether the money buys work."),
        work_title=_("Needs you today"),
        work=money.in_danger(viewer, found, at),
        work_empty=_("Nothing waits for you."),
        tiles=[bandwidth.share_tile(viewer, at), money.budget_tile(found, at)],
        tiles_title=_("The last 30 days"),
        tiles_note=at.words,
        charts_title=_("By team"),
        charts=[trend] if trend else [],
        tables=[("", "", teams_table(viewer, params, found, at))],
    )


def teams_table(viewer: Actor, params: QueryDict, found: Any, at: Window) -> Table:
    """Teams with cards, share, coverage and this month's budget."""
    usage = bandwidth.by_team(viewer, at)
    standing = {b.team.slug: (b, p) for b, p in found if b.scope == "team"}
    rows = []
    for team in accounts.teams_visible_to(viewer):
        budget, position = standing.get(team.slug, (None, None))
        expected = money.forecast(position, at.elapsed) if position else None
        rows.append(
            {
                "team": team.name,
                "slug": team.slug,
                "budget": budget,
                "position": position,
                "forecast": expected,
                "elapsed": at.elapsed,
                "limit": position.limit if position else None,
                "spent": position.spent if position else None,
                "used": position.spent / position.limit if position and position.limit else None,
                "state": budget_state(position, expected, budget),
                **usage.get(team.slug, {}),
            }
        )
    return Table(
        columns=[
            Column("team", _("Team"), stick=True),
            Column("cards", _("Cards"), kind="number"),
            Column("active", _("Active"), kind="percent", measured=True),
            Column(
                "share_text",
                _("Bandwidth share"),
                kind="figure",
                note=_("active time"),
                sub="source",
                measured=True,
            ),
            Column(
                "coverage",
                _("Coverage"),
                kind="percent",
                incomplete=lambda row: row.get("incomplete", False),
            ),
            Column("spent", _("Spent"), kind="amount", note=_("this month")),
            Column("limit", _("Budget"), kind="amount"),
            Column("used", _("Used"), kind="percent"),
            Column(
                "bar",
                _("Spent, held, forecast, time"),
                cell="portal/cells/budget_bar.html",
                sortable=False,
            ),
            Column("state", _("State"), kind="badge"),
        ],
        rows=rows,
        params=params,
        caption=_("Teams"),
        key="teams",
        empty=_("No teams yet."),
        empty_hint=_("Make one under People and roles."),
    )


def budget_state(position: Any, expected: Any, budget: Any) -> tuple[str, str] | None:
    if position is None:
        return None
    worst = max(position.committed, expected or 0)
    if worst > position.limit:
        over = formats.amount(worst - position.limit, budget.currency)
        return "act", _("over by %(amount)s") % {"amount": over}
    if worst > position.limit * money.DANGER:
        return "watch", _("nearly used")
    return "good", _("within")


def researcher(viewer: Any, params: QueryDict, at: Window) -> Home:
    """Ask for compute, see what runs, and what it takes from the project's budget."""
    return Home(
        heading=heading(at),
        lede=_("Ask for compute, see what runs for you and what it costs your projects."),
        primary=[
            Button(
                _("New request"),
                link("requests:new"),
                may=can(viewer, "requests.create"),
                method="get",
                look="primary",
            )
        ]
        if link("requests:new")
        else [],
        tables=[(_("Budgets of my projects"), "", budgets_table(viewer, params, at))],
    )


def budgets_table(viewer: Actor, params: QueryDict, at: Window) -> Table:
    rows = [
        {
            "owner": str(budget.owner),
            "budget": budget,
            "position": position,
            "elapsed": at.elapsed,
            "forecast": money.forecast(position, at.elapsed),
            "spent": position.spent,
            "held": position.held,
            "limit": position.limit,
            "free": position.free,
        }
        for budget, position in money.this_month(viewer, at)
    ]
    return Table(
        columns=[
            Column("owner", _("Budget"), stick=True),
            Column("spent", _("Spent"), kind="amount"),
            Column("held", _("Held"), kind="amount"),
            Column("limit", _("Limit"), kind="amount"),
            Column("free", _("Free"), kind="amount"),
            Column(
                "bar",
                _("Spent, held, forecast, time"),
                cell="portal/cells/budget_bar.html",
                sortable=False,
            ),
        ],
        rows=rows,
        params=params,
        caption=_("Budgets of this month"),
        key="budgets",
        empty=_("No budget for this month."),
        empty_hint=_("Finance makes them; without one nothing can be approved."),
    )


HOMES: tuple[tuple[str, Callable[[Any, QueryDict, Window], Home]], ...] = (
    ("requests.approve", manager),
)
