"""What a rental is to be, before it is one: the input of preview and purchase alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.rentals.domain.termination import TerminationRule
from governance.rentals.domain.terms import Plan, Terms

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """A further priced part: its kind, plan and quantity. `stopped_price` None: goes on as it is
    while the rental is stopped (a disk does)."""

    kind: str
    plan: Plan
    quantity: int = 1
    stopped_price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class RentalSpec:
    """What is rented, on which terms. `quantity` counts priced units, `cards` the cards in them."""

    project_id: int
    vendor: str
    card_model: str
    cards: int
    currency: str
    timezone: str
    plan: Plan
    starts_at: datetime
    ends_at: datetime | None = None
    quantity: int = 1
    offer: str = ""
    region: str = ""
    request_id: int | None = None
    hold_key: str = ""
    origin: str = "bought"
    external_id: str = ""
    paid_before: Decimal = ZERO
    charged_until: datetime | None = None
    stopped_price: Decimal = ZERO
    components: tuple[ComponentSpec, ...] = ()
    card_ids: tuple[int, ...] = ()
    auto_renew: bool = False
    trial: bool = False
    spot: bool = False
    refund: TerminationRule | None = None

    @property
    def plan_kind(self) -> str:
        """The plan as people call it: spot is metered like hourly."""
        return "spot" if self.spot else self.plan.kind

    def terms(self) -> list[tuple[str, Terms]]:
        """The terms by component code, as they will be charged."""
        main = Terms(
            currency=self.currency,
            zone=ZoneInfo(self.timezone),
            plan=daily_lines(self.plan),
            start=self.starts_at,
            end=self.ends_at,
            quantity=self.quantity,
        )
        found = [("cards", main)]
        for spec in self.components:
            same = sum(code.split("-")[0] == spec.kind for code, _ in found)
            code = f"{spec.kind}-{same + 1}" if same else spec.kind
            found.append((code, replace(main, plan=daily_lines(spec.plan), quantity=spec.quantity)))
        return found


def daily_lines(plan: Plan) -> Plan:
    """A rental's own charges are daily unless its vendor says otherwise."""
    return replace(plan, bill="day") if plan.bill == "segment" else plan
