"""Tables of rentals, their charges and entries of a preview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from governance.kernel.money import Money
from governance.rentals.domain.posting import Entry
from governance.rentals.forms import PLAN_WORDS
from governance.rentals.models import Charge, Rental
from governance.ui.tables import Column, Table
from governance.ui.tones import tone_of


def rental_table(rows: QuerySet[Rental], params: QueryDict) -> Table:
    return Table(
        columns=[
            Column("id", _("Rental"), value=lambda row: f"R{row.pk}", href=_link, order="id"),
            Column(
                "cards",
                _("Cards"),
                value=lambda row: f"{row.cards} × {row.card_name}",
                sub=lambda row: row.vendor,
                href=_link,
                order="card_model",
                stick=True,
            ),
            Column(
                "project",
                _("Project"),
                value="project.name",
                sub="project.team.name",
                order="project__name",
            ),
            Column(
                "plan", _("Plan"), value=lambda row: plan_words(row.plan_kind), order="plan_kind"
            ),
            Column("state", _("State"), kind="badge", value=state_badge, order="state"),
            Column("starts_at", _("Start"), kind="day", order="starts_at"),
            Column("ends_at", _("End"), kind="day", order="ends_at"),
            Column(
                "billed",
                _("Billed this month"),
                kind="money",
                value=lambda row: Money(row.month_billed, row.currency),
                sortable=False,
            ),
            Column(
                "amortised",
                _("Amortised this month"),
                kind="money",
                value=lambda row: Money(row.month_amortised, row.currency),
                sortable=False,
            ),
        ],
        rows=rows,
        params=params,
        caption=_("Rentals"),
        sort="-id",
        page_size=25,
        empty=_("No rental here."),
        empty_hint=_("An approved request becomes a rental when it is bought."),
    )


def _link(row: Rental) -> str:
    return reverse("rentals:detail", args=[row.pk])


def plan_words(kind: str) -> Any:
    return PLAN_WORDS.get(kind, kind)


def state_badge(row: Rental) -> tuple[str, Any]:
    tone = {"trial": "watch", "stopped": "watch", "ended_early": "plain"}.get(row.state)
    return tone or tone_of(row.state), row.get_state_display()


def charge_table(rows: QuerySet[Charge], rental: Rental, params: QueryDict) -> Table:
    zone = ZoneInfo(rental.timezone)
    return Table(
        columns=[
            Column("booked_on", _("Booked on"), kind="day", order="booked_on"),
            Column("kind", _("For"), value=lambda row: kind_words(row.kind), order="kind"),
            Column("from", _("From"), value=lambda row: local(row.period_start, zone)),
            Column("to", _("To"), value=lambda row: local(row.period_end, zone)),
            Column("formula", _("How"), value=_formula),
            Column("net", _("Net"), kind="money", value=lambda row: Money(row.net, row.currency),
                   order="net"),
            Column("tax", _("Tax"), kind="money", value=lambda row: Money(row.tax, row.currency)),
        ],
        rows=rows,
        params=params,
        key="charges",
        caption=_("Charges"),
        sort="-booked_on",
        page_size=25,
        empty=_("Nothing was charged yet."),
    )  # fmt: skip


def _formula(row: Charge) -> str:
    text = row.formula
    return f"{text} ({_('correction of a closed month')})" if row.correction else text


def entry_table(
    entries: Sequence[Entry], currency: str, zone: ZoneInfo, params: QueryDict
) -> Table:
    return Table(
        columns=[
            Column("kind", _("For"), value=lambda row: kind_words(row.kind), sortable=False),
            Column("from", _("From"), value=lambda row: local(row.line.period.start, zone),
                   sortable=False),
            Column("to", _("To"), value=lambda row: local(row.line.period.end, zone),
                   sortable=False),
            Column("formula", _("How"), value=lambda row: row.line.formula, sortable=False),
            Column("net", _("Net"), kind="money", value=lambda row: Money(row.net, currency),
                   sortable=False),
            Column("tax", _("Tax"), kind="money", value=lambda row: Money(row.tax, currency),
                   sortable=False),
        ],
        rows=list(entries),
        params=params,
        key="preview",
        caption=_("Charges foreseen"),
        page_size=40,
        empty=_("Nothing would be charged."),
    )  # fmt: skip


def local(moment: Any, zone: ZoneInfo) -> str:
    """A boundary by the contract's clock; whole minutes without seconds."""
    text = moment.astimezone(zone)
    return f"{text:%Y-%m-%d %H:%M:%S}".removesuffix(":00").removesuffix(" 00:00")


def kind_words(kind: str) -> Any:
    """ "cards", "disk-2:credit" as people say them."""
    code, _colon, what = kind.partition(":")
    words = {
        "cards": _("cards"),
        "disk": _("disk"),
        "bandwidth": _("public bandwidth"),
        "traffic": _("traffic"),
        "address": _("public address"),
        "image": _("image"),
        "support": _("support"),
        "fee": _("one-off fee"),
    }
    word = words.get(code.split("-")[0], code)
    return _("credit: %(what)s") % {"what": word} if what == "credit" else word
