"""The list of requests as a table; page and export show the same columns."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from governance.kernel.money import Money
from governance.requests.domain.lifecycle import STATES
from governance.requests.models import ComputeRequest
from governance.requests.presenting import vendor_name
from governance.ui.tables import Column, Table
from governance.ui.tones import tone_of


def request_table(rows: QuerySet[ComputeRequest], params: QueryDict) -> Table:
    """25 rows a page, newest first."""
    return Table(
        columns=[
            Column("id", _("Number"), value=lambda r: f"#{r.pk}", order="id", href=_link),
            Column(
                "title",
                _("What"),
                value=lambda r: r.shown_title,
                sub=package_words,
                href=_link,
                order="title",
                stick=True,
            ),
            Column(
                "project",
                _("Project"),
                value="project.name",
                sub="project.team.name",
                order="project__name",
            ),
            Column("requester", _("Requester"), value="requester.display", order="requester__name"),
            Column("state", _("State"), kind="badge", value=state_badge, order="state"),
            Column("amount", _("At most"), kind="money", value=money, order="amount"),
            Column("starts_at", _("Start"), kind="moment", order="starts_at"),
            Column("state_since", _("Since"), kind="ago", order="state_since"),
        ],
        rows=rows,
        params=params,
        caption=_("Requests"),
        sort="-id",
        page_size=25,
        empty=_("No requests match."),
        empty_hint=_("Ask for compute with “New request”."),
        exports=[("CSV", reverse("requests:export") + "?" + params.urlencode())],
    )


def _link(row: ComputeRequest) -> str:
    return reverse("requests:detail", args=[row.pk])


def state_badge(row: ComputeRequest) -> tuple[str, Any]:
    return tone_of(row.state, "request"), row.get_state_display()


def money(row: ComputeRequest) -> Money | None:
    return None if row.amount is None else Money(row.amount, row.currency)


def package_words(row: ComputeRequest) -> str:
    """ "8 × A800 80G, Vendor A" of the chosen package."""
    if not row.package:
        return ""
    return (
        f"{row.package['count']} × {row.package['card_name']}, {vendor_name(row.package['vendor'])}"
    )


def export_heads() -> list[Any]:
    """Heads of the export."""
    return [
        _("Number"),
        _("What"),
        _("Package"),
        _("Project"),
        _("Team"),
        _("Requester"),
        _("State"),
        _("At most"),
        _("Currency"),
        _("Start"),
        _("Needed by"),
        _("Since"),
    ]


EXPORTED = (
    "pk",
    "title",
    "package__count",
    "package__card_name",
    "package__vendor",
    "project__name",
    "project__team__name",
    "requester__name",
    "state",
    "amount",
    "currency",
    "starts_at",
    "needed_by",
    "state_since",
)
"""What the export reads: single values, no whole packages."""


def export_row(row: tuple[Any, ...]) -> list[Any]:
    """One request, read as EXPORTED, as a line of the export; amounts stay numbers."""
    number, title, count, card, vendor, project, team, requester, state, *rest = row
    package = f"{count} × {card}, {vendor_name(vendor)}" if count else ""
    return [number, title, package, project, team, requester, _(STATES[state]), *rest]
