"""Sign-in by others: a real OpenID provider in a process of its own, and local stand-ins of the
three platforms' documented answers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.dingtalk.views import DingTalkOAuth2Adapter
from allauth.socialaccount.providers.feishu.client import FeishuOAuth2Client
from allauth.socialaccount.providers.feishu.views import FeishuOAuth2Adapter
from django.test import Client

from governance.accounts.models import Membership, User
from governance.accounts.wecom.views import WeComAdapter
from governance.plumbing.models import AuditEvent
from tests import make

PORT = 8231


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """oidc-provider-mock as its own process on loopback."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(PORT)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{PORT}"
    try:
        for _ in range(200):
            try:
                httpx.get(f"{address}/.well-known/openid-configuration", trust_env=False)
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def configured(settings: Any, address: str) -> None:
    app = {
        "provider_id": "oidc",
        "name": "Our identity provider",
        "client_id": "ledger",
        "secret": "of the test",
        "settings": {"server_url": address},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}
    }
    settings.OIDC_TEAMS_CLAIM = "groups"


def sign_in(address: str, sub: str, **claims: Any) -> Client:
    """Through the provider's own pages, as a browser would."""
    httpx.put(
        f"{address}/users/{sub}",
        json={"userinfo": claims, "claims": claims, **claims},
        trust_env=False,
    ).raise_for_status()
    client = Client()
    start = client.post("/accounts/oidc/oidc/login/")
    assert start.status_code == 302
    answer = httpx.post(start["Location"], data={"sub": sub}, trust_env=False)
    assert answer.status_code in {302, 303}, answer.text[:300]
    back = urlsplit(answer.headers["Location"])
    client.get(f"{back.path}?{back.query}")
    return client


@pytest.mark.timeout(120)
class TestOpenId:
    def test_opens_an_account_with_its_teams(
        self, house: make.House, settings: Any, provider: str
    ) -> None:
        configured(settings, provider)
        claims = {
            "email": "nora@example.test",
            "email_verified": True,
            "name": "Nora",
            "groups": [house.team.slug, "unknown"],
        }
        client = sign_in(provider, "nora", **claims)
        assert client.get("/requests/").status_code == 200
        nora = User.objects.get(email="nora@example.test")
        assert nora.name == "Nora"
        assert [m.team for m in nora.memberships.all()] == [house.team]
        assert AuditEvent.objects.filter(act="people.add", thing_id=str(nora.pk)).count() == 1
        sign_in(provider, "nora", **{**claims, "groups": []})
        assert not Membership.objects.filter(user=nora).exists()
        assert User.objects.filter(email="nora@example.test").count() == 1

    def test_meets_the_account_that_is_there(
        self, house: make.House, settings: Any, provider: str
    ) -> None:
        configured(settings, provider)
        client = sign_in(
            provider, "alice", email=house.member.email, email_verified=True, name="Someone"
        )
        assert client.get("/requests/").status_code == 200
        house.member.refresh_from_db()
        assert house.member.name == "Alice"
        assert house.member.memberships.count() == 1

    def test_a_mail_address_nobody_verified_opens_nothing(
        self, house: make.House, settings: Any, provider: str
    ) -> None:
        configured(settings, provider)
        client = sign_in(
            provider, "mallory", email=house.admin.email, email_verified=False, name="Mallory"
        )
        assert client.get("/requests/").status_code == 302
        assert not SocialAccount.objects.exists()

    def test_a_closed_account_stays_closed(
        self, house: make.House, settings: Any, provider: str
    ) -> None:
        configured(settings, provider)
        User.objects.filter(pk=house.member.pk).update(is_active=False)
        client = sign_in(provider, "alice", email=house.member.email, email_verified=True)
        assert client.get("/requests/").status_code == 302


