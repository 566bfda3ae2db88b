"""Headers, cookies and passwords."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from tests import make

_ASK = """
import json
from django.conf import settings as s
print(json.dumps({n: getattr(s, n) for n in ("SESSION_COOKIE_NAME", "SESSION_COOKIE_SECURE",
    "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE", "CSRF_COOKIE_NAME", "CSRF_COOKIE_SECURE",
    "SECURE_HSTS_SECONDS")}))
"""


def _settings(url: str, tmp_path: Path) -> dict[str, object]:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "governance.config.settings",
        "PUBLIC_URL": url,
        "DATA_DIR": str(tmp_path),
    }
    run = subprocess.run(
        [sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_cookies_are_bound_to_the_host_over_https(tmp_path: Path) -> None:
    found = _settings("https://ledger.example", tmp_path)
    assert found == {
        "SESSION_COOKIE_NAME": "__Host-session",
        "SESSION_COOKIE_SECURE": True,
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "CSRF_COOKIE_NAME": "__Host-csrf",
        "CSRF_COOKIE_SECURE": True,
        "SECURE_HSTS_SECONDS": 31_536_000,
    }


def test_plain_http_can_sign_in(tmp_path: Path) -> None:
    found = _settings("http://127.0.0.1:8000", tmp_path)
    assert found["SESSION_COOKIE_SECURE"] is False
    assert found["SESSION_COOKIE_NAME"] == "session"
    assert found["SECURE_HSTS_SECONDS"] == 0


@pytest.mark.django_db
def test_pages_carry_the_strict_headers() -> None:
    answer = Client().get("/accounts/login/")
    policy = answer["Content-Security-Policy"]
    assert "script-src 'self';" in policy + ";"
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db
def test_closed_account_loses_its_session(house: make.House) -> None:
    client = Client()
    client.force_login(house.member)
    assert client.get("/").status_code == 200
    house.member.is_active = False
    house.member.save(update_fields=["is_active"])
    assert client.get("/").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/requests/?q=a%00b", "/api/v1/offers?card=%00", "/nowhere%00/"])
def test_nul_signs_are_refused_for_all(house: make.House, path: str) -> None:
    client = Client()
    client.force_login(house.admin)
    answer = client.get(path)
    assert answer.status_code == 400
    assert b"NUL" in answer.content


@pytest.mark.django_db
def test_nul_sign_in_a_form_is_refused(house: make.House) -> None:
    client = Client()
    client.force_login(house.admin)
    assert client.post("/language/", {"language": "e\0n"}).status_code == 400
