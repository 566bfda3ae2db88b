"""The key figures: one entry each with formula, unit, window and coverage rule.

The help page, the tooltips and the reports are made from it. Each entry carries a worked example
that the tests run. Money goes in and comes out as `Decimal`, shares are 0..1, None is not known;
a formula whose denominator is zero answers None, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import floor
from typing import Any

from governance.kernel.money import round_exact
from governance.kernel.reasons import N_
from governance.reports.domain.registry import BOOKED, BOTH, KPIS, kpi, quotient, ratio
from governance.telemetry.domain.columns import BINS, SHARE
from governance.telemetry.domain.rollup import COUNTED, LARGEST, SUMMED, Usage, add, figures

__all__ = ["KPIS", "sums_of"]


def _figure(key: str) -> Callable[[Usage], Any]:
    """The figure of this name that the roll-ups give; there is one definition of it."""

    def figure(usage: Usage) -> Any:
        return figures(usage)[key]

    return figure


def sums_of(**columns: Any) -> Usage:
    """Roll-up sums with these columns, all others nothing."""
    row = {
        **dict.fromkeys(COUNTED + SUMMED, 0),
        **dict.fromkeys(LARGEST),
        "histogram": [0] * BINS,
        "bandwidth_max": None,
        "bandwidth_peak_at": None,
    }
    return add([row | columns])


def _histogram(**filled: int) -> list[int]:
    counts = [0] * BINS
    for step, count in filled.items():
        counts[int(step.removeprefix("from_")) // 5] = count
    return counts


_MEASURED: list[tuple[str, str, str, str, dict[str, Any], Any]] = [
    (
        "bandwidth_share_mean",
        N_("Bandwidth share, all time"),
        N_("sum of (share x samples) / samples"),
        "share",
        {"bandwidth_total": 30 * SHARE, "bandwidth_samples": 120},
        0.25,
    ),
    (
        "bandwidth_share_active_mean",
        N_("Bandwidth share, active time"),
        N_("sum of (share x active samples) / active samples"),
        "share",
        {"bandwidth_active_total": 30 * SHARE, "bandwidth_active_samples": 60},
        0.5,
    ),
    (
        "bandwidth_share_p50",
        N_("Bandwidth share, median of active time"),
        N_("histogram of active samples in steps of 5 %, even within a step"),
        "share",
        {"histogram": _histogram(from_20=10)},
        0.225,
    ),
    (
        "bandwidth_share_p95",
        N_("Bandwidth share, 95th percentile of active time"),
        N_("histogram of active samples in steps of 5 %, even within a step"),
        "share",
        {"histogram": _histogram(from_0=90, from_50=10)},
        0.525,
    ),
    (
        "bandwidth_share_max",
        N_("Bandwidth share, peak"),
        N_("largest share read in any minute, with its time"),
        "share",
        {"bandwidth_max": 0.91, "bandwidth_peak_at": 60},
        0.91,
    ),
    (
        "under_30_time_share",
        N_("Active time under 30 %"),
        N_("active samples under 30 % of bandwidth / active samples"),
        "share",
        {"histogram": _histogram(from_25=3, from_30=1)},
        0.75,
    ),
    (
        "active_share",
        N_("Active time"),
        N_("active samples / samples; active is SM or GR over 5 %, or GPU utilisation over 0"),
        "share",
        {"activity_samples": 60, "active_samples": 45},
        0.75,
    ),
    (
        "active_hours",
        N_("Active card-hours"),
        N_("sum over minutes of the active part of its samples"),
        "card-hours",
        {"activity_samples": 60, "active_ms": 1_800_000},
        0.5,
    ),
    (
        "gpu_duty_mean",
        N_("GPU utilisation (time)"),
        N_("sum of (utilisation x samples) / samples; time in which any kernel ran"),
        "share",
        {"gpu_duty_total": 9 * SHARE, "gpu_duty_weight": 10},
        0.9,
    ),
    (
        "sm_mean",
        N_("SM activity"),
        N_("sum of (SM activity x samples) / samples"),
        "share",
        {"sm_total": 5 * SHARE, "sm_weight": 10},
        0.5,
    ),
    (
        "tensor_mean",
        N_("Tensor core activity"),
        N_("sum of (tensor activity x samples) / samples"),
        "share",
        {"tensor_total": 2 * SHARE, "tensor_weight": 10},
        0.2,
    ),
    (
        "power_w_mean",
        N_("Power"),
        N_("sum of (watts x samples) / samples, per card"),
        "W",
        {"power_w_total": 3_000_000, "power_w_weight": 10},
        300.0,
    ),
    (
        "memory_used_peak_bytes",
        N_("Memory peak"),
        N_("largest memory use of any card and minute"),
        "bytes",
        {"memory_used_bytes": 70 * 2**30},
        70 * 2**30,
    ),
]
for _key, _name, _formula, _unit, _columns, _expected in _MEASURED:
    kpi(_key, _name, _formula, _unit, example=({"usage": sums_of(**_columns)}, _expected))(
        _figure(_key)
    )


@kpi(
    "coverage",
    N_("Coverage"),
    N_("card-minutes known / card-minutes rented"),
    "share",
    coverage=N_("is itself the rule"),
    example=({"known": 61, "held": 100}, 0.61),
)
def coverage(known: float, held: float) -> float | None:
    return ratio(known, held)


@kpi(
    "idle_hours",
    N_("Idle time"),
    N_("known card-hours x (1 - active share)"),
    "card-hours",
    example=({"known_hours": 2.0, "active": 0.75}, 0.5),
)
def idle_hours(known_hours: float, active: float | None) -> float | None:
    return None if active is None else known_hours * (1 - active)


@kpi(
    "effective_gb_per_s",
    N_("Effective bandwidth"),
    N_("nominal bandwidth x share over all time"),
    "GB/s",
    example=({"nominal_gb_per_s": Decimal(2039), "share": Decimal("0.55")}, Decimal("1121.45")),
)
def effective_gb_per_s(nominal_gb_per_s: Decimal, share: Decimal | None) -> Decimal | None:
    return None if share is None else nominal_gb_per_s * share


@kpi(
    "cost_per_gpu_hour",
    N_("Cost per GPU-hour"),
    N_("amortised cost / card-hours rented"),
    "currency/card-hour",
    coverage=BOOKED,
    example=({"cost": Decimal("7992.00"), "card_hours": Decimal(720)}, Decimal("11.100000")),
)
def cost_per_gpu_hour(cost: Decimal, card_hours: Decimal) -> Decimal | None:
    return quotient(cost, card_hours)


@kpi(
    "cost_per_used_gpu_hour",
    N_("Cost per used GPU-hour"),
    N_("amortised cost / (known card-hours x active share)"),
    "currency/card-hour",
    coverage=BOTH,
    example=({"cost": Decimal("7992.00"), "used_hours": Decimal("633.6")}, Decimal("12.613636")),
)
def cost_per_used_gpu_hour(cost: Decimal, used_hours: Decimal) -> Decimal | None:
    return quotient(cost, used_hours)


@kpi(
    "cost_per_effective_gb_s_hour",
    N_("Cost per effective GB/s-hour"),
    N_("amortised cost / (nominal GB/s x share x card-hours)"),
    "currency/(GB/s x h)",
    coverage=BOTH,
    source="14.80 / (2039 x 0.55)",
    example=(
        {
            "cost": Decimal("14.80"),
            "nominal_gb_per_s": Decimal(2039),
            "share": Decimal("0.55"),
            "card_hours": Decimal(1),
        },
        Decimal("0.013197"),
    ),
)
def cost_per_effective_gb_s_hour(
    cost: Decimal, nominal_gb_per_s: Decimal, share: Decimal | None, card_hours: Decimal
) -> Decimal | None:
    if share is None:
        return None
    return quotient(cost, nominal_gb_per_s * share * card_hours)


@kpi(
    "paid_bandwidth_not_used",
    N_("Paid bandwidth not used"),
    N_("amortised cost of measured time x (1 - share over all time)"),
    "currency",
    coverage=BOTH,
    example=({"cost": Decimal("1000.00"), "share": Decimal("0.25")}, Decimal("750.00")),
)
def paid_bandwidth_not_used(cost: Decimal, share: Decimal | None) -> Decimal | None:
    return None if share is None else round_exact(cost * (1 - share), 2)


@kpi(
    "idle_cost",
    N_("Cost of idle time"),
    N_("amortised cost of known time x (1 - active share)"),
    "currency",
    coverage=BOTH,
    source="28.60/h x 10 h, 35 % used: 286.00 = 100.10 + 185.90",
    example=({"cost": Decimal("286.00"), "active": Decimal("0.35")}, Decimal("185.90")),
)
def idle_cost(cost: Decimal, active: Decimal | None) -> Decimal | None:
    return None if active is None else round_exact(cost * (1 - active), 2)


@kpi(
    "effective_savings_rate",
    N_("Effective savings rate"),
    N_("(list cost of used time - effective cost) / list cost of used time"),
    "share",
    coverage=BOOKED,
    source="half-used commitment: (6,570 - 8,760) / 6,570",
    example=({"list_cost": Decimal(6570), "effective_cost": Decimal(8760)}, Decimal("-0.333333")),
)
def effective_savings_rate(list_cost: Decimal, effective_cost: Decimal) -> Decimal | None:
    return quotient(list_cost - effective_cost, list_cost)


@kpi(
    "commitment_utilisation",
    N_("Commitment utilisation"),
    N_("used hours / (used + unused hours) of commitments"),
    "share",
    coverage=BOOKED,
    example=({"used": Decimal(633), "unused": Decimal(87)}, Decimal("0.879167")),
)
def commitment_utilisation(used: Decimal, unused: Decimal) -> Decimal | None:
    return quotient(used, used + unused)


@kpi(
    "commitment_coverage",
    N_("Commitment coverage"),
    N_("list cost of committed used time / list cost of all eligible time"),
    "share",
    coverage=BOOKED,
    example=({"committed": Decimal(600), "eligible": Decimal(800)}, Decimal("0.750000")),
)
def commitment_coverage(committed: Decimal, eligible: Decimal) -> Decimal | None:
    return quotient(committed, eligible)


@kpi(
    "net_savings",
    N_("Net savings of a commitment"),
    N_("on-demand price of what was really covered - cost of the commitment in full"),
    "currency",
    coverage=BOOKED,
    source="15,000 x 0.95 - 10,000",
    example=(
        {
            "on_demand": Decimal(15000),
            "utilisation": Decimal("0.95"),
            "commitment": Decimal(10000),
        },
        Decimal("4250.00"),
    ),
)
def net_savings(on_demand: Decimal, utilisation: Decimal, commitment: Decimal) -> Decimal:
    return round_exact(on_demand * utilisation - commitment, 2)


@kpi(
    "break_even_hours_per_month",
    N_("Break-even hours per month"),
    N_("monthly fee / hourly price (annual: fee / 12 / hourly price)"),
    "hours/month",
    coverage=BOOKED,
    source="7,992 / 14.80 = 540 h",
    example=({"monthly": Decimal(7992), "hourly": Decimal("14.80")}, Decimal("540.00")),
)
def break_even_hours_per_month(monthly: Decimal, hourly: Decimal) -> Decimal | None:
    return quotient(monthly, hourly, 2)


@kpi(
    "break_even_months",
    N_("Break-even months of annual against monthly"),
    N_("smallest whole m from 1 to 12 with annual < m x monthly"),
    "months",
    coverage=BOOKED,
    source="76,723.20 / 7,992 = 9.6",
    example=({"annual": Decimal("76723.20"), "monthly": Decimal(7992)}, 10),
)
def break_even_months(annual: Decimal, monthly: Decimal) -> int | None:
    if monthly <= 0:
        return None
    months = floor(annual / monthly) + 1
    return months if months <= 12 else None


@kpi(
    "budget_used_share",
    N_("Budget used beside time elapsed"),
    N_("(spent + held) / limit, shown beside elapsed time / period"),
    "share",
    window=N_("the budget's period"),
    coverage=BOOKED,
    example=(
        {"spent": Decimal(600), "held": Decimal(150), "limit": Decimal(1000)},
        Decimal("0.75"),
    ),
)
def budget_used_share(spent: Decimal, held: Decimal, limit: Decimal) -> Decimal | None:
    return quotient(spent + held, limit)


@kpi(
    "budget_variance",
    N_("Budget variance"),
    N_("(actual - budget) / budget"),
    "share",
    window=N_("the budget's period"),
    coverage=BOOKED,
    example=({"actual": Decimal(1100), "budget": Decimal(1000)}, Decimal("0.100000")),
)
def budget_variance(actual: Decimal, budget: Decimal) -> Decimal | None:
    return quotient(actual - budget, budget)


@kpi(
    "estimate_error",
    N_("Estimate against actual"),
    N_("max(predicted / actual, actual / predicted) - 1"),
    "share",
    window=N_("a request, once it has ended"),
    example=({"predicted": 31.0, "actual": 38.75}, 0.25),
)
def estimate_error(predicted: float | None, actual: float | None) -> float | None:
    if not predicted or not actual:
        return None
    return max(predicted / actual, actual / predicted) - 1


@kpi(
    "predictor_error",
    N_("Running error of the predictor"),
    N_("median of the errors of the requests that have ended"),
    "share",
    window=N_("all ended requests of the period"),
    example=({"errors": [0.1, 0.3, 0.2]}, 0.2),
)
def predictor_error(errors: Sequence[float]) -> float | None:
    return median(errors)


@kpi(
    "approval_lead_hours",
    N_("Approval lead time"),
    N_("median of (decided - submitted)"),
    "hours",
    window=N_("requests decided in the period"),
    coverage=N_("every decided request"),
    example=({"hours": [2.0, 5.0, 3.0, 10.0]}, 4.0),
)
def approval_lead_hours(hours: Sequence[float]) -> float | None:
    return median(hours)


@kpi(
    "forecast_error",
    N_("Forecast error"),
    N_("(forecast - actual) / actual, kept per method and horizon"),
    "share",
    coverage=BOOKED,
    example=({"forecast": Decimal(15048), "actual": Decimal(16000)}, Decimal("-0.059500")),
)
def forecast_error(forecast: Decimal, actual: Decimal) -> Decimal | None:
    return quotient(forecast - actual, actual)


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two in the middle; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
