"""Tables partitioned by time.

The partition key is an integer that counts equal steps since 1970 (minutes, hours), so that a
partition is a range of whole days and its name says its first day:

    MINUTES = Partitions("telemetry_minutesample", key="minute", per_day=1440)
    MINUTES.ensure(cursor, keys)      # before rows are stored
    MINUTES.drop_before(cursor, key)  # retention

A partition is made beside its parent and attached, which lets readers and writers of the parent
go on; making it inside the parent would stop them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.backends.utils import CursorWrapper

EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Partitions:
    """The partitions of `table` by ranges of `days` days over the integer column `key`."""

    table: str
    key: str
    per_day: int
    days: int = 1

    @property
    def span(self) -> int:
        """How many keys one partition covers."""
        return self.per_day * self.days

    def start(self, key: int) -> int:
        """The first key of the partition that holds `key`."""
        return key - key % self.span

    def name(self, key: int) -> str:
        """The table that holds `key`."""
        first = EPOCH + timedelta(days=self.start(key) // self.per_day)
        return f"{self.table}_p{first:%Y%m%d}"

    def existing(self, cursor: CursorWrapper) -> list[int]:
        """First keys of the partitions there are, oldest first."""
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass",
            [self.table],
        )
        days = (date.fromisoformat(name[-8:]) for (name,) in cursor.fetchall())
        return sorted((day - EPOCH).days * self.per_day for day in days)

    def ensure(self, cursor: CursorWrapper, keys: Iterable[int]) -> list[str]:
        """Make the partitions that hold `keys`, in the current transaction; returns their names."""
        starts = sorted({self.start(key) for key in keys})
        names = [self.name(start) for start in starts]
        for start, name in zip(starts, names, strict=True):
            if not self._there(cursor, name):
                self._make(cursor, start, name)
        return names

    def drop_before(self, cursor: CursorWrapper, key: int) -> list[str]:
        """Drop the partitions that lie wholly before `key`; returns the names dropped."""
        dropped = []
        for start in self.existing(cursor):
            if start + self.span <= key:
                name = self.name(start)
                cursor.execute(f'DROP TABLE "{name}"')
                dropped.append(name)
        return dropped

    def _there(self, cursor: CursorWrapper, name: str) -> bool:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f'"{name}"'])
        return bool(cursor.fetchone()[0])

    def _make(self, cursor: CursorWrapper, start: int, name: str) -> None:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [self.table])
        if self._there(cursor, name):
            return
        end = start + self.span
        cursor.execute(
            f'CREATE TABLE "{name}" (LIKE "{self.table}" INCLUDING ALL,'
            f' CONSTRAINT "{name}_range" CHECK ("{self.key}" >= {start} AND "{self.key}" < {end}))'
        )
        cursor.execute(
            f'ALTER TABLE "{self.table}" ATTACH PARTITION "{name}"'
            f" FOR VALUES FROM ({start}) TO ({end})"
        )
        cursor.execute(f'ALTER TABLE "{name}" DROP CONSTRAINT "{name}_range"')