class Platform(BaseHTTPRequestHandler):
    """Answers of DingTalk, Feishu and WeCom as documented, by path."""

    answers: dict[str, Any] = {
        "/dingtalk/token": {"accessToken": "t", "refreshToken": "r", "expireIn": 7200},
        "/dingtalk/me": {"openId": "ding-1", "nick": "丁一", "unionId": "u"},
        "/feishu/app": {"code": 0, "app_access_token": "a", "expire": 7200},
        "/feishu/token": {
            "code": 0,
            "data": {"access_token": "t", "refresh_token": "r", "expires_in": 7200},
        },
        "/feishu/me": {
            "code": 0,
            "data": {"open_id": "fei-1", "user_id": "f1", "name": "飞一", "union_id": "u"},
        },
        "/wecom/token": {"errcode": 0, "access_token": "t", "expires_in": 7200},
        "/wecom/id": {"errcode": 0, "userid": "zhang3"},
        "/wecom/me": {
            "errcode": 0,
            "userid": "zhang3",
            "name": "张三",
            "biz_mail": "zhang3@example.test",
        },
    }

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        body = json.dumps(self.answers[urlsplit(self.path).path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Platform)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(DingTalkOAuth2Adapter, "access_token_url", f"{base}/dingtalk/token")
    monkeypatch.setattr(DingTalkOAuth2Adapter, "profile_url", f"{base}/dingtalk/me")
    monkeypatch.setattr(FeishuOAuth2Client, "app_access_token_url", f"{base}/feishu/app")
    monkeypatch.setattr(FeishuOAuth2Adapter, "access_token_url", f"{base}/feishu/token")
    monkeypatch.setattr(FeishuOAuth2Adapter, "user_info_url", f"{base}/feishu/me")
    monkeypatch.setattr(WeComAdapter, "access_token_url", f"{base}/wecom/token")
    monkeypatch.setattr(WeComAdapter, "user_id_url", f"{base}/wecom/id")
    monkeypatch.setattr(WeComAdapter, "profile_url", f"{base}/wecom/me")
    settings.SOCIALACCOUNT_PROVIDERS = {
        name: {"APPS": [{"client_id": "id", "secret": "s", "settings": {"agent_id": "1000002"}}]}
        for name in ("dingtalk", "feishu", "wecom")
    }
    yield base
    server.shutdown()
    server.server_close()


def begin(client: Client, name: str, **query: str) -> tuple[str, dict[str, list[str]]]:
    start = client.post(
        f"/accounts/{name}/login/?" + "&".join(f"{k}={v}" for k, v in query.items())
    )
    assert start.status_code == 302
    parts = urlsplit(start["Location"])
    return parts.netloc, parse_qs(parts.query)


class TestPlatforms:
    def test_wecom_opens_an_account_by_the_corporate_mailbox(
        self, house: make.House, platform: str
    ) -> None:
        client = Client()
        host, query = begin(client, "wecom")
        assert host == "login.work.weixin.qq.com"
        assert (query["appid"], query["agentid"]) == (["id"], ["1000002"])
        client.get("/accounts/wecom/login/callback/", {"code": "c", "state": query["state"][0]})
        assert client.get("/requests/").status_code == 200
        assert User.objects.get(email="zhang3@example.test").name == "张三"

    def test_wecom_refusal_signs_nobody_in(
        self, house: make.House, platform: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong = {**Platform.answers, "/wecom/id": {"errcode": 40029, "errmsg": "invalid code"}}
        monkeypatch.setattr(Platform, "answers", wrong)
        client = Client()
        _, query = begin(client, "wecom")
        client.get("/accounts/wecom/login/callback/", {"code": "c", "state": query["state"][0]})
        assert client.get("/requests/").status_code == 302

    @pytest.mark.parametrize(
        ("name", "uid", "host"),
        [
            ("dingtalk", "ding-1", "login.dingtalk.com"),
            ("feishu", "fei-1", "open.feishu.cn"),
        ],
    )
    def test_without_a_mailbox_it_is_connected_first(
        self, house: make.House, platform: str, name: str, uid: str, host: str
    ) -> None:
        stranger = Client()
        found, query = begin(stranger, name)
        assert found == host
        callback = f"/accounts/{name}/login/callback/"
        stranger.get(callback, {"code": "c", "authCode": "c", "state": query["state"][0]})
        assert stranger.get("/requests/").status_code == 302
        person = Client()
        person.force_login(house.member)
        _, query = begin(person, name, process="connect")
        person.get(callback, {"code": "c", "authCode": "c", "state": query["state"][0]})
        assert SocialAccount.objects.get(uid=uid).user == house.member
        again = Client()
        _, query = begin(again, name)
        again.get(callback, {"code": "c", "authCode": "c", "state": query["state"][0]})
        assert again.get("/requests/").status_code == 200
