"""Roles and the abilities that each of them grants. The one table behind every policy rule.

Team roles hold in their team only; roles across hold everywhere. An ability is named
ROOM.ACT; rooms' policies ask for it.
"""

from __future__ import annotations

from governance.kernel.reasons import N_

MEMBER = frozenset({"requests.create", "requests.see", "rentals.see", "cards.see", "budgets.see"})
LEAD = MEMBER | {
    "requests.create_for_team",
    "recommendations.answer",
    "projects.manage",
    "members.manage",
}
TEAM_ROLES: dict[str, frozenset[str]] = {"member": MEMBER, "lead": LEAD}

SEE_ALL = frozenset({"see.all"}) | MEMBER - {"requests.create"}
APPROVER = SEE_ALL | {"requests.approve", "recommendations.decide", "delegations.manage"}
FINANCE = SEE_ALL | {
    "requests.approve_finance",
    "budgets.manage",
    "budgets.overdraft",
    "ledger.see",
    "ledger.post",
    "months.close",
    "invoices.manage",
    "fx.manage",
    "rentals.manage",
    "rentals.purchase",
    "exports.run",
    "audit.see",
}
OPERATOR = SEE_ALL | {
    "nodes.manage",
    "calendar.manage",
    "telemetry.import",
    "catalog.manage",
    "rentals.manage",
    "rentals.purchase",
}
AUDITOR = SEE_ALL | {"audit.see", "ledger.see", "exports.run"}
ADMIN = (
    SEE_ALL
    | {"people.manage", "policies.manage", "tokens.manage", "projects.manage", "audit.see"}
    | {"members.manage", "organisation.manage"}
)
GLOBAL_ROLES: dict[str, frozenset[str]] = {
    "approver": APPROVER,
    "finance": FINANCE,
    "operator": OPERATOR,
    "auditor": AUDITOR,
    "admin": ADMIN,
}
ROLE_NAMES = {
    "member": N_("Member"),
    "lead": N_("Team lead"),
    "approver": N_("Approver"),
    "finance": N_("Finance"),
    "operator": N_("Operator"),
    "auditor": N_("Auditor"),
    "admin": N_("Administrator"),
}


def every_ability() -> frozenset[str]:
    """All abilities that some role grants."""
    return frozenset().union(*TEAM_ROLES.values(), *GLOBAL_ROLES.values())
