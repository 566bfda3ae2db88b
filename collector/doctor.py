"""``once`` and ``doctor``: what the agent would read here, without a spool."""

from __future__ import annotations

import json
import os
import time

from collector import __version__
from collector.model import DRAM_BW, DUTY_BOUND, FIDELITY, UNKNOWN, VENDOR_PCT, Card, Reading
from collector.page import iso
from collector.settings import Settings
from collector.sources import Unavailable

MEANS = {
    DRAM_BW: "measured share of peak bandwidth: may flag and clear",
    DUTY_BOUND: "upper bound of bandwidth: may flag, over the threshold proves nothing",
    VENDOR_PCT: "vendor's percentage: flags for a person to confirm",
    UNKNOWN: "unknown: never flags",
}
NAMES = {
    "nvml_gpm": "NVML GPM metric 10 over chained pairs of samples",
    "dcgm_1005": "dcgm-exporter's field 1005",
    "nvml_duty": "memory duty cycle, corrected by the memory clock",
    "nvml_duty_uncorrected": "memory duty cycle, not corrected",
    "ascend_hbm": "HBM bandwidth usage rate of the NPU",
    "amd_umc": "activity of the memory controller",
    "unknown": "none",
}
WHY = {
    "no_gpm": "the card has no GPM (needs Hopper or newer)",
    "gpm:no_permission": "GPM is closed to this user; tried again every minute",
    "gpm:unknown_error": "GPM failed; tried again within seconds",
    "unsupported_mig": "MIG is on: the whole card tells no utilisation, its instances may",
    "mig_denominator_unverified": "of the slice or of the card? not published: do not judge by it",
    "vgpu_shared": "a guest's share of a card: the duty cycle is that of all guests",
    "memory_v1": "old memory call: what the driver reserves counts as used",
    "lost": "the driver says that the card is lost",
    "card_failed": "the card answers with errors",
    "no_duty": "the driver gives no duty cycle either",
    "no_memory_clock": "no memory clock: the duty cycle is not corrected",
    "no_field_1005": "the exporter does not export field 1005",
    "processes:pid_namespace": "no host process ids here: run with hostPID to name owners",
    "processes:orphan": "memory held by a process that is gone",
    "warming_up": "the first reading shows the query itself",
    "vnpu": "virtual NPU: its shares read 0, which is no measurement",
    "stale": "the exporter repeats itself",
    "identity_by_bus": "no serial of its own: named by its bus address, unique on this node only",
    "identity_by_index": "no identity but its number, unique on this node only",
}


def once(settings: Settings) -> int:
    """Print one reading of every card as JSON. Status 1 when nothing can be read."""
    at, batch, trouble, _ = take(settings)
    document = {
        "at": iso(at),
        "error": trouble,
        "cards": [
            {
                "vendor": card.vendor,
                "uuid": card.uuid,
                "parent": card.parent,
                "model": card.model,
                "index": card.index,
                "simulated": card.simulated,
                **figures(reading),
            }
            for card, reading in batch
        ],
    }
    print(json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2))
    return 1 if trouble else 0


def figures(reading: Reading | dict) -> dict[str, object]:
    """A reading's fields for people and scripts."""
    if isinstance(reading, dict):
        return reading
    known = {name: getattr(reading, name) for name in Reading.FIELDS}
    return {"fidelity": FIDELITY[reading.source], **known}


def take(settings: Settings) -> tuple[float, list[tuple[Card, Reading]], str | None, object]:
    """The first whole reading: rates and GPM need two polls, so two are taken."""
    from collector.cli import open_source

    try:
        source = open_source(settings)
    except Unavailable as error:
        return time.time(), [], str(error), None
    if hasattr(source, "first"):
        return *source.first(), source
    try:
        before = {card.key: reading for card, reading in source.poll(time.time())}
        time.sleep(max(0.25, min(settings.interval, 2.0)))
        at = time.time()
        batch = source.poll(at)
        for card, reading in batch:
            if card.key in before:
                fill(reading, before[card.key])
        return at, batch, None, source
    except Unavailable as error:
        return time.time(), [], str(error), source
    finally:
        source.close()


def fill(reading: Reading, before: Reading) -> None:
    """Take what is read every few ticks only from the reading before."""
    if "lost" in reading.reasons or "card_failed" in reading.reasons:
        return
    for name in Reading.FIELDS:
        if getattr(reading, name) is None:
            setattr(reading, name, getattr(before, name))
    reading.because(*(code for code in before.reasons if code.startswith("processes:")))


def doctor(settings: Settings) -> int:
    """Say in words what was found and what each card gets. Status 1 when nothing can be read."""
    print(f"collector {__version__}, reading as user {os.geteuid()}, --source {settings.source}")
    if not settings.source.startswith("replay"):
        from collector.sources.choose import findings

        print("found here:")
        for name, reason in findings(settings).items():
            print(f"  {name:<7} {reason or '-'}")
    _, batch, trouble, source = take(settings)
    chosen = getattr(source, "chosen", None) or settings.source
    print(f"source: {chosen}")
    if trouble:
        print(f"nothing can be read: {trouble}")
        return 1
    for card, reading in batch:
        describe(card, reading)
    for name, code in getattr(source, "notes", {}).items():
        print(f"index {name.rpartition('_')[2]}: cannot be opened ({code}), so its UUID is unknown")
    _places(settings)
    return 0


def describe(card: Card, reading: Reading | dict) -> None:
    """A card's lines."""
    place = f"index {card.index}" if card.index is not None else "no index"
    part = f", part of {card.parent}" if card.parent else ""
    print(f"{card.vendor} {card.uuid}  {card.model or 'model not told'}, {place}{part}")
    if isinstance(reading, dict):
        print(f"  recorded rows of {reading['source']} ({reading['fidelity']})")
        return
    source, fidelity = reading.source, FIDELITY[reading.source]
    share = "no figure" if reading.bandwidth is None else f"now {100 * reading.bandwidth:.1f} %"
    print(f"  bandwidth: {source} ({fidelity}), {share}")
    print(f"    {NAMES[source]}; {MEANS[fidelity]}")
    for code in reading.reasons:
        print(f"    {code}: {WHY.get(code, 'see docs/collector.md')}")


def _places(settings: Settings) -> None:
    """Where rows would be kept and whether that is possible."""
    folder = settings.data_dir
    there = os.path.abspath(folder)
    while not os.path.exists(there):
        there = os.path.dirname(there)
    writable = os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK)
    print(f"spool: {folder} ({'can be written' if writable else 'CANNOT be written'})")
