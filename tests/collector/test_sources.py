"""Exporters and vendor programs as live sources, and the choice between them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.model import Card, Reading
from collector.settings import SettingsError, load
from collector.sources import Unavailable
from collector.sources.choose import Auto, live_source
from collector.sources.dcgm import ask
from collector.sources.overlay import Overlay
from collector.sources.polled import Polled
from collector.sources.programs import NpuSmi, ask_amd, ask_npu_exporter
from tests.collector.conftest import uuid


class Exporter(ThreadingHTTPServer):
    """Answers every request with the text it has."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.text = ""
        self.status = 200
        self.url = f"http://127.0.0.1:{self.server_port}/metrics"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Exporter

    def do_GET(self) -> None:
        body = self.server.text.encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    exporter = Exporter()
    yield exporter
    exporter.shutdown()
    exporter.server_close()


def dcgm_text(share: float, energy: int = 1, name: str = "GPU-1") -> str:
    where = f'{{gpu="0",UUID="{name}",hostname="n"}}'
    return (
        f"# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge\nDCGM_FI_PROF_DRAM_ACTIVE{where} {share}\n"
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{where} {energy}\n"
    )


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def polled(ask, clock: Clock) -> Polled:
    """A polled source that asks only when the test says so."""
    source = Polled("test", ask, every=3600, clock=clock)
    source._first.wait(5)
    source._every = 10.0
    return source


def test_a_scrape_of_dcgm(exporter: Exporter) -> None:
    exporter.text = dcgm_text(0.25)
    [(card, reading)], alive = ask(exporter.url)
    assert (card.uuid, reading.bandwidth, reading.source) == ("GPU-1", 0.25, "dcgm_1005")
    assert "ENERGY" in alive


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "dcgm:empty_payload"),
        ("[]", "dcgm:empty_payload"),
        ("# only a comment\n", "dcgm:empty_payload"),
        ('DCGM_FI_DEV_GPU_UTIL{UUID="x} 1\n', "dcgm:bad_payload"),
    ],
)
def test_200_without_samples_is_a_failure(exporter: Exporter, text: str, code: str) -> None:
    exporter.text = text
    with pytest.raises(Unavailable) as caught:
        ask(exporter.url)
    assert caught.value.code == code


def test_an_exporter_that_is_away_or_moves_elsewhere(exporter: Exporter) -> None:
    exporter.status = 500
    with pytest.raises(Unavailable, match="unreachable"):
        ask(exporter.url)
    with pytest.raises(Unavailable, match="unreachable"):
        ask("http://127.0.0.1:9/metrics")
    with pytest.raises(Unavailable, match="unreachable"):
        ask("file:///etc/passwd")


def test_figures_stand_until_the_next_answer_but_not_for_ever(exporter: Exporter) -> None:
    clock = Clock()
    exporter.text = dcgm_text(0.25)
    source = polled(lambda: ask(exporter.url), clock)
    clock.now += 25
    assert source.poll(0)[0][1].bandwidth == 0.25
    exporter.status = 500
    source.refresh()
    assert source.poll(0)[0][1].bandwidth == 0.25
    clock.now += 10
    with pytest.raises(Unavailable, match="unreachable"):
        source.poll(0)
    exporter.status = 200
    source.refresh()
    assert source.poll(0)[0][1].bandwidth == 0.25
    source.close()


def test_an_exporter_that_repeats_itself_is_stale(exporter: Exporter) -> None:
    clock = Clock()
    exporter.text = dcgm_text(0.25, energy=5)
    source = polled(lambda: ask(exporter.url), clock)
    for _ in range(20):
        clock.now += 10
        source.refresh()
    [(_, reading)] = source.poll(0)
    assert (reading.bandwidth, reading.reasons) == (None, ["stale"])
    exporter.text = dcgm_text(0.25, energy=6)
    source.refresh()
    assert source.poll(0)[0][1].bandwidth == 0.25
    source.close()


def test_a_fault_nobody_thought_of_does_not_end_a_source() -> None:
    clock = Clock()
    answers = [RuntimeError("boom"), ([(Card("x", "1"), Reading(power_w=1.0))], None)]

    def ask_once():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = polled(ask_once, clock)
    with pytest.raises(Unavailable, match="boom"):
        source.poll(0)
    source.refresh()
    assert source.poll(0)[0][1].power_w == 1.0
    source.close()


def test_dcgm_beside_nvml_fills_in_what_nvml_has_not(exporter: Exporter, stub, nvml) -> None:
    exporter.text = dcgm_text(0.31, name=uuid(1))
    stub.tell("nogpm 1", "nogpm 2")
    overlay = Overlay(exporter.url)
    found = nvml(overlay=overlay).warm()
    assert (found[uuid(1)].source, found[uuid(1)].bandwidth) == ("dcgm_1005", 0.31)
    assert found[uuid(0)].source == "nvml_gpm"
    assert found[uuid(2)].source != "dcgm_1005"


# programs

