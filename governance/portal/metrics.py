"""Gauges in the Prometheus format, read from the database at each scrape so that all web
processes answer the same. Counts and ages only: no names of people, projects or cards."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from governance.plumbing import clock, outbox
from governance.plumbing.models import Heartbeat
from governance.portal import health
from governance.telemetry.queries import freshness


class Platform(Collector):
    """Readiness of each part, ages of the jobs, backlog of the outbox."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        ready = GaugeMetricFamily("ledger_ready", "1 where the part is ready", labels=["part"])
        for part in health.ask_all():
            ready.add_metric([part.name], float(part.ready))
        yield ready
        ages = GaugeMetricFamily(
            "ledger_job_age_seconds", "Time since the job last ended", labels=["job"]
        )
        now = clock.now()
        for beat in Heartbeat.objects.order_by("name"):
            ages.add_metric([beat.name], (now - beat.at).total_seconds())
        yield ages
        yield GaugeMetricFamily(
            "ledger_outbox_lag_seconds",
            "Age of the oldest event due and not delivered",
            value=outbox.lag_seconds(),
        )
        yield GaugeMetricFamily(
            "ledger_ingest_lag_seconds",
            "How late the oldest pull or roll-up is",
            value=freshness.ingest_lag(now),
        )
        silent = [node for node in freshness.freshness() if node.is_silent(now)]
        yield GaugeMetricFamily("ledger_nodes_silent", "Nodes not heard of", value=len(silent))


def page() -> bytes:
    """The answer to a scrape."""
    registry = CollectorRegistry()
    registry.register(Platform())
    return generate_latest(registry)
