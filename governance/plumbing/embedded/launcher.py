"""Becomes a server process: drops what it must not have, then executes the program given.

Run as a script (`python -I launcher.py [options] -- program arguments`), so that it imports
nothing of ours and has a single thread, as `unshare(CLONE_NEWUSER)` asks.
"""

import argparse
import ctypes
import os
import signal

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def enter_namespace(uid: int, gid: int) -> None:
    """A user namespace in which our own ids are called `uid` and `gid` and nobody is root."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def become(uid: int, gid: int) -> None:
    """Another account for good: no group, no way back."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def die_with(parent: int) -> None:
    """The kernel interrupts us when `parent` dies, however it dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:
        raise SystemExit(1)


def ids(text: str) -> tuple[int, int]:
    uid, gid = text.split(":")
    return int(uid), int(gid)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", type=ids)
    parser.add_argument("--account", type=ids)
    parser.add_argument("--parent", type=int)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.namespace:
        enter_namespace(*options.namespace)
    if options.account:
        become(*options.account)
    if options.parent:
        die_with(options.parent)
    os.umask(0o077)
    os.execv(options.program[0], options.program)


if __name__ == "__main__":
    main()
