"""Many nodes' collectors, played from pages made beforehand: `python -m tests.bench._collectors
NODES CARDS MINUTES PAGE_ROWS FIRST_MINUTE` serves on a free port, printed first.

Rows have every column that a collector sends for a card with GPM but for those that the server
asks it to leave out.
Like the collector, it answers one request a connection, gzipped.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from urllib.parse import parse_qs, urlsplit

SHARES = ("bandwidth_mean", "bandwidth_active_mean", "bandwidth_max", "bandwidth_p95")
ACTIVITY = ("gpu_duty_mean", "memory_duty_mean", "sm_mean", "tensor_mean")
RATES = (
    "pcie_rx_bytes_per_s_mean",
    "pcie_tx_bytes_per_s_mean",
    "nvlink_rx_bytes_per_s_mean",
    "nvlink_tx_bytes_per_s_mean",
)


def columns(draw: random.Random, rows: list[tuple[int, int, int]]) -> dict[str, list[object]]:
    """The columns of a page; a row is (sequence number, card, minute)."""
    found: dict[str, list[object]] = {
        "seq": [seq for seq, _, _ in rows],
        "card": [card for _, card, _ in rows],
        "minute": [minute * 60 for _, _, minute in rows],
        "source": ["nvml_gpm"] * len(rows),
        "fidelity": ["dram_bw"] * len(rows),
        "samples": [60] * len(rows),
        "active_samples": [45] * len(rows),
        "bandwidth_samples": [60] * len(rows),
        "bandwidth_active_samples": [45] * len(rows),
        "bandwidth_max_at": [minute * 60 + draw.randrange(60) for _, _, minute in rows],
        "clock_ratio": [1.0] * len(rows),
        "window_ms": [1000.0] * len(rows),
        "memory_used_bytes_max": [draw.randrange(10**9, 8 * 10**10) for _ in rows],
        "memory_total_bytes": [85_899_345_920] * len(rows),
        "power_w_mean": [round(draw.uniform(100, 700), 3) for _ in rows],
        "temperature_c_max": [float(draw.randrange(30, 85)) for _ in rows],
        "sm_clock_mhz_mean": [1980.0] * len(rows),
        "memory_clock_mhz_mean": [2619.0] * len(rows),
        "throttle": [""] * len(rows),
        "xid_count": [0] * len(rows),
        "ecc_corrected_count": [0] * len(rows),
        "ecc_uncorrected_count": [0] * len(rows),
        "reason": [None] * len(rows),
    }
    for name in SHARES + ACTIVITY:
        found[name] = [round(draw.random(), 6) for _ in rows]
    for name in RATES:
        found[name] = [float(draw.randrange(10**9)) for _ in rows]
    return found


def pages(node: int, cards: int, minutes: int, limit: int, first: int) -> list[bytes]:
    """All pages of a node, oldest first."""
    draw = random.Random(node)
    rows = [(1 + n, n % cards, first + n // cards) for n in range(cards * minutes)]
    named = [
        {
            "vendor": "nvidia",
            "uuid": f"GPU-{node:05}-{card:03}",
            "parent": None,
            "model": "NVIDIA H100 80GB HBM3",
            "index": card,
            "state": "ok",
        }
        for card in range(cards)
    ]
    found = []
    for start in range(0, len(rows), limit):
        part = rows[start : start + limit]
        document = {
            "format": 1,
            "agent": f"agent-{node}",
            "epoch": "e",
            "first": part[0][0],
            "next": f"e:{part[-1][0]}",
            "more": start + limit < len(rows),
            "now": None,
            "node": f"node-{node}",
            "cards": named,
            "columns": columns(draw, part),
            "gaps": [],
            "health": {},
        }
        found.append(gzip.compress(json.dumps(document).encode(), 6))
    return found


class Collectors:
    """Answers `/NODE/v1/samples?after=CURSOR`."""

    def __init__(self, served: list[list[bytes]], limit: int) -> None:
        self.served, self.limit = served, limit

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = urlsplit(head.split(b" ", 2)[1].decode())
        after = parse_qs(target.query).get("after", ["e:0"])[0]
        number = int(after.partition(":")[2])
        body = self.served[int(target.path.split("/")[1])][number // self.limit]
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        writer.write(body)
        await writer.drain()
        writer.close()

    async def serve(self) -> None:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, backlog=1024)
        size = sum(len(page) for pages_of in self.served for page in pages_of)
        print(json.dumps({"port": server.sockets[0].getsockname()[1], "bytes": size}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    nodes, cards, minutes, limit, first = map(int, sys.argv[1:])
    asyncio.run(
        Collectors([pages(n, cards, minutes, limit, first) for n in range(nodes)], limit).serve()
    )
