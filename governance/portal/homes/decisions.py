"""What waits for somebody: signatures, purchases, renewals, silent nodes."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from governance.budgets import queries as budgets
from governance.kernel.policy import can
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window
from governance.portal.homes.shapes import Button, Work
from governance.rentals import queries as rentals
from governance.reports.queries import judged as reports
from governance.requests import queries as requests
from governance.telemetry.queries.freshness import freshness
from governance.ui import formats

RENEW_WITHIN = timedelta(days=30)
TERMS = {
    "hourly": lambda: _("hourly"),
    "daily": lambda: _("daily"),
    "monthly": lambda: _("monthly"),
    "quarterly": lambda: _("quarterly"),
    "annual": lambda: _("annual"),
    "spot": lambda: _("spot"),
    "own": lambda: _("own cards"),
}


def term(kind: str) -> str:
    """A plan's kind in the reader's language."""
    return TERMS[kind]() if kind in TERMS else kind


def package_words(package: dict[str, Any] | None) -> str:
    """Count, card and hours of a chosen package: "8 × A800 80G, 31 h (26–39)"."""
    if not package:
        return _("no package yet")
    hours = formats.number(package.get("hours"), 0)
    low, high = (
        formats.number(package.get("hours_low"), 0),
        formats.number(package.get("hours_high"), 0),
    )
    return _("%(count)s × %(card)s, %(hours)s h (%(low)s–%(high)s)") % {
        "count": package.get("count"),
        "card": package.get("card_name"),
        "hours": hours,
        "low": low,
        "high": high,
    }


def approvals(viewer: Any, at: Window) -> list[Work]:
    """Requests that need the viewer's signature, with what each does to its tightest budget."""
    rows = []
    for request in requests.inbox(viewer, at.today)[:12]:
        late = request.due_at is not None and request.due_at < at.now
        rows.append(
            Work(
                kind=_("Approval"),
                tone="act" if late else "",
                title=_("%(package)s for %(project)s")
                % {"package": package_words(request.package), "project": request.project.name},
                detail=" · ".join(
                    filter(None, [request.shown_title, str(request.requester), effect(request, at)])
                ),
                amount=formats.money(request.amount, request.currency),
                amount_note=term(str((request.package or {}).get("best_term", ""))),
                when=_("was due %(moment)s") % {"moment": formats.moment(request.due_at)}
                if late
                else _("due %(moment)s") % {"moment": formats.moment(request.due_at)},
                href=link("requests:detail", pk=request.pk),
                buttons=[
                    Button(
                        _("Approve"),
                        link("requests:approve", pk=request.pk),
                        look="primary",
                        key="a",
                        values={"next": "/"},
                    ),
                    Button(
                        _("Ask back"), link("requests:detail", pk=request.pk), method="get", key="b"
                    ),
                    Button(
                        _("Refuse"),
                        link("requests:detail", pk=request.pk),
                        method="get",
                        look="quiet",
                        key="r",
                    ),
                ],
            )
        )
    return rows


def effect(request: Any, at: Window) -> str:
    """How far the tightest budget is used, now and after: "LLM 46.9 → 48.7 %"."""
    found = budgets.budgets_for_project(request.project_id, max(at.now, request.starts_at))
    shares = [
        (
            p.committed / p.limit,
            (p.committed + (request.amount or Decimal(0))) / p.limit,
            str(b.owner),
        )
        for b, p in budgets.positions(found, at.now)
        if p.limit and b.currency == request.currency
    ]
    if not shares:
        return _("no budget")
    now_share, after, owner = max(shares, key=lambda row: row[1])
    return _("%(owner)s budget %(now)s → %(after)s") % {
        "owner": owner,
        "now": formats.number(now_share * 100, 1),
        "after": formats.percent(after),
    }


def purchases(viewer: Any, at: Window) -> list[Work]:
    """Approved requests that wait to be bought."""
    return [
        Work(
            kind=_("Purchase"),
            title=_("%(package)s for %(project)s")
            % {"package": package_words(request.package), "project": request.project.name},
            detail=f"#{request.pk} {request.shown_title} · {request.requester}",
            amount=formats.money(request.amount, request.currency),
            amount_note=_("held at most"),
            when=_("approved %(age)s") % {"age": formats.ago(request.decided_at)},
            href=link("requests:detail", pk=request.pk),
            buttons=[
                Button(
                    _("Open rental"),
                    link("rentals:open", request_id=request.pk)
                    or link("requests:detail", pk=request.pk),
                    may=can(viewer, "rentals.purchase"),
                    method="get",
                    look="primary",
                    key="a",
                )
            ],
        )
        for request in requests.approved_waiting(viewer)[:12]
    ]


def renewals(viewer: Any, at: Window) -> list[Work]:
    """Running rentals that end soon and will not renew themselves."""
    ending = rentals.rentals_visible_to(viewer).filter(
        state="active", auto_renew=False, ends_at__gt=at.now, ends_at__lte=at.now + RENEW_WITHIN
    )
    rows = []
    for rental in ending.order_by("ends_at")[:8]:
        if rental.ends_at is None:
            continue
        days = (rental.ends_at - at.now).days
        price = rental.components.order_by("pk").values_list("plan", "quantity").first()
        amount = Decimal(str(price[0]["price"])) * price[1] if price else None
        rows.append(
            Work(
                kind=_("Renewal"),
                tone="watch",
                title=_("%(project)s: %(cards)s × %(card)s ends on %(day)s")
                % {
                    "project": rental.project.name,
                    "cards": rental.cards,
                    "card": rental.card_name,
                    "day": formats.short_day(rental.ends_at),
                },
                detail=_("%(vendor)s, since %(day)s")
                % {
                    "vendor": rental.vendor,
                    "day": formats.day(rental.starts_at),
                },
                amount=formats.money(amount, rental.currency),
                amount_note=term(rental.plan_kind),
                when=_("in %(days)s days") % {"days": days},
                href=link("rentals:detail", pk=rental.pk),
                buttons=[
                    Button(
                        _("Compare plans"),
                        link("reports:prices") or link("rentals:detail", pk=rental.pk),
                        method="get",
                        look="primary",
                    )
                ],
            )
        )
    return rows


