"""Who hears of silent nodes, lost cards and full spools: the operators, and the teams whose
projects hold the cards; once when it begins and once when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.accounts import queries as accounts
from governance.kernel.reasons import N_
from governance.notices.services import tell
from governance.plumbing import clock
from governance.plumbing.outbox import handler
from governance.telemetry import queries

TEXTS = {
    ("silent", "opened"): N_("%(node)s no longer reports. Missing time is unknown, not idle."),
    ("silent", "closed"): N_("%(node)s reports again."),
    ("card_lost", "opened"): N_("%(card)s is lost."),
    ("card_lost", "closed"): N_("%(card)s is back."),
    ("spool_full", "opened"): N_("The spool of %(node)s is full and loses rows."),
    ("spool_full", "closed"): N_("The spool of %(node)s has room again."),
}


@handler("telemetry.silent")
@handler("telemetry.card_lost")
@handler("telemetry.spool_full")
def hear(payload: Mapping[str, Any]) -> None:
    """Tell the operators, then the present members of the projects' teams."""
    now = clock.now()
    day = accounts.local_day(now)
    card = queries.card_label(payload["card"])
    told: dict[str, Any] = {
        "kind": "nodes",
        "text": TEXTS[payload["kind"], payload["what"]],
        "params": {"node": payload["node_name"], "card": card},
        "key": f"telemetry-alert:{payload['alert']}:{payload['what']}",
        "now": now,
    }
    operators = accounts.holders("nodes.manage", day).values_list("pk", flat=True)
    tell(url=f"/nodes/{payload['node']}/", people=list(operators), **told)
    for project_id in payload["projects"]:
        team = accounts.project(project_id).team
        tell(
            url=f"/cards/?node={payload['node']}",
            people=[one.user_id for one in accounts.members_of(team, day)],
            project_id=project_id,
            team_id=team.pk,
            **told,
        )
