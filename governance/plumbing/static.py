"""Collected static files, kept in step with their sources."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def _signature() -> str:
    """Changes whenever a source file does."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            state = Path(storage.path(name)).stat()
            digest.update(f"{name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def bring_up_to_date() -> None:
    """Collect the static files unless the last collection still stands."""
    stamp, signature = Path(settings.STATIC_ROOT) / ".signature", _signature()
    if stamp.exists() and stamp.read_text() == signature:
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(signature)
