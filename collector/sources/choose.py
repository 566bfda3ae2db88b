"""Which live source reads here; chosen again while nothing can be read."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import shutil
import time
from collections.abc import Callable
from typing import Any

from collector.log import log
from collector.model import Card, Reading
from collector.settings import Settings, SettingsError
from collector.sources import Unavailable

AGAIN_S = 30.0  # a chosen source that gives nothing
LOOK_S = 5.0  # nothing to choose from


def live_source(settings: Settings):
    """The source that ``--source`` names."""
    if settings.source == "auto":
        return Auto(settings)
    makers = _makers(settings)
    if settings.source not in makers:
        raise SettingsError(
            f"--source {settings.source!r}: use auto, {', '.join(makers)} or replay:FILE"
        )
    return makers[settings.source]()


def _makers(settings: Settings) -> dict[str, Callable]:
    return {
        "nvml": lambda: _nvml(settings),
        "dcgm": lambda: _dcgm(settings),
        "ascend": lambda: _ascend(settings),
        "amd": lambda: _amd(settings),
    }


def _nvml(settings: Settings):
    from collector.sources.nvml import Nvml

    overlay = None
    if settings.dcgm_url:
        from collector.sources.overlay import Overlay

        overlay = Overlay(settings.dcgm_url)
    return Nvml(processes=settings.processes, job_files=settings.job_files, overlay=overlay)


def _dcgm(settings: Settings):
    from collector.sources.dcgm import source

    return source(settings.dcgm_url)


def _ascend(settings: Settings):
    from collector.sources.programs import ascend

    return ascend(settings.npu_smi, settings.npu_url)


def _amd(settings: Settings):
    from collector.sources.programs import amd

    return amd(settings.rocm_smi, settings.amd_smi)


def findings(settings: Settings) -> dict[str, str | None]:
    """What speaks for each source here (None: nothing), in the order of preference."""
    return {
        "nvml": _library("libnvidia-ml.so.1"),
        "ascend": settings.npu_url or _program(settings.npu_smi) or _device("/dev/davinci_manager"),
        "amd": _program(settings.rocm_smi) or _program(settings.amd_smi) or _device("/dev/kfd"),
        "dcgm": listens(settings.dcgm_url),
    }


def _library(name: str) -> str | None:
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return None
    _ctypes.dlclose(library._handle)  # a held library could not be replaced by an upgraded one
    return f"{name} can be loaded"


def _program(name: str) -> str | None:
    path = shutil.which(name)
    return f"{path} is installed" if path else None


def _device(path: str) -> str | None:
    return f"{path} exists" if os.path.exists(path) else None


def listens(url: str) -> str | None:
    """Whether anything listens there; a plain connection, so that no HTTP client is loaded."""
    import socket

    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=0.5):
            return f"{url} answers"
    except (OSError, ValueError):
        return None


class Auto:
    """The first source that something speaks for; looked at again while it gives nothing."""

    name = "auto"

    def __init__(self, settings: Settings, clock=time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._source: Any = None
        self._look_at = float("-inf")
        self._trouble = Unavailable("starting")
        self.chosen: str | None = None
        self.notes: dict[str, str] = {}

    def poll(self, at: float) -> list[tuple[Card, Reading]]:
        """Readings of the chosen source; raises Unavailable with what is missing."""
        if self._source is None:
            if self._clock() < self._look_at:
                raise self._trouble
            self._choose(without=None)
        try:
            return self._source.poll(at)
        except Unavailable as error:
            if error.code != "starting" and self._clock() >= self._look_at:
                self._choose(without=self.chosen)
            raise

    def _choose(self, without: str | None) -> None:
        """Open the first source that is there; ``without`` one that gave nothing, which is kept
        when there is no other.
        """
        self._look_at = self._clock() + (AGAIN_S if without else LOOK_S)
        self._trouble = Unavailable(
            "no_source", "no NVIDIA library, npu-smi, rocm-smi or dcgm-exporter was found"
        )
        for name, reason in findings(self._settings).items():
            if not reason or name == without:
                continue
            try:
                source = _makers(self._settings)[name]()
            except Unavailable as error:
                self._trouble = error
                continue
            self.close()
            self._source, self.chosen = source, name
            self._look_at = self._clock() + AGAIN_S
            log(f"source: {name}, since {reason}")
            return
        if without is None:
            raise self._trouble

    def close(self) -> None:
        if self._source is not None:
            self.notes = getattr(self._source, "notes", {})
            self._source.close()
            self._source = None
