"""Mails and posts as they leave: against a local server, once, and only to who may hear."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.core import mail

from governance.accounts.models import Membership
from governance.kernel.errors import Denied, Invalid
from governance.notices import handlers as _notice_handlers  # noqa: F401
from governance.notices import queries, services
from governance.notices.models import Delivery, Notice
from governance.plumbing import outbox
from governance.plumbing.models import OutboxEvent
from governance.requests import handlers as _request_handlers  # noqa: F401
from governance.requests import services as requests
from tests import make
from tests.requests import market

NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)


class Robot(HTTPServer):
    """Takes posts; answers with what the test set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.answer: tuple[int, bytes] = (200, b'{"errcode":0,"code":0}')

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Robot

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), json.loads(body)))
        status, answer = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def robot() -> Iterator[Robot]:
    server = Robot()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def tell(house: make.House, *people: Any, key: str = "k", **options: Any) -> int:
    return services.tell(
        kind="requests",
        text="%(by)s wrote about request #%(number)s (%(title)s).",
        params={"by": "Alice", "number": 7, "title": "13B, LoRA"},
        url="/requests/7/",
        key=key,
        people=[p.pk for p in people],
        project_id=house.project.pk,
        team_id=house.team.pk,
        now=NOW,
        **options,
    )


class TestMail:
    def test_in_the_readers_language_plain_and_html(self, house: make.House) -> None:
        house.member.language = "zh-hans"
        house.member.save()
        tell(house, house.member, house.lead)
        outbox.drain()
        by_person = {m.to[0]: m for m in mail.outbox}
        english, chinese = by_person[house.lead.email], by_person[house.member.email]
        assert english.subject == "Alice wrote about request #7 (13B, LoRA)."
        assert chinese.subject != english.subject
        assert "/requests/7/" in english.body
        html = english.alternatives[0][0]
        assert '<html lang="en">' in html
        assert '<html lang="zh-Hans">' in chinese.alternatives[0][0]
        for text in (english.body, html, chinese.body):
            assert "%(" not in text
            assert "{{" not in text

    def test_once(self, house: make.House) -> None:
        assert (tell(house, house.member), tell(house, house.member)) == (1, 0)
        outbox.drain()
        services.send_mail(notice_id=Notice.objects.get().pk, now=NOW)
        assert len(mail.outbox) == 1

    def test_outsiders_closed_accounts_and_left_members_hear_nothing(
        self, house: make.House
    ) -> None:
        assert tell(house, house.outsider) == 0
        tell(house, house.member, house.lead)
        Membership.objects.filter(user=house.member).update(ends_on=NOW - timedelta(days=9))
        type(house.lead).objects.filter(pk=house.lead.pk).update(is_active=False)
        outbox.drain()
        assert mail.outbox == []

    def test_digest_is_one_mail_and_quiet_hours_wait(self, house: make.House) -> None:
        services.set_preferences(
            actor=house.member, mail={"requests": "digest"}, quiet=(time(9), time(12))
        )
        services.set_preferences(
            actor=house.lead, mail={"requests": "now"}, quiet=(time(9), time(12))
        )
        for n in range(3):
            tell(house, house.member, house.lead, key=f"k{n}")
        due = OutboxEvent.objects.filter(kind="notice.mail").values_list("due_at", flat=True)
        assert set(due) == {datetime(2026, 12, 1, 4, tzinfo=UTC)}
        assert services.send_digests(now=NOW) == 1
        assert services.send_digests(now=NOW) == 0
        [one] = mail.outbox
        assert one.to == [house.member.email]
        assert one.subject == "3 notices of the day"

    def test_never_means_never(self, house: make.House) -> None:
        services.set_preferences(actor=house.member, mail={"requests": "off"}, quiet=None)
        tell(house, house.member)
        outbox.drain()
        services.send_digests(now=NOW)
        assert mail.outbox == []
        assert queries.unread(house.member) == 1