USAGES = """
\tNPU ID                         : {npu}
\tChip Count                     : 1

\tHBM Capacity(MB)               : 65536
\tHBM Usage Rate(%)              : 5
\tAicore Usage Rate(%)           : 83
\tHBM Bandwidth Usage Rate(%)    : 40
\tNPU Utilization(%)             : 96
\tChip ID                        : 0
"""


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_npu_smi(tmp_path: Path) -> None:
    for npu in (1, 4):
        (tmp_path / f"usages{npu}").write_text(USAGES.format(npu=npu))
    script = f"""
case "$*" in
"info -l") printf 'Total Count : 2\\n\\n NPU ID : 1\\n Chip Count : 1\\n NPU ID : 4\\n' ;;
"info -t usages -i "*) cat {tmp_path}/usages$5 ;;
"info -t board -i 1 -c 0") echo "  VDie ID   : 185011D4 21104518 A0C4ED94 14CC040A 56102003" ;;
*) echo "not supported" >&2; exit 1 ;;
esac"""
    smi = NpuSmi(program(tmp_path, "npu-smi", script))
    (first, reading), (second, _) = smi.ask()[0]
    assert first.uuid == "185011D4-21104518-A0C4ED94-14CC040A-56102003"
    assert first.vendor == "ascend"
    assert "identity_by_index" not in reading.reasons
    assert (reading.bandwidth, reading.source, reading.gpu_duty) == (0.4, "ascend_hbm", 0.96)
    assert second.uuid == "npu:4/chip:0"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 3", "npu-smi:failed"),
        ("echo", "no_cards"),
        ("echo 'NPU ID : 1'; echo 'HBM'", "npu-smi:bad_payload"),
    ],
)
def test_an_npu_smi_that_fails(tmp_path: Path, script: str, code: str) -> None:
    with pytest.raises(Unavailable) as caught:
        NpuSmi(program(tmp_path, "npu-smi", script)).ask()
    assert caught.value.code == code


def test_a_program_that_is_missing_or_hangs(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(Unavailable, match="not installed"):
        ask_amd([str(tmp_path / "rocm-smi"), "--json"])
    monkeypatch.setattr("collector.sources.programs.TIMEOUT_S", 0.3)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="hung"):
        ask_amd([program(tmp_path, "rocm-smi", "exec sleep 30")])
    assert time.monotonic() - started < 5


def test_rocm_smi(shared_dir: Path, tmp_path: Path) -> None:
    dump = shared_dir / "data/real/amd-rocm-smi/mi100_rocm571.json"
    found, _ = ask_amd([program(tmp_path, "rocm-smi", f"cat {dump}"), "-a", "--json"])
    assert len(found) == 6
    assert {reading.source for _, reading in found} == {"amd_umc"}


def test_npu_exporter(exporter: Exporter) -> None:
    exporter.text = 'npu_chip_info_hbm_bandwidth_utilization{id="0",vdie_id="V"} 12 1613993498553\n'
    [(card, reading)], alive = ask_npu_exporter(exporter.url)
    assert (card.uuid, reading.bandwidth, alive) == ("V", 0.12, "1613993498.553")
    exporter.text = ""
    with pytest.raises(Unavailable, match="empty_payload"):
        ask_npu_exporter(exporter.url)


# choice


def settings(tmp_path: Path, **more: str):
    nothing = {
        "data_dir": str(tmp_path),
        "dcgm_url": "http://127.0.0.1:9/metrics",
        "npu_smi": "/nonexistent/npu-smi",
        "rocm_smi": "/nonexistent/rocm-smi",
        "amd_smi": "/nonexistent/amd-smi",
    }
    return load({**nothing, **more}, None, {})


def test_nvidia_comes_first(stub, tmp_path: Path) -> None:
    source = Auto(settings(tmp_path))
    assert len(source.poll(time.time())) == 8
    assert source.chosen == "nvml"
    source.close()


def test_the_source_is_chosen_again_when_it_gives_nothing(
    stub, tmp_path: Path, exporter: Exporter
) -> None:
    clock = Clock()
    source = Auto(settings(tmp_path, dcgm_url=exporter.url), clock=clock)
    exporter.text = dcgm_text(0.25)
    stub.tell("init 9")
    for _ in range(2):
        with pytest.raises(Unavailable, match="driver_not_loaded"):
            source.poll(0)
        clock.now += 31
    assert source.chosen == "dcgm"
    assert source.poll(0)[0][1].bandwidth == 0.25
    source.close()


def test_without_the_binding_the_next_source_is_taken(
    stub, tmp_path: Path, exporter: Exporter, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.delitem(sys.modules, "collector.sources.nvml", raising=False)
    exporter.text = dcgm_text(0.25)
    clock = Clock()
    source = Auto(settings(tmp_path), clock=clock)
    with pytest.raises(Unavailable, match="no_pynvml"):
        source.poll(0)
    with pytest.raises(Unavailable, match="no_pynvml"):
        source.poll(0)
    source._settings.dcgm_url = exporter.url
    clock.now += 6
    assert source.poll(0)[0][1].bandwidth == 0.25
    assert source.chosen == "dcgm"
    source.close()


def test_an_unknown_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="use auto, nvml"):
        live_source(settings(tmp_path, source="magic"))
