"""Cells, sentinels and small texts of every format."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from collector.dump import page_of, reader_of
from collector.formats import FORMATS, FormatError
from collector.formats.cells import quantity
from collector.formats.dcgm import blank
from collector.formats.npu_smi import usages
from collector.formats.times import instant, zone
from collector.model import FIDELITY


def page(path: Path | str, form: str, at: str | None = None, **options) -> dict:
    return json.loads(page_of(str(path), form, at, options))


def read(text: str, form: str, **options) -> list:
    return list(reader_of(form)(io.StringIO(text), taken=1e9, **options))


def by_uuid(answer: dict) -> dict[str, dict]:
    """Rows of a page of one minute, by card."""
    columns = answer["columns"]
    return {
        answer["cards"][card]["uuid"]: {name: values[row] for name, values in columns.items()}
        for row, card in enumerate(columns["card"])
    }


# our own texts


@pytest.mark.parametrize(
    ("cell", "kind", "wanted"),
    [
        ("37 %", "share", 0.37),
        ("862 MiB", "bytes", 862 * 2**20),
        ("26.15 W", "watts", 26.15),
        ("(480Mhz)".strip("()"), "mhz", 480),
        ("1.5GB/s", "bytes_per_s", 1.5e9),
        ("100 %", "share", 1.0),
        ("-5 C", "celsius", -5),
    ],
)
def test_cells_with_units(cell: str, kind: str, wanted: float) -> None:
    assert quantity(cell, kind) == (pytest.approx(wanted), None)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("[N/A]", "not_available"),
        ("N/A", "not_available"),
        ("", "empty"),
        (None, "empty"),
        ("[Not Supported]", "not_supported"),
        ("[Unknown Error]", "unknown_error"),
        ("[Insufficient Permissions]", "no_permission"),
        ("[Requested functionality has been deprecated]", "deprecated"),
        ("[Function Not Found]", "function_not_found"),
        ("[GPU is lost]", "lost"),
        ("nan", "nan"),
        ("inf", "out_of_range"),
        ("-1 %", "out_of_range"),
        ("101 %", "out_of_range"),
        ("12 parsecs", "bad_unit"),
        ("0x1F", "bad_unit"),
        ("twelve", "bad_number"),
        ("１２", "bad_number"),
    ],
)
def test_cells_without_a_figure_are_null_with_a_reason(cell: str, reason: str) -> None:
    assert quantity(cell, "share") == (None, reason)


def test_a_cell_without_a_figure_keeps_the_rest_of_its_row() -> None:
    text = (
        "timestamp, uuid, utilization.gpu [%], utilization.memory [%], power.draw [W]\n"
        "2026/06/24 10:26:34.977, GPU-1, [Unknown Error], 12 %, [Not Supported]\n"
    )
    [(_, _, reading)] = read(text, "nvidia-smi-csv", timezone="UTC")
    assert (reading.gpu_duty, reading.memory_duty, reading.power_w) == (None, 0.12, None)
    assert {"gpu_duty:unknown_error", "power_w:not_supported"} <= set(reading.reasons)


def test_units_of_the_header_count_where_cells_have_none() -> None:
    text = "uuid, memory.used [MiB], utilization.gpu [%]\nGPU-1, 10, 50\n"
    [(at, _, reading)] = read(text, "nvidia-smi-csv")
    assert (reading.memory_used_bytes, reading.gpu_duty) == (10 * 2**20, 0.5)
    assert at == 1e9
    assert "time_of_file" in reading.reasons


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9223372036854775792", "blank"),
        ("9223372036854775794", "not_supported"),
        ("9223372036854775795", "no_permission"),
        ("2147483632", "blank"),
        ("140737488355328.0", "blank"),
        ("140737488355330.0", "not_supported"),
        ("1.4e16", "blank"),
        ("0.5", None),
        ("67358889", None),
        ("[N/A]", None),
    ],
)
def test_sentinels_of_dcgm(text: str, reason: str | None) -> None:
    assert blank(text) == reason


def test_a_byte_rate_has_no_sentinel_of_32_bits() -> None:
    assert blank("2147483632", "bytes_per_s") is None
    assert blank("9223372036854775792", "bytes_per_s") == "blank"
    text = 'DCGM_FI_PROF_NVLINK_TX_BYTES{UUID="GPU-1"} 2147483632\n'
    [(_, _, reading)] = read(text, "dcgm")
    assert reading.nvlink_tx_bytes_per_s == 2147483632


@pytest.mark.parametrize("label", ["Hostname", "hostname"])
def test_sentinels_never_become_figures(label: str) -> None:
    where = f'{{gpu="0",UUID="GPU-1",{label}="n"}}'
    text = (
        f"DCGM_FI_PROF_DRAM_ACTIVE{where} 140737488355328.0\n"
        f"DCGM_FI_PROF_PCIE_RX_BYTES{where} 9223372036854775794\n"
        f"DCGM_FI_DEV_POWER_USAGE{where} [N/A]\n"
        f"DCGM_FI_DEV_GPU_UTIL{where} 97\n"
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{where} 150000000000000\n"
    )
    [(_, _, reading)] = read(text, "dcgm")
    assert reading.bandwidth is None
    assert reading.pcie_rx_bytes_per_s is None
    assert reading.gpu_duty == pytest.approx(0.97)
    assert {
        "bandwidth:blank",
        "pcie_rx_bytes_per_s:not_supported",
        "power_w:not_available",
    } <= set(reading.reasons)


def test_chip_id_closes_a_block_of_npu_smi() -> None:
    text = """
        NPU ID                         : 3
        Chip Count                     : 2

        HBM Capacity(MB)               : 65536
        HBM Usage Rate(%)              : 50
        Aicore Usage Rate(%)           : 2
        HBM Bandwidth Usage Rate(%)    : 40
        NPU Utilization(%)             : 65
        Chip ID                        : 0

        HBM Capacity(MB)               : 65536
        Aicore Usage Rate(%)           : 12
        HBM Bandwidth Usage Rate(%)    : NA
        NPU Utilization(%)             : 58
        Chip ID                        : 1
    """
    first, second = [reading for _, reading in usages(text.splitlines())]
    assert (first.bandwidth, first.gpu_duty, first.sm) == (0.4, 0.65, 0.02)
    assert first.memory_used_bytes == 32768 * 2**20
    assert (first.source, FIDELITY[first.source]) == ("ascend_hbm", "vendor_pct")
    assert (second.bandwidth, second.gpu_duty) == (None, pytest.approx(0.58))
    assert "bandwidth:not_available" in second.reasons
    with pytest.raises(FormatError, match="Chip ID"):
        list(usages(["NPU ID : 1", "Aicore Usage Rate(%) : 5"]))


def test_an_ascend_card_without_source_is_null_not_zero() -> None:
    text = 'npu_chip_info_hbm_used_memory{id="0"} 5\nnpu_chip_info_hbm_total_memory{id="0"} 9\n'
    [(_, _, reading)] = read(text, "npu-exporter")
    assert reading.bandwidth is None
    assert "no_hbm_bandwidth" in reading.reasons
    text += 'npu_chip_info_hbm_bandwidth_utilization{id="0"} 4294967295\n'
    assert read(text, "npu-exporter")[0][2].bandwidth is None
    text = 'npu_chip_info_hbm_bandwidth_utilization{id="0",vdie_id="A-1"} 0 1613993498553\n'
    [(at, card, reading)] = read(text, "npu-exporter")
    assert (at, card.uuid, reading.bandwidth) == (1613993498.553, "A-1", 0.0)


def test_amd_smi() -> None:
    text = json.dumps(
        [
            {
                "gpu": 0,
                "usage": {
                    "gfx_activity": {"value": 80, "unit": "%"},
                    "umc_activity": {"value": 35, "unit": "%"},
                },
                "mem_usage": {"used_vram": {"value": 100, "unit": "MB"}},
                "power": {"socket_power": {"value": "N/A", "unit": "W"}},
            }
        ]
    )
    [(_, _, reading)] = read(text, "amd-smi-json")
    assert (reading.bandwidth, reading.gpu_duty) == (0.35, 0.8)
    assert reading.memory_used_bytes == 100 * 2**20
    assert "amd_smi_unverified" in reading.reasons


@pytest.mark.parametrize("text", ["", "\n", "[]", "{}", "# HELP nothing\n", "<html></html>"])
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_an_empty_payload_is_a_failure_not_a_success(tmp_path: Path, text, form) -> None:
    path = tmp_path / "dump"
    path.write_text(text)
    with pytest.raises(FormatError):
        page_of(str(path), form, None, {"card": "c", "timezone": "UTC"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--timezone"),
        ({"timezone": "Mars/Base"}, "Asia/Shanghai"),
        ({"timezone": "UTC", "columns": "gpu_duty_share=nope"}, "no such column"),
        ({"timezone": "UTC", "columns": "speed=u"}, "NAME one of"),
        ({"timezone": "UTC", "columns": "0=timestamp,card=c"}, "mixes"),
        ({"timezone": "UTC", "scale": "permille"}, "percent"),
        ({"timezone": "UTC", "metric_source": "guess"}, "nvml_gpm"),
    ],
)
def test_a_series_is_refused_with_what_would_be_right(options: dict, message: str) -> None:
    text = "timestamp,card,gpu_duty_share\n2026-05-01 10:00:00,0,0.5\n"
    with pytest.raises(FormatError, match=re.escape(message)):
        read(text, "csv", **options)


def test_a_refusal_names_the_line() -> None:
    text = "timestamp,card,gpu_duty_share\n2026-05-01T10:00:00Z,0,0.5\nyesterday,0,0.5\n"
    with pytest.raises(FormatError, match=r"line 3.*yesterday"):
        read(text, "csv")


def test_shares_over_one_are_marked_not_capped() -> None:
    text = "timestamp,card,gpu_duty_share\n2026-05-01T10:00:00Z,0,130\n"
    [(_, _, reading)] = read(text, "csv", scale="percent")
    assert reading.gpu_duty is None
    assert reading.reasons == ["gpu_duty:out_of_range"]


@pytest.mark.parametrize(
    ("text", "local", "wanted"),
    [
        ("2026-05-01T10:00:00+08:00", None, 1777600800),
        ("2026-05-01T02:00:00Z", None, 1777600800),
        ("2026/05/01 10:00:00.250", "Asia/Shanghai", 1777600800.25),
        ("Fri May  1 10:00:00 2026", "+08:00", 1777600800),
        ("1777600800", None, 1777600800),
        ("1777600800123", None, 1777600800.123),
        ("2026-05-01 02:00:00.1234567", "UTC", 1777600800.1234567),
    ],
)
def test_instants(text: str, local: str | None, wanted: float) -> None:
    assert instant(text, zone(local)) == pytest.approx(wanted, abs=1e-6)


def test_a_stray_carriage_return_is_a_refusal_with_its_line() -> None:
    lines = ["timestamp,card,power_w", "2026-05-01T10:00:00Z,0,5", "2026\r-05,0,5"]
    with pytest.raises(FormatError, match="line"):
        list(reader_of("csv")(lines))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csv", "timestamp,card,power_w\n0001-01-01T00:00:00+08:00,0,5\n"),
        ("csv", "timestamp,card,power_w\n9999-12-31T23:59:59-08:00,0,5\n"),
        ("jsonl", '{"at": "0001-01-01T00:00:00+08:00", "card": "x", "gpu_duty": 0.5}\n'),
        ("dcgm", 'DCGM_FI_PROF_DRAM_ACTIVE{UUID="GPU-1"} 0.5 99999999999999999999\n'),
        ("dcgm", 'DCGM_FI_PROF_DRAM_ACTIVE{UUID="GPU-1"} 0.5 -99999999999999999\n'),
        ("npu-exporter", 'npu_chip_info_power{id="0"} 5 99999999999999999999\n'),
    ],
)
def test_a_time_outside_the_years_of_cards_is_refused(form: str, text: str) -> None:
    with pytest.raises(FormatError, match=r"line .*outside the years 1970 to 2199"):
        read(text, form)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"bandwidth_mean": "abc"}, "bandwidth_mean must be a number from 0 to 1"),
        ({"bandwidth_mean": 7}, "bandwidth_mean must be a number from 0 to 1"),
        ({"bandwidth_mean": float("nan")}, "bandwidth_mean must be a number from 0 to 1"),
        ({"power_w_mean": -1}, "power_w_mean must be a number from 0"),
        ({"memory_used_bytes_max": 2**64}, "memory_used_bytes_max must be a whole number"),
        ({"samples": True}, "samples must be a whole number"),
        ({"samples": None}, "needs samples"),
        ({"bandwidth_histogram": {"a": 1}}, "bandwidth_histogram must be a list of 20"),
        ({"bandwidth_histogram": [1]}, "bandwidth_histogram must be a list of 20"),
        ({"processes": ["root"]}, "processes must be a list of objects"),
        ({"throttle": 5}, "throttle must be text"),
        ({"card": {"uuid": "x", "model": 5}}, "model must be text"),
        ({"card": {"uuid": "x", "parent": [1]}}, "parent must be text"),
        ({"card": "x\0"}, "NUL sign"),
        ({"card": "x\ud83d"}, "surrogate"),
    ],
)
def test_a_recorded_row_that_no_reader_could_keep_is_refused(entry: dict, message: str) -> None:
    row = {"minute": "2026-05-01T10:00:00Z", "card": "x", "samples": 60}
    assert len(read(json.dumps({**row, "bandwidth_mean": 0.5, "card": "\u4e2d"}), "jsonl")) == 1
    with pytest.raises(FormatError, match=f"line 1: .*{message}"):
        read(json.dumps({**row, **entry}), "jsonl")
