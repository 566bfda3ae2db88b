"""NVIDIA cards by NVML: connecting, finding cards by UUID, and starting over when all fails.

A driver reload, a package upgrade under a running agent or a card that fell off the bus must not
need a restart: when every card fails the library is shut down and opened again with back-off; a
mismatch between library and kernel module also unloads the library, so that the new file is used.
"""

from __future__ import annotations

import ctypes
import time

from collector.log import log
from collector.model import LOST, Card, Reading
from collector.sources import Unavailable
from collector.sources.nvml_unit import Unit

RESCAN_S = 10.0
BACKOFF_S = (1, 2, 4, 8, 15, 30)
REVIVE_S = (60, 120, 300, 600)
CODES = {
    1: "uninitialized",
    2: "invalid_argument",
    3: "not_supported",
    4: "no_permission",
    6: "not_found",
    9: "driver_not_loaded",
    10: "timeout",
    12: "library_not_found",
    13: "function_not_found",
    15: LOST,
    16: "reset_required",
    17: "operating_system",
    18: "lib_rm_mismatch",
    20: "memory",
    21: "no_data",
    25: "version_mismatch",
    999: "unknown_error",
}


def code_of(error: Exception) -> str:
    """NVML's return code as a reason code."""
    value = getattr(error, "value", 0)
    return CODES.get(value, f"nvml_{value}")


