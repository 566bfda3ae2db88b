"""Errors of the domain. Doors turn them into pages and JSON; nothing else needs to catch them."""

from __future__ import annotations

from governance.kernel.reasons import N_, Reason


class DomainError(Exception):
    """Something was asked that cannot be done; `reason` says why, `status` is its HTTP code."""

    status = 400

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Invalid(DomainError):
    """The input is wrong; `field` names the place (a form field, a CSV line, an option)."""

    def __init__(self, reason: Reason, field: str | None = None) -> None:
        super().__init__(reason)
        self.field = field


class Denied(DomainError):
    """The actor is known to the team but lacks the right."""

    status = 403


class Missing(DomainError):
    """There is no such thing for this actor (also where it exists but must not be seen)."""

    status = 404

    def __init__(self, reason: Reason | None = None) -> None:
        super().__init__(reason or Reason("missing", N_("There is no such page or thing.")))


class Refused(DomainError):
    """A rule says no in the present state: budget, life cycle, calendar."""

    status = 409


class Busy(DomainError):
    """Someone else holds the row; trying again in `retry_after` seconds may work."""

    status = 409
    retry_after = 3

    def __init__(self, reason: Reason | None = None) -> None:
        super().__init__(
            reason
            or Reason("busy", N_("Someone else is changing this right now. Please try again."))
        )
