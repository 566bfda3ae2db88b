"""One NVIDIA card or MIG instance: which of its figures can be read how.

Bandwidth comes from GPM metric 10 over chained pairs of samples where the card has it. GPM that
fails is tried again with back-off, never given up for the life of the process; meanwhile and on
cards without it DCGM's field 1005 is used where a dcgm-exporter runs, else the memory duty cycle,
corrected by the memory clock: an upper bound of the used share of peak bandwidth.
"""

from __future__ import annotations

import contextlib
import ctypes
import math

from collector.model import LOST, Card, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MIB = 2**20
WARM_UP = 1  # first readings after opening show the query itself, not the work
SLOW_S = 5.0  # temperature, ECC, throttle reasons, counters
GPM_RETRY_S = {"not_supported": 600.0, "function_not_found": 600.0, "no_permission": 60.0}
HARD = (1, 9, 15, 16, 17, 999)  # from the call that every card answers: the card itself fails
GONE = (1, 9, 15, 16)  # from any other call; a figure alone may fail with "unknown error"
THROTTLE = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
    0x100: "display_clock",
    0x200: "board_limit",
    0x400: "reliability",
}
# GPM metric -> (field, factor)
GPM = {
    10: ("bandwidth", 0.01),
    1: ("gpu_duty", 0.01),
    2: ("sm", 0.01),
    5: ("tensor", 0.01),
    20: ("pcie_tx_bytes_per_s", MIB),
    21: ("pcie_rx_bytes_per_s", MIB),
    60: ("nvlink_rx_bytes_per_s", MIB),
    61: ("nvlink_tx_bytes_per_s", MIB),
}
COUNTERS = {
    197: ("pcie_tx_bytes_per_s", 1),
    198: ("pcie_rx_bytes_per_s", 1),
    138: ("nvlink_tx_bytes_per_s", 1024),
    139: ("nvlink_rx_bytes_per_s", 1024),
}
ALL_LINKS = 0xFFFFFFFF
_VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


