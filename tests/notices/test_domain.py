"""Bodies and signatures, against figures worked out with openssl."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime, time
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest

from governance.notices.domain.messages import (
    Happening,
    accepted,
    after_quiet,
    masked,
    post_for,
)

NOW = datetime(2026, 12, 1, 2, 0, tzinfo=UTC)
STAMP = 1796090400
WHAT = Happening("k1", "requests", "Requests", "Alice asks: 训练", "https://x.test/requests/1/")


def test_webhook_signs_time_and_body() -> None:
    post = post_for("webhook", "https://h.test/in", "s" * 16, WHAT, NOW)
    wanted = hmac.new(b"s" * 16, f"{STAMP}.".encode() + post.body, hashlib.sha256).hexdigest()
    assert post.headers["X-Ledger-Timestamp"] == str(STAMP)
    assert post.headers["X-Ledger-Signature"] == f"sha256={wanted}"
    assert json.loads(post.body)["text"] == "Alice asks: 训练"


def test_dingtalk_signs_in_the_query() -> None:
    """printf '1796090400000\\nSEC' | openssl dgst -sha256 -hmac SEC -binary | base64"""
    post = post_for("dingtalk", "https://d.test/robot/send?access_token=t", "SEC", WHAT, NOW)
    query = parse_qs(urlsplit(post.url).query)
    assert query["timestamp"] == [str(STAMP * 1000)]
    assert query["sign"] == ["HD/cXtGsyUqT9oiBkF4VrHM78Y+0vrFvdU8gi9UICfk="]
    assert json.loads(post.body)["msgtype"] == "markdown"


def test_feishu_signs_in_the_body() -> None:
    """printf '' | openssl dgst -sha256 -hmac $'1796090400\\nSEC' -binary | base64"""
    body = json.loads(post_for("feishu", "https://f.test/hook/x", "SEC", WHAT, NOW).body)
    assert body["timestamp"] == str(STAMP)
    assert body["sign"] == "0le3GDdyDe9dXhKnBcCPNX8nEYjTd28O/L4Xs6jHapc="
    assert body["msg_type"] == "post"


def test_wecom_is_cut_at_4096_bytes() -> None:
    long = Happening("k", "requests", "T", "训" * 5000, "https://x.test/")
    body = json.loads(post_for("wecom", "https://w.test/send?key=k", "", long, NOW).body)
    assert len(body["markdown"]["content"].encode()) <= 4096


@pytest.mark.parametrize(
    ("kind", "status", "answer", "taken"),
    [
        ("webhook", 204, b"", True),
        ("webhook", 302, b"", False),
        ("webhook", 500, b"", False),
        ("dingtalk", 200, b'{"errcode":0,"errmsg":"ok"}', True),
        ("dingtalk", 200, b'{"errcode":310000,"errmsg":"sign not match"}', False),
        ("feishu", 200, b'{"code":0,"msg":"success"}', True),
        ("feishu", 200, b'{"StatusCode":0}', True),
        ("feishu", 200, b'{"code":19021}', False),
        ("wecom", 200, b'{"errcode":0}', True),
        ("wecom", 200, b"<html>", False),
        ("wecom", 200, b"[]", False),
    ],
)
def test_what_counts_as_taken(kind: str, status: int, answer: bytes, taken: bool) -> None:
    assert accepted(kind, status, answer) is taken


@pytest.mark.parametrize(
    ("hour", "starts", "ends", "due"),
    [
        (12, 22, 8, (1, 12)),
        (23, 22, 8, (2, 8)),
        (3, 22, 8, (1, 8)),
        (8, 22, 8, (1, 8)),
        (22, 22, 8, (2, 8)),
        (13, 12, 14, (1, 14)),
        (14, 12, 14, (1, 14)),
    ],
)
def test_quiet_hours_span_midnight(hour: int, starts: int, ends: int, due: tuple[int, int]) -> None:
    zone = ZoneInfo("Asia/Shanghai")
    now = datetime(2026, 12, 1, hour, tzinfo=zone)
    found = after_quiet(now, time(starts), time(ends), zone)
    assert found == datetime(2026, 12, *due, tzinfo=zone)


def test_addresses_are_shown_without_their_secrets() -> None:
    assert "secret" not in masked("https://h.test/robot/send?access_token=secret")
    assert "secret" not in masked("https://open.test/open-apis/bot/v2/hook/secret")
