"""Names in addresses (slugs) to ids, of what the viewer may see."""

from __future__ import annotations

from collections.abc import Mapping

from governance.accounts import queries as accounts
from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason


def unknown(field: str, text: str) -> Invalid:
    """A name that is not there, or not for this viewer."""
    wrong = N_("%(text)s is not known here.")
    return Invalid(Reason("unknown", wrong, {"text": text}), field)


def ids(viewer: Actor, filters: Mapping[str, str]) -> dict[str, object]:
    """Filters with teams and projects as ids, numbers as numbers; the rest as it is."""
    found: dict[str, object] = {}
    for name, text in filters.items():
        if name == "team":
            pk = accounts.teams_visible_to(viewer).filter(slug=text).values_list("pk").first()
        elif name == "project":
            pk = accounts.projects_visible_to(viewer).filter(slug=text).values_list("pk").first()
        elif name in ("card", "rental", "request", "node"):
            pk = (int(text),) if text.isdigit() else None
        else:
            found[name] = text
            continue
        if pk is None:
            raise unknown(name, text)
        found[name] = pk[0]
    return found