class Unit:
    """A card with its handle, its GPM samples (allocated once) and its counters."""

    def __init__(self, nv, card: Card, handle, *, gpm_handle=None, instance: int | None = None):
        self._nv = nv
        self.card = card
        self.handle = handle
        self.address = ctypes.cast(handle, ctypes.c_void_p).value
        self.parent = card.parent
        self.mig = False
        self.vgpu = False
        self.failed: str | None = None
        self.xid = 0
        self.xid_watched = False
        self._gpm_handle = gpm_handle or handle
        self._instance = instance
        self._samples: list = []
        self._metrics: Any = None
        self._gpm_at: float | None = None
        self._gpm_retry = 0.0
        self._gpm_fault: str | None = None
        self._gpm_faults = 0
        self._clock_max: int | None = None
        self._last_us = {1: 0, 2: 0}
        self._reads = 0
        self._slow_at = 0.0
        self._ecc: dict[str, int] = {}
        self._counters: dict[int, tuple[int, int]] = {}
        self._processes: Any = None

    def same_handle(self, handle) -> bool:
        return self.address == ctypes.cast(handle, ctypes.c_void_p).value and not self.failed

    def mark_lost(self) -> None:
        self.failed = LOST

    def free(self) -> None:
        """Give the GPM samples back; the driver keeps them otherwise."""
        for sample in self._samples:
            with contextlib.suppress(self._nv.NVMLError):
                self._nv.nvmlGpmSampleFree(sample)
        self._samples, self._metrics, self._gpm_at = [], None, None

    # one reading

    def read(self, at: float, now: float, overlay) -> Reading:
        """All figures of this tick. ``at`` is wall time, ``now`` monotonic."""
        nv = self._nv
        reading = Reading()
        try:
            total, used, kind = self._memory()
            for field, value in (("memory_total_bytes", total), ("memory_used_bytes", used)):
                if value < 2**53:
                    setattr(reading, field, value)
                else:  # the driver's largest number: no value
                    reading.because(f"{field}:out_of_range")
            if kind:
                reading.because(kind)
            self.failed = None
        except nv.NVMLError as error:
            if error.value in HARD:
                return self._fail(error, reading)
            reading.because(f"memory:{_code(error)}")
        try:
            self._figures(reading, at, now, overlay)
        except _CardFailed as fault:
            return self._fail(fault.error, Reading())
        self._reads += 1
        return reading

    def _fail(self, error, reading: Reading) -> Reading:
        self.failed = _code(error)
        self._gpm_at = None
        self._counters.clear()
        reading.because(self.failed)
        if self.failed != LOST:
            reading.because("card_failed")
        return reading

    def _memory(self) -> tuple[int, int, str | None]:
        nv = self._nv
        try:
            info = nv.nvmlDeviceGetMemoryInfo(self.handle, nv.nvmlMemory_v2)
            return info.total, info.used, None
        except nv.NVMLError as error:
            if error.value in HARD:
                raise
            info = nv.nvmlDeviceGetMemoryInfo(self.handle)
            return info.total, info.used, "memory_v1"  # counts what the driver reserves as used

    def _figures(self, reading: Reading, at: float, now: float, overlay) -> None:
        nv = self._nv
        clock = self._get(nv.nvmlDeviceGetClockInfo, 2)
        if clock is not None:
            reading.memory_clock_mhz = clock
            if self._clock_max is None:
                self._clock_max = self._get(nv.nvmlDeviceGetMaxClockInfo, 2)
            if self._clock_max:
                reading.clock_ratio = min(1.0, clock / self._clock_max)
        reading.sm_clock_mhz = self._get(nv.nvmlDeviceGetClockInfo, 1)
        if self._instance is None:
            power = self._get(nv.nvmlDeviceGetPowerUsage)
            reading.power_w = None if power is None else power / 1000
        if self.mig:
            reading.because("unsupported_mig")
        else:
            self._bandwidth(reading, at, now, overlay)
        if self.xid_watched:
            reading.xid, self.xid = self.xid, 0
        if now >= self._slow_at:
            self._slow_at = now + SLOW_S
            self._slow(reading)

    def _get(self, call, *arguments):
        """A figure or None; raises _CardFailed when the card itself is gone."""
        try:
            return call(self.handle, *arguments)
        except self._nv.NVMLError as error:
            if error.value in GONE:
                raise _CardFailed(error) from None
            return None

    # bandwidth

    def _bandwidth(self, reading: Reading, at: float, now: float, overlay) -> None:
        warm = self._reads >= WARM_UP
        rates = None
        if self._instance is None:
            rates = self._get(self._nv.nvmlDeviceGetUtilizationRates)
        if rates is not None and warm:
            reading.gpu_duty = _share(rates.gpu)
            reading.memory_duty = _share(rates.memory)
        if self._gpm(reading, now):
            return
        name = self.card.uuid if self._instance is None else f"{self.parent}/{self._instance}"
        if overlay is not None and (found := overlay(name)) is not None:
            reading.source = "dcgm_1005"
            reading.bandwidth, reading.window_ms = found
            if self._instance is not None:
                reading.because("mig_denominator_unverified")
            return
        if self._instance is not None:
            reading.because("unsupported_mig")
        elif self.vgpu:
            reading.because("vgpu_shared")  # the duty cycle is that of all guests of the card
        elif warm:
            self._duty(reading)
        else:
            self._duty(Reading())  # moves the marks, so that the next window begins now
            reading.because("warming_up")

    def _gpm(self, reading: Reading, now: float) -> bool:
        """Fill in GPM figures; False when the card has to fall back to another source."""
        if now < self._gpm_retry:
            reading.because(self._gpm_fault or "no_gpm")
            return False
        nv = self._nv
        try:
            if not self._samples:
                self._open_gpm()
            older, newer = self._samples
            if self._instance is None:
                nv.nvmlGpmSampleGet(self._gpm_handle, newer)
            else:
                nv.nvmlGpmMigSampleGet(self._gpm_handle, self._instance, newer)
            before, self._gpm_at = self._gpm_at, now
            self._samples.reverse()
            self._gpm_fault = None
            self._gpm_faults = 0
            if before is None:
                reading.source = "nvml_gpm"
                reading.because("gpm_baseline")
                return True
            self._metrics.sample1, self._metrics.sample2 = older, newer
            nv.nvmlGpmMetricsGet(self._metrics)
        except nv.NVMLError as error:
            if error.value in GONE:
                raise _CardFailed(error) from None
            self._gpm_off(_code(error), now, reading)
            return False
        self._take_metrics(reading, (now - before) * 1000)
        return True

    def _open_gpm(self) -> None:
        nv = self._nv
        if not nv.nvmlGpmQueryDeviceSupport(self._gpm_handle).isSupportedDevice:
            raise nv.NVMLError(nv.NVML_ERROR_NOT_SUPPORTED)
        self._samples = [nv.nvmlGpmSampleAlloc(), nv.nvmlGpmSampleAlloc()]
        self._metrics = nv.c_nvmlGpmMetricsGet_t()
        self._metrics.version = nv.NVML_GPM_METRICS_GET_VERSION
        self._metrics.numMetrics = len(GPM)
        for place, metric in enumerate(GPM):
            self._metrics.metrics[place].metricId = metric

    def _gpm_off(self, code: str, now: float, reading: Reading) -> None:
        self._gpm_at = None
        self._gpm_fault = (
            "no_gpm" if code in ("not_supported", "function_not_found") else f"gpm:{code}"
        )
        self._gpm_retry = now + GPM_RETRY_S.get(code, min(10.0, 0.5 * 2**self._gpm_faults))
        self._gpm_faults += 1
        reading.because(self._gpm_fault)

    def _take_metrics(self, reading: Reading, window_ms: float) -> None:
        reading.source = "nvml_gpm"
        reading.window_ms = round(window_ms, 1)
        if self._instance is not None:
            # whether the figure is a share of the slice or of the card is not published
            reading.because("mig_denominator_unverified")
        for place, (metric, (field, factor)) in enumerate(GPM.items()):
            entry = self._metrics.metrics[place]
            if entry.nvmlReturn != 0:
                if metric == 10:
                    reading.because("gpm:no_dram_figure")
                continue
            value = entry.value
            if math.isnan(value):
                if metric == 10:
                    reading.because("nan")
                continue
            top = 1.0 if factor == 0.01 else 1e15
            if not 0 <= value * factor <= top * 1.02:
                reading.because(f"{field}:out_of_range")
                continue
            setattr(reading, field, min(top, value * factor))

    def _duty(self, reading: Reading) -> None:
        duty, window = self._mean_of_samples(2)
        if duty is None:
            duty = reading.memory_duty
            window = None
        else:
            reading.memory_duty = duty
        gpu, _ = self._mean_of_samples(1)
        if gpu is not None:
            reading.gpu_duty = gpu
        if duty is None:
            reading.because("no_duty")
            return
        reading.window_ms = window
        if reading.clock_ratio is None:
            reading.source, reading.bandwidth = "nvml_duty_uncorrected", duty
            reading.because("no_memory_clock")
        else:
            reading.source, reading.bandwidth = "nvml_duty", duty * reading.clock_ratio

    def _mean_of_samples(self, kind: int) -> tuple[float | None, float | None]:
        """Mean share and window in ms of the driver's samples since the last call."""
        nv = self._nv
        last = self._last_us[kind]
        try:
            value_type, samples = nv.nvmlDeviceGetSamples(self.handle, kind, last)
        except nv.NVMLError as error:
            if error.value in GONE:
                raise _CardFailed(error) from None
            return None, None  # nothing new, or not supported
        fresh = [sample for sample in samples if sample.timeStamp > last]
        if not fresh:
            return None, None
        self._last_us[kind] = fresh[-1].timeStamp
        if last == 0:
            return None, None  # the driver's whole history, from before we watched
        values = [getattr(sample.sampleValue, _VALUES[value_type]) for sample in fresh]
        shares = [share for value in values if (share := _share(value)) is not None]
        if not shares:
            return None, None
        return math.fsum(shares) / len(shares), round((fresh[-1].timeStamp - last) / 1000, 1)

    # slow figures

    def _slow(self, reading: Reading) -> None:
        nv = self._nv
        if self._instance is not None:
            return
        reading.temperature_c = self._get(nv.nvmlDeviceGetTemperature, 0)
        bits = self._get(nv.nvmlDeviceGetCurrentClocksEventReasons)
        if bits is None:
            bits = self._get(nv.nvmlDeviceGetCurrentClocksThrottleReasons)
        if bits is not None:
            reading.throttle = tuple(name for bit, name in THROTTLE.items() if bits & bit)
        for number, field in enumerate(("ecc_corrected", "ecc_uncorrected")):
            total = self._get(nv.nvmlDeviceGetTotalEccErrors, number, 0)
            if total is not None:
                before = self._ecc.get(field, total)
                self._ecc[field] = total
                # a counter that fell was reset: what it shows now came since
                setattr(reading, field, total - before if total >= before else total)
        if reading.pcie_rx_bytes_per_s is None:
            self._rates(reading)

    def _rates(self, reading: Reading) -> None:
        """PCIe and NVLink by byte counters: unlike the throughput call these do not block."""
        wanted = [(field, ALL_LINKS if field < 190 else 0) for field in COUNTERS]
        values = self._get(self._nv.nvmlDeviceGetFieldValues, wanted)
        for entry in values or ():
            if entry.nvmlReturn != 0 or entry.fieldId not in COUNTERS:
                continue
            field, factor = COUNTERS[entry.fieldId]
            count = getattr(entry.value, _VALUES[entry.valueType])
            before = self._counters.get(entry.fieldId)
            self._counters[entry.fieldId] = (entry.timestamp, count)
            if before is None:
                continue
            elapsed, moved = entry.timestamp - before[0], count - before[1]
            if elapsed > 0 and moved >= 0:  # a counter that wrapped gives no figure
                setattr(reading, field, moved * factor * 1e6 / elapsed)

    def add_processes(self, reading: Reading, now: float, jobs=None) -> None:
        """Who works on the card, looked up every few seconds."""
        if self.failed:
            return
        if self._processes is None:
            from collector.attribution import Processes

            self._processes = Processes()
        if not self._processes.due(now):
            return
        try:
            found = self._nv.nvmlDeviceGetComputeRunningProcesses_v3(self.handle)
        except self._nv.NVMLError as error:
            reading.because(f"processes:{_code(error)}")
            return
        pairs = [(process.pid, process.usedGpuMemory) for process in found]
        reading.processes, reasons = self._processes.summary(pairs)
        reading.because(*reasons)
        if jobs is not None:
            uuid = self.parent or self.card.uuid
            reading.processes, reasons = jobs.add(uuid, reading.processes)
            reading.because(*reasons)


class _CardFailed(Exception):
    def __init__(self, error) -> None:
        super().__init__(str(error))
        self.error = error


def _code(error) -> str:
    from collector.sources.nvml import code_of

    return code_of(error)


def _share(percent: float) -> float | None:
    return percent / 100 if 0 <= percent <= 100 else None
