"""When does low bandwidth mean a smaller card? The decision table, first match wins.

Order: 1 (no data), 14 (fault), 2 to 10, 13, 11, 12, 15. A row whose signals were not measured does
not match: what is not known is never taken for low."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from governance.catalog.domain import CardSpec
from governance.kernel.reasons import N_, Reason

from .windows import Thresholds, UsageWindow, Verdict

Test = Callable[[UsageWindow, CardSpec, Thresholds], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    number: int
    cause: str
    test: Test
    verdict: str
    action: str
    flagged: bool = True
    downgrade: str = "no"


def over(value: float | None, limit: float) -> bool:
    """Measured, and at or above the limit."""
    return value is not None and value >= limit


def under(value: float | None, limit: float) -> bool:
    """Measured, and below the limit."""
    return value is not None and value < limit


def share(window: UsageWindow, card: CardSpec) -> float | None:
    """Bandwidth share of theoretical bandwidth. A rate is divided by the data sheet's figure,
    never by a vendor's claim; an unconfirmed denominator gives nothing."""
    if window.bandwidth is not None:
        return window.bandwidth
    rate, full = window.bandwidth_bytes_per_s, card.bandwidth_bytes_per_s
    if rate is None or not full or not card.bandwidth_confirmed:
        return None
    return min(1.0, rate / full)