def recommendations(viewer: Any, at: Window) -> list[Work]:
    """Open recommendations, the largest saving first; snoozed ones rest until their day."""
    rows = []
    for one in reports.open_recommendations(viewer).exclude(state="snoozed")[:8]:
        said = one.get_answer_display() if one.answer else _("the team is asked")
        rows.append(
            Work(
                kind=one.get_kind_display(),
                tone="watch",
                title=_("%(project)s: %(cards)s × %(card)s")
                % {
                    "project": one.rental.project.name,
                    "cards": one.rental.cards,
                    "card": one.rental.card_name,
                },
                detail=_("Bandwidth share %(share)s, coverage %(coverage)s; %(said)s")
                % {
                    "share": formats.percent(one.latest.share),
                    "coverage": formats.percent(one.latest.coverage, 0),
                    "said": said,
                },
                amount=formats.money(one.saving, one.currency) if one.saving else "",
                amount_note=_("saved per month") if one.saving else "",
                when=_("since %(day)s") % {"day": formats.short_day(one.opened_on)},
                href=link("reports:recommendation", pk=one.pk),
                buttons=[
                    Button(
                        _("Accept"),
                        link("reports:accept", pk=one.pk),
                        may=can(viewer, "recommendations.decide", one),
                        look="primary",
                        key="a",
                        values={"next": "/"},
                    ),
                    Button(
                        _("Dismiss"),
                        link("reports:recommendation", pk=one.pk),
                        may=can(viewer, "recommendations.decide", one),
                        method="get",
                        key="r",
                    ),
                    Button(
                        _("Snooze"),
                        link("reports:recommendation", pk=one.pk),
                        may=can(viewer, "recommendations.decide", one),
                        method="get",
                        look="quiet",
                        key="b",
                    ),
                ],
            )
        )
    return rows


def to_answer(viewer: Any, at: Window) -> list[Work]:
    """Recommendations on which the viewer's team has not said a word yet."""
    rows = []
    for one in reports.open_recommendations(viewer).filter(state="asked")[:8]:
        may = can(viewer, "recommendations.answer", one)
        if not may:
            continue
        rows.append(
            Work(
                kind=one.get_kind_display(),
                tone="watch",
                title=_("%(project)s: %(cards)s × %(card)s")
                % {
                    "project": one.rental.project.name,
                    "cards": one.rental.cards,
                    "card": one.rental.card_name,
                },
                detail=_("Bandwidth share %(share)s, coverage %(coverage)s; %(said)s")
                % {
                    "share": formats.percent(one.latest.share),
                    "coverage": formats.percent(one.latest.coverage, 0),
                    "said": _("your team is asked"),
                },
                amount=formats.money(one.saving, one.currency) if one.saving else "",
                amount_note=_("saved per month") if one.saving else "",
                when=_("answer by %(day)s") % {"day": formats.short_day(one.answer_by)},
                href=link("reports:recommendation", pk=one.pk),
                buttons=[
                    Button(
                        _("Answer"),
                        link("reports:recommendation", pk=one.pk),
                        method="get",
                        look="primary",
                        key="a",
                    )
                ],
            )
        )
    return rows


def silent_nodes(viewer: Any, at: Window) -> list[Work]:
    """Nodes that have not answered for longer than they may."""
    rows = []
    for node in freshness():
        if not node.is_silent(at.now):
            continue
        rows.append(
            Work(
                kind=_("Node"),
                tone="act",
                title=_("%(node)s is silent") % {"node": node.name},
                detail=_("Its cards count as unknown until it answers again."),
                when=formats.ago(node.last_ok_at or node.enrolled_at, at.now),
                href=link("telemetry:node", pk=node.id),
                buttons=[
                    Button(
                        _("Open node"),
                        link("telemetry:node", pk=node.id) or link("telemetry:nodes"),
                        method="get",
                    )
                ],
            )
        )
    return rows


def my_requests(viewer: Any, at: Window) -> list[dict[str, Any]]:
    """The viewer's requests that are under way, newest first: state, whom they wait for."""
    rows = []
    open_states = (
        "draft",
        "submitted",
        "changes_asked",
        "approved",
        "purchasing",
        "active",
        "extended",
    )
    for request in requests.filtered(viewer, {"requester": "me"}).filter(state__in=open_states)[
        :10
    ]:
        waiting = ", ".join(requests.deciders(request, at.today)[:2])
        if request.state in ("draft", "changes_asked"):
            waiting = _("you")
        rows.append(
            {
                "request": request,
                "title": f"#{request.pk} {request.shown_title}",
                "package": package_words(request.package),
                "project": request.project.name,
                "state": request.state,
                "label": request.get_state_display(),
                "waiting": waiting,
                "since": request.state_since,
                "amount": formats.money(request.amount, request.currency),
                "href": link("requests:detail", pk=request.pk),
            }
        )
    return rows
