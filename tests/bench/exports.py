"""FOCUS export: rows a second and memory; a fleet-wide comparison of 1,000 rentals."""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from governance.kernel.periods import Period
from governance.rentals.domain.compare import compare
from governance.reports.domain import focus, focus_rows
from governance.reports.domain.commitment import Month, Prices, cheapest_mix
from tests.reports.focus_sample import HOURLY, MONTHLY, NOVEMBER, SHANGHAI, monthly_charges

RENTALS = 2_000


class _Nowhere:
    def __init__(self) -> None:
        self.written = 0

    def write(self, text: str) -> int:
        self.written += len(text)
        return len(text)


def _rows() -> Iterator[focus.Row]:
    """Half hourly rentals with a charge a day, half monthly ones amortised by day."""
    days = [
        Period(NOVEMBER.start + timedelta(days=i), NOVEMBER.start + timedelta(days=i + 1))
        for i in range(30)
    ]
    for n in range(RENTALS):
        if n % 2:
            contract = replace(MONTHLY, id=f"R-{n}")
            yield from focus_rows.month_rows(contract, monthly_charges(), NOVEMBER, SHANGHAI)
            continue
        charges = [
            focus.Charge(f"{n}:{i}", "charge", day, Decimal("355.20"), NOVEMBER, Fraction(24),
                         "hour", Decimal("14.80"), "day")
            for i, day in enumerate(days)
        ]  # fmt: skip
        yield from focus_rows.month_rows(replace(HOURLY, id=f"R-{n}"), charges, NOVEMBER, SHANGHAI)


def run() -> tuple[Mapping[str, float], Mapping[str, str]]:
    """Rows a second of both versions, the peak of what the export itself holds, and seconds to
    compare 1,000 rentals' plans over 90 days of hourly use."""
    figures: dict[str, float] = {}
    units: dict[str, str] = {}
    for version in ("1.2", "1.4"):
        out = _Nowhere()
        start = time.perf_counter()
        count = focus.write(_rows(), version, out)
        key = f"focus_{version.replace('.', '_')}_rows_per_s"
        figures[key], units[key] = count / (time.perf_counter() - start), "rows/s"
    tracemalloc.start()
    focus.write(_rows(), "1.4", _Nowhere())
    figures["export_peak_mib"] = tracemalloc.get_traced_memory()[1] / 2**20
    units["export_peak_mib"] = "MiB"
    tracemalloc.stop()
    figures["process_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    units["process_peak_mib"] = "MiB"
    start = time.perf_counter()
    _compare()
    figures["comparison_1000_rentals_s"] = time.perf_counter() - start
    units["comparison_1000_rentals_s"] = "s"
    return figures, units


def _compare() -> None:
    prices = {
        "hourly": Decimal("14.80"), "monthly": Decimal("7992"), "annual": Decimal("76723.20"),
    }  # fmt: skip
    demand = [0] * (90 * 24)
    for n in range(1_000):
        compare(prices, Decimal(300 + n % 400), 12, 2)
        for hour in range(n % 24, len(demand), 1 + n % 3):
            demand[hour] += 1
    months = [Month(demand[i : i + 720]) for i in range(0, len(demand), 720)]
    cheapest_mix(months, Prices(prices["hourly"], prices["monthly"], prices["annual"]))
