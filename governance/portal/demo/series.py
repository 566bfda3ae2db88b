"""Seeded series of the demonstration: minutes of cards as a collector would have folded them.

The same seed, card and minute always give the same row, so that history loaded at once and what
the collectors play afterwards join without a seam.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import polars as pl

from governance.portal.demo.fleet import Group, Load, Machine

SAMPLES = 60
STRAY = 0.02
"""Share of time in which cards that people left still do something."""

LOCAL_MINUTES = 8 * 60
"""The demonstration's day is that of Asia/Shanghai, which has no summer time."""

DAY = 24 * 60


def noise(salt: int) -> pl.Expr:
    """Uniform in [0, 1) by card and minute."""
    mixed = pl.col("minute") * 64 + pl.col("card")
    return (mixed.hash(salt) // 2**11).cast(pl.Float64) / 2**53


def slow(salt: int, step: int) -> pl.Expr:
    """Uniform in [0, 1), the same for all cards of a rental during `step` minutes."""
    return ((pl.col("minute") // step).hash(salt) // 2**11).cast(pl.Float64) / 2**53


def working(load: Load, seed: int) -> pl.Expr:
    """Whether work runs in the minute: office hours, rounds of jobs, and now and then a pause."""
    hour = ((pl.col("minute") + LOCAL_MINUTES) // 60) % 24
    on = hour.is_between(load.opens, load.closes - 1)
    if load.hours_on:
        round_hours = load.hours_on + load.hours_off
        on = on & ((pl.col("minute") // 60) % round_hours < load.hours_on)
    return on & (slow(seed + 1, 20) < load.busy)


def minutes(machine: Machine, group: Group, first: int, last: int, *, start: int) -> pl.DataFrame:
    """Rows of the group's cards for minutes first..last-1 (since 1970), in wire names and units;
    `start`
    is the minute at which the demonstration was loaded."""
    load, seed = group.load, machine.seed * 1000 + group.indexes[0]
    span = pl.DataFrame({"minute": pl.int_range(first, last, eager=True)})
    cards = pl.DataFrame({"card": list(group.indexes)})
    age = (start - pl.col("minute")) / DAY
    on = working(load, seed)
    if load.left_days is not None:
        on = on & ((age > load.left_days) | (slow(seed + 9, 20) < STRAY))
    frame = span.join(cards, how="cross").with_columns(on=on)
    if load.outage_days:
        frame = frame.filter(~age.is_between(load.outage_days[1], load.outage_days[0]))
    level = load.bandwidth + load.swing * (slow(seed + 2, 90) + noise(seed + 3) - 1)
    level = level + load.drift * (1 - (age / 40).clip(0, 1))
    near = 0.9 + 0.2 * noise(seed + 4)
    frame = frame.with_columns(
        active=pl.when("on")
        .then((SAMPLES * (0.94 + 0.07 * noise(seed + 5))).clip(0, 60))
        .otherwise(0)
        .round(),
        share=pl.when("on").then(level.clip(0.01, 0.97)).otherwise(None),
        near=near,
    )
    part = pl.col("active") / SAMPLES

    def while_on(figure: float, rest: float = 0.0) -> pl.Expr:
        return pl.when("on").then(figure * part * pl.col("near")).otherwise(rest)

    dram = machine.source in ("nvml_gpm", "dcgm_1005")
    mean = (pl.col("share") * part).fill_null(0.0)
    return frame.select(
        seq=pl.col("minute") * 64 + pl.col("card"),
        card="card",
        minute=pl.col("minute") * 60,
        source=pl.lit(machine.source),
        samples=pl.lit(SAMPLES),
        active_samples=pl.col("active").cast(pl.Int64),
        bandwidth_mean=mean,
        bandwidth_active_mean="share",
        bandwidth_max=(mean * 1.35).clip(0, 1),
        bandwidth_p95=(mean * 1.2).clip(0, 1),
        gpu_duty_mean=(part * 0.99).clip(0, 1),
        memory_duty_mean=(mean * (1.0 if not dram else 1.25)).clip(0, 1),
        sm_mean=while_on(load.sm).clip(0, 1) if dram else pl.lit(None, pl.Float64),
        tensor_mean=while_on(load.tensor).clip(0, 1) if dram else pl.lit(None, pl.Float64),
        memory_used_bytes_max=pl.when("on")
        .then(load.memory_bytes * (0.97 + 0.03 * noise(seed + 6)))
        .otherwise(load.memory_bytes * 0.9)
        .round()
        .cast(pl.Int64),
        memory_total_bytes=pl.lit(int(machine.memory_total_bytes)),
        power_w_mean=load.idle_w + while_on(load.power_w - load.idle_w),
        temperature_c_max=(34 + part * 38 * pl.col("near")).round(),
        clock_ratio=pl.lit(1.0),
        nvlink_rx_bytes_per_s_mean=while_on(load.nvlink / 2),
        nvlink_tx_bytes_per_s_mean=while_on(load.nvlink / 2),
        pcie_rx_bytes_per_s_mean=while_on(load.pcie, 1e6),
        net_rx_bytes_per_s_mean=while_on(load.net, 1e5),
        disk_read_bytes_per_s_mean=while_on(load.disk, 1e4),
    )


def claims(machine: Machine) -> list[dict[str, object]]:
    """The machine's cards as a page names them, marked as simulated."""
    count = max(index for group in machine.groups for index in group.indexes) + 1
    return [
        {
            "vendor": "nvidia",
            "uuid": machine.uuid(index),
            "model": machine.model,
            "index": index,
            "state": "ok",
            "simulated": True,
            "labels": {"simulated": "true"},
        }
        for index in range(count)
    ]


def pages(
    machine: Machine, first: int, last: int, *, start: int, step: int = 7 * DAY
) -> Iterator[dict[str, object]]:
    """Samples pages of the machine's history, a week of minutes each."""
    for begin in range(first, last, step):
        end = min(last, begin + step)
        frame = pl.concat([minutes(machine, g, begin, end, start=start) for g in machine.groups])
        yield {
            "format": 1,
            "agent": f"demo-{machine.name}-history",
            "epoch": "history",
            "first": begin,
            "next": f"history:{end}",
            "more": end < last,
            "node": machine.name,
            "cards": claims(machine),
            "columns": frame.to_dict(as_series=False),
            "gaps": [],
        }


def write_replay(machine: Machine, path: Path, *, first: int, hours: int = 24) -> int:
    """JSON lines that the machine's collector plays in real time; returns how many."""
    last = first + hours * 60
    frame = pl.concat([minutes(machine, g, first, last, start=first) for g in machine.groups]).sort(
        "minute", "card"
    )
    cards = claims(machine)
    with path.open("wb") as file:
        for row in frame.drop("seq").iter_rows(named=True):
            at = datetime.fromtimestamp(row.pop("minute"), UTC).isoformat()
            card = cards[row.pop("card")]
            known = {key: value for key, value in row.items() if value is not None}
            file.write(orjson.dumps({"minute": at, "card": card, **known}) + b"\n")
    return frame.height
