"""Who may act on nodes, the calendar and imports. Reading starts from `visible_to`."""

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("nodes.manage")
def manage_nodes(actor: Actor, thing: object) -> Decision:
    """Enrol, change, rotate and revoke nodes."""
    return grants(actor, "nodes.manage")


@rule("calendar.manage")
def manage_calendar(actor: Actor, thing: object) -> Decision:
    """Book cards and end bookings: operators, and those who open and end rentals."""
    decision = grants(actor, "calendar.manage")
    return decision if decision else grants(actor, "rentals.manage")


@rule("telemetry.import")
def import_telemetry(actor: Actor, thing: object) -> Decision:
    """Bring in recorded series, jobs, occupancy and inventories."""
    return grants(actor, "telemetry.import")
