"""`Authorization: Bearer TOKEN` for the API."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from governance.accounts.domain import tokens
from governance.accounts.models import ServiceToken, User
from governance.plumbing import clock

_USE_NOTED_EVERY = timedelta(minutes=1)


class Principal:
    """A person acting through a service token: the person's rights, narrowed to the scopes."""

    is_authenticated = True
    is_anonymous = False

    def __init__(self, token: ServiceToken) -> None:
        self.token, self.user = token, token.owner
        self.pk = self.user.pk

    @property
    def actor_key(self) -> str:
        return f"token:{self.token.pk}"

    @property
    def display(self) -> str:
        return f"{self.user} ({self.token.name})"

    @property
    def is_active(self) -> bool:
        return self.user.is_active

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return self.user.abilities(team_id) & frozenset(self.token.scopes)

    @property
    def team_abilities(self) -> dict[int | None, frozenset[str]]:
        scopes = frozenset(self.token.scopes)
        return {team: found & scopes for team, found in self.user.team_abilities.items()}


class TokenAuthentication(BaseAuthentication):
    """Finds the service token; expired, revoked or an inactive owner's ones are refused."""

    keyword = b"bearer"

    def authenticate(self, request: Request) -> tuple[Principal, ServiceToken] | None:
        parts = get_authorization_header(request).split()
        if len(parts) != 2 or parts[0].lower() != self.keyword:
            return None
        secret = parts[1].decode("ascii", "replace")
        now = clock.now()
        token = (
            ServiceToken.objects.select_related("owner")
            .filter(digest=tokens.digest(secret, settings.SECRET_KEY), revoked_at=None)
            .filter(expires_at__gt=now, owner__is_active=True)
            .first()
        )
        if token is None:
            raise AuthenticationFailed(_("This token is not valid (any more)."))
        if token.last_used_at is None or now - token.last_used_at > _USE_NOTED_EVERY:
            ServiceToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return Principal(token), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class _Scheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def person_of(actor: object) -> User:
    """The person behind a request's user, also when a token acts for them."""
    return actor.user if isinstance(actor, Principal) else actor  # type: ignore[return-value]
