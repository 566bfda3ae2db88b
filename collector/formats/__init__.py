"""Readers of dumps and recorded series. Each gives ``(unix time, Card, Reading)`` triples."""

from __future__ import annotations


class FormatError(Exception):
    """The input is refused; the text names the line or field and says what would be right."""


# --format -> module and function of its reader
FORMATS = {
    "csv": ("series", "read_series"),
    "jsonl": ("jsonl", "read_jsonl"),
    "nvidia-smi-xml": ("nvidia_xml", "read_xml"),
    "nvidia-smi-csv": ("nvidia_csv", "read_query"),
    "dcgm": ("dcgm", "read_dcgm"),
    "npu-smi": ("npu_smi", "read_npu_smi"),
    "npu-exporter": ("npu_exporter", "read_npu_exporter"),
    "rocm-smi-json": ("amd", "read_amd"),
    "amd-smi-json": ("amd", "read_amd"),
}
