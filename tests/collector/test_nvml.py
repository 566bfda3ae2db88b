"""The NVML source: the real pynvml against a stub library whose faults change while it runs."""

from __future__ import annotations

import os
import time

import pytest

from collector.sources import Unavailable
from tests.collector.conftest import uuid


def test_bandwidth_is_gpm_and_never_the_duty_cycle(stub, nvml) -> None:
    found = nvml().warm()
    assert len(found) == 8
    for number in range(8):
        reading = found[uuid(number)]
        assert reading.source == "nvml_gpm"
        assert reading.bandwidth == pytest.approx((20 + number) / 100, abs=1e-6)
        assert reading.memory_duty == pytest.approx((60 + number) / 100)
        assert reading.gpu_duty == pytest.approx(0.95)
        assert (reading.sm, reading.tensor) == (pytest.approx(0.8), pytest.approx(0.4))
        assert reading.pcie_rx_bytes_per_s == pytest.approx(121 * 2**20)
        assert reading.nvlink_tx_bytes_per_s == pytest.approx(5061 * 2**20)


def test_gpm_pairs_are_chained_and_cover_all_of_the_time(stub, nvml) -> None:
    source = nvml()
    stub.tell("dram * 10")
    source.warm()
    stub.tell("dram * 90")
    time.sleep(0.2)
    stub.tell("dram * 10")
    reading = source.poll(0.2)[uuid(0)]
    assert 0.2 < reading.bandwidth < 0.8  # the burst between two readings is not missed
    assert reading.window_ms > 400


def test_without_gpm_the_duty_cycle_is_corrected_by_the_memory_clock(stub, nvml) -> None:
    stub.tell("nogpm *", "duty * 23", "clock * 405", "clockmax * 11501")
    source = nvml()
    source.warm()
    reading = source.poll(1.1)[uuid(0)]
    assert reading.source == "nvml_duty"
    assert reading.memory_duty == pytest.approx(0.23, abs=0.03)
    assert reading.bandwidth == pytest.approx(reading.memory_duty * 405 / 11501)
    assert reading.reasons == ["no_gpm"]


def test_the_duty_cycle_is_the_mean_of_the_drivers_samples(stub, nvml) -> None:
    stub.tell("nogpm *", "duty * 40")
    source = nvml()
    source.warm()
    reading = source.poll(1.0)[uuid(0)]  # the stub swings between 34 and 46 %
    assert reading.bandwidth == pytest.approx(0.40, abs=0.025)
    assert reading.window_ms == pytest.approx(1100, abs=250)


def test_the_first_reading_after_opening_shows_no_work(stub, nvml) -> None:
    stub.tell("nogpm *")
    first = nvml().poll(0)[uuid(0)]
    assert first.gpu_duty is None
    assert first.bandwidth is None
    assert "warming_up" in first.reasons


@pytest.mark.parametrize(
    ("code", "name"), [(18, "lib_rm_mismatch"), (9, "driver_not_loaded"), (12, "library_not_found")]
)
def test_a_failed_start_invents_nothing_and_is_tried_again(stub, nvml, code, name) -> None:
    stub.tell(f"init {code}")
    source = nvml()
    for _ in range(3):
        with pytest.raises(Unavailable, match=f"nvml_init:{name}"):
            source.poll(0)
        source.ahead += 1.5
    stub.tell("")
    source.ahead += 4
    assert len(source.poll()) == 8


