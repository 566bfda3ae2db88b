"""Acts on requests. Each is one transaction: permission, locks in order, state, one audit row."""

from governance.requests.services.calendars import import_calendar
from governance.requests.services.chains import current_policy, set_policy
from governance.requests.services.deciding import approve, ask_back, refuse
from governance.requests.services.delegating import delegate, end_delegation
from governance.requests.services.drafting import (
    ask_of,
    checklist_of,
    choose_package,
    create_draft,
    edit_draft,
    submit,
)
from governance.requests.services.follow_ups import clone, request_change
from governance.requests.services.following import (
    expire,
    mark_active,
    mark_completed,
    mark_extended,
    mark_purchasing,
    record_trial,
    return_to_approver,
    unmark_purchasing,
    withdraw,
    write_message,
)
from governance.requests.services.importing import import_requests
from governance.requests.services.matching import Ask, find_packages, package_key, read_ask
from governance.requests.services.watching import raise_level, remind, watch

__all__ = [
    "Ask",
    "approve",
    "ask_back",
    "ask_of",
    "checklist_of",
    "choose_package",
    "clone",
    "create_draft",
    "current_policy",
    "delegate",
    "edit_draft",
    "end_delegation",
    "expire",
    "find_packages",
    "import_calendar",
    "import_requests",
    "mark_active",
    "mark_completed",
    "mark_extended",
    "mark_purchasing",
    "package_key",
    "raise_level",
    "read_ask",
    "record_trial",
    "refuse",
    "remind",
    "request_change",
    "return_to_approver",
    "set_policy",
    "submit",
    "unmark_purchasing",
    "watch",
    "withdraw",
    "write_message",
]
