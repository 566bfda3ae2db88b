"""Celery doors of the telemetry room."""

from __future__ import annotations

from uuid import UUID

from governance.plumbing import clock
from governance.plumbing.tasks import beat, enqueue, every, job, task
from governance.telemetry import services


@every(seconds=5)
@task(queue="ingest")
def pull_due() -> int:
    """Claim the nodes that are due and send them out to be pulled."""
    count = 0
    while True:
        node_ids, lease = services.claim_due(now=clock.now())
        if not node_ids:
            break
        enqueue(pull_nodes, node_ids=node_ids, lease=str(lease))
        count += len(node_ids)
    beat("telemetry-pull")
    return count


@task(queue="ingest")
def pull_nodes(node_ids: list[int], lease: str) -> None:
    """Pull claimed nodes."""
    services.pull_nodes(node_ids=node_ids, lease=UUID(lease), clock=clock.now)


@every(seconds=10)
@task(queue="ingest")
def roll_up() -> tuple[int, int]:
    """Roll due hours and days up."""
    done = services.roll_up(now=clock.now(), limit=100_000)
    beat("telemetry-rollup")
    return done


@every(seconds=60)
@task()
@job("telemetry-silent")
def find_silent() -> int:
    """Open alerts for nodes that say nothing."""
    return services.find_silent(now=clock.now())


@every(seconds=3_600)
@task()
@job("telemetry-retention")
def keep() -> None:
    """Make partitions ahead and drop what is older than it is kept."""
    services.keep(now=clock.now())


@every(seconds=3_600)
@task(queue="ingest")
@job("telemetry-packing")
def pack_closed() -> int:
    """Make closed days small."""
    return services.pack_closed(now=clock.now(), most=5_000)
