"""What the requester does before anybody decides."""

from __future__ import annotations

from datetime import timedelta

import pytest

from governance.kernel.errors import Denied, Invalid, Missing, Refused
from governance.plumbing.models import AuditEvent
from governance.requests import queries, services
from governance.requests.models import Match
from tests.requests import market


def test_draft_is_matched_and_seen_by_its_requester_only(stage: market.Stage) -> None:
    row = market.draft(stage)
    assert row.package["count"] >= 1
    assert row.amount > 0
    match = Match.objects.get(request=row)
    assert match.engine
    assert match.price_ids
    for other in (stage.house.lead, stage.house.approver, stage.house.admin):
        with pytest.raises(Missing):
            queries.request_for(other, row.pk)
    assert AuditEvent.objects.get(act="requests.create").thing_id == str(row.pk)


def test_stored_match_replays_to_the_same_answer(stage: market.Stage) -> None:
    row = market.submitted(stage)
    from governance.matching.codec import to_json

    again = services.find_packages(services.ask_of(row), stage.now)
    assert to_json(again) == row.match.result


def test_others_do_not_ask_in_a_project_that_is_not_theirs(stage: market.Stage) -> None:
    for actor in (stage.house.outsider, stage.house.approver, stage.house.auditor):
        with pytest.raises(Denied):
            market.draft(stage, actor)


def test_checklist_blocks_with_a_clear_sentence(stage: market.Stage) -> None:
    row = services.create_draft(
        actor=stage.house.member,
        project_id=stage.house.project.pk,
        ask=services.read_ask(
            {"method": "serving", "params_b": 7, "concurrency": 4},
            "serving",
            stage.now + timedelta(hours=1),
            None,
        ),
        now=stage.now,
    )
    with pytest.raises(Invalid) as refusal:
        services.submit(actor=stage.house.member, request_id=row.pk, now=stage.now)
    assert "Line and region of the users" in str(refusal.value)
    assert refusal.value.field == "answers.line"
    row.refresh_from_db()
    assert (row.state, row.round) == ("draft", 0)


def test_serving_is_submitted_once_its_checklist_is_complete(stage: market.Stage) -> None:
    row = services.create_draft(
        actor=stage.house.member,
        project_id=stage.house.project.pk,
        ask=services.read_ask(
            {
                "method": "serving",
                "params_b": 7,
                "concurrency": 4,
                "users_region": "cn-east",
                "service_hours": 48,
            },
            "serving",
            stage.now + timedelta(hours=1),
            None,
        ),
        answers={"filing": "not needed, internal only", "egress": "shared, no limit"},
        now=stage.now,
    )
    done = services.submit(actor=stage.house.member, request_id=row.pk, now=stage.now)
    assert done.state == "submitted"
    trial = [line for line in services.checklist_of(done) if line.item.key == "trial"]
    assert [line.open for line in trial] == [True]
    services.record_trial(
        actor=stage.house.member,
        request_id=row.pk,
        measured_at=stage.now,
        figures={"latency_ms": 240.0},
        passed=True,
        now=stage.now,
    )
    trial = [line for line in services.checklist_of(done) if line.item.key == "trial"]
    assert [line.open for line in trial] == [False]


def test_package_that_is_gone_is_refused(stage: market.Stage) -> None:
    row = market.draft(stage)
    with pytest.raises(Refused, match="choose again"):
        services.choose_package(
            actor=stage.house.member, request_id=row.pk, key="999999:8", now=stage.now
        )


def test_only_the_requester_edits(stage: market.Stage) -> None:
    row = market.submitted(stage)
    with pytest.raises(Denied, match="Only the person who asked"):
        services.withdraw(actor=stage.house.lead, request_id=row.pk, now=stage.now)
    with pytest.raises(Refused, match="Only a draft"):
        services.edit_draft(
            actor=stage.house.member, request_id=row.pk, ask=market.ask(stage.now), now=stage.now
        )


def test_clone_and_change(stage: market.Stage) -> None:
    row = market.approved(stage)
    copy = services.clone(actor=stage.house.lead, request_id=row.pk, now=stage.now)
    assert (copy.requester, copy.state, copy.spec) == (stage.house.lead, "draft", row.spec)
    with pytest.raises(Refused, match="running"):
        services.request_change(
            actor=stage.house.member, request_id=row.pk, change="extend", now=stage.now
        )
    services.mark_active(actor=stage.house.operator, request_id=row.pk, now=stage.now)
    longer = services.request_change(
        actor=stage.house.member,
        request_id=row.pk,
        change="extend",
        until=row.ends_at + timedelta(days=9),
        now=stage.now,
    )
    assert (longer.kind, longer.change, longer.parent_id) == ("change", "extend", row.pk)
    assert longer.starts_at == row.ends_at


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"samples": "many"}, "samples"),
        ({"samples": "-1"}, "samples"),
        ({"samples": "nan"}, "samples"),
        ({"samples": "1e400"}, "samples"),
        ({"seq_len": "2.5"}, "seq_len"),
        ({"method": "magic"}, "method"),
        ({"method": "serving"}, "method"),
        ({"preset": "no-such-model"}, "preset"),
        ({"colour": "red"}, "colour"),
        ({"params_b": None}, "params_b"),
        ({"samples": None}, "samples"),
        ({"max_cards": True}, "max_cards"),
        ({"cards_preferred": 7}, "cards_preferred"),
        ({"budget": "x"}, "budget"),
        ({"offload": "maybe"}, "offload"),
    ],
)
def test_bad_input_names_its_field(stage: market.Stage, spec: dict, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        market.ask(stage.now, **spec)
    assert refusal.value.field == field
