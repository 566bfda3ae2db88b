"""One worker: `python -m tests.bench._puller` pulls every node that is due until none is behind,
and prints seconds, processor seconds, pulls and the largest memory as JSON."""

from __future__ import annotations

import json
import resource
import time

import django


def pull_all() -> dict[str, float]:
    """Claim and pull in turns, as the task does."""
    from governance.plumbing import clock
    from governance.telemetry import services

    started, cpu, pulls = time.perf_counter(), time.process_time(), 0
    while True:
        node_ids, lease = services.claim_due(now=clock.now())
        if not node_ids:
            break
        ends = services.pull_nodes(node_ids=node_ids, lease=lease, clock=clock.now)
        pulls += len(node_ids)
        faults = {end for end in ends.values() if end != "ok"}
        if faults:
            raise SystemExit(f"pulls failed: {', '.join(sorted(faults))}")
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "pulls": pulls,
    }


if __name__ == "__main__":
    django.setup()
    from django.db import connection

    connection.ensure_connection()
    found = pull_all()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**found, "memory_mib": peak}))
