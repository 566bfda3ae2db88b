"""Saved views by mail: the report as its owner would see it, with the file attached."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

import structlog
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from governance.accounts.queries import organisation
from governance.kernel.errors import DomainError
from governance.kernel.periods import local_date
from governance.reports.domain.tables import csv_lines
from governance.reports.models import SavedView
from governance.reports.queries import run

log = structlog.get_logger("governance.reports")


def send_due(*, now: datetime) -> int:
    """Mail the views due today (Mondays: the last seven days; the first of a month: the month
    before), each once; returns how many. A report that its owner may no longer see is left out."""
    today = local_date(now, ZoneInfo(organisation().timezone))
    due = SavedView.objects.exclude(rhythm="").exclude(sent_on=today).filter(owner__is_active=True)
    sent = 0
    for view in due.select_related("owner"):
        days = days_of(view.rhythm, today)
        if days is None:
            continue
        with transaction.atomic():
            claimed = SavedView.objects.filter(pk=view.pk).exclude(sent_on=today)
            if claimed.update(sent_on=today):
                try:
                    _send(view, days, now)
                    sent += 1
                except DomainError as error:
                    log.warning("view_not_sent", view=view.pk, reason=str(error))
    return sent


def days_of(rhythm: str, today: date) -> tuple[date, date] | None:
    """The days that a mail of today covers, both included; None where none is due."""
    yesterday = today - timedelta(days=1)
    if rhythm == "weekly" and today.weekday() == 0:
        return today - timedelta(days=7), yesterday
    if rhythm == "monthly" and today.day == 1:
        return yesterday.replace(day=1), yesterday
    return None


def _send(view: SavedView, days: tuple[date, date], now: datetime) -> None:
    asked = dict(parse_qsl(view.query)) | {"from": str(days[0]), "to": str(days[1])}
    owner = view.owner
    result = run(view.report, owner, asked, now)
    with translation.override(owner.language or "en"):
        subject = f"{view.name}: {days[0]} – {days[1]}"
        lines = [_(result.title), *[note.render(_) for note in result.notes]]
        mail = EmailMessage(subject, "\n".join(lines), to=[owner.email])
    mail.attach(f"{view.report}-{days[0]}-{days[1]}.csv", "".join(csv_lines(result)), "text/csv")
    mail.send()
