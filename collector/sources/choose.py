"""Which live source reads here."""

from __future__ import annotations

from collector.settings import Settings, SettingsError


def live_source(settings: Settings):
    """The source that ``--source`` names."""
    if settings.source in ("auto", "nvml"):
        from collector.sources.nvml import Nvml

        return Nvml(processes=settings.processes)
    raise SettingsError(f"--source {settings.source}: not available yet, use replay:FILE")
