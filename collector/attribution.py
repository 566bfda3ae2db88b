"""Who a process belongs to: user, Slurm job, container. By /proc only.

In a container without the host's process ids none of NVML's ids can be looked up; that is said
(``processes:pid_namespace``) instead of looking like an idle card or naming a stranger.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVERY_S = 10.0
MOST = 8
_HOST_NAMESPACE = "pid:[4026531836]"  # the kernel's fixed number of the first pid namespace
_JOB = re.compile(r"(?:^|/)job_(\d+)(?:/|$)", re.ASCII)
_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?:\.scope)?(?:/|$)", re.ASCII)


class Processes:
    """Summaries of a card's processes; what a process id means is looked up once."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._known: dict[tuple[int, str], tuple[str | None, str | None, str | None]] = {}
        self._due = 0.0

    def due(self, now: float) -> bool:
        if now < self._due:
            return False
        self._due = now + EVERY_S
        return True

    def summary(
        self, pairs: list[tuple[int, int | None]]
    ) -> tuple[list[dict[str, object]], list[str]]:
        """``[(pid, memory bytes)]`` grouped by owner, largest first, and reason codes.

        Memory of a process that is gone stays in the list as ``orphan``.
        """
        own = self._own_namespace()
        groups: dict[tuple, dict[str, Any]] = {}
        reasons: list[str] = []
        for pid, memory in pairs:
            owner = self._owner(pid) if own else None
            orphan = own and owner is None
            if not own and "processes:pid_namespace" not in reasons:
                reasons.append("processes:pid_namespace")
            if orphan and "processes:orphan" not in reasons:
                reasons.append("processes:orphan")
            user, job, container = owner or (None, None, None)
            group = groups.setdefault(
                (user, job, container, orphan),
                {
                    "user": user,
                    "job": job,
                    "container": container,
                    "count": 0,
                    "memory_bytes": None,
                },
            )
            if orphan:
                group["orphan"] = True
            group["count"] += 1
            if memory is not None:
                group["memory_bytes"] = (group["memory_bytes"] or 0) + memory
        alive = {pid for pid, _ in pairs}
        for key in [key for key in self._known if key[0] not in alive]:
            del self._known[key]
        ordered = sorted(groups.values(), key=lambda g: (-(g["memory_bytes"] or 0), str(g["user"])))
        return ordered[:MOST], reasons

    def _own_namespace(self) -> bool:
        try:
            return os.readlink(f"{self._proc}/self/ns/pid") == _HOST_NAMESPACE
        except OSError:
            return False

    def _owner(self, pid: int) -> tuple[str | None, str | None, str | None] | None:
        """User, job and container, or None when the process is gone or a zombie."""
        try:
            with open(f"{self._proc}/{pid}/stat", encoding="utf-8", errors="replace") as file:
                after_name = file.read().rpartition(")")[2].split()
            if not after_name or after_name[0] in ("Z", "X"):
                return None
            key = (pid, after_name[19])
            if key not in self._known:
                self._known[key] = (self._user(pid), *self._cgroup(pid))
            return self._known[key]
        except (OSError, IndexError):
            return None

    def _user(self, pid: int) -> str | None:
        number = os.stat(f"{self._proc}/{pid}").st_uid
        import pwd

        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)

    def _cgroup(self, pid: int) -> tuple[str | None, str | None]:
        with open(f"{self._proc}/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            text = file.read(65536)
        job = container = None
        for line in text.splitlines():
            path = line.split(":", 2)[-1]
            if match := _JOB.search(path):
                job = match.group(1)
            if match := _CONTAINER.search(path):
                container = match.group(1)[:12]
        return job, container


class JobFiles:
    """Files that a scheduler's prolog leaves, named by the card's UUID: ``JOB [USER]``.

    Only the UUID names a card: a file named by a number may mean NVML's index, the minor number or
    the job's own numbering, so it attributes nothing (``job_file_ambiguous``).
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def owner(self, uuid: str) -> tuple[str | None, str | None, str | None]:
        """Job, user and a reason code."""
        try:
            with open(os.path.join(self._folder, uuid), encoding="utf-8") as file:
                words = file.read(256).split()
        except (OSError, UnicodeDecodeError):
            words = []
        if words:
            return words[0], words[1] if len(words) > 1 else None, None
        try:
            numbered = any(name.isdigit() for name in os.listdir(self._folder))
        except OSError:
            return None, None, "job_files_unreadable"
        return None, None, "job_file_ambiguous" if numbered else None

    def add(self, uuid: str, owners: list[dict]) -> tuple[list[dict], list[str]]:
        """The owners of a card with the job of its file filled in, and reason codes."""
        job, user, reason = self.owner(uuid)
        if job is not None:
            for owner in owners:
                owner["job"] = owner["job"] or job
                owner["user"] = owner["user"] or user
            if not owners:
                owners = [
                    {"user": user, "job": job, "container": None, "count": 0, "memory_bytes": None}
                ]
        return owners, [reason] if reason else []
