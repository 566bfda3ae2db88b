"""Acts on people, teams, projects and tokens."""

from governance.accounts import policies
from governance.accounts.services.acting import acting
from governance.accounts.services.importing import PeopleReport, import_people
from governance.accounts.services.leaving import (
    close_account,
    end_role,
    end_sessions,
    leave_team,
    reopen_account,
)
from governance.accounts.services.people import (
    add_cost_centre,
    add_person,
    add_project,
    add_team,
    change_profile,
    close_project,
    grant_role,
    join_team,
    name_organisation,
)
from governance.accounts.services.tokens import (
    NewToken,
    create_token,
    revoke_token,
    rotate_token,
)

__all__ = [
    "NewToken",
    "PeopleReport",
    "acting",
    "add_cost_centre",
    "add_person",
    "add_project",
    "add_team",
    "change_profile",
    "close_account",
    "close_project",
    "create_token",
    "end_role",
    "end_sessions",
    "grant_role",
    "import_people",
    "join_team",
    "leave_team",
    "name_organisation",
    "policies",
    "reopen_account",
    "revoke_token",
    "rotate_token",
]
