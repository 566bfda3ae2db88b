"""What the identity provider says of a person: who opened the account, which teams."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from governance.accounts import queries
from governance.accounts.models import Membership, Team, User, active_on
from governance.kernel.policy import SYSTEM
from governance.plumbing import audit
from governance.plumbing.locks import lock_one


def greet(*, user: User, provider: str) -> None:
    """The trail of an account that the identity provider opened."""
    with transaction.atomic():
        audit.record(
            actor=SYSTEM,
            act="people.add",
            thing=user,
            after={"email": user.email, "name": user.name, "provider": provider},
        )


def map_teams(*, user: User, slugs: Sequence[str], now: datetime) -> None:
    """Memberships as the claim says: missing ones begin today, those that an earlier claim made
    and this one lacks end. What people arranged here stays. Unknown names are left out."""
    today = queries.local_day(now)
    with transaction.atomic():
        person = lock_one(User.objects.all(), user.pk)
        teams = list(Team.objects.filter(slug__in=slugs))
        held = Membership.objects.filter(active_on(today), user=person)
        known = set(held.values_list("team_id", flat=True))
        joined = [team for team in teams if team.pk not in known]
        for team in joined:
            Membership.objects.create(
                user=person, team=team, role="member", starts_on=today, source="oidc"
            )
        gone = list(held.filter(source="oidc").exclude(team__in=teams).select_related("team"))
        for row in gone:
            if row.starts_on >= today:
                row.delete()
            else:
                row.ends_on = today - timedelta(days=1)
                row.save(update_fields=["ends_on"])
        if joined or gone:
            audit.record(
                actor=SYSTEM,
                act="teams.map",
                thing=person,
                after={
                    "joined": [team.slug for team in joined],
                    "left": [row.team.slug for row in gone],
                },
            )
