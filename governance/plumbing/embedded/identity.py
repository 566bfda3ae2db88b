"""As whom the servers run. PostgreSQL refuses root, and nobody else may reach what it serves.

- An ordinary user: as that user.
- Root (or a user id without an account, as in containers): inside a user namespace, where the
  same user merely has another number. No account is made, no folder is opened.
- Root where namespaces are refused: as an unprivileged number that belongs to no account, with
  the data below /var/lib, since that number cannot look into root's folders.
"""

import functools
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")
ACCOUNTLESS = range(61184, 65519)
PLAIN: tuple[str, ...] = ()


@dataclass(frozen=True)
class Identity:
    """`options` go to the launcher; `uid` is set where files must be given to another owner."""

    options: tuple[str, ...]
    uid: int | None = None

    def command(self, program: Sequence[str | Path], *, tied: bool = False) -> list[str]:
        """`program` as this identity; `tied` ends it when the calling process dies."""
        tie = ["--parent", str(os.getpid())] if tied else []
        words = [str(word) for word in program]
        return [sys.executable, "-I", str(LAUNCHER), *self.options, *tie, "--", *words]

    def own(self, folder: Path) -> None:
        """Give `folder` and all below it to the identity; only ever called on folders we made."""
        if self.uid is None:
            return
        os.chown(folder, self.uid, self.uid)
        for root, folders, files in os.walk(folder):
            for name in (*folders, *files):
                os.chown(Path(root, name), self.uid, self.uid, follow_symlinks=False)


def account(uid: int) -> Identity:
    """The accountless number `uid`."""
    return Identity(("--account", f"{uid}:{uid}"), uid)


def named_account() -> Identity:
    """An account with a name: initdb asks for one, the server itself does not."""
    entry = pwd.getpwnam("nobody")
    return Identity(("--account", f"{entry.pw_uid}:{entry.pw_gid}"), entry.pw_uid)


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


@functools.cache
def ours() -> Identity | None:
    """The identity that needs no other owner of files, or None where the kernel refuses it."""
    if os.geteuid() != 0 and _has_account(os.geteuid()):
        return Identity(PLAIN)
    inner = next((entry for entry in pwd.getpwall() if entry.pw_uid != 0), None)
    if inner is None:
        return None
    identity = Identity(("--namespace", f"{inner.pw_uid}:{inner.pw_gid}"))
    probe = subprocess.run(
        identity.command([sys.executable, "-I", "-c", ""]), capture_output=True, check=False
    )
    return identity if probe.returncode == 0 else None


def free_number() -> int:
    """A user id that belongs to no account of this machine."""
    return next(uid for uid in ACCOUNTLESS if not _has_account(uid))
