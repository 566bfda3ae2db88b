"""Acts on people, teams, projects and tokens."""

from governance.accounts import policies
from governance.accounts.services.acting import acting
from governance.accounts.services.people import (
    add_cost_centre,
    add_person,
    add_project,
    add_team,
    close_project,
    grant_role,
    join_team,
    name_organisation,
)

__all__ = [
    "acting",
    "add_cost_centre",
    "add_person",
    "add_project",
    "add_team",
    "close_project",
    "grant_role",
    "join_team",
    "name_organisation",
    "policies",
]
