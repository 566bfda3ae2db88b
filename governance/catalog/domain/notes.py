"""What the packaged figures' notes and units say, as message ids to be translated."""

from __future__ import annotations

from governance.kernel.reasons import N_

NOTES = (
    N_("wrong by the formula"),
    N_("equals the A30 to the digit, or one-way copy traffic; never a denominator"),
    N_("provisional: confirm the variant with npu-smi"),
    N_("reached by a matrix multiply, not a peak"),
    N_("bus bandwidth of a collective over 8 cards of one node"),
    N_("85.4 % of the data sheet"),
    N_("pin rate rounded up"),
    N_("ruled out by the one-way rate measured on a 910B"),
    N_("twice the true figure: a fault of that list"),
    N_("one die only"),
    N_("the V100S figure"),
)
WORDED_UNITS = (N_("GB/s per direction"),)
