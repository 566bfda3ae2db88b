"""What allauth needs to know of WeCom."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.socialaccount.providers.base import ProviderAccount
from allauth.socialaccount.providers.oauth2.provider import OAuth2Provider

from governance.accounts.wecom.views import WeComAdapter


class WeComAccount(ProviderAccount):
    def to_str(self) -> str:
        return str(self.account.extra_data.get("name") or super().to_str())


class WeComProvider(OAuth2Provider):
    """The organisation's address book vouches for the corporate mailbox (`biz_mail`)."""

    id = "wecom"
    name = "WeCom"
    account_class = WeComAccount
    oauth2_adapter_class = WeComAdapter

    def extract_uid(self, data: dict[str, Any]) -> str:
        return str(data["userid"])

    def get_default_scope(self) -> list[str]:
        return []

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"email": data.get("biz_mail") or data.get("email"), "name": data.get("name")}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        address = data.get("biz_mail")
        return [EmailAddress(email=address, verified=True, primary=True)] if address else []


provider_classes = [WeComProvider]
