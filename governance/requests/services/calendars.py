"""The working calendar: which days differ from Monday to Friday."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime

from django.db import transaction

from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_
from governance.plumbing import audit
from governance.requests.domain.bulk import bad
from governance.requests.models import CalendarDay

_WORDS = {"holiday": False, "workday": True}


def read_calendar(data: bytes) -> list[tuple[date, bool, str]]:
    """Rows `day,kind,name` with kind holiday or workday. Invalid names line and column."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(0, "file", N_("the file is not in UTF-8")) from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if set(reader.fieldnames or ()) - {"name"} != {"day", "kind"}:
        raise bad(1, "day", N_("the columns are day, kind (holiday or workday) and name"))
    found: dict[date, tuple[date, bool, str]] = {}
    for number, row in enumerate(reader, 2):
        try:
            day = date.fromisoformat(row["day"].strip())
        except (ValueError, AttributeError) as error:
            raise bad(number, "day", N_("a day such as 2026-10-01 is needed")) from error
        kind = (row["kind"] or "").strip()
        if kind not in _WORDS:
            raise bad(number, "kind", N_("holiday or workday is needed"))
        if day in found:
            raise bad(number, "day", N_("the day stands twice"))
        found[day] = (day, _WORDS[kind], (row.get("name") or "").strip()[:80])
    if not found:
        raise bad(0, "file", N_("a header line and at least one row are needed"))
    return list(found.values())


def import_calendar(*, actor: Actor, data: bytes, now: datetime) -> int:
    """Replace the exceptions of every year named in the file; returns how many days it has."""
    require(actor, "policies.manage")
    rows = read_calendar(data)
    years = sorted({day.year for day, _, _ in rows})
    if len(years) > 5:
        raise Invalid(bad(0, "file", N_("at most five years at a time")).reason, "file")
    with transaction.atomic():
        CalendarDay.objects.filter(day__year__in=years).delete()
        made = CalendarDay.objects.bulk_create(
            [CalendarDay(day=day, works=works, name=name) for day, works, name in rows]
        )
        audit.record(
            actor=actor,
            act="calendar.import",
            thing=("requests.calendarday", years[0]),
            after={"years": years, "days": len(made)},
        )
        return len(made)
