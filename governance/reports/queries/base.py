"""What a report is asked, and the registry that the page, the API, the exports and
`manage.py report` share: one run function gives all of them the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from governance.accounts.queries import organisation
from governance.kernel.errors import Invalid, Missing
from governance.kernel.periods import Period, local_midnight
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.reports.domain.tables import Result

DAYS = 30
"""How far back a report looks when nobody says."""

LONGEST = 3_660


@dataclass(frozen=True, slots=True)
class Params:
    """What is asked: local days, both included, in a time zone; groups; filters by name."""

    first: date
    last: date
    timezone: str
    now: datetime
    currency: str
    group_by: tuple[str, ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def period(self) -> Period:
        """The days as one half-open stretch of time."""
        day_after = self.last + timedelta(days=1)
        return Period(local_midnight(self.first, self.zone), local_midnight(day_after, self.zone))

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1


@dataclass(frozen=True, slots=True)
class Report:
    """A report by name: title, the question it answers, how it may be grouped and filtered.

    `columns` of more than one kind are shown by the result itself. The first of `groups` is the
    default. `help` says which columns a row holds at least."""

    name: str
    title: str
    question: str
    run: Callable[[Actor, Params], Result]
    groups: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    several: bool = False


REPORTS: dict[str, Report] = {}

GROUP_NAMES = {
    "card": N_("Card"),
    "node": N_("Node"),
    "vendor": N_("Vendor"),
    "card_model": N_("Card model"),
    "group": N_("Scheduler's group"),
    "project": N_("Project"),
    "team": N_("Team"),
    "cost_centre": N_("Cost centre"),
    "rental": N_("Rental"),
    "request": N_("Request"),
    "person": N_("Person"),
    "plan": N_("Plan"),
    "day": N_("Day"),
    "week": N_("Week"),
    "month": N_("Month"),
    "none": N_("All together"),
}


def report(
    name: str,
    title: str,
    question: str,
    *,
    groups: Sequence[str] = (),
    filters: Sequence[str] = (),
    several: bool = False,
) -> Callable[[Callable[[Actor, Params], Result]], Callable[[Actor, Params], Result]]:
    """Register a report; `several` allows more than one group at once."""

    def register(run: Callable[[Actor, Params], Result]) -> Callable[[Actor, Params], Result]:
        if name in REPORTS:
            raise RuntimeError(f"two reports named {name}")
        REPORTS[name] = Report(name, title, question, run, tuple(groups), tuple(filters), several)
        return run

    return register


def find(name: str) -> Report:
    """The report of this name, or Missing (404)."""
    if name not in REPORTS:
        raise Missing(
            Reason(
                "report",
                N_("There is no report “%(name)s”; there are %(known)s."),
                {"name": name, "known": ", ".join(sorted(REPORTS))},
            )
        )
    return REPORTS[name]


def read_params(of: Report, asked: Mapping[str, str], now: datetime) -> Params:
    """The parameters in an address, a command line or an API call. Invalid names the field."""
    home = organisation()
    zone = _zone(asked.get("timezone") or home.timezone)
    today = now.astimezone(ZoneInfo(zone)).date()
    last = _day(asked, "to") or today
    first = _day(asked, "from") or last - timedelta(days=DAYS - 1)
    if first > last:
        raise Invalid(
            Reason(
                "order",
                N_("The first day (%(first)s) lies after the last (%(last)s)."),
                {"first": first.isoformat(), "last": last.isoformat()},
            ),
            "from",
        )
    if (last - first).days >= LONGEST:
        raise Invalid(
            Reason("long", N_("At most %(days)d days at once."), {"days": LONGEST}), "from"
        )
    return Params(
        first=first,
        last=last,
        timezone=zone,
        now=now,
        currency=home.currency,
        group_by=_groups(of, asked.get("group_by", "")),
        filters={name: asked[name] for name in of.filters if asked.get(name)},
    )


def run(name: str, viewer: Actor, asked: Mapping[str, str], now: datetime) -> Result:
    """Run a report with what was asked, as text."""
    found = find(name)
    params = read_params(found, asked, now)
    return replace(found.run(viewer, params), generated_at=now)


def answer(
    of: str,
    params: Params,
    columns: Sequence[object],
    rows: Sequence[Mapping[str, object]],
    *,
    total: Mapping[str, object] | None = None,
    notes: Sequence[Reason] = (),
    currency: str = "",
) -> Result:
    """A result that carries what was asked."""
    filters = dict(params.filters)
    if params.group_by:
        filters["group_by"] = ",".join(params.group_by)
    return Result(
        name=of,
        title=REPORTS[of].title,
        first=params.first,
        last=params.last,
        timezone=params.timezone,
        currency=currency or params.currency,
        columns=columns,  # type: ignore[arg-type]
        rows=rows,
        total=total or {},
        notes=notes,
        filters=filters,
    )


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        text = N_("%(name)s is not a time zone; write one such as Asia/Shanghai.")
        raise Invalid(Reason("timezone", text, {"name": name}), "timezone") from None
    return name


def _day(asked: Mapping[str, str], name: str) -> date | None:
    text = asked.get(name, "")
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        wrong = N_("%(text)s is not a day; write it as 2026-11-30.")
        raise Invalid(Reason("day", wrong, {"text": text}), name) from None


def _groups(of: Report, text: str) -> tuple[str, ...]:
    asked = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in asked:
        if name not in of.groups:
            raise Invalid(
                Reason(
                    "group",
                    N_("This report cannot be grouped by %(name)s; it can by %(known)s."),
                    {"name": name, "known": ", ".join(of.groups) or "-"},
                ),
                "group_by",
            )
    if len(asked) > 1 and not of.several:
        raise Invalid(
            Reason("groups", N_("This report is grouped by one thing at a time.")), "group_by"
        )
    return asked or of.groups[:1]
