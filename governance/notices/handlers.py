"""Mails and posts leave from the outbox: at least once, with back-off, dead letters kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.notices import services
from governance.plumbing import clock
from governance.plumbing.outbox import handler


@handler("notice.mail")
def mail(payload: Mapping[str, Any]) -> None:
    services.send_mail(notice_id=payload["notice"], now=clock.now())


@handler("notice.channel")
def channel(payload: Mapping[str, Any]) -> None:
    services.send_to_channel(payload=payload, now=clock.now())
