"""Metric sources and what a figure of each may prove.

A *source* is how a bandwidth figure was read, its *fidelity* is what such a figure means.
Sources are never averaged together; each stored row and each reported figure carries its own.
"""

from dataclasses import dataclass
from enum import IntEnum

from governance.kernel.reasons import N_


class Fidelity(IntEnum):
    """What a bandwidth share means; the numbers are what the tables store."""

    UNKNOWN = 0
    VENDOR_PCT = 1
    DUTY_BOUND = 2
    DRAM_BW = 3


class Source(IntEnum):
    """How a bandwidth share was read; the numbers are what the tables store, and the rank by
    which two rows that claim one minute with equally many samples are settled."""

    UNKNOWN = 0
    NVML_DUTY_UNCORRECTED = 1
    NVML_DUTY = 2
    AMD_UMC = 3
    ASCEND_HBM = 4
    DCGM_1005 = 5
    NVML_GPM = 6


FIDELITY_OF = {
    Source.UNKNOWN: Fidelity.UNKNOWN,
    Source.NVML_DUTY_UNCORRECTED: Fidelity.DUTY_BOUND,
    Source.NVML_DUTY: Fidelity.DUTY_BOUND,
    Source.AMD_UMC: Fidelity.VENDOR_PCT,
    Source.ASCEND_HBM: Fidelity.VENDOR_PCT,
    Source.DCGM_1005: Fidelity.DRAM_BW,
    Source.NVML_GPM: Fidelity.DRAM_BW,
}


@dataclass(frozen=True)
class Meaning:
    """What a figure of one fidelity says, and what a threshold may conclude from it."""

    label: str
    says: str
    may_flag: bool
    may_clear: bool
    needs_a_person: bool


MEANING = {
    Fidelity.DRAM_BW: Meaning(
        N_("measured bandwidth"),
        N_("Share of theoretical DRAM bandwidth; about 0.8 is what can be reached."),
        may_flag=True,
        may_clear=True,
        needs_a_person=False,
    ),
    Fidelity.DUTY_BOUND: Meaning(
        N_("upper bound"),
        N_("Share of time in which memory was touched: bandwidth is at most this."),
        may_flag=True,
        may_clear=False,
        needs_a_person=True,
    ),
    Fidelity.VENDOR_PCT: Meaning(
        N_("vendor's percentage"),
        N_("A percentage of the vendor; what it is a share of is not published."),
        may_flag=True,
        may_clear=False,
        needs_a_person=True,
    ),
    Fidelity.UNKNOWN: Meaning(
        N_("not known"),
        N_("No bandwidth figure could be read; the reason stands beside it."),
        may_flag=False,
        may_clear=False,
        needs_a_person=False,
    ),
}


def reads_as_fine(fidelity: Fidelity, share: float | None, leave: float) -> bool:
    """May a figure be shown as good? Only a measured one at or above the leave threshold."""
    return share is not None and MEANING[fidelity].may_clear and share >= leave