def test_all_cards_failing_opens_nvml_anew(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell(*(f"card {number} 999" for number in range(8)))
    with pytest.raises(Unavailable, match="unknown_error"):
        source.poll()
    stub.tell("")
    with pytest.raises(Unavailable):
        source.poll()  # within the back-off
    source.ahead += 1.1
    source.poll()
    assert source.poll()[uuid(3)].bandwidth == pytest.approx(0.23, abs=1e-6)


def test_a_card_that_fails_for_long_has_nvml_opened_anew(stub, nvml, monkeypatch) -> None:
    source = nvml()
    source.warm()
    opened: list[bool] = []
    init = source.nvml._nv.nvmlInit
    monkeypatch.setattr(source.nvml._nv, "nvmlInit", lambda: (opened.append(True), init()))
    stub.tell("card 3 15")
    source.poll()
    source.poll()
    assert opened == []
    source.ahead += 61
    source.poll()
    source.poll()
    assert opened == [True]


def test_a_mismatch_lets_go_of_the_library(stub, nvml) -> None:
    source = nvml()
    stub.tell("init 18")
    with pytest.raises(Unavailable, match="lib_rm_mismatch"):
        source.poll()
    assert source.nvml._nv.nvmlLib is None  # the next try opens the file as it is then
    stub.tell("")
    source.ahead += 1.1
    source.poll()
    assert source.nvml._nv.nvmlLib is not None


def test_a_driver_reload_makes_handles_stale_and_is_survived(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell("reload 1", "swap 0 5")
    with pytest.raises(Unavailable):
        source.poll()
    source.ahead += 1.1
    source.poll()
    found = source.poll()
    assert found[uuid(0)].bandwidth == pytest.approx(0.20, abs=1e-6)
    assert found[uuid(5)].bandwidth == pytest.approx(0.25, abs=1e-6)


def test_one_lost_card_does_not_hide_the_other_seven(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell("card 3 15", "handle 3 15")
    for ahead in (0, 2, 20):  # before and after the cards are looked for again
        source.ahead += ahead
        found = source.poll()
        assert found[uuid(3)].bandwidth is None
        assert found[uuid(3)].reasons == ["lost"]
        assert not found[uuid(3)].known
        assert sum(reading.bandwidth is not None for reading in found.values()) == 7
    stub.tell("")
    source.ahead += 2
    source.poll()
    assert source.poll()[uuid(3)].bandwidth == pytest.approx(0.23, abs=1e-6)


def test_a_card_lost_from_the_start_is_noted(stub, nvml) -> None:
    stub.tell("handle 3 15")
    source = nvml()
    assert len(source.warm()) == 7
    assert source.nvml.notes == {"nvml_card_3": "lost"}


def test_identity_is_the_uuid_when_indices_shift(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell("swap 0 7", "count 7")  # the card that is now last falls out of sight
    source.ahead += 11
    source.poll()
    found = {card.uuid: (card, reading) for card, reading in source.nvml.poll(time.time())}
    assert uuid(0) not in found
    assert found[uuid(7)][0].index == 0
    time.sleep(0.12)
    assert source.poll()[uuid(7)].bandwidth == pytest.approx(0.27, abs=1e-6)


def test_a_mig_card_is_unknown_and_its_instances_are_units_of_their_own(stub, nvml) -> None:
    stub.tell("mig 2 3")
    source = nvml()
    source.warm()
    time.sleep(0.12)
    batch = source.nvml.poll(time.time())
    whole = next(r for c, r in batch if c.uuid == uuid(2))
    assert (whole.bandwidth, whole.gpu_duty, whole.source) == (None, None, "unknown")
    assert "unsupported_mig" in whole.reasons
    assert whole.power_w == 500
    slices = [(c, r) for c, r in batch if c.parent == uuid(2)]
    assert len(slices) == 3
    assert [r.bandwidth for _, r in slices] == [
        pytest.approx(s, abs=1e-6) for s in (0.05, 0.06, 0.07)
    ]
    assert all("mig_denominator_unverified" in r.reasons for _, r in slices)
    assert all(r.power_w is None for _, r in slices)


def test_a_mig_card_without_gpm_is_null_never_zero(stub, nvml) -> None:
    stub.tell("mig 2 1", "nogpm 2")
    source = nvml()
    found = source.warm()
    for reading in (found[uuid(2)], found["MIG-5b1ade00-0000-4000-8000-000000000002"]):
        assert reading.bandwidth is None
        assert reading.gpu_duty is None
        assert "unsupported_mig" in reading.reasons


def test_a_transient_gpm_error_degrades_and_comes_back(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell("gpm 1 999")
    found = source.poll()
    assert found[uuid(0)].source == "nvml_gpm"
    assert found[uuid(1)].source != "nvml_gpm"
    assert "gpm:unknown_error" in found[uuid(1)].reasons
    source.poll(0.7)
    assert source.poll(0.5)[uuid(1)].source == "nvml_duty"
    stub.tell("")
    source.ahead += 10
    source.poll()
    back = source.poll()[uuid(1)]
    assert (back.source, back.reasons) == ("nvml_gpm", [])


def test_no_permission_degrades_one_card_and_is_tried_rarely(stub, nvml) -> None:
    stub.tell("gpm 1 4")
    source = nvml()
    source.warm()
    reading = source.poll(0.5)[uuid(1)]
    assert reading.source == "nvml_duty"
    assert reading.reasons == ["gpm:no_permission"]
    stub.tell("")
    assert source.poll()[uuid(1)].source == "nvml_duty"
    source.ahead += 61
    source.poll()
    assert source.poll()[uuid(1)].source == "nvml_gpm"


def test_a_window_too_short_or_nan_is_null_and_neighbours_are_kept(stub, nvml) -> None:
    source = nvml()
    source.warm()
    stub.tell("dram 1 nan")
    found = source.poll()
    assert found[uuid(1)].bandwidth is None
    assert "nan" in found[uuid(1)].reasons
    assert found[uuid(1)].sm == pytest.approx(0.8)
    assert found[uuid(2)].bandwidth == pytest.approx(0.22, abs=1e-6)
    assert source.poll(0.02)[uuid(2)].bandwidth is None


@pytest.mark.parametrize("percent", ["-5", "250"])
def test_figures_out_of_range_are_null(stub, nvml, percent) -> None:
    stub.tell(f"dram 1 {percent}")
    source = nvml()
    source.poll(0)
    reading = source.poll()[uuid(1)]
    assert reading.bandwidth is None
    assert "bandwidth:out_of_range" in reading.reasons


def test_used_memory_leaves_out_what_the_driver_reserves(stub, nvml) -> None:
    stub.tell("used * 0", "memory2 1 13")
    found = nvml().warm()
    assert found[uuid(0)].memory_used_bytes == 0
    assert found[uuid(1)].memory_used_bytes == 479 * 2**20
    assert "memory_v1" in found[uuid(1)].reasons


def test_the_drivers_largest_number_is_no_memory(stub, nvml) -> None:
    stub.tell(f"used 0 {2**44 - 1}")
    reading = nvml().warm()[uuid(0)]
    assert reading.memory_used_bytes is None
    assert "memory_used_bytes:out_of_range" in reading.reasons
    assert reading.bandwidth is not None


def test_utilisation_that_is_not_supported_is_null(stub, nvml) -> None:
    stub.tell("nogpm *", "util * 3", "samples * 3")
    source = nvml()
    source.warm()
    reading = source.poll()[uuid(0)]
    assert (reading.gpu_duty, reading.memory_duty, reading.bandwidth) == (None, None, None)
    assert "no_duty" in reading.reasons


def test_dcgm_figures_are_used_for_cards_without_gpm(stub, nvml) -> None:
    stub.tell("nogpm 1")
    source = nvml(overlay=lambda name: (0.31, 15000.0) if name in (uuid(0), uuid(1)) else None)
    found = source.warm()
    assert (found[uuid(0)].source, found[uuid(1)].source) == ("nvml_gpm", "dcgm_1005")
    assert found[uuid(1)].bandwidth == 0.31


def test_counters_of_errors_and_throttling(stub, nvml) -> None:
    stub.tell("eccc 0 5", "throttle 0 12")
    source = nvml()
    first = source.poll(0)[uuid(0)]
    assert (first.ecc_corrected, first.xid) == (0, 0)
    stub.tell("eccc 0 7", "eccu 0 1", "xid 0 79", "throttle 0 12")
    source.ahead += 6
    second = source.poll()[uuid(0)]
    assert (second.ecc_corrected, second.ecc_uncorrected, second.xid) == (2, 1, 1)
    assert second.throttle == ("sw_power_cap", "hw_slowdown")
    stub.tell("eccc 0 1")
    source.ahead += 6
    assert source.poll()[uuid(0)].ecc_corrected == 1  # the counter was reset


def test_rates_come_from_counters_and_never_from_the_call_that_blocks(stub, nvml) -> None:
    stub.tell("nogpm *", "pcie_ms 20")
    source = nvml()
    source.poll(0)
    source.ahead += 6
    started = time.monotonic()
    reading = source.poll(0.2)[uuid(0)]
    assert time.monotonic() - started < 0.2 + 0.1
    assert reading.pcie_tx_bytes_per_s == pytest.approx(7e8, rel=0.05)
    assert reading.nvlink_rx_bytes_per_s == pytest.approx(3e6 * 1024, rel=0.05)


def test_processes_by_owner_and_a_dead_one_as_orphan(stub, nvml, monkeypatch) -> None:
    stub.tell(f"pids 0 {os.getpid()},4194300", f"pids 1 {os.getpid()}")
    found = nvml(processes=True).poll(0)
    if "processes:pid_namespace" in found[uuid(0)].reasons:
        pytest.skip("not in the first pid namespace: owners cannot be looked up here")
    owners = found[uuid(0)].processes
    assert sorted(bool(owner.get("orphan")) for owner in owners) == [False, True]
    assert sum(owner["memory_bytes"] for owner in owners) == 2000 * 2**20
    assert len(found[uuid(1)].processes) == 1


def test_a_guest_of_a_shared_card_tells_no_bandwidth(stub, nvml) -> None:
    stub.tell("nogpm 1", "vgpu 1")
    source = nvml()
    source.warm()
    reading = source.poll(0.5)[uuid(1)]
    assert reading.bandwidth is None
    assert reading.memory_duty is not None
    assert "vgpu_shared" in reading.reasons


def test_one_figure_that_fails_costs_only_itself(stub, nvml) -> None:
    stub.tell("power2 1 999")
    reading = nvml().warm()[uuid(1)]
    assert reading.power_w is None
    assert reading.bandwidth == pytest.approx(0.21, abs=1e-6)


def test_dcgm_names_mig_instances_by_parent_and_number(stub, nvml) -> None:
    stub.tell("mig 2 1", "nogpm 2")
    source = nvml(overlay=lambda name: (0.4, 10000.0) if name == f"{uuid(2)}/1" else None)
    found = source.warm()
    reading = found["MIG-5b1ade00-0000-4000-8000-000000000002"]
    assert (reading.bandwidth, reading.source) == (0.4, "dcgm_1005")
    assert "mig_denominator_unverified" in reading.reasons


def test_jobs_are_joined_by_uuid_only(stub, nvml, tmp_path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "0").write_text("777 mallory")
    (folder / uuid(3)).write_text("4242 alice\n")
    stub.tell("swap 0 7")
    found = nvml(processes=True, job_files=str(folder)).poll(0)
    [owner] = found[uuid(3)].processes
    assert (owner["job"], owner["user"]) == ("4242", "alice")
    for number in (0, 7):
        assert found[uuid(number)].processes == []
        assert "job_file_ambiguous" in found[uuid(number)].reasons


def test_memory_stays_flat(stub, nvml) -> None:
    """GPM samples are allocated once: 20,000 readings of 8 cards leave the heap as it was."""
    source = nvml()
    source.warm()
    for _ in range(200):
        source.nvml.poll(time.time())
    before = _resident()
    for _ in range(1500):
        source.nvml.poll(time.time())
    assert _resident() - before < 1024  # KiB; a leaked sample a reading would be 48 MiB


def _resident() -> int:
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])
