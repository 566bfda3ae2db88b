"""The two steps of WeCom's web sign-in: QR page, then code for user id and profile.

https://developer.work.weixin.qq.com/document/path/98151 (sign-in page), 98176 (user id by code),
90196 (profile).
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.oauth2.views import (
    OAuth2Adapter,
    OAuth2CallbackView,
    OAuth2LoginView,
)
from django.http import HttpRequest
from django.utils.http import urlencode


def _get(url: str, **params: Any) -> dict[str, Any]:
    with get_adapter().get_requests_session() as session:
        answer = session.get(url, params=params, timeout=10)
        answer.raise_for_status()
        data: dict[str, Any] = answer.json()
    if data.get("errcode", 0) != 0:
        raise OAuth2Error(f"WeCom: {data.get('errcode')} {data.get('errmsg')}")
    return data


class WeComClient(OAuth2Client):
    """Names its parameters otherwise: corp id, agent id, corp secret."""

    agent_id = ""

    def get_redirect_url(
        self, authorization_url: str, scope: Any, extra_params: dict[str, Any]
    ) -> str:
        params = {
            "login_type": "CorpApp",
            "appid": self.consumer_key,
            "agentid": self.agent_id,
            "redirect_uri": self.callback_url,
            **({"state": self.state} if self.state else {}),
            **extra_params,
        }
        return f"{authorization_url}?{urlencode(params)}"

    def get_access_token(
        self, code: str, pkce_code_verifier: str | None = None, extra_data: Any = None
    ) -> dict[str, Any]:
        data = _get(
            self.access_token_url, corpid=self.consumer_key, corpsecret=self.consumer_secret
        )
        if "access_token" not in data:
            raise OAuth2Error("WeCom: no access token")
        return {"access_token": data["access_token"], "code": code}


class WeComAdapter(OAuth2Adapter):
    provider_id = "wecom"
    authorize_url = "https://login.work.weixin.qq.com/wwlogin/sso/login"
    access_token_url = "https://qyapi.weixin.qq.com/cgi-bin/gettoken"  # noqa: S105
    user_id_url = "https://qyapi.weixin.qq.com/cgi-bin/auth/getuserinfo"
    profile_url = "https://qyapi.weixin.qq.com/cgi-bin/user/get"
    client_class = WeComClient

    def get_client(self, request: HttpRequest, app: Any) -> WeComClient:
        client: WeComClient = super().get_client(request, app)
        client.agent_id = str((app.settings or {}).get("agent_id", ""))
        return client

    def complete_login(
        self, request: HttpRequest, app: Any, token: Any, response: dict[str, Any]
    ) -> Any:
        who = _get(self.user_id_url, access_token=token.token, code=response["code"])
        if not who.get("userid"):
            raise OAuth2Error("WeCom: the person does not belong to the organisation")
        profile = _get(self.profile_url, access_token=token.token, userid=who["userid"])
        return self.get_provider().sociallogin_from_response(request, profile)


oauth2_login = OAuth2LoginView.adapter_view(WeComAdapter)
oauth2_callback = OAuth2CallbackView.adapter_view(WeComAdapter)
