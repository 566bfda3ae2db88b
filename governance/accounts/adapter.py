"""allauth's hooks: nobody signs up by themselves; people are made by an administrator, or by the
organisation's own identity provider, which also says which teams they are in."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest

from governance.accounts.services.single_sign_on import greet, map_teams
from governance.plumbing import clock


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class SocialAdapter(DefaultSocialAccountAdapter):
    """The identity provider opens accounts; one without a mail address can only be connected to
    an account that is there."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return any(address.verified for address in sociallogin.email_addresses)

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Any:
        user = super().populate_user(request, sociallogin, data)
        full = " ".join(filter(None, (data.get("first_name"), data.get("last_name"))))
        user.name = (data.get("name") or full or user.email)[:120]
        user.email = (user.email or "").lower()
        return user

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        greet(user=user, provider=sociallogin.account.provider)
        self._teams(sociallogin, user)
        return user

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        if sociallogin.is_existing:
            self._teams(sociallogin, sociallogin.user)

    def _teams(self, sociallogin: Any, user: Any) -> None:
        claim = settings.OIDC_TEAMS_CLAIM
        if not claim or sociallogin.account.provider != "oidc" or not user.is_active:
            return
        data = sociallogin.account.extra_data
        found = data.get("userinfo", data).get(claim, data.get("id_token", {}).get(claim))
        if isinstance(found, list):
            map_teams(user=user, slugs=[str(slug) for slug in found], now=clock.now())