class Nvml:
    """Source of all NVIDIA cards of the node.

    ``overlay(uuid)`` may give DCGM's field 1005 of a card as ``(share, window_ms)``; it is asked
    only for cards without GPM.
    """

    name = "nvml"

    def __init__(
        self,
        *,
        processes: bool = True,
        job_files: str | None = None,
        overlay=None,
        clock=time.monotonic,
    ) -> None:
        try:
            import pynvml
        except ImportError:
            raise Unavailable("no_pynvml", "install nvidia-ml-py") from None
        if "__init__" in (pynvml.__file__ or ""):  # a package: the retired distribution pynvml
            raise Unavailable(
                "wrong_pynvml", f"{pynvml.__file__} is not nvidia-ml-py; uninstall package pynvml"
            )
        self._nv = pynvml
        self._clock = clock
        self._processes = processes
        self._jobs = None
        if job_files:
            from collector.attribution import JobFiles

            self._jobs = JobFiles(job_files)
        self._overlay = overlay
        self._units: dict[str, Unit] = {}
        self._open = False
        self._failures = 0
        self._next_try = 0.0
        self._next_scan = 0.0
        self._revive_at: float | None = None
        self._revivals = 0
        self._trouble = Unavailable("starting")
        self._events = None
        self.notes: dict[str, str] = {}
        self.driver: str | None = None

    # life of the library

    def _connect(self) -> None:
        now = self._clock()
        if now < self._next_try:
            raise self._trouble
        try:
            self._nv.nvmlInit()
        except self._nv.NVMLError as error:
            code = code_of(error)
            self._back_off(Unavailable(f"nvml_init:{code}", str(error)))
            if code in ("lib_rm_mismatch", "library_not_found"):
                self._unload()
            raise self._trouble from None
        self._open = True
        self._next_scan = 0.0
        try:
            self.driver = self._nv.nvmlSystemGetDriverVersion()
        except self._nv.NVMLError:
            self.driver = None

    def _back_off(self, trouble: Unavailable) -> None:
        self._trouble = trouble
        wait = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self._failures += 1
        self._next_try = self._clock() + wait

    def _unload(self) -> None:
        """Drop the loaded library, so that the next try opens the file as it is then."""
        library = self._nv.nvmlLib
        self._nv.nvmlLib = None
        getattr(self._nv, "_nvmlGetFunctionPointer_cache", {}).clear()
        if library is not None:
            import _ctypes

            _ctypes.dlclose(library._handle)

    def close(self) -> None:
        """Free what was allocated and shut NVML down."""
        self._shut()
        if self._overlay is not None and hasattr(self._overlay, "close"):
            self._overlay.close()

    def _shut(self) -> None:
        for unit in self._units.values():
            unit.free()
        self._units.clear()
        self._events = None
        if self._open:
            self._open = False
            try:
                self._nv.nvmlShutdown()
            except self._nv.NVMLError as error:
                log(f"nvml: shutdown: {error}")

    # cards

    def _scan(self, at: float) -> None:
        """Bring the units in line with the cards that the driver shows, by UUID."""
        nv = self._nv
        self._next_scan = self._clock() + RESCAN_S
        found: dict[str, Unit] = {}
        notes: dict[str, str] = {}
        unresolved = 0
        for index in range(nv.nvmlDeviceGetCount()):
            try:
                handle = nv.nvmlDeviceGetHandleByIndex(index)
                uuid = nv.nvmlDeviceGetUUID(handle)
            except nv.NVMLError as error:
                notes[f"nvml_card_{index}"] = code_of(error)
                unresolved += 1
                continue
            self._add(found, uuid, handle, index)
        if unresolved:
            # a card that cannot be named now is one that we knew, if exactly its kind is missing
            for uuid, unit in self._units.items():
                if uuid not in found and (unit.parent is None or unit.parent in found):
                    unit.mark_lost()
                    found[uuid] = unit
        fresh = set(found) - set(self._units)
        for uuid, unit in self._units.items():
            if found.get(uuid) is not unit:
                unit.free()
        self._units = found
        self.notes = notes
        if fresh or self._events is None:
            self._watch_events()

    def _add(self, found: dict[str, Unit], uuid: str, handle, index: int) -> None:
        unit = self._units.get(uuid)
        if unit is None or not unit.same_handle(handle):
            model = self._text(self._nv.nvmlDeviceGetName, handle)
            unit = Unit(self._nv, Card("nvidia", uuid, model=model, index=index), handle)
        unit.card.index = index
        found[uuid] = unit
        unit.mig = self._mig_on(handle)
        unit.vgpu = self._is_guest(handle)
        if unit.mig:
            self._add_slices(found, unit)

    def _mig_on(self, handle) -> bool:
        try:
            return self._nv.nvmlDeviceGetMigMode(handle)[0] == 1
        except self._nv.NVMLError:
            return False

    def _is_guest(self, handle) -> bool:
        nv = self._nv
        try:
            mode = nv.nvmlDeviceGetVirtualizationMode(handle)
        except nv.NVMLError:
            return False
        return mode == nv.NVML_GPU_VIRTUALIZATION_MODE_VGPU

    def _add_slices(self, found: dict[str, Unit], parent: Unit) -> None:
        nv = self._nv
        try:
            most = nv.nvmlDeviceGetMaxMigDeviceCount(parent.handle)
        except nv.NVMLError:
            return
        for number in range(most):
            try:
                handle = nv.nvmlDeviceGetMigDeviceHandleByIndex(parent.handle, number)
                uuid = nv.nvmlDeviceGetUUID(handle)
                instance = nv.nvmlDeviceGetGpuInstanceId(handle)
            except nv.NVMLError:
                continue
            unit = self._units.get(uuid)
            if unit is None or not unit.same_handle(handle):
                model = self._text(nv.nvmlDeviceGetName, handle)
                card = Card("nvidia", uuid, model=model, parent=parent.card.uuid)
                unit = Unit(nv, card, handle, gpm_handle=parent.handle, instance=instance)
            unit.card.index = parent.card.index
            found[uuid] = unit

    def _text(self, call, handle) -> str | None:
        try:
            return call(handle)
        except self._nv.NVMLError:
            return None

    # XID events

    def _watch_events(self) -> None:
        nv = self._nv
        try:
            if self._events is not None:
                nv.nvmlEventSetFree(self._events)
            self._events = nv.nvmlEventSetCreate()
        except nv.NVMLError:
            self._events = None
            return
        for unit in self._units.values():
            unit.xid_watched = False
            if unit.parent is None:
                try:
                    nv.nvmlDeviceRegisterEvents(
                        unit.handle, nv.nvmlEventTypeXidCriticalError, self._events
                    )
                    unit.xid_watched = True
                except nv.NVMLError:
                    pass

    def _take_events(self) -> None:
        nv = self._nv
        for _ in range(64 if self._events is not None else 0):
            try:
                event = nv.nvmlEventSetWait_v2(self._events, 0)
            except nv.NVMLError:
                return
            address = ctypes.cast(event.device, ctypes.c_void_p).value
            for unit in self._units.values():
                if unit.address == address:
                    unit.xid += 1
                    log(f"card {unit.card.uuid}: XID {event.eventData}")

    # reading

    def poll(self, at: float) -> list[tuple[Card, Reading]]:
        """One reading of every card; raises Unavailable when none can be read."""
        if not self._open:
            self._connect()
        try:
            if self._clock() >= self._next_scan:
                self._scan(at)
        except self._nv.NVMLError as error:
            self._start_over(f"nvml:{code_of(error)}", str(error))
        if not self._units:
            if self.notes:
                self._start_over(f"nvml:{next(iter(self.notes.values()))}", "no card can be opened")
            raise Unavailable("no_cards", "the driver shows no card")
        self._take_events()
        batch = [self._read(unit, at) for unit in self._units.values()]
        hard = [unit for unit in self._units.values() if unit.failed]
        if len(hard) == len(self._units):
            self._start_over(f"nvml:{hard[0].failed}", "every card fails")
        self._failures = 0
        if hard:
            self._next_scan = min(self._next_scan, self._clock() + 1.0)
            self._revive()
        else:
            self._revive_at, self._revivals = None, 0
        return batch

    def _read(self, unit: Unit, at: float) -> tuple[Card, Reading]:
        reading = unit.read(at, self._clock(), self._overlay)
        if self._processes:
            unit.add_processes(reading, self._clock(), self._jobs)
        return unit.card, reading

    def _start_over(self, code: str, detail: str) -> None:
        self._shut()
        self._back_off(Unavailable(code, detail))
        raise self._trouble

    def _revive(self) -> None:
        """Some cards fail for long: open NVML anew, ever more rarely, in case that helps."""
        now = self._clock()
        if self._revive_at is None:
            self._revive_at = now + REVIVE_S[0]
        elif now >= self._revive_at:
            self._revivals += 1
            self._revive_at = now + REVIVE_S[min(self._revivals, len(REVIVE_S) - 1)]
            log("nvml: opened anew, since a card has failed for long")
            lost = {uuid: unit for uuid, unit in self._units.items() if unit.failed}
            for unit in self._units.values():
                unit.free()
            self._units = lost
            self._events = None
            self._nv.nvmlShutdown()
            self._open = False
            self._next_try = 0.0
