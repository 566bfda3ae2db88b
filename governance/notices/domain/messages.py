"""Bodies and signatures that webhooks and group robots ask for, from their public documents."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit, urlunsplit

from governance.kernel.reasons import N_

KINDS = {
    "requests": N_("Requests and approvals"),
    "rentals": N_("Rentals and renewals"),
    "budgets": N_("Budgets"),
    "recommendations": N_("Recommendations"),
    "nodes": N_("Nodes and data"),
}
CHANNELS = {"webhook": "Webhook", "dingtalk": "DingTalk", "feishu": "Feishu", "wecom": "WeCom"}


@dataclass(frozen=True, slots=True)
class Happening:
    """What is told: a title, a sentence and where to look."""

    key: str
    kind: str
    title: str
    text: str
    url: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Post:
    """One HTTP POST."""

    url: str
    body: bytes
    headers: Mapping[str, str]


def post_for(kind: str, url: str, secret: str, happening: Happening, now: datetime) -> Post:
    """The request that the channel's kind expects at this moment."""
    build = {"webhook": _webhook, "dingtalk": _dingtalk, "feishu": _feishu, "wecom": _wecom}[kind]
    return build(url, secret, happening, now)


def accepted(kind: str, status: int, answer: bytes) -> bool:
    """Robots answer 200 with an error code inside; 0 means taken."""
    if not 200 <= status < 300:
        return False
    if kind == "webhook":
        return True
    try:
        data = json.loads(answer)
    except ValueError:
        return False
    if not isinstance(data, dict):
        return False
    code = data.get("errcode", data.get("code", data.get("StatusCode")))
    return bool(code == 0)


def _json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _headers() -> dict[str, str]:
    return {"Content-Type": "application/json; charset=utf-8"}


def _webhook(url: str, secret: str, happening: Happening, now: datetime) -> Post:
    """Signed: hex HMAC-SHA256 over "timestamp.body" under the channel's secret."""
    stamp = str(int(now.timestamp()))
    body = _json(
        {
            "id": happening.key,
            "kind": happening.kind,
            "title": happening.title,
            "text": happening.text,
            "url": happening.url,
            "at": now.isoformat(),
            "data": dict(happening.payload),
        }
    )
    sign = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    headers = {
        **_headers(),
        "X-Ledger-Id": happening.key,
        "X-Ledger-Timestamp": stamp,
        "X-Ledger-Signature": f"sha256={sign}",
    }
    return Post(url, body, headers)


def _dingtalk(url: str, secret: str, happening: Happening, now: datetime) -> Post:
    """Custom robot: timestamp in ms and base64 HMAC-SHA256 of "timestamp\\nsecret" in the query."""
    if secret:
        stamp = str(int(now.timestamp() * 1000))
        mark = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
        sign = quote_plus(base64.b64encode(mark))
        url = f"{url}{'&' if '?' in url else '?'}timestamp={stamp}&sign={sign}"
    text = f"### {happening.title}\n\n{happening.text}\n\n[{happening.url}]({happening.url})"
    body = {"msgtype": "markdown", "markdown": {"title": happening.title, "text": text}}
    return Post(url, _json(body), _headers())


def _feishu(url: str, secret: str, happening: Happening, now: datetime) -> Post:
    """Custom bot: seconds and base64 HMAC-SHA256 of nothing under "timestamp\\nsecret", in body."""
    body: dict[str, Any] = {
        "msg_type": "post",
        "content": {
            "post": {
                "zh_cn": {
                    "title": happening.title,
                    "content": [
                        [
                            {"tag": "text", "text": happening.text + " "},
                            {"tag": "a", "text": happening.url, "href": happening.url},
                        ]
                    ],
                }
            }
        },
    }
    if secret:
        stamp = str(int(now.timestamp()))
        mark = hmac.new(f"{stamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
        body = {"timestamp": stamp, "sign": base64.b64encode(mark).decode(), **body}
    return Post(url, _json(body), _headers())


def _wecom(url: str, secret: str, happening: Happening, now: datetime) -> Post:
    """Group robot: its key is in the address; markdown of at most 4,096 bytes."""
    text = f"**{happening.title}**\n{happening.text}\n[{happening.url}]({happening.url})"
    cut = text.encode()[:4096].decode("utf-8", "ignore")
    return Post(url, _json({"msgtype": "markdown", "markdown": {"content": cut}}), _headers())


def masked(url: str) -> str:
    """An address that may be shown: values of its query and its last part are hidden."""
    parts = urlsplit(url)
    query = urlencode([(name, "…") for name, _ in parse_qsl(parts.query)], safe="…")
    path = parts.path
    if not query and path.count("/") > 1:
        path = path.rsplit("/", 1)[0] + "/…"
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def after_quiet(now: datetime, starts: time, ends: time, tz: tzinfo) -> datetime:
    """`now`, or the end of the quiet hours that hold it; they may span midnight.

    >>> from zoneinfo import ZoneInfo
    >>> zone = ZoneInfo("Asia/Shanghai")
    >>> late = datetime(2026, 12, 1, 23, 0, tzinfo=zone)
    >>> after_quiet(late, time(22), time(8), zone).isoformat()
    '2026-12-02T08:00:00+08:00'
    """
    local = now.astimezone(tz)
    clock = local.time().replace(tzinfo=None)
    if starts <= ends:
        quiet, day = starts <= clock < ends, local.date()
    else:
        quiet = clock >= starts or clock < ends
        day = local.date() + timedelta(days=1) if clock >= starts else local.date()
    return datetime.combine(day, ends, tz) if quiet else now
