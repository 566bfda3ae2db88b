"""Acts on budgets, holds, exchange rates and the ledger."""

from governance.budgets import policies
from governance.budgets.services.holds import (
    Spending,
    consume_hold,
    lock_budgets,
    place_hold,
    record_spending,
    release_hold,
)
from governance.budgets.services.importing import import_budgets
from governance.budgets.services.ledger import (
    AccountRef,
    Draft,
    post_many,
    post_transaction,
    reverse_transaction,
)
from governance.budgets.services.limits import change_limit, create_budget, grant_overdraft
from governance.budgets.services.rates import set_rate

__all__ = [
    "AccountRef",
    "Draft",
    "Spending",
    "change_limit",
    "consume_hold",
    "create_budget",
    "grant_overdraft",
    "import_budgets",
    "lock_budgets",
    "place_hold",
    "policies",
    "post_many",
    "post_transaction",
    "record_spending",
    "release_hold",
    "reverse_transaction",
    "set_rate",
]
