"""Which live source reads here."""

from __future__ import annotations

from collector.settings import Settings, SettingsError


def live_source(settings: Settings):
    """The source that ``--source`` names."""
    raise SettingsError(f"--source {settings.source}: not available yet, use replay:FILE")
