"""Jobs of a scheduler: Slurm's `sacct` text (parsable or in columns) and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from governance.telemetry.domain.tabular import Names, TableFault, moment, rows, whole

NAMES = Names(
    {
        "job_id": ("jobid", "id", "job", "job_name", "jobidraw"),
        "group": ("account", "team", "vc", "virtual_cluster", "queue"),
        "person": ("user", "user_name", "username"),
        "cards": ("num_gpu", "gpus", "gpu_num", "num_gpus", "gpu", "ngpus"),
        "tres": ("alloctres", "allocgres", "reqtres", "reqgres"),
        "submitted": ("submit_time", "submit", "submitted_at", "submitted_time"),
        "started": ("start_time", "start", "started_at"),
        "ended": ("end_time", "end", "ended_at"),
        "duration": ("elapsedraw", "run_time", "seconds", "duration_s"),
        "elapsed": (),
        "state": ("status",),
        "nodes": ("nodelist", "node_list", "node"),
    },
    required=("job_id",),
)
UNITS = {"second": 1, "minute": 60}
_UNSET = {"", "unknown", "none", "n/a", "null", "none assigned"}
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_GPU = re.compile(r"gres/gpu(?::[^=,]+)?[=:](\d+)|\bgpu(?::[^:=,(]+)?[:=](\d+)")


@dataclass(frozen=True)
class JobFact:
    """A job as the scheduler tells it; what it does not say is None."""

    job_id: str
    group: str
    person: str
    cards: int
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    seconds: int | None
    state: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Clock:
    """How times of a file read: in a zone, or counted in `unit` from `origin`."""

    local: ZoneInfo | None = None
    origin: datetime | None = None
    unit: str = "second"

    def at(self, text: str, line: int, column: str) -> datetime | None:
        if text.strip().lower() in _UNSET:
            return None
        if self.origin is None:
            return moment(text, line, column, self.local)
        return (self.origin + self.length(text, line, column)).astimezone(UTC)

    def length(self, text: str, line: int, column: str) -> timedelta:
        try:
            number = float(text)
        except ValueError:
            raise TableFault(f"line {line}, {column}: “{text}” is not a number") from None
        if not 0 <= number < 10**10:
            raise TableFault(f"line {line}, {column}: “{text}” is out of range")
        return timedelta(seconds=number * UNITS[self.unit])


def read(
    lines: Iterable[str], *, form: str, columns: str | None = None, clock: Clock
) -> list[JobFact]:
    """The jobs of a file, steps of jobs left out; TableFault with the line."""
    source = _sacct(lines) if form == "sacct" else iter(lines)
    delimiter = "|" if form == "sacct" else ","
    found: dict[str, JobFact] = {}
    for line, cells in rows(source, NAMES, columns, delimiter):
        if form == "sacct" and "." in cells["job_id"]:
            continue
        job = _job(line, cells, clock)
        if found.setdefault(job.job_id, job) != job:
            raise TableFault(f"line {line}: job {job.job_id} is there twice with other figures")
    return list(found.values())


def _job(line: int, cells: Mapping[str, str], clock: Clock) -> JobFact:
    job_id, person = cells["job_id"], cells.get("person", "")
    group = cells.get("group", "") or person
    if not job_id or len(job_id) > 120:
        raise TableFault(f"line {line}, job_id: an id of 1 to 120 characters is needed")
    started = clock.at(cells.get("started", ""), line, "started")
    ended = clock.at(cells.get("ended", ""), line, "ended")
    return JobFact(
        job_id=job_id,
        group=group[:120],
        person=person[:120] if cells.get("group") else "",
        cards=_cards(line, cells),
        submitted_at=clock.at(cells.get("submitted", ""), line, "submitted"),
        started_at=started,
        ended_at=ended,
        seconds=_seconds(line, cells, clock, started, ended),
        state=cells.get("state", "")[:40],
        nodes=tuple(hosts(cells.get("nodes", ""))),
    )


def _cards(line: int, cells: Mapping[str, str]) -> int:
    text = cells.get("cards", "")
    if text:
        return whole(text, line, "cards")
    if "cards" not in cells and "tres" not in cells:
        raise TableFault("the column cards is missing: map it with --columns cards=HEADER")
    numbers = [int(a or b) for a, b in _GPU.findall(cells.get("tres", ""))]
    return max(numbers, default=0)


def _seconds(
    line: int,
    cells: Mapping[str, str],
    clock: Clock,
    started: datetime | None,
    ended: datetime | None,
) -> int | None:
    text = cells.get("duration", "") or cells.get("elapsed", "")
    parts = _ELAPSED.fullmatch(text.strip())
    if parts:
        days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if text.strip().lower() not in _UNSET:
        return round(clock.length(text, line, "duration").total_seconds())
    if started is None or ended is None:
        return None
    if ended < started:
        raise TableFault(f"line {line}, ended: the job ends before it starts")
    return round((ended - started).total_seconds())


def _sacct(lines: Iterable[str]) -> Iterator[str]:
    """`sacct -P` as it is; `sacct`'s columns, cut at the dashes, as the same."""
    source = iter(lines)
    head, rule = next(source, ""), next(source, "")
    if rule.strip() and set(rule.strip()) <= {"-", " "}:
        cuts = [(match.start(), match.end()) for match in re.finditer("-+", rule)]
        for line in (head, *source):
            yield "|".join(line[a:b].strip() for a, b in cuts)
        return
    yield head
    yield rule
    yield from source


def hosts(text: str) -> Iterator[str]:
    """Slurm's host list in full: `gpu[01-03,7],login` gives gpu01, gpu02, gpu03, gpu7, login."""
    if text.strip().lower() in _UNSET:
        return
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,\[]*", text):
        opened = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part.strip())
        if not opened:
            yield part.strip()
            continue
        before, inside, after = opened.groups()
        for piece in inside.split(","):
            first, _, last = piece.partition("-")
            if not last:
                yield f"{before}{first}{after}"
            elif first.isdecimal() and last.isdecimal() and 0 <= int(last) - int(first) < 10_000:
                for number in range(int(first), int(last) + 1):
                    yield f"{before}{number:0{len(first)}}{after}"