class TestChannels:
    def add(self, house: make.House, robot: Robot, kind: str, **options: Any) -> Any:
        return services.add_channel(
            **{
                "actor": house.admin,
                "kind": kind,
                "name": kind,
                "url": f"{robot.url}/send?key=abc",
                "secret": "a secret of some length",
                "kinds": ["requests"],
                "now": NOW,
                **options,
            }
        )

    @pytest.mark.parametrize("kind", ["webhook", "dingtalk", "feishu", "wecom"])
    def test_posts_once(self, house: make.House, robot: Robot, kind: str) -> None:
        self.add(house, robot, kind, language="en")
        tell(house)
        outbox.drain()
        [(path, headers, body)] = robot.got
        assert path.startswith("/send?key=abc")
        assert "Alice wrote about request #7" in json.dumps(body)
        assert headers["Content-Type"].startswith("application/json")
        payload = OutboxEvent.objects.get(kind="notice.channel").payload
        assert not services.send_to_channel(payload=payload, now=NOW)
        assert len(robot.got) == 1

    def test_failure_is_tried_again_and_then_given_up_visibly(
        self, house: make.House, robot: Robot
    ) -> None:
        self.add(house, robot, "dingtalk")
        robot.answer = (200, b'{"errcode":310000,"errmsg":"sign not match"}')
        tell(house)
        outbox.drain()
        event = OutboxEvent.objects.get(kind="notice.channel")
        assert "310000" in event.last_error
        assert event.due_at > event.created_at
        assert Delivery.objects.count() == 0
        event.due_at, event.attempts = event.created_at, outbox.DEAD_AFTER - 1
        event.save()
        outbox.drain()
        assert [e.pk for e in queries.dead_letters()] == [event.pk]
        robot.answer = (200, b'{"errcode":0}')
        services.try_again(actor=house.admin, event_id=event.pk, now=NOW)
        outbox.drain()
        assert Delivery.objects.count() == 1

    def test_another_teams_channel_hears_nothing(self, house: make.House, robot: Robot) -> None:
        self.add(house, robot, "wecom", team_id=house.other_team.pk)
        tell(house)
        outbox.drain()
        assert robot.got == []

    def test_no_redirect_is_followed(self, house: make.House, robot: Robot) -> None:
        self.add(house, robot, "webhook")
        robot.answer = (302, b"")
        tell(house)
        outbox.drain()
        assert len(robot.got) == 1
        assert Delivery.objects.count() == 0

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"url": "ftp://x"}, "url"),
            ({"url": "https://user:pw@x/"}, "url"),
            ({"secret": "short"}, "secret"),
            ({"kinds": []}, "kinds"),
            ({"kinds": ["gossip"]}, "kinds"),
            ({"name": " "}, "name"),
        ],
    )
    def test_bad_input(
        self, house: make.House, robot: Robot, changes: dict[str, Any], field: str
    ) -> None:
        with pytest.raises(Invalid) as refusal:
            self.add(house, robot, "webhook", **changes)
        assert refusal.value.field == field

    def test_only_administrators(self, house: make.House, robot: Robot) -> None:
        with pytest.raises(Denied):
            self.add(house, robot, "wecom", actor=house.lead)


def test_a_request_tells_the_right_people(house: make.House) -> None:
    at = market.stage(house, NOW)
    row = market.submitted(at)
    outbox.drain()
    assert [m.to for m in mail.outbox] == [[house.approver.email]]
    assert mail.outbox[0].subject.startswith(f"Alice asks for compute: request #{row.pk}")
    mail.outbox.clear()
    requests.ask_back(actor=house.approver, request_id=row.pk, text="Which data?", now=NOW)
    requests.write_message(actor=house.member, request_id=row.pk, text="Ours.", now=NOW)
    outbox.drain()
    assert sorted(m.to[0] for m in mail.outbox) == sorted(
        [house.member.email, house.approver.email]
    )
    mail.outbox.clear()
    requests.submit(actor=house.member, request_id=row.pk, now=NOW)
    requests.approve(actor=house.approver, request_id=row.pk, now=NOW)
    outbox.drain()
    told = {m.to[0]: m.subject for m in mail.outbox}
    assert told[house.member.email] == f"Adam approved your request #{row.pk} (13B, LoRA)."
