"""What must be known before compute is asked for, per business type.

The items are those that selection guides name: business type, model size and parallelism,
interconnect and network, billing of public bandwidth, line and region, filing lead time, and a
load test before going live. What the form or the chosen package already says fills an item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from governance.kernel.reasons import N_

BUSINESS_TYPES = {
    "fine_tuning": N_("Fine-tuning"),
    "pretraining": N_("Pretraining"),
    "evaluation": N_("Evaluation and batch inference"),
    "serving": N_("Serving"),
    "mixed": N_("Training and serving"),
}
METHODS_OF = {
    "fine_tuning": ("full", "lora", "qlora"),
    "pretraining": ("pretrain",),
    "evaluation": ("batch_inference",),
    "serving": ("serving",),
    "mixed": ("full", "lora", "qlora", "serving"),
}
SERVES = ("serving", "mixed")


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the checklist. `before`: submit (blocks submission when mandatory and empty) or
    live (closed later, by a trial with measurements)."""

    key: str
    label: str
    mandatory: bool
    before: str = "submit"
    hint: str = ""
    field: str = ""
    """The form's field that fills it; empty where the answer is typed into the checklist."""


_MODEL = Item("model", N_("Model and method"), True, field="preset")
_DATA = Item("data", N_("Data size"), True, field="samples")
_DEADLINE = Item("deadline", N_("Needed by"), True, field="needed_by")
_BUDGET = Item("budget", N_("Budget"), False)
_PARALLEL = Item("parallel", N_("Parallel layout"), True)
_INTERCONNECT = Item("interconnect", N_("Interconnect and network"), False)
_PLACE = Item(
    "data_place",
    N_("Data location"),
    False,
    field="data_region",
    hint=N_("Data in another region costs time and traffic; without it transfer is left out."),
)
_EGRESS = Item(
    "egress",
    N_("Billing of public bandwidth"),
    True,
    hint=N_("Exclusive or shared, traffic limit, price of what goes over it."),
)
_LINE = Item("line", N_("Line and region of the users"), True, field="users_region")
_FILING = Item(
    "filing", N_("Filing and its lead time"), True, hint=N_("Filed already, or not needed: why.")
)
_LOAD = Item("load", N_("Concurrency and response size"), True, field="concurrency")
_TRIAL = Item(
    "trial",
    N_("Load test with real requests before going live"),
    True,
    before="live",
    hint=N_("Closed by a trial record with its measurements."),
)
_TRAINING = (_MODEL, _DATA, _DEADLINE, _PARALLEL, _INTERCONNECT, _BUDGET, _PLACE)
_SERVING = (_MODEL, _LOAD, _PARALLEL, _INTERCONNECT, _EGRESS, _LINE, _FILING, _BUDGET, _TRIAL)
ITEMS: dict[str, tuple[Item, ...]] = {
    "fine_tuning": _TRAINING,
    "pretraining": (
        *_TRAINING,
        Item("trial", N_("Short trial run before the full one"), True, before="live"),
    ),
    "evaluation": (_MODEL, _DATA, _DEADLINE, _PARALLEL, _BUDGET, _PLACE),
    "serving": _SERVING,
    "mixed": (*_SERVING[:-1], _DATA, _DEADLINE, _TRIAL),
}


@dataclass(frozen=True, slots=True)
class Line:
    """An item with its answer; `known` is what it was filled with, empty when open."""

    item: Item
    answer: str
    filled: bool

    @property
    def blocks(self) -> bool:
        return self.item.mandatory and self.item.before == "submit" and not self.filled

    @property
    def open(self) -> bool:
        return not self.filled


def lines(
    business_type: str, known: Mapping[str, str], answers: Mapping[str, str]
) -> tuple[Line, ...]:
    """The checklist of a request: what is known from the form, else what the requester wrote."""
    found = []
    for item in ITEMS[business_type]:
        answer = (known.get(item.key) or answers.get(item.key) or "").strip()
        found.append(Line(item, answer, bool(answer)))
    return tuple(found)
