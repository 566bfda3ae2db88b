"""Would a cheaper card do the observed work?

t_new / t_old = max(1, tensor x peak_old / (0.8 peak_new), dram x BW_old / (0.8 BW_new),
link_old / link_new); memory must hold the observed peak and a tenth."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from governance.catalog.domain import CardSpec
from governance.kernel.reasons import N_, Reason

from .diagnosis import share
from .windows import Thresholds, UsageWindow

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answer for one candidate. `saving` is of the old cost for the same work, 0..1."""

    passes: bool
    card: str
    time_factor: float | None
    binds: str
    cost_ratio: float | None
    saving: float | None
    reason: Reason


def what_if(
    window: UsageWindow,
    old: CardSpec,
    new: CardSpec,
    *,
    old_price: Decimal,
    new_price: Decimal,
    link_bytes_per_s: float | None = None,
    slack: float | None = None,
    settings: Thresholds | None = None,
) -> WhatIf:
    """Judge `new` in place of `old`. Prices are for the same unit of time and currency;
    `link_bytes_per_s` is the traffic seen between cards (None: only one card, or not measured);
    `slack` is how many times longer the work may take (None: no deadline)."""
    s = settings or Thresholds()
    if window.memory_peak is None:
        return _no(new, Reason("peak_unknown", N_("The memory peak was not measured.")))
    need = window.memory_peak * s.memory_margin
    if need > new.memory_bytes:
        params = {"need": round(need / GIB, 1), "have": round(new.memory_bytes / GIB, 1)}
        text = N_("Needs %(need)s GiB with a tenth in hand, the card has %(have)s GiB.")
        return _no(new, Reason("memory", text, params))
    factors = _factors(window, old, new, link_bytes_per_s, s)
    if factors is None:
        text = N_("Bandwidth or tensor rate of a card is not known.")
        return _no(new, Reason("card_unknown", text))
    binds = max(factors, key=lambda name: factors[name])
    factor = max(1.0, factors[binds])
    ratio = float(new_price / old_price) * factor
    if slack is not None and factor > slack:
        text = N_("Would take %(factor)s times as long, %(slack)s times are allowed.")
        params = {"factor": round(factor, 2), "slack": round(slack, 2)}
        return _judged(new, False, factor, binds, ratio, Reason("late", text, params))
    percent = {"ratio": round(100 * ratio), "factor": round(factor, 2), "layer": binds}
    if ratio >= s.worthwhile:
        text = N_("The same work would cost %(ratio)s %% of today: not worth a change.")
        return _judged(new, False, factor, binds, ratio, Reason("no_saving", text, percent))
    text = N_("The same work in %(factor)s times the time for %(ratio)s %% of the cost.")
    return _judged(new, True, factor, binds, ratio, Reason("passes", text, percent))


def _factors(
    window: UsageWindow,
    old: CardSpec,
    new: CardSpec,
    link: float | None,
    s: Thresholds,
) -> dict[str, float] | None:
    peaks = old.matrix_flops, new.matrix_flops
    rates = old.bandwidth_bytes_per_s, new.bandwidth_bytes_per_s
    dram = share(window, old)
    if None in peaks or None in rates or dram is None:
        return None
    assert peaks[0]
    assert peaks[1]
    assert rates[0]
    assert rates[1]
    compute = window.tensor if window.tensor is not None else window.sm
    found = {
        "compute": (compute or 0.0) * peaks[0] / (s.ceiling * peaks[1]),
        "memory": dram * rates[0] / (s.ceiling * rates[1]),
    }
    if link:
        wire = new.link_bytes_per_s or new.pcie_bytes_per_s
        if not wire:
            return None
        found["interconnect"] = link / wire
    return found


def _no(new: CardSpec, reason: Reason) -> WhatIf:
    return WhatIf(False, new.slug, None, "", None, None, reason)


def _judged(
    new: CardSpec, passes: bool, factor: float, binds: str, ratio: float, reason: Reason
) -> WhatIf:
    return WhatIf(passes, new.slug, factor, binds, ratio, 1.0 - ratio, reason)
