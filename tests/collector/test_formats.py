"""Dumps and recorded series: the right answers on real files; broken variants are refused."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from collector.dump import page_of, reader_of
from collector.formats import FORMATS, FormatError


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


# real files


def test_every_cell_of_the_answers(shared_dir: Path) -> None:
    folder = shared_dir / "data/real"
    with open(folder / "nvidia-smi-xml/answers.csv") as file:
        answers = list(csv.DictReader(file))
    flagged, duties = 0, 0
    for name in sorted({answer["file"] for answer in answers}):
        got = page(folder / name, "nvidia-smi-xml", timezone="UTC")
        rows = by_uuid(got)
        cards = [card for card in got["cards"] if card["parent"] is None]
        wanted = [answer for answer in answers if answer["file"] == name]
        assert len(cards) == len(wanted)
        for card, answer in zip(cards, wanted, strict=True):
            row = rows[card["uuid"]]
            mib = 2**20
            assert card["model"] == answer["product"]
            assert card["index"] == int(answer["gpu_index"])
            assert _same(row["gpu_duty_mean"], answer["gpu_util"], 0.01)
            assert _same(row["memory_duty_mean"], answer["mem_util"], 0.01)
            assert _same(row["memory_used_bytes_max"], answer["fb_used_MiB"], mib)
            assert _same(row["memory_total_bytes"], answer["fb_total_MiB"], mib)
            assert _same(row["power_w_mean"], answer["power_W"], 1)
            assert sum(e["count"] for e in row["processes"] or []) == int(answer["processes"])
            slices = [c for c in got["cards"] if c["parent"] == card["uuid"]]
            assert len(slices) == int(answer["n_mig"])
            if answer["mig"] == "Enabled":
                assert row["bandwidth_mean"] is None
                assert "unsupported_mig" in row["reason"]
            if row["memory_duty_mean"] is not None:
                duties += 1
                flagged += row["memory_duty_mean"] < 0.3
                assert row["bandwidth_mean"] <= row["memory_duty_mean"]
                assert row["fidelity"] == "duty_bound"
    assert (len(answers), duties, flagged) == (24, 22, 20)


def _same(figure: float | None, answer: str, unit: float) -> bool:
    return (figure is None) == (answer == "") and (
        figure is None or figure == pytest.approx(float(answer) * unit)
    )


def test_a_lost_card_is_lost_and_its_neighbour_is_read(shared_dir: Path) -> None:
    got = page(shared_dir / "data/real/nvidia-smi-xml/k8sinfra_qx-gb200-lost.xml", "nvidia-smi-xml")
    states = [card["state"] for card in got["cards"]]
    assert states == ["ok", "lost"]
    assert got["columns"]["samples"] == [1, 0]
    assert got["columns"]["power_w_mean"] == [565.11, None]


def _section(path: Path, heading: str) -> str:
    """The output of one command of a capture, as a user would have saved it."""
    text = path.read_text()
    after = text.split(f"# {heading} :: query-gpu", 1)[1].split("#" * 80 + "\n", 1)[1]
    return after.split("\n\n", 1)[0] + "\n"


@pytest.mark.parametrize(
    ("capture", "heading", "gpu", "memory", "power", "clocks"),
    [
        ("nvidia-h100-80gb-hbm3__590.48.01", "idle", 0.0, 0.0, 69.85, 1.0),
        ("nvidia-h100-80gb-hbm3__590.48.01", "load", 1.0, 0.11, 631.95, 1.0),
    ],
)
def test_captures_of_an_h100(
    shared_dir: Path, capture, heading, gpu, memory, power, clocks
) -> None:
    path = shared_dir / f"data/real/nvidia-smi-captures/linux-x86_64__{capture}.txt"
    [(_, card, reading)] = read(_section(path, heading), "nvidia-smi-csv")
    assert card.model == "NVIDIA H100 80GB HBM3"
    assert (reading.gpu_duty, reading.memory_duty) == (gpu, pytest.approx(memory))
    assert reading.power_w == pytest.approx(power)
    assert reading.memory_clock_mhz == 2619
    assert reading.clock_ratio == clocks
    assert reading.source == "nvml_duty"


def test_an_idle_desktop_card_is_idle_once_the_clock_is_taken_into_account(
    shared_dir: Path,
) -> None:
    folder = shared_dir / "data/real/nvidia-smi-captures"
    path = folder / "linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05.txt"
    [(_, _, reading)] = read(_section(path, "idle"), "nvidia-smi-csv")
    assert reading.memory_duty in (0.09, 0.10)
    assert reading.bandwidth == pytest.approx(reading.memory_duty * 810 / 7751)
    assert reading.bandwidth == pytest.approx(0.01, abs=0.001)


@pytest.mark.parametrize("heading", ["idle", "load"])
def test_the_mig_capture_has_no_utilisation_at_all(shared_dir: Path, heading: str) -> None:
    folder = shared_dir / "data/real/nvidia-smi-captures"
    path = folder / "linux-x86_64__nvidia-h100-mig__590.48.01.txt"
    [(_, _, reading)] = read(_section(path, heading), "nvidia-smi-csv")
    assert (reading.gpu_duty, reading.memory_duty, reading.bandwidth) == (None, None, None)
    assert "unsupported_mig" in reading.reasons
    assert reading.power_w > 0


def test_a_whole_capture_is_read_too(shared_dir: Path) -> None:
    folder = shared_dir / "data/real/nvidia-smi-captures"
    for path in folder.glob("*.txt"):
        got = page(path, "nvidia-smi-csv", timezone="+02:00")
        assert len(got["cards"]) == 1
        assert sum(got["columns"]["samples"]) == 2


def test_eight_h100_of_a_dcgm_exporter(shared_dir: Path) -> None:
    got = page(shared_dir / "data/real/dcgm-exporter/h100x8_pod_labels.prom", "dcgm")
    columns = got["columns"]
    assert len(got["cards"]) == 8
    assert sum(value is not None for value in columns["memory_duty_mean"]) == 6
    assert sum(value is not None for value in columns["processes"]) == 1
    assert columns["processes"][0][0]["container"].startswith("dynamo-workload/vllm-agg-0")


def test_a_card_and_its_mig_instance_are_kept_apart(shared_dir: Path) -> None:
    got = page(shared_dir / "data/real/dcgm-exporter/a100_mig_docs.prom", "dcgm")
    whole, part = got["cards"]
    assert part["parent"] == whole["uuid"]
    assert part["uuid"] == f"{whole['uuid']}/13"
    assert got["columns"]["bandwidth_mean"] == [0.690789, 0.800339]
    assert got["columns"]["fidelity"] == ["dram_bw", "dram_bw"]
    assert "mig_denominator_unverified" in got["columns"]["reason"][1]


@pytest.mark.parametrize(("name", "share"), [("eks_L4_idle", 0.0), ("t4_idle", 0.000001)])
def test_idle_cards_of_a_dcgm_exporter(shared_dir: Path, name: str, share: float) -> None:
    got = page(shared_dir / f"data/real/dcgm-exporter/{name}.prom", "dcgm")
    assert got["columns"]["bandwidth_mean"] == [share]
    assert got["columns"]["source"] == ["dcgm_1005"]


def test_npu_smi_tables(shared_dir: Path) -> None:
    folder = shared_dir / "data/real/ascend"
    host = page(folder / "npu-smi_25.5.1_310P3_host.txt", "npu-smi")
    assert [card["model"] for card in host["cards"]] == ["310P3", "310P3"]
    assert host["columns"]["memory_used_bytes_max"] == [1848 * 2**20, 1849 * 2**20]
    assert host["columns"]["memory_total_bytes"] == [21525 * 2**20] * 2
    assert host["columns"]["power_w_mean"] == [None, None]
    assert host["columns"]["temperature_c_max"] == [37, 40]
    assert host["columns"]["bandwidth_mean"] == [None, None]
    inside = page(folder / "npu-smi_25.5.1_310P3_in_container.txt", "npu-smi")
    assert inside["columns"]["sm_mean"] == [None]
    assert "vnpu" in inside["columns"]["reason"][0]


def test_npu_exporter(shared_dir: Path) -> None:
    got = page(shared_dir / "data/real/ascend/npu-exporter_unit_test.prom", "npu-exporter")
    assert len(got["cards"]) == 8
    assert got["columns"]["minute"][0] == 1606402000 // 60 * 60
    assert got["columns"]["bandwidth_mean"] == [None] * 8


@pytest.mark.parametrize(
    ("name", "cards", "power"),
    [
        ("mi100_rocm571", 6, [39, 37, 35, 39, 39, 40]),
        ("rx6700xt_rocm612", 1, [6]),
        ("vega-20-WKS-GL-XE", 1, [26]),
    ],
)
def test_rocm_smi(shared_dir: Path, name: str, cards: int, power: list[int]) -> None:
    got = page(shared_dir / f"data/real/amd-rocm-smi/{name}.json", "rocm-smi-json")
    assert len(got["cards"]) == cards
    assert got["columns"]["power_w_mean"] == power
    assert set(got["columns"]["source"]) == {"amd_umc"}
    assert set(got["columns"]["bandwidth_mean"]) == {0.0}  # not the 12 % of VRAM in use


def weighted(columns: dict, mean: str, weight: str) -> float:
    pairs = [
        (value, count)
        for value, count in zip(columns[mean], columns[weight], strict=True)
        if value is not None and count
    ]
    return sum(value * count for value, count in pairs) / sum(count for _, count in pairs)


def test_a_series_of_eight_cards(shared_dir: Path) -> None:
    columns = page(
        shared_dir / "data/real/series/h100ish_8cards_150s.csv",
        "csv",
        columns="card=gpu_index,gpu_duty_share=utilization_gpu_percent,power_w=power_W",
        scale="percent",
    )["columns"]
    assert weighted(columns, "gpu_duty_mean", "samples") == pytest.approx(0.984844, abs=5e-7)
    assert weighted(columns, "power_w_mean", "samples") == pytest.approx(386.673, abs=5e-4)
    wanted = [98.6338, 98.1753, 98.7230, 98.5070, 98.3599, 98.3912, 98.4961, 98.5884]
    for card, mean in enumerate(wanted):
        rows = [row for row, number in enumerate(columns["card"]) if number == card]
        part = {name: [values[row] for row in rows] for name, values in columns.items()}
        assert sum(part["samples"]) == 639
        assert weighted(part, "gpu_duty_mean", "samples") * 100 == pytest.approx(mean, abs=5e-5)


def test_a_series_without_header(shared_dir: Path) -> None:
    columns = page(
        shared_dir / "data/real/series/rtx_20gb_1card_5s_2h40.csv",
        "csv",
        columns="0=timestamp,1=gpu_duty_share,2=bandwidth_share,3=memory_used_bytes,6=power_w",
        card="rtx",
        timezone="UTC",
        metric_source="nvml_duty_uncorrected",
    )["columns"]
    assert sum(columns["samples"]) == 1923
    assert weighted(columns, "gpu_duty_mean", "samples") == pytest.approx(0.01430577, abs=5e-9)
    assert weighted(columns, "bandwidth_mean", "bandwidth_samples") == pytest.approx(
        0.01131045, abs=5e-9
    )
    assert sum(columns["active_samples"]) == 112
    assert weighted(columns, "bandwidth_active_mean", "bandwidth_active_samples") == pytest.approx(
        0.194196, abs=5e-7
    )
    assert weighted(columns, "power_w_mean", "samples") == pytest.approx(16.5209, abs=5e-5)
    assert set(columns["fidelity"]) == {"duty_bound"}


def test_a_recorded_query(shared_dir: Path) -> None:
    columns = page(
        shared_dir / "data/real/series/v100s_1card_1s.csv", "nvidia-smi-csv", timezone="Asia/Tokyo"
    )["columns"]
    assert sum(columns["samples"]) == 107
    assert weighted(columns, "gpu_duty_mean", "samples") == pytest.approx(0.036729, abs=5e-7)
    assert weighted(columns, "memory_duty_mean", "samples") == pytest.approx(0.003178, abs=5e-7)


# broken variants


def _variants(text: str) -> list[str]:
    """Real files harmed in ways that happen: cut, spliced, doubled, with odd cells."""
    middle = len(text) // 2
    return [
        text[:middle],
        text[: middle + 7],
        text[middle:],
        text[: len(text) // 10],
        text + text[: len(text) // 3],
        text.replace("0", ""),
        text.replace(" ", ""),
        text.replace("\n", ""),
        text.replace('"', "'"),
        text.replace(":", ";", 40),
        text.replace("{", "", 3),
        text.replace("%", "\x00"),
        re.sub(r"\d+", "nan", text),
        re.sub(r"\d+", "99999999999999999999", text),
        re.sub(r"\d+", "-1", text),
        re.sub(r"\d+", "[N/A]", text),
        re.sub(r"[A-Za-z]+", "x", text),
        "\ufeff" + text,
        text.replace(",", "，", 5),
        text[::-1],
    ]


REAL = [
    ("nvidia-smi-xml", "nvidia-smi-xml/telegraf_a100-sxm4-v12.xml"),
    ("nvidia-smi-xml", "nvidia-smi-xml/k8sinfra_qx-gb200-lost.xml"),
    ("nvidia-smi-xml", "nvidia-smi-xml/telegraf_gtx-1070-ti.xml"),
    ("nvidia-smi-csv", "nvidia-smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01.txt"),
    ("nvidia-smi-csv", "series/v100s_1card_1s.csv"),
    ("dcgm", "dcgm-exporter/h100x8_pod_labels.prom"),
    ("dcgm", "dcgm-exporter/a100_mig_docs.prom"),
    ("npu-smi", "ascend/npu-smi_25.5.1_310P3_host.txt"),
    ("npu-exporter", "ascend/npu-exporter_unit_test.prom"),
    ("rocm-smi-json", "amd-rocm-smi/rx6700xt_rocm612.json"),
    ("csv", "series/v100s_1card_1s.csv"),
]


@pytest.mark.parametrize(("form", "name"), REAL)
def test_broken_variants_of_real_files_are_read_sanely_or_refused(
    shared_dir: Path, tmp_path: Path, form: str, name: str
) -> None:
    text = (shared_dir / "data/real" / name).read_text()
    options = {"timezone": "UTC", "card": "c"}
    if form == "csv":
        options["columns"] = "gpu_duty_share=utilization.gpu [%],card=index"
    refusals = []
    for number, variant in enumerate(_variants(text)):
        path = tmp_path / f"{number}"
        path.write_text(variant)
        try:
            got = page(path, form, **options)
        except FormatError as error:
            refusals.append(str(error))
            continue
        for column, values in got["columns"].items():
            if column.startswith("bandwidth_m") or column.endswith("duty_mean"):
                assert all(v is None or v > 1e8 or 0 <= v <= 1 for v in values), (number, column)
    assert refusals
    assert all("\n" not in text and len(text) < 400 for text in refusals)


def test_binary_rubbish_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(bytes(range(256)) * 50)
    for form in FORMATS:
        with pytest.raises(FormatError, match="not UTF-8"):
            page_of(str(path), form, None, {})
    with pytest.raises(FormatError, match="No such file"):
        page_of(str(tmp_path / "none"), "csv", None, {})
