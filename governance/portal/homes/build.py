"""Which home a viewer gets, and what stands on it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from governance.portal.homes import bandwidth, costs, decisions, money, tables
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window, window
from governance.portal.homes.shapes import Button, Home
from governance.ui import formats
from governance.ui.charts import Chart

Build = Callable[[Any, QueryDict, Window], Home]


def home_for(viewer: Any, params: QueryDict, now: datetime) -> Home:
    """The first home whose ability the viewer has; researchers' otherwise."""
    abilities = viewer.abilities()
    build = next((build for ability, build in HOMES if ability in abilities), researcher)
    return build(viewer, params, window(now))


def shown(*found: Chart | None) -> list[Chart]:
    return [chart for chart in found if chart is not None]


def review(waiting: int) -> list[Button]:
    """The way into the approver's table."""
    if not waiting or not link("requests:approvals"):
        return []
    label = _("Review %(count)s approvals") % {"count": waiting}
    return [Button(label, link("requests:approvals"), method="get", look="primary")]


def manager(viewer: Any, params: QueryDict, at: Window) -> Home:
    """Decisions first, then four figures, then the teams."""
    found = money.this_month(viewer, at)
    asked = decisions.approvals(viewer, at)
    return Home(
        heading=formats.long_day(at.today),
        lede=_("What needs a decision today, and whether the money buys work."),
        primary=review(len(asked)),
        work_title=_("Needs you today"),
        work=[
            *asked,
            *decisions.recommendations(viewer, at),
            *decisions.renewals(viewer, at),
            *money.in_danger(viewer, found, at),
        ],
        work_empty=_("Nothing waits for you."),
        tiles=[
            bandwidth.share_tile(viewer, at),
            costs.unused_tile(viewer, at),
            money.budget_tile(found, at),
            costs.commitment_tile(viewer, at),
        ],
        tiles_title=_("The last 30 days"),
        tiles_note=at.words,
        charts_title=_("By team"),
        charts=shown(bandwidth.trend(viewer, at)),
        tables=[("", "", tables.teams(viewer, params, found, at))],
    )


def finance(viewer: Any, params: QueryDict, at: Window) -> Home:
    """Budgets and what was paid."""
    found = money.this_month(viewer, at)
    asked = decisions.approvals(viewer, at)
    return Home(
        heading=formats.long_day(at.today),
        lede=_("What must be signed, which budget will not hold, and what was paid for what."),
        primary=review(len(asked)),
        work_title=_("Needs you today"),
        work=[*asked, *money.in_danger(viewer, found, at), *decisions.renewals(viewer, at)],
        work_empty=_("Nothing waits for you."),
        tiles=[
            costs.spent_tile(viewer, at),
            money.budget_tile(found, at),
            costs.unused_tile(viewer, at),
            costs.commitment_tile(viewer, at),
        ],
        tiles_title=_("The last 30 days"),
        tiles_note=at.words,
        charts_title=_("Cost"),
        charts=shown(costs.by_plan(viewer, at)),
        tables=[(_("Budgets of this month"), "", tables.budgets(viewer, params, at))],
    )


def operator(viewer: Any, params: QueryDict, at: Window) -> Home:
    """What to buy, what to repair, what ends."""
    return Home(
        heading=formats.long_day(at.today),
        lede=_("What is to be bought, which node is silent, and what ends soon."),
        work_title=_("Needs you today"),
        work=[
            *decisions.silent_nodes(viewer, at),
            *decisions.purchases(viewer, at),
            *decisions.renewals(viewer, at),
        ],
        work_empty=_("Nothing waits for you."),
        tiles=[bandwidth.share_tile(viewer, at), costs.commitment_tile(viewer, at)],
        tiles_title=_("The last 30 days"),
        tiles_note=at.words,
        tables=[(_("Nodes"), "", tables.nodes(viewer, params, at))],
    )


def auditor(viewer: Any, params: QueryDict, at: Window) -> Home:
    """Reads everything, decides nothing."""
    found = money.this_month(viewer, at)
    return Home(
        heading=formats.long_day(at.today),
        lede=_("What was done, by whom, and what it cost."),
        tiles=[
            costs.spent_tile(viewer, at),
            money.budget_tile(found, at),
            costs.unused_tile(viewer, at),
            bandwidth.share_tile(viewer, at),
        ],
        tiles_title=_("The last 30 days"),
        tiles_note=at.words,
        charts_title=_("Cost"),
        charts=shown(costs.by_plan(viewer, at)),
        tables=[(_("Latest acts"), "", tables.acts(viewer, params, at))],
    )


def researcher(viewer: Any, params: QueryDict, at: Window) -> Home:
    """Ask for compute, see what runs, and what it takes from the project's budget."""
    primary = []
    if link("requests:new"):
        primary = [
            Button(
                _("New request"),
                link("requests:new"),
                method="get",
                look="primary",
            )
        ]
    return Home(
        heading=formats.long_day(at.today),
        lede=_("Ask for compute, see what runs for you and what it costs your projects."),
        primary=primary,
        work_title=_("Your team is asked"),
        work=decisions.to_answer(viewer, at) or None,
        tables=[
            (_("My requests"), "", tables.my_requests(viewer, params, at)),
            (_("My cards now"), _("last 24 hours"), tables.my_cards(viewer, params, at)),
            (_("Budgets of my projects"), _("this month"), tables.budgets(viewer, params, at)),
        ],
    )


HOMES: tuple[tuple[str, Build], ...] = (
    ("requests.approve", manager),
    ("requests.approve_finance", finance),
    ("nodes.manage", operator),
    ("audit.see", auditor),
)
