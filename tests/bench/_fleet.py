"""A synthetic fleet for the benches of reports: rentals of eight cards with daily roll-ups and
daily costs, written by SQL (a year's readings would take a day to ingest)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import connection

from governance.accounts.models import CostCentre, Project, Team
from governance.telemetry.models import UsageDay

ZONE = ZoneInfo("Asia/Shanghai")
TODAY = date(2026, 11, 30)
PER_RENTAL = 8
MODELS = ("a800-80gb-sxm4", "h100-80gb-sxm5", "rtx-4090")


def load(cards: int, days: int) -> None:
    """So many cards, in rentals of eight, with a row of roll-up and cost for every day."""
    rentals = cards // PER_RENTAL
    _projects()
    first = TODAY - timedelta(days=days - 1)
    start = datetime(first.year, first.month, first.day, tzinfo=ZONE)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        _rentals(cursor, rentals, start)
        _cards(cursor, cards, start)
        _usage(cursor, first, days)
        cursor.execute(
            "INSERT INTO telemetry_kept (level, since) VALUES ('hours', %s)",
            [start + timedelta(days=days + 1)],
        )
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("ANALYZE")


def _projects() -> None:
    for i in range(20):
        team = Team.objects.create(slug=f"team-{i}", name=f"Team {i}")
        centre = CostCentre.objects.create(code=f"CC-{i}", name=f"Centre {i}")
        for j in range(10):
            Project.objects.create(
                team=team, cost_centre=centre, slug=f"p-{i}-{j}", name=f"Project {i}-{j}"
            )


def _rentals(cursor: object, rentals: int, start: datetime) -> None:
    cursor.execute(  # type: ignore[attr-defined]
        """
        INSERT INTO rentals_rental (project_id, origin, external_id, vendor, offer, region,
            card_model, cards, plan_kind, currency, timezone, starts_at, state, auto_renew,
            hold_key, paid_before, created_at, created_by)
        SELECT p.id, 'bought', '', 'vendor-' || n %% 7, '', '', (%s::text[])[1 + n %% 3], %s,
            CASE WHEN n %% 2 = 0 THEN 'hourly' ELSE 'monthly' END, 'CNY', 'Asia/Shanghai', %s,
            'active', false, '', 0, %s, 'bench'
        FROM generate_series(1, %s) n
        JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM accounts_project) p
            ON p.place = 1 + n %% 200
        """,
        [list(MODELS), PER_RENTAL, start, start, rentals],
    )
    cursor.execute(  # type: ignore[attr-defined]
        """
        INSERT INTO rentals_component (rental_id, code, kind, plan, quantity, starts_at)
        SELECT r.id, 'cards', 'cards', jsonb_build_object('kind', r.plan_kind, 'price',
            CASE WHEN r.plan_kind = 'hourly' THEN '14.80' ELSE '7992.00' END), r.cards, r.starts_at
        FROM rentals_rental r
        """
    )


def _cards(cursor: object, cards: int, start: datetime) -> None:
    run = cursor.execute  # type: ignore[attr-defined]
    run(
        """
        INSERT INTO telemetry_node (name, mode, address, interval_seconds, silent_after_minutes,
            labels, token_nonce, token_issued_at, previous_nonce, enrolled_at, agent, host_name,
            version, health, simulated)
        SELECT 'node-' || n, 'push', '', 60, 10, '{}', 'n' || n, %s, '', %s, '', '', '', '{}', true
        FROM generate_series(1, %s) n
        """,
        [start, start, cards // PER_RENTAL],
    )
    run(
        """
        INSERT INTO telemetry_card (node_id, vendor, uuid, model_text, model_slug, index, state,
            simulated, labels, first_minute, last_minute)
        SELECT node.id, 'nvidia', 'GPU-' || node.id || '-' || i, 'bench',
            (%s::text[])[1 + node.place %% 3], i, 'ok', true, '{}',
            extract(epoch FROM %s::timestamptz)::int / 60,
            extract(epoch FROM %s::timestamptz)::int / 60
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM telemetry_node) node
        CROSS JOIN generate_series(1, %s) i
        """,
        [list(MODELS), start, start + timedelta(days=400), PER_RENTAL],
    )
    run(
        """
        INSERT INTO telemetry_cardholding (card_id, span, project_id, rental_id, booked_at,
            booked_by)
        SELECT c.id, tstzrange(r.starts_at, NULL), r.project_id, r.id, r.starts_at, 'bench'
        FROM telemetry_card c
        JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM telemetry_node) node
            ON node.id = c.node_id
        JOIN (SELECT rentals_rental.*, row_number() OVER (ORDER BY id) AS place
              FROM rentals_rental) r ON r.place = node.place
        """
    )


def _usage(cursor: object, first: date, days: int) -> None:
    """A full day of minutes per card and day, active for two thirds, at 10 to 60 %."""
    run = cursor.execute  # type: ignore[attr-defined]
    whole = {
        "minutes": "1440",
        "bandwidth_minutes": "1440",
        "samples": "86400",
        "activity_samples": "86400",
        "active_samples": "57600",
        "active_ms": "57600000",
        "bandwidth_samples": "86400",
        "bandwidth_active_samples": "57600",
        "bandwidth_total": "(86400 * 1000000000::bigint / 100) * (8 + c.id %% 40)",
        "bandwidth_active_total": "(57600 * 1000000000::bigint / 100) * (10 + c.id %% 50)",
        "histogram": "array_fill(2880::bigint, ARRAY[20])",
        "bandwidth_max": "0.7",
        "bandwidth_peak_at": "1",
        "memory_used_bytes": "20000000000",
        "memory_total_bytes": "80000000000",
        "temperature_c": "60",
        "throttled_minutes": "0",
        "xid_count": "0",
        "ecc_corrected_count": "0",
        "ecc_uncorrected_count": "0",
    }
    skip = {"card_id", "holding_id", "source", "day", "timezone"}
    names = [f.attname for f in UsageDay._meta.concrete_fields if f.attname not in skip]
    values = [
        whole.get(n, "(86400 * 1000000000::bigint / 100) * 20" if n.endswith("total") else "86400")
        for n in names
    ]
    run(
        f"""
        INSERT INTO telemetry_usageday (card_id, holding_id, source, day, timezone,
            {", ".join(names)})
        SELECT c.id, h.id, 6, %s::date + d, 'Asia/Shanghai', {", ".join(values)}
        FROM telemetry_card c JOIN telemetry_cardholding h ON h.card_id = c.id
        CROSS JOIN generate_series(0, %s) d
        """,
        [first, days - 1],
    )
    run(
        """
        INSERT INTO rentals_costday (rental_id, day, currency, billed, billed_tax, amortised,
            amortised_tax, charges)
        SELECT r.id, %s::date + d, 'CNY', 2841.60, 170.50, 2841.60, 170.50, 1
        FROM rentals_rental r CROSS JOIN generate_series(0, %s) d
        """,
        [first, days - 1],
    )
