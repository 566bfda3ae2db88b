"""Acts on rentals: open, change, end, charge, import, and close a month."""

from governance.rentals import policies
from governance.rentals.domain.spec import ComponentSpec, RentalSpec
from governance.rentals.services.changing import (
    change_price,
    change_quantity,
    end_rental,
    extend_rental,
    set_auto_renew,
    start_rental,
    stop_rental,
)
from governance.rentals.services.charging import ChargeRun, advance_states, charge_rentals
from governance.rentals.services.closing import close_month
from governance.rentals.services.components import (
    add_component,
    charge_once,
    charge_percentile,
    charge_traffic,
)
from governance.rentals.services.following import follow_request
from governance.rentals.services.importing import import_rentals
from governance.rentals.services.opening import assign_cards, create_rental, open_rental
from governance.rentals.services.reminding import remind, renew_due

__all__ = [
    "ChargeRun",
    "ComponentSpec",
    "RentalSpec",
    "add_component",
    "advance_states",
    "assign_cards",
    "change_price",
    "change_quantity",
    "charge_once",
    "charge_percentile",
    "charge_rentals",
    "charge_traffic",
    "close_month",
    "create_rental",
    "end_rental",
    "extend_rental",
    "follow_request",
    "import_rentals",
    "open_rental",
    "policies",
    "remind",
    "renew_due",
    "set_auto_renew",
    "start_rental",
    "stop_rental",
]
