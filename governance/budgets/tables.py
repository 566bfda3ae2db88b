"""Tables of budgets, their holds and entries, and of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from governance.budgets.models import Budget
from governance.budgets.queries import Position
from governance.kernel.money import Money
from governance.ui.tables import Column, Table


def budget_rows(pairs: Sequence[tuple[Budget, Position]], now: Any) -> list[dict[str, Any]]:
    """Budgets with their position and the share of the period that is gone."""
    return [
        {
            "budget": budget,
            "owner": str(budget.owner),
            "scope": budget.scope,
            "label": budget.label,
            "currency": budget.currency,
            "limit": Money(position.limit, budget.currency),
            "held": Money(position.held, budget.currency),
            "spent": Money(position.spent, budget.currency),
            "free": Money(position.free, budget.currency),
            "elapsed": budget.elapsed(now),
            "used": position.committed / position.limit if position.limit else None,
        }
        for budget, position in pairs
    ]


def budget_table(rows: Sequence[dict[str, Any]], params: QueryDict) -> Table:
    words = {"team": _("Team"), "project": _("Project"), "cost_centre": _("Cost centre")}
    return Table(
        columns=[
            Column(
                "owner",
                _("Owner"),
                sub=lambda row: words[row["scope"]],
                href=lambda row: reverse("budgets:detail", args=[row["budget"].pk]),
                stick=True,
            ),
            Column("label", _("Period")),
            Column("bar", _("Position"), cell="budgets/_bar.html", sortable=False),
            Column("used", _("Of the limit"), kind="percent"),
            Column("limit", _("Limit"), kind="money"),
            Column("held", _("Held"), kind="money"),
            Column("spent", _("Spent"), kind="money"),
            Column("free", _("Free"), kind="money"),
        ],
        rows=rows,
        params=params,
        caption=_("Budgets"),
        sort="-used",
        empty=_("No budget for this period."),
        empty_hint=_("Finance makes budgets per team, project or cost centre."),
    )


def hold_table(shares: Any, params: QueryDict, currency: str) -> Table:
    return Table(
        columns=[
            Column("hold", _("For"), value=lambda row: reference_words(row.hold.key),
                   href=lambda row: reference_url(row.hold.key)),
            Column("project", _("Project"), value="hold.project.name"),
            Column("placed", _("Since"), kind="moment", value="hold.placed_at"),
            Column("ends", _("Until"), kind="day", value="hold.ends_at"),
            Column("amount", _("Held at first"), kind="money",
                   value=lambda row: Money(row.amount, currency)),
            Column("left", _("Still held"), kind="money",
                   value=lambda row: Money(row.left, currency)),
        ],
        rows=list(shares),
        params=params,
        key="holds",
        caption=_("Holds"),
        empty=_("Nothing is held."),
    )  # fmt: skip


def entry_table(entries: Any, params: QueryDict, currency: str) -> Table:
    return Table(
        columns=[
            Column("at", _("When"), kind="moment", order="at"),
            Column("kind", _("What"), value=lambda row: row.get_kind_display()),
            Column("reference", _("For"), value=lambda row: reference_words(row.reference),
                   href=lambda row: reference_url(row.reference)),
            Column("source", _("Amount"), kind="money",
                   value=lambda row: Money(row.source_amount, row.source_currency),
                   sub=rate_words),
            Column("held", _("Held"), kind="money", value=lambda row: Money(row.held, currency)),
            Column("spent", _("Spent"), kind="money", value=lambda row: Money(row.spent, currency)),
        ],
        rows=entries,
        params=params,
        key="entries",
        caption=_("Entries"),
        sort="-at",
        page_size=25,
        empty=_("Nothing was held or spent yet."),
    )  # fmt: skip


def rate_words(row: Any) -> str:
    if row.rate_day is None:
        return ""
    return _("at %(rate)s of %(day)s, %(source)s") % {
        "rate": f"{row.rate.normalize():f}",
        "day": row.rate_day.isoformat(),
        "source": row.rate_source,
    }


def reference_words(reference: str) -> str:
    """ "request:12:1" and "rental:7" as people say them."""
    kind, _colon, rest = reference.partition(":")
    number = rest.split(":")[0]
    if kind == "request":
        return _("request #%(number)s") % {"number": number}
    if kind == "rental":
        return _("rental R%(number)s") % {"number": number}
    return reference


def reference_url(reference: str) -> str:
    kind, _colon, rest = reference.partition(":")
    number = rest.split(":")[0]
    if kind in ("request", "rental") and number.isdigit():
        return reverse(f"{kind}s:detail", args=[int(number)])
    return ""


def account_table(rows: Sequence[dict[str, Any]], params: QueryDict) -> Table:
    return Table(
        columns=[
            Column("code", _("Account"), stick=True),
            Column("name", _("Name")),
            Column("kind", _("Kind")),
            Column("balance", _("Balance (debit +)"), kind="money",
                   value=lambda row: Money(row["balance"], row["currency"])),
        ],
        rows=[row for row in rows if row["currency"]],
        params=params,
        key="accounts",
        caption=_("Accounts"),
        empty=_("Nothing is posted yet."),
    )  # fmt: skip


def transaction_table(rows: Any, params: QueryDict) -> Table:
    return Table(
        columns=[
            Column("booked_on", _("Booked on"), kind="day", order="booked_on"),
            Column("key", _("Key"), order="key"),
            Column("memo", _("Text")),
            Column("postings", _("Postings"), cell="budgets/_postings.html"),
        ],
        rows=rows,
        params=params,
        key="transactions",
        caption=_("Transactions"),
        sort="-booked_on",
        page_size=25,
        empty=_("Nothing is posted yet."),
    )


def rate_table(rows: Any, params: QueryDict) -> Table:
    return Table(
        columns=[
            Column("day", _("From"), kind="day", order="day"),
            Column("until", _("Up to, not included"), kind="day", order="until"),
            Column("pair", _("Pair"), value=lambda row: f"{row.base}/{row.quote}"),
            Column("rate", _("Rate"), kind="number"),
            Column("source", _("Source")),
        ],
        rows=rows,
        params=params,
        caption=_("Exchange rates"),
        sort="-day",
        empty=_("No exchange rate is on record."),
        empty_hint=_("Costs in a foreign currency wait until their day has a rate."),
    )
