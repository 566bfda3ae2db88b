"""Vendors side by side, commitments, estimates against actuals, and what nobody approved."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from governance.catalog.domain import load_cards
from governance.kernel.money import round_exact
from governance.kernel.periods import seconds
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.reports.domain.kpis import (
    commitment_utilisation,
    cost_per_effective_gb_s_hour,
    cost_per_gpu_hour,
    estimate_error,
    predictor_error,
)
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.cost import HOURLY, lookups
from governance.reports.queries.utilization import grouped_usage
from governance.requests import queries as requests
from governance.telemetry import queries as telemetry
from governance.telemetry.queries.cards import cards_for


def nominal_gb_s(card_model: str) -> Decimal | None:
    """Data-sheet bandwidth of a card model in GB/s; None where it is not known."""
    card = load_cards().get(card_model)
    if card is None or card.bandwidth_bytes_per_s is None:
        return None
    return round_exact(Fraction(card.bandwidth_bytes_per_s) / 10**9, 3)


@report(
    "vendors",
    N_("Vendors"),
    N_("Which vendor gives the most used bandwidth for the money, and is it what was promised?"),
    filters=("team", "project", "card_model"),
)
def vendors(viewer: Actor, params: Params) -> Result:
    """Per vendor and card model. `delivered` is the best minute beside the data sheet (about 0.8
    can be reached); only measured bandwidth counts, upper bounds are left out."""
    costs = {
        (row.group[0], row.group[1], row.currency): row
        for row in rentals.cost_rows(
            viewer,
            first=params.first,
            last=params.last,
            group_by=("vendor", "card_model"),
            filters=lookups(viewer, params.filters),
        )
    }
    seen: dict[tuple[str, str], list[telemetry.UsageRow]] = {}
    for used in grouped_usage(viewer, params, ("vendor", "card_model")):
        key = (str(used.group["vendor"]), str(used.group["card_model"]))
        seen.setdefault(key, []).append(used)
    rows = []
    for (vendor, model, currency), cost in sorted(costs.items()):
        usage = seen.get((vendor, model), [])
        measured = [u for u in usage if u.fidelity.name == "DRAM_BW"]
        best = max(measured, key=lambda u: u.card_hours, default=None)
        share = best.figures["bandwidth_share_mean"] if best else None
        held = max((u.expected_card_hours for u in usage), default=0.0)
        nominal, hours = nominal_gb_s(model), Decimal(str(round(held, 4)))
        rows.append(
            {
                "vendor": vendor,
                "card_model": model,
                "card_hours": hours,
                "amortised": cost.amortised,
                "currency": currency,
                "cost_per_gpu_hour": cost_per_gpu_hour(cost.amortised, hours),
                "nominal_gb_s": nominal,
                "bandwidth_share_mean": share,
                "per_1000_gb_s_hour": _per_thousand(cost.amortised, nominal, share, hours),
                "delivered": best.figures["bandwidth_share_max"] if best else None,
                "coverage": best.coverage if best else None,
                "metric_source": best.source.name.lower() if best else None,
            }
        )
    columns = (
        Column("vendor", N_("Vendor")),
        Column("card_model", N_("Card model")),
        Column("card_hours", N_("Card-hours"), "hours"),
        Column("amortised", N_("Amortised"), "money"),
        Column("currency", N_("Currency")),
        Column(
            "cost_per_gpu_hour",
            N_("Per card-hour"),
            "number",
            formula="cost_per_gpu_hour",
            places=4,
        ),
        Column("nominal_gb_s", N_("Data sheet"), "number", "GB/s"),
        Column(
            "bandwidth_share_mean",
            N_("Share, all time"),
            "share",
            measured=True,
            formula="bandwidth_share_mean",
        ),
        Column(
            "per_1000_gb_s_hour",
            N_("Per 1,000 GB/s-h used"),
            "number",
            measured=True,
            formula="cost_per_effective_gb_s_hour",
        ),
        Column(
            "delivered", N_("Best minute"), "share", measured=True, formula="bandwidth_share_max"
        ),
        Column("coverage", N_("Coverage"), "share"),
        Column("metric_source", N_("Source")),
    )
    text = N_("Only measured bandwidth counts here; a duty cycle is an upper bound and left out.")
    return answer("vendors", params, columns, rows, notes=[Reason("measured", text)])


def _per_thousand(
    cost: Decimal, nominal: Decimal | None, share: float | int | None, hours: Decimal
) -> Decimal | None:
    if nominal is None or share is None:
        return None
    exact = cost_per_effective_gb_s_hour(cost, nominal, Decimal(str(share)), hours)
    return None if exact is None else round_exact(exact * 1000, 2)


@report(
    "commitments",
    N_("Commitments"),
    N_("Which monthly and annual contracts run, how far are they used, and when do they end?"),
    filters=("team", "project", "vendor", "card_model"),
)
def commitments(viewer: Actor, params: Params) -> Result:
    """Prepaid rentals of the period. Utilisation is active time over known time; waste is the
    amortised cost of known idle time."""
    filters = {k.removeprefix("rental__"): v for k, v in lookups(viewer, params.filters).items()}
    found = rentals.rentals_visible_to(viewer).exclude(plan_kind__in=HOURLY)
    found = found.filter(starts_at__lt=params.period.end, **filters)
    found = found.exclude(ends_at__lte=params.period.start).order_by("ends_at", "pk")
    costs = {
        int(row.group[0]): row
        for row in rentals.cost_rows(
            viewer,
            first=params.first,
            last=params.last,
            group_by=("rental",),
            filters=lookups(viewer, params.filters),
        )
    }
    hours = active_hours(viewer, params)
    rows = []
    for rental in found:
        active, known = hours.get(rental.pk, (None, None))
        used = (
            commitment_utilisation(Decimal(str(active)), Decimal(str(max(0.0, known - active))))
            if active is not None and known is not None
            else None
        )
        cost = costs.get(rental.pk)
        waste = None
        if cost is not None and used is not None:
            waste = round_exact(cost.amortised * (1 - used), 2)
        left = None if rental.ends_at is None else (rental.ends_at - params.now).days
        rows.append(
            {
                "rental": str(rental),
                "id": rental.pk,
                "vendor": rental.vendor,
                "plan": rental.plan_kind,
                "starts_at": rental.starts_at,
                "ends_at": rental.ends_at,
                "days_left": left,
                "auto_renew": rental.auto_renew,
                "utilisation": None if used is None else float(used),
                "amortised": cost.amortised if cost else Decimal(0),
                "waste": waste,
                "currency": rental.currency,
            }
        )
    columns = (
        Column("rental", N_("Rental")),
        Column("vendor", N_("Vendor")),
        Column("plan", N_("Plan")),
        Column("starts_at", N_("Start"), "moment"),
        Column("ends_at", N_("End"), "moment"),
        Column("days_left", N_("Days left"), "count"),
        Column("auto_renew", N_("Renews itself")),
        Column(
            "utilisation",
            N_("Utilisation"),
            "share",
            measured=True,
            formula="commitment_utilisation",
        ),
        Column("amortised", N_("Amortised"), "money"),
        Column("waste", N_("Paid for idle time"), "money", measured=True, formula="idle_cost"),
        Column("currency", N_("Currency")),
    )
    return answer("commitments", params, columns, rows)


def active_hours(viewer: Actor, params: Params) -> dict[int, tuple[float, float]]:
    """Active and known card-hours by rental, over all sources (hours add up)."""
    found: dict[int, tuple[float, float]] = {}
    for row in telemetry.usage(
        viewer, period=params.period, tz=params.timezone, now=params.now, group_by=("rental",)
    ):
        if row.group["rental"] is None or row.figures["active_hours"] is None:
            continue
        key = int(str(row.group["rental"]))
        active, known = found.get(key, (0.0, 0.0))
        found[key] = (active + float(row.figures["active_hours"]), known + row.card_hours)
    return found


@report(
    "accuracy",
    N_("Estimate against actual"),
    N_("How near were the predictions to what the rentals then took and cost?"),
    filters=("team", "project"),
)
def accuracy(viewer: Actor, params: Params) -> Result:
    """Per request with a rental that began in the period: predicted beside actual active hours
    and cost so far. The running error is that of rentals that have ended."""
    filters = {k.removeprefix("rental__"): v for k, v in lookups(viewer, params.filters).items()}
    found = (
        rentals.rentals_visible_to(viewer)
        .filter(
            starts_at__gte=params.period.start,
            starts_at__lt=params.period.end,
            request_id__isnull=False,
            **filters,
        )
        .order_by("pk")
    )
    asked = {
        one.pk: one for one in requests.visible(viewer).filter(pk__in=[r.request_id for r in found])
    }
    hours = active_hours(viewer, params)
    costs = {
        int(row.group[0]): row
        for row in rentals.cost_rows(
            viewer,
            first=params.first,
            last=params.last,
            group_by=("rental",),
            filters=lookups(viewer, params.filters),
        )
    }
    rows, errors = [], []
    for rental in found:
        request = asked.get(rental.request_id or 0)
        package: dict[str, Any] = (request.package or {}) if request else {}
        predicted = package.get("hours")
        active = hours.get(rental.pk)
        actual = active[0] / rental.cards if active and rental.cards else None
        ended = rental.ends_at is not None and rental.ends_at <= params.now
        error = estimate_error(predicted, actual) if ended else None
        if error is not None:
            errors.append(error)
        cost = costs.get(rental.pk)
        rows.append(
            {
                "request": f"#{rental.request_id} {request.title}" if request else "",
                "id": rental.request_id,
                "rental": str(rental),
                "predicted_hours": predicted,
                "low_hours": package.get("hours_low"),
                "high_hours": package.get("hours_high"),
                "actual_hours": actual,
                "error": error,
                "ended": ended,
                "predicted_cost": _decimal(package.get("cost")),
                "billed": cost.billed if cost else None,
                "currency": rental.currency,
            }
        )
    columns = (
        Column("request", N_("Request")),
        Column("rental", N_("Rental")),
        Column("predicted_hours", N_("Predicted"), "hours", "h"),
        Column("low_hours", N_("Low"), "hours", "h"),
        Column("high_hours", N_("High"), "hours", "h"),
        Column("actual_hours", N_("Actual (active)"), "hours", "h", measured=True),
        Column("error", N_("Error"), "share", formula="estimate_error"),
        Column("ended", N_("Ended")),
        Column("predicted_cost", N_("Predicted cost"), "money"),
        Column("billed", N_("Billed so far"), "money"),
        Column("currency", N_("Currency")),
    )
    middle = predictor_error(errors)
    notes = []
    if middle is not None:
        text = N_("Running error of the predictor: %(error).1f %% (median of %(count)d).")
        notes.append(Reason("running", text, {"error": 100 * middle, "count": len(errors)}))
    return answer("accuracy", params, columns, rows, total={"error": middle}, notes=notes)


def _decimal(value: object) -> Decimal | None:
    return None if value is None else Decimal(str(value))


@report(
    "outside-approval",
    N_("Outside approval"),
    N_("Which cards report and belong to no rental, and which rentals run without approval?"),
)
def outside_approval(viewer: Actor, params: Params) -> Result:
    """Cards with time that no rental held; rentals without a request; rentals past their end."""
    rows: list[dict[str, Any]] = []
    labels = {card.pk: card for card in cards_for(viewer)}
    for used in telemetry.usage(
        viewer,
        period=params.period,
        tz=params.timezone,
        now=params.now,
        group_by=("card", "rental"),
    ):
        if used.group["rental"] is not None or not used.card_hours:
            continue
        card = labels.get(int(str(used.group["card"])))
        rows.append(
            {
                "kind": "card without rental",
                "what": str(card or used.group["card"]),
                "vendor": "",
                "person": "",
                "hours": round(used.card_hours, 2),
                "cost": None,
                "currency": "",
            }
        )
    rows += _unapproved(viewer, params)
    columns = (
        Column("kind", N_("What is wrong")),
        Column("what", N_("Thing")),
        Column("vendor", N_("Vendor")),
        Column("person", N_("Recorded by")),
        Column("hours", N_("Hours in the period"), "hours"),
        Column("cost", N_("Amortised"), "money"),
        Column("currency", N_("Currency")),
    )
    return answer("outside-approval", params, columns, rows)


def _unapproved(viewer: Actor, params: Params) -> list[dict[str, Any]]:
    running = rentals.rentals_visible_to(viewer).filter(starts_at__lt=params.period.end)
    running = running.exclude(ends_at__lte=params.period.start).order_by("pk")
    costs = {
        int(row.group[0]): row
        for row in rentals.cost_rows(
            viewer, first=params.first, last=params.last, group_by=("rental",)
        )
    }
    rows = []
    for rental in running:
        past_end = (
            rental.ends_at is not None
            and rental.ends_at < params.now - timedelta(hours=1)
            and rental.state not in ("ended", "ended_early")
        )
        if rental.request_id is not None and not past_end:
            continue
        begin = max(rental.starts_at, params.period.start)
        end = min(rental.ends_at or params.now, params.period.end, params.now)
        cost = costs.get(rental.pk)
        rows.append(
            {
                "kind": "rental past its end" if past_end else "rental without request",
                "what": str(rental),
                "vendor": rental.vendor,
                "person": rental.created_by,
                "hours": round(float(seconds(max(end - begin, timedelta(0))) / 3600), 2),
                "cost": cost.amortised if cost else Decimal(0),
                "currency": rental.currency,
            }
        )
    return rows