def _no_data(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    lacking = w.coverage < s.coverage or w.fidelity == "unknown"
    return lacking or (share(w, card) is None and w.sm is None and w.gpu is None)


def _fault(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return w.faults > 0 or over(w.throttled, s.throttle)


def _idle(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    quiet = under(w.active_share, s.idle) if w.active_share is not None else under(w.gpu, s.idle)
    return quiet and not over(w.sm, s.idle) and not over(share(w, card), s.idle)


def _starved(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    hungry = under(w.sm, s.starved_sm) and under(share(w, card), s.flag)
    copying = over(w.pcie_bytes_per_s, s.busy_pcie) or over(w.memcpy, s.busy_memcpy)
    pressed = over(w.disk, s.busy_disk) or over(w.cpu, s.busy_cpu)
    return hungry and (pressed or (w.sawtooth is True and copying))


def _link(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    several = w.cards > 1 and under(w.sm, s.low_sm) and under(share(w, card), s.flag)
    busy = over(w.link, s.busy_link) or (w.nodes > 1 and over(w.network, s.busy_link))
    falls = w.scaling is None or w.scaling < s.good_scaling
    blocked = under(w.scaling, s.good_scaling) and over(w.sync_wait, 2 * s.busy_wait)
    return several and ((busy and falls) or (blocked and w.link is None and w.network is None))


def _waiting(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    several = w.cards > 1 and under(w.sm, s.low_sm) and under(share(w, card), s.flag)
    quiet = not over(w.link, s.busy_link) and not over(w.network, s.busy_link)
    return several and quiet and over(w.sync_wait, s.busy_wait)


def _compute(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return over(w.tensor, s.tensor_heavy) and over(w.sm, s.heavy_sm)


def _mixed(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    some = over(w.tensor, s.tensor_some) and over(w.sm, s.some_sm)
    return some and under(share(w, card), s.flag)


def _capacity(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    if not under(share(w, card), s.flag) or w.memory_peak is None or not card.memory_bytes:
        return False
    return w.memory_peak >= s.capacity * s.capacity_next * card.memory_bytes


def _bound(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return w.fidelity == "dram_bw" and over(share(w, card), s.bound_dram) and under(w.sm, s.low_sm)


def _elementwise(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    busy = over(w.sm, s.high_sm) and under(w.tensor, s.tensor_some)
    return busy and over(share(w, card), s.high_dram)


def _peaks(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return w.serving and under(share(w, card), s.flag)


def _roomy(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return w.memory_peak is not None and w.memory_peak < s.roomy * card.memory_bytes


def _quiet_links(w: UsageWindow, s: Thresholds) -> bool:
    return not over(w.link, s.busy_link) and not over(w.network, s.busy_link)


def _launch(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    small = over(w.gpu, s.launch_gpu) and under(w.sm, s.launch_sm)
    return (
        small
        and under(share(w, card), s.launch_dram)
        and _roomy(w, card, s)
        and (_quiet_links(w, s))
    )


def _oversized(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    low = under(w.sm, s.low_sm) and not over(w.tensor, s.tensor_some)
    calm = _quiet_links(w, s) and not over(w.cpu, s.busy_cpu)
    return low and under(share(w, card), s.flag) and _roomy(w, card, s) and calm


def _always(w: UsageWindow, card: CardSpec, s: Thresholds) -> bool:
    return True


TABLE: tuple[Row, ...] = (
    Row(
        1,
        "no_data",
        _no_data,
        N_("No verdict: too little was measured."),
        N_("Mend the exporter or widen the window."),
        flagged=False,
    ),
    Row(
        14,
        "fault",
        _fault,
        N_("Hardware fault: errors, or the clock is held down."),
        N_("Replace or repair the card before judging it."),
        flagged=False,
    ),
    Row(
        2,
        "idle",
        _idle,
        N_("Held idle."),
        N_("Release or stop the card; a smaller one would idle as well."),
    ),
    Row(
        3,
        "starved",
        _starved,
        N_("Starved by data: storage or preparation cannot keep up."),
        N_("Cache the data, add loader workers or faster storage, then measure again."),
    ),
    Row(
        4,
        "link_bound",
        _link,
        N_("Bound by the links between cards or nodes."),
        N_("A better link, fewer cards, larger micro-batches or less sharding."),
    ),
    Row(
        5,
        "waiting",
        _waiting,
        N_("Cards wait for each other though the links are quiet."),
        N_("Look for a slow card, imbalance, pipeline bubbles or too small a batch."),
    ),
    Row(
        6,
        "compute_bound",
        _compute,
        N_("Bound by compute: healthy."),
        N_("Keep it; only a card with as many tensor FLOPS and less bandwidth would be cheaper."),
    ),
    Row(
        7,
        "compute_mixed",
        _mixed,
        N_("Partly bound by compute."),
        N_("Only the what-if can say whether a smaller card would do."),
        downgrade="what_if",
    ),
    Row(
        8,
        "capacity_bound",
        _capacity,
        N_("Bound by memory capacity."),
        N_("Keep the memory size; look for as much memory with less bandwidth."),
    ),
    Row(
        9,
        "bandwidth_bound",
        _bound,
        N_("Bound by memory bandwidth."),
        N_("A card with more bandwidth, a larger batch, or quantised weights."),
        flagged=False,
    ),
    Row(
        10,
        "elementwise",
        _elementwise,
        N_("Bound by element-wise kernels."),
        N_("Fuse kernels; use fused attention."),
        flagged=False,
    ),
    Row(
        13,
        "peak_provisioned",
        _peaks,
        N_("A service sized for its peak."),
        N_("Size it by the 95th percentile, not by the mean."),
        downgrade="what_if",
    ),
    Row(
        11,
        "launch_bound",
        _launch,
        N_("Bound by launching small kernels."),
        N_("Larger batches or CUDA graphs; or a cheaper card, a MIG slice or a shared card."),
        downgrade="yes",
    ),
    Row(
        12,
        "oversized",
        _oversized,
        N_("Larger than the work needs."),
        N_("A smaller card, a MIG slice or a shared card."),
        downgrade="yes",
    ),
    Row(
        15,
        "unclear",
        _always,
        N_("Unclear."),
        N_("Take a profile of half an hour."),
    ),
)
CONFIDENCE: Mapping[str, str] = {
    "dram_bw": "high",
    "duty_bound": "medium",
    "vendor_pct": "low",
    "unknown": "none",
}


def flag(window: UsageWindow, card: CardSpec, settings: Thresholds) -> bool | None:
    """The plain rule: bandwidth on active time under 30 %. None where it cannot be said; a duty
    cycle at or above the threshold proves nothing and says neither."""
    value = share(window, card)
    if value is None or window.coverage < settings.coverage or window.fidelity == "unknown":
        return None
    if window.active_hours < settings.active_hours:
        return None
    if value < settings.flag:
        return True
    return None if window.fidelity == "duty_bound" else False


def diagnose(window: UsageWindow, card: CardSpec, settings: Thresholds | None = None) -> Verdict:
    """The row of the table that matches, with what to do and the figures that decided."""
    settings = settings or Thresholds()
    row = next(r for r in TABLE if r.test(window, card, settings))
    flagged = flag(window, card, settings)
    downgrade = row.downgrade
    if row.number == 13 and not under(window.bandwidth_p95, settings.flag):
        downgrade = "no"
    if flagged is not True:
        downgrade = "no"
    shown = flagged if row.flagged or flagged is not True else False
    return Verdict(
        row=row.number,
        cause=row.cause,
        flag_bw_low_30=shown,
        downgrade=downgrade,
        verdict=Reason(row.cause, row.verdict),
        action=Reason(row.cause + "_action", row.action),
        reason=_sentence(window, card, row, shown, downgrade),
        figures=figures(window, card),
        source=window.source,
        confidence="none" if row.number == 1 else CONFIDENCE[window.fidelity],
    )


def figures(window: UsageWindow, card: CardSpec) -> dict[str, float]:
    """What was measured, by name; what was not is left out."""
    found = {
        "bandwidth": share(window, card),
        "bandwidth_p95": window.bandwidth_p95,
        "sm": window.sm,
        "tensor": window.tensor,
        "gpu": window.gpu,
        "memory_peak_share": None
        if window.memory_peak is None or not card.memory_bytes
        else window.memory_peak / card.memory_bytes,
        "link": window.link,
        "network": window.network,
        "coverage": window.coverage,
        "scaling": window.scaling,
    }
    return {name: value for name, value in found.items() if value is not None}


def _sentence(
    window: UsageWindow, card: CardSpec, row: Row, flagged: bool | None, downgrade: str
) -> Reason:
    value = share(window, card)
    if value is None or row.number == 1:
        return Reason("row", N_("Row %(row)s of the decision table."), {"row": row.number})
    params: dict[str, object] = {"bandwidth": round(100 * value), "row": row.number}
    if flagged is not True:
        return Reason(
            "row_not_low",
            N_("Bandwidth %(bandwidth)s %%: row %(row)s of the decision table."),
            params,
        )
    why = _exemption(window, card, row)
    if downgrade == "no":
        text, extra = why
        return Reason("exempt_" + row.cause, text, {**params, **extra})
    return Reason(
        "candidate",
        N_("Bandwidth %(bandwidth)s %% is under 30 %%: row %(row)s, subject to the what-if."),
        params,
    )


def _exemption(window: UsageWindow, card: CardSpec, row: Row) -> tuple[str, dict[str, object]]:
    if row.number == 6 and window.tensor is not None:
        return (
            N_(
                "Bandwidth %(bandwidth)s %% is under 30 %%, but tensor cores are busy "
                "%(tensor)s %%: bound by compute, no downgrade."
            ),
            {"tensor": round(100 * window.tensor)},
        )
    if row.number == 8 and window.memory_peak is not None:
        return (
            N_(
                "Bandwidth %(bandwidth)s %% is under 30 %%, but the memory peak is %(memory)s %% "
                "of the card: bound by capacity, no downgrade."
            ),
            {"memory": round(100 * window.memory_peak / card.memory_bytes)},
        )
    return N_("Bandwidth %(bandwidth)s %% is under 30 %%, row %(row)s exempts: no downgrade."), {}


@dataclass(frozen=True, slots=True)
class Attribution:
    """One card against several, on the same model and data."""

    efficiency: float
    layer: str
    row: int | None
    reason: Reason


def compare(
    single: UsageWindow,
    single_rate: float,
    many: UsageWindow,
    many_rate: float,
    settings: Thresholds | None = None,
) -> Attribution:
    """Where the speed of more cards goes: E = rate of n / (n x rate of one), then the curves.

    Raises ValueError for rates that are not above 0 or a second window of one card."""
    s = settings or Thresholds()
    if single_rate <= 0 or many_rate <= 0 or many.cards < 2:
        raise ValueError("two rates above 0 and a window of several cards are needed")
    efficiency = many_rate / (many.cards * single_rate)
    params = {"efficiency": round(100 * efficiency), "cards": many.cards}
    one, several = _curve(single), _curve(many)
    if efficiency >= s.good_scaling:
        text = N_("%(cards)s cards reach %(efficiency)s %% of their sum: nothing is lost.")
        return Attribution(efficiency, "none", None, Reason("scales", text, params))
    if one is not None and one < s.low_sm and not over(many.network, s.busy_link):
        text = N_("One card alone is hardly used: look at storage and data preparation.")
        return Attribution(efficiency, "storage", 3, Reason("starved", text, params))
    drops = one is not None and several is not None and one - several >= 0.15
    if drops or (one is None and several is None):
        across = many.nodes > 1 and (over(many.network, s.busy_link) or many.link is None)
        layer = "network" if across else "interconnect"
        text = N_("%(cards)s cards reach %(efficiency)s %% of their sum and wait for the links.")
        return Attribution(efficiency, layer, 4, Reason("link_" + layer, text, params))
    text = N_("Cards stay busy but the sum does not grow: too small a batch, or a slow card.")
    return Attribution(efficiency, "compute", 5, Reason("duplicated", text, params))


def _curve(window: UsageWindow) -> float | None:
    return window.sm if window.sm is not None else window.gpu
