"""The stretches of time that homes speak of, in the organisation's zone."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from governance.accounts.queries import organisation
from governance.kernel.periods import Period, calendar_period, local_date, local_midnight
from governance.ui import formats

DAYS = 30


@dataclass(frozen=True)
class Window:
    """The last 30 local days, today included, and the 30 before."""

    now: datetime
    zone: ZoneInfo

    @property
    def today(self) -> date:
        return local_date(self.now, self.zone)

    @property
    def days(self) -> list[date]:
        return [self.today - timedelta(days=n) for n in range(DAYS - 1, -1, -1)]

    @property
    def period(self) -> Period:
        """From the first day's midnight to the last whole hour."""
        end = self.now.replace(minute=0, second=0, microsecond=0)
        return Period(local_midnight(self.days[0], self.zone), end)

    def last_hours(self, hours: int) -> Period:
        """The whole hours before now."""
        end = self.period.end
        return Period(end - timedelta(hours=hours), end)

    @property
    def before(self) -> Period:
        start = local_midnight(self.days[0] - timedelta(days=DAYS), self.zone)
        return Period(start, self.period.start)

    @property
    def month(self) -> Period:
        return calendar_period(self.now, "month", self.zone)

    @property
    def elapsed(self) -> float:
        """How much of the month has gone by."""
        return (self.now - self.month.start) / (self.month.end - self.month.start)

    @property
    def words(self) -> str:
        """The days and the zone, as they stand beside figures."""
        return f"{formats.span(self.days[0], self.days[-1])}, {self.zone.key}"


def window(now: datetime) -> Window:
    return Window(now, ZoneInfo(organisation().timezone))
