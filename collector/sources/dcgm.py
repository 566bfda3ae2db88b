"""A running dcgm-exporter: as the only source, or for cards that NVML gives no bandwidth of."""

from __future__ import annotations

from collector.formats import FormatError
from collector.formats.dcgm import scrape
from collector.model import Card, Reading
from collector.sources import Unavailable
from collector.sources.polled import Polled

EVERY_S = 10.0
_ALIVE = ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE")


def ask(url: str) -> tuple[list[tuple[Card, Reading]], str | None]:
    """One scrape. An answer without samples is a failure, whatever its status says."""
    from collector.fetch import FetchError, fetch

    try:
        _, _, body = fetch(url, headers={"Accept": "text/plain"})
    except FetchError as error:
        raise Unavailable("dcgm:unreachable", str(error)) from None
    text = body.decode("utf-8", "replace")
    try:
        found = scrape(text.splitlines())
    except FormatError as error:
        code = "dcgm:bad_payload" if "DCGM_FI_" in text else "dcgm:empty_payload"
        raise Unavailable(code, str(error)) from None
    alive = "\n".join(line for line in text.splitlines() if line.startswith(_ALIVE))
    return [(card, reading) for _, card, reading in found], alive or None


def source(url: str) -> Polled:
    """dcgm-exporter as the node's source."""
    return Polled("dcgm", lambda: ask(url), every=EVERY_S)
