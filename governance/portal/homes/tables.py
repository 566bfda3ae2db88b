"""Tables of the homes."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from governance.accounts import queries as accounts
from governance.plumbing.models import AuditEvent
from governance.portal.homes import bandwidth, decisions, money
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window
from governance.telemetry import queries as telemetry
from governance.telemetry.queries.cards import cards_for
from governance.telemetry.queries.freshness import freshness
from governance.ui import formats
from governance.ui.tables import Column, Table

BAR = "portal/cells/budget_bar.html"


def teams(viewer: Any, params: QueryDict, found: Any, at: Window) -> Table:
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
                "budget": budget,
                "position": position,
                "forecast": expected,
                "elapsed": at.elapsed,
                "limit": position.limit if position else None,
                "spent": position.spent if position else None,
                "used": position.spent / position.limit if position and position.limit else None,
                "state": money.state(position, expected, budget),
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
            Column("bar", _("Spent, held, forecast, time"), cell=BAR, sortable=False),
            Column("state", _("State"), kind="badge"),
        ],
        rows=rows,
        params=params,
        caption=_("Teams"),
        key="teams",
        empty=_("No teams yet."),
        empty_hint=_("Make one under People and roles."),
    )


def budgets(viewer: Any, params: QueryDict, at: Window) -> Table:
    """This month's budgets that the viewer may see."""
    rows = [
        {
            "owner": str(budget.owner),
            "position": position,
            "elapsed": at.elapsed,
            "forecast": money.forecast(position, at.elapsed),
            "spent": position.spent,
            "held": position.held,
            "limit": position.limit,
            "free": position.free,
            "currency": formats.currency_word(budget.currency),
        }
        for budget, position in money.this_month(viewer, at)
    ]
    return Table(
        columns=[
            Column("owner", _("Budget"), sub="currency", stick=True),
            Column("spent", _("Spent"), kind="amount"),
            Column("held", _("Held"), kind="amount"),
            Column("limit", _("Limit"), kind="amount"),
            Column("free", _("Free"), kind="amount"),
            Column("bar", _("Spent, held, forecast, time"), cell=BAR, sortable=False),
        ],
        rows=rows,
        params=params,
        caption=_("Budgets of this month"),
        key="budgets",
        empty=_("No budget for this month."),
        empty_hint=_("Finance makes them; without one nothing can be approved."),
    )


def my_requests(viewer: Any, params: QueryDict, at: Window) -> Table:
    """What the viewer asked for, where it stands and who has the next word."""
    return Table(
        columns=[
            Column("title", _("Request"), href=lambda r: r["href"], sub="package", stick=True),
            Column("project", _("Project")),
            Column("state", _("State"), cell="portal/cells/state.html"),
            Column("waiting", _("Waits for")),
            Column("since", _("Since"), kind="ago"),
            Column("amount", _("At most"), kind="figure"),
        ],
        rows=decisions.my_requests(viewer, at),
        params=params,
        caption=_("My requests"),
        key="requests",
        empty=_("You have no request under way."),
        empty_hint=_("A new one shows what it takes and costs before you ask."),
    )


def my_cards(viewer: Any, params: QueryDict, at: Window) -> Table:
    """Cards that the viewer's teams hold, over the last whole day of hours."""
    rows = telemetry.usage(
        viewer,
        period=at.last_hours(24),
        tz=at.zone.key,
        now=at.now,
        group_by=("project", "card"),
    )
    cards = {card.pk: card for card in cards_for(viewer)}
    projects = dict(accounts.projects_visible_to(viewer).values_list("slug", "name"))
    shown = []
    for row in rows:
        card = cards.get(int(str(row.group["card"])))
        if card is None or row.group["project"] is None:
            continue
        share = row.figures[bandwidth.ACTIVE]
        peak, total = row.figures["memory_used_peak_bytes"], row.figures["memory_total_bytes"]
        shown.append(
            {
                "card": str(card),
                "model": card.model_text,
                "href": link("telemetry:card", pk=card.pk),
                "project": projects.get(str(row.group["project"]), ""),
                "share": share,
                "share_text": bandwidth.bounded(row, share) if share is not None else None,
                "source": bandwidth.SHORT.get(row.source, ""),
                "active": row.figures["active_share"],
                "memory": peak,
                "memory_share": peak / total if peak and total else None,
                "coverage": row.coverage,
                "incomplete": (row.coverage or 0) < bandwidth.ENOUGH,
            }
        )
    return Table(
        columns=[
            Column("card", _("Card"), href=lambda r: r["href"], sub="model", stick=True),
            Column("project", _("Project")),
            Column(
                "bar",
                _("Bandwidth, mark at 30 %"),
                cell="portal/cells/share_bar.html",
                sortable=False,
            ),
            Column("share_text", _("Share"), kind="figure", sub="source", measured=True),
            Column("active", _("Active"), kind="percent", measured=True),
            Column("memory", _("Memory peak"), kind="size", measured=True),
            Column("coverage", _("Coverage"), kind="percent", incomplete=lambda r: r["incomplete"]),
        ],
        rows=shown,
        params=params,
        caption=_("Cards of my teams, last 24 hours"),
        key="cards",
        page_size=12,
        empty=_("Your teams hold no card now."),
        empty_hint=_("Cards appear with the first rental or booking."),
    )


def nodes(viewer: Any, params: QueryDict, at: Window) -> Table:
    """Nodes by the age of their newest minute."""
    minute = int(at.now.timestamp()) // 60
    rows = [
        {
            "node": node.name,
            "href": link("telemetry:node", pk=node.id),
            "state": ("act", _("silent")) if node.is_silent(at.now) else ("good", _("answers")),
            "heard": node.last_ok_at,
            "lag": None if node.newest_minute is None else (minute - node.newest_minute) * 60,
        }
        for node in freshness()
    ]
    return Table(
        columns=[
            Column("node", _("Node"), href=lambda r: r["href"], stick=True),
            Column("state", _("State"), kind="badge"),
            Column("heard", _("Last answer"), kind="ago"),
            Column("lag", _("Newest minute"), kind="duration", note=_("age")),
        ],
        rows=rows,
        params=params,
        caption=_("Nodes"),
        key="nodes",
        empty=_("No node is enrolled."),
        empty_hint=_("Enrol one under Nodes: one line to copy."),
    )


def acts(viewer: Any, params: QueryDict, at: Window) -> Table:
    """The latest acts of the audit trail, for those who may read it."""
    return Table(
        columns=[
            Column("at", _("When"), kind="moment", stick=True),
            Column("actor_name", _("Who")),
            Column("act", _("Act")),
            Column("thing_type", _("Thing"), sub=lambda event: event.thing_id),
            Column("reason", _("Reason")),
        ],
        rows=AuditEvent.objects.order_by("-id")[:20] if "audit.see" in viewer.abilities() else [],
        params=params,
        caption=_("Latest acts"),
        key="acts",
        empty=_("Nothing was done yet."),
    )
