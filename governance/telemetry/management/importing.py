"""What the import commands share: opening files, and one clear line for each refusal."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

from django.core.management.base import CommandError

from governance.kernel.errors import DomainError
from governance.telemetry.domain.page import PageFault
from governance.telemetry.domain.tabular import TableFault
from governance.telemetry.services import Stored

T = TypeVar("T")
GZIP = b"\x1f\x8b"


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """A text file, also where it is gzipped."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        binary = gzip.GzipFile(fileobj=raw) if packed else raw
        yield io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")


def refusing(path: Path, act: Callable[[], T]) -> T:
    """Run an import; what refuses it becomes one line and exit status 1."""
    try:
        return act()
    except (TableFault, PageFault) as fault:
        raise CommandError(f"{path}: {fault}") from fault
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not UTF-8 text") from error
    except DomainError as error:
        raise CommandError(f"{path}: {error}") from error


def told(stored: Stored) -> str:
    """The counts of an import in one line."""
    return f"{stored.new} new, {stored.changed} changed, {stored.repeated} there already"
