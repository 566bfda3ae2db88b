"""Closing an account ends everything at once and leaves nothing with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from governance.accounts import services
from governance.accounts.models import Grant, ServiceToken
from governance.kernel.errors import Denied, Invalid, Missing, Refused
from governance.plumbing import clock
from governance.plumbing.models import AuditEvent, OutboxEvent
from governance.requests.models import ComputeRequest
from tests import make
from tests.requests import market

NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)


def test_sessions_tokens_and_roles_end(house: make.House, browser_of: Any) -> None:
    now = clock.now()
    client = browser_of(house.operator)
    token = services.create_token(
        actor=house.operator,
        name="ci",
        scopes=["nodes.manage"],
        expires_at=now + timedelta(days=1),
        now=now,
    )
    assert client.get("/requests/").status_code == 200
    services.close_account(actor=house.admin, user_id=house.operator.pk, now=now)
    assert client.get("/requests/").status_code == 302
    api = APIClient(headers={"Authorization": f"Bearer {token.secret}"})
    assert api.get("/api/v1/requests/").status_code == 401
    assert not house.operator.grants.filter(ends_on=None).exists()
    assert OutboxEvent.objects.filter(kind="person.left").count() == 1
    with pytest.raises(Refused):
        services.close_account(actor=house.admin, user_id=house.operator.pk, now=now)


def test_open_requests_go_to_the_heir_or_nothing_happens(house: make.House) -> None:
    at = market.stage(house, NOW)
    row = market.submitted(at)
    with pytest.raises(Refused, match="requests 1"):
        services.close_account(actor=house.admin, user_id=house.member.pk, now=NOW)
    house.member.refresh_from_db()
    assert house.member.is_active
    with pytest.raises(Invalid):
        services.close_account(
            actor=house.admin, user_id=house.member.pk, heir_id=house.member.pk, now=NOW
        )
    moved = services.close_account(
        actor=house.admin, user_id=house.member.pk, heir_id=house.lead.pk, now=NOW
    )
    assert moved["requests"] == 1
    assert ComputeRequest.objects.get(pk=row.pk).requester == house.lead
    assert AuditEvent.objects.filter(act="requests.hand_over").count() == 1


def test_only_an_administrator_closes_and_one_remains(house: make.House) -> None:
    with pytest.raises(Denied):
        services.close_account(actor=house.lead, user_id=house.member.pk, now=NOW)
    with pytest.raises(Refused, match="own account"):
        services.close_account(actor=house.admin, user_id=house.admin.pk, now=NOW)
    grant = Grant.objects.get(user=house.admin)
    with pytest.raises(Refused, match="administrator"):
        services.end_role(actor=house.admin, grant_id=grant.pk, now=NOW)


class TestTokens:
    def make(self, house: make.House, **changes: Any) -> services.NewToken:
        options = {
            "actor": house.member,
            "name": "ci",
            "scopes": ["requests.see"],
            "expires_at": NOW + timedelta(days=30),
            "now": NOW,
            **changes,
        }
        return services.create_token(**options)

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"scopes": []}, "scopes"),
            ({"scopes": ["no.such"]}, "scopes"),
            ({"name": " "}, "name"),
            ({"expires_at": NOW}, "expires_at"),
            ({"expires_at": NOW + timedelta(days=366)}, "expires_at"),
        ],
    )
    def test_bad_input(self, house: make.House, changes: dict[str, Any], field: str) -> None:
        with pytest.raises(Invalid) as refusal:
            self.make(house, **changes)
        assert refusal.value.field == field

    def test_secret_is_not_kept(self, house: make.House) -> None:
        made = self.make(house)
        assert made.secret not in str(ServiceToken.objects.values().get())
        assert made.secret not in str(list(AuditEvent.objects.values()))

    def test_rotation_overlaps_a_day(self, house: make.House) -> None:
        made = self.make(house)
        services.rotate_token(actor=house.member, token_id=made.row.pk, now=NOW)
        made.row.refresh_from_db()
        assert made.row.expires_at == NOW + timedelta(hours=24)

    def test_scopes_narrow_and_never_add(self, house: make.House) -> None:
        now = clock.now()
        made = self.make(
            house,
            scopes=["requests.see", "requests.approve"],
            expires_at=now + timedelta(days=1),
            now=now,
        )
        api = APIClient(headers={"Authorization": f"Bearer {made.secret}"})
        assert api.get("/api/v1/requests/").status_code == 200
        assert api.get("/api/v1/requests/inbox/").status_code == 403

    def test_only_the_owner_or_an_administrator_revokes(self, house: make.House) -> None:
        made = self.make(house)
        with pytest.raises(Missing):
            services.revoke_token(actor=house.lead, token_id=made.row.pk, now=NOW)
        services.revoke_token(actor=house.admin, token_id=made.row.pk, now=NOW)
        with pytest.raises(Missing):
            services.revoke_token(actor=house.member, token_id=made.row.pk, now=NOW)
