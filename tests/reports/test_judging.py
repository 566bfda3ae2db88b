"""The nightly judgement on a small fleet: flags, recommendations, answers and decisions."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal as D
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from governance.catalog import services as catalog
from governance.kernel.errors import Denied, Invalid, Missing, Refused
from governance.kernel.policy import SYSTEM
from governance.matching import to_json
from governance.plumbing.models import AuditEvent, OutboxEvent
from governance.rentals import services as rentals
from governance.rentals.models import Rental
from governance.reports import queries, services
from governance.reports.domain.judgement import Finding, Settings
from governance.reports.models import Flag, Judgement, Recommendation
from governance.reports.viewers import EVERYTHING
from governance.requests.evidence import gathered
from governance.requests.models import ComputeRequest
from governance.telemetry.models import DirtyHour
from tests import make
from tests.rentals.make import charge, local
from tests.reports import fleet

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(120)]

START = local(2026, 11, 1)
DAYS = 3
LAST = date(2026, 11, 3)
QUICK = Settings(min_days=1, min_active_hours=12)
"""Three days of readings stand for fourteen."""

NOW = START + timedelta(days=DAYS, hours=3)
HEAD = (
    "vendor,region,card,cards_per_unit,hourly,monthly,annual,currency,tax_rate,tax_inclusive,"
    "valid_from,source,as_of\n"
)
SHEET = HEAD + (
    "CloudA,east,a800-80gb-sxm4,1,14.80,7992.00,76723.20,CNY,0,true,2026-01-01,quote,2026-01-01\n"
    "CloudA,east,rtx-4090,1,3.20,1728.00,,CNY,0,true,2026-01-01,quote,2026-01-01\n"
)


@pytest.fixture
def judged_fleet(house: make.House) -> dict[str, Any]:
    """Three days of one over-provisioned, one compute-bound, one idle and one half-known rental."""
    catalog.seed_catalogue(actor=house.operator)
    report = catalog.import_prices(
        actor=house.operator, text=SHEET, form="native", vendor="CloudA", today=START.date()
    )
    assert not report.refused
    minutes, every = DAYS * 1440, 1
    made = {
        "oversized": fleet.rented(house.project, START, minutes, every=every),
        "compute": fleet.rented(
            house.project,
            START,
            minutes,
            every=every,
            sm_mean=0.88,
            tensor_mean=0.61,
            bandwidth_mean=0.29,
            bandwidth_active_mean=0.29,
        ),
        "idle": fleet.rented(
            house.other_project,
            START,
            minutes,
            every=every,
            active_samples=0,
            bandwidth_mean=0.0,
            bandwidth_active_mean=None,
            sm_mean=0.0,
            tensor_mean=0.0,
            gpu_duty_mean=0.0,
        ),
        "half": fleet.rented(house.other_project, START, minutes, every=2),
    }
    charge(START + timedelta(days=DAYS))
    return made


def judge(day: date) -> int:
    return services.judge(day=day, now=NOW + (day - LAST), settings=QUICK)


def judge_nights(count: int, last: date = LAST) -> int:
    return sum(judge(last - timedelta(days=count - 1 - i)) for i in range(count))


def outcomes() -> dict[int, str]:
    return dict(Judgement.objects.filter(day=LAST).values_list("rental_id", "outcome"))


def test_a_night(judged_fleet: dict[str, Any]) -> None:
    assert judge(LAST) == 4
    found = outcomes()
    assert found[judged_fleet["oversized"].pk] == "downgrade"
    assert found[judged_fleet["compute"].pk] == "keep"
    assert found[judged_fleet["idle"].pk] == "idle"
    assert found[judged_fleet["half"].pk] == "unknown"
    row = Judgement.objects.get(rental=judged_fleet["oversized"])
    assert (row.plain_rule, row.row, row.source) == (True, 12, "nvml_gpm")
    assert row.share == pytest.approx(0.2)
    assert row.what_if["card"] == "rtx-4090"
    month_cost = 3 * 24 * D("14.80")
    assert row.cost == month_cost
    assert D(0) < row.saving <= month_cost
    assert sum(D(v) for v in row.parts.values()) == month_cost
    assert set(row.parts) <= {"over_provisioned", "used", "no_data"}


def test_a_second_run_changes_nothing(judged_fleet: dict[str, Any]) -> None:
    judge_nights(3)
    before = list(Judgement.objects.values().order_by("pk")), list(Flag.objects.values())
    assert judge_nights(3) == 0
    assert (list(Judgement.objects.values().order_by("pk")), list(Flag.objects.values())) == before


def test_every_verdict_replays(judged_fleet: dict[str, Any]) -> None:
    judge_nights(2)
    for row in Judgement.objects.all():
        again: list[Finding] = services.replay(row)
        assert to_json(again) == row.findings


def test_three_nights_open_one_recommendation_each(judged_fleet: dict[str, Any]) -> None:
    judge_nights(2)
    assert not Recommendation.objects.exists()
    judge(LAST + timedelta(days=1))
    kinds = dict(Recommendation.objects.values_list("rental_id", "kind"))
    assert kinds[judged_fleet["oversized"].pk] == "DOWNGRADE_CANDIDATE"
    assert judged_fleet["compute"].pk not in {
        r for r, k in kinds.items() if k == "DOWNGRADE_CANDIDATE"
    }
    one = Recommendation.objects.get(kind="DOWNGRADE_CANDIDATE")
    assert one.answer_by == one.opened_on + timedelta(days=5)
    assert OutboxEvent.objects.filter(key=f"recommendation:{one.pk}:opened").count() == 1
    assert AuditEvent.objects.filter(act="recommendations.open").exists()


def test_the_report_shows_rule_and_diagnosis(judged_fleet: dict[str, Any]) -> None:
    judge(LAST)
    asked = {"from": "2026-11-01", "to": LAST.isoformat()}
    result = queries.run("downgrade", EVERYTHING, asked, NOW)
    rows = {row["id"]: row for row in result.rows}
    compute = rows[judged_fleet["compute"].pk]
    assert (compute["plain_flag"], compute["row"], compute["outcome"]) == (True, 6, "keep")
    assert result.notes[0].params["says"] == 3
    assert result.notes[0].params["confirmed"] == 1
    assert result.notes[0].params["missed"] == 1


def opened(judged_fleet: dict[str, Any]) -> Recommendation:
    judge_nights(3)
    return Recommendation.objects.get(kind="DOWNGRADE_CANDIDATE")


def test_the_team_answers_before_the_decision(
    judged_fleet: dict[str, Any], house: make.House
) -> None:
    one = opened(judged_fleet)
    with pytest.raises(Denied):
        services.answer(
            actor=house.member, recommendation_id=one.pk, choice="fix", text="x", now=NOW
        )
    with pytest.raises(Missing):
        services.answer(
            actor=house.outsider, recommendation_id=one.pk, choice="fix", text="x", now=NOW
        )
    with pytest.raises(Invalid):
        services.answer(actor=house.lead, recommendation_id=one.pk, choice="fix", text=" ", now=NOW)
    answered = services.answer(
        actor=house.lead, recommendation_id=one.pk, choice="justify", text="Needed.", now=NOW
    )
    assert (answered.state, answered.answered_by) == ("answered", house.lead)


def test_dismissal_wants_a_reason_and_rests(
    judged_fleet: dict[str, Any], house: make.House
) -> None:
    one = opened(judged_fleet)
    with pytest.raises(Invalid):
        services.dismiss(actor=house.approver, recommendation_id=one.pk, reason="", now=NOW)
    with pytest.raises(Denied):
        services.dismiss(actor=house.lead, recommendation_id=one.pk, reason="no", now=NOW)
    services.dismiss(actor=house.approver, recommendation_id=one.pk, reason="A demo.", now=NOW)
    with pytest.raises(Refused):
        services.accept(actor=house.approver, recommendation_id=one.pk, now=NOW)
    flag = Flag.objects.get(rental=one.rental, kind=one.kind)
    assert (flag.state, flag.until) == ("cooling", NOW.date() + timedelta(days=14))
    judge(LAST + timedelta(days=1))
    assert Recommendation.objects.filter(kind="DOWNGRADE_CANDIDATE").count() == 1


def test_a_snooze_returns(judged_fleet: dict[str, Any], house: make.House) -> None:
    one = opened(judged_fleet)
    with pytest.raises(Invalid):
        services.snooze(actor=house.approver, recommendation_id=one.pk, until=NOW.date(), now=NOW)
    until = LAST + timedelta(days=2)
    services.snooze(actor=house.approver, recommendation_id=one.pk, until=until, now=NOW)
    for day in (1, 2):
        judge(LAST + timedelta(days=day))
        one.refresh_from_db()
        assert one.state == ("snoozed" if day == 1 else "asked")


def test_accepting_without_a_request_is_left_to_those_who_manage(
    judged_fleet: dict[str, Any], house: make.House
) -> None:
    one = services.accept(actor=house.approver, recommendation_id=opened(judged_fleet).pk, now=NOW)
    assert (one.state, one.request_id, one.decided_by) == ("accepted", None, house.approver)
    later = NOW + timedelta(days=60)
    assert services.measure_realised(now=later) == 1
    one.refresh_from_db()
    assert D(0) <= one.realised <= one.cost_before
    assert services.measure_realised(now=later) == 0


def test_a_night_takes_the_same_queries_for_two_rentals_and_four(
    judged_fleet: dict[str, Any],
) -> None:
    counts = []
    for day in (LAST - timedelta(days=1), LAST):
        with CaptureQueriesContext(connection) as seen:
            judge(day)
        counts.append(len(seen))
        over = [judged_fleet["idle"].pk, judged_fleet["half"].pk]
        Rental.objects.filter(pk__in=over).update(state="ended")
    assert Judgement.objects.filter(day=LAST).count() == 2
    assert counts[0] == counts[1] <= 40


def test_a_judgement_is_never_changed(judged_fleet: dict[str, Any]) -> None:
    judge(LAST)
    with pytest.raises(DatabaseError, match="append-only"):
        Judgement.objects.update(outcome="keep")


def test_the_system_may_not_be_mistaken_for_a_manager() -> None:
    assert SYSTEM.abilities() == frozenset()


def test_missed_nights_are_made_up_once_rolled_up(judged_fleet: dict[str, Any]) -> None:
    waiting = DirtyHour.objects.create(card_id=1, hour=int(START.timestamp()) // 3600, due_at=NOW)
    assert services.judge_missed(now=NOW) == 0
    waiting.delete()
    assert services.judge_missed(now=NOW) == 4 * 3
    assert services.judge_missed(now=NOW) == 0


def test_the_page_of_flags_and_its_acts(
    judged_fleet: dict[str, Any], house: make.House, browser_of: Any
) -> None:
    one = opened(judged_fleet)
    days = "?from=2026-11-01&to=2026-11-03"
    browser = browser_of(house.approver)
    page = browser.get(f"/reports/flags/{days}")
    assert page.status_code == 200
    text = page.content.decode()
    assert "RTX 4090" in text
    assert "Compute-bound" in text
    assert "Where the paid bandwidth went" in text
    address = f"/reports/flags/{one.pk}/"
    assert browser.get(address).status_code == 200
    assert browser_of(house.outsider).get(address).status_code == 404
    lead = browser_of(house.lead)
    assert lead.post(address + "answer/", {"answer": "agree", "text": "Yes."}).status_code == 302
    assert browser.post(address + "dismiss/", {"reason": ""}).status_code == 400
    assert lead.post(address + "accept/").status_code == 403
    assert browser.post(address + "accept/").status_code == 302
    one.refresh_from_db()
    assert (one.state, one.answer) == ("accepted", "agree")


def test_flags_take_the_same_queries_whatever_the_rows(
    judged_fleet: dict[str, Any], house: make.House, browser_of: Any
) -> None:
    judge_nights(3)
    browser = browser_of(house.approver)
    counts = []
    for team in ("", f"&team={house.team.slug}"):
        with CaptureQueriesContext(connection) as seen:
            browser.get(f"/reports/flags/?from=2026-11-01&to=2026-11-03{team}")
        counts.append(len(seen))
    assert abs(counts[0] - counts[1]) <= 2, counts


def test_the_page_of_prices(
    judged_fleet: dict[str, Any], house: make.House, browser_of: Any
) -> None:
    judge_nights(3)
    browser = browser_of(house.approver)
    rental = judged_fleet["oversized"]
    days = "from=2026-11-01&to=2026-11-03"
    page = browser.get(f"/reports/prices/?rental={rental.pk}&{days}")
    assert page.status_code == 200
    text = page.content.decode()
    assert "540 h: monthly pays" in text
    assert "432 h: annual pays" in text
    assert "annual pays from month 10" in text
    assert "F-0" in text  # its open flag
    assert browser.get(f"/reports/prices/?{days}").status_code == 200
    assert browser_of(house.outsider).get(f"/reports/prices/?rental={rental.pk}").status_code == 200


def test_a_flagged_rental_renews_itself_no_more(
    judged_fleet: dict[str, Any], house: make.House
) -> None:
    flagged = judged_fleet["oversized"]
    for row in judged_fleet.values():
        rentals.set_auto_renew(actor=house.operator, rental_id=row.pk, on=True, reason="steady")
    judge_nights(2)
    assert not Rental.objects.filter(auto_renew=False).exists()
    judge(LAST + timedelta(days=1))
    stopped = set(Rental.objects.filter(auto_renew=False).values_list("pk", flat=True))
    assert stopped == set(Flag.objects.filter(state="open").values_list("rental", flat=True))
    assert flagged.pk in stopped
    assert len(stopped) < len(judged_fleet)
    taken = AuditEvent.objects.filter(act="rentals.auto_renew", thing_id=str(flagged.pk)).last()
    assert taken.actor_key == SYSTEM.actor_key
    assert "Over-provisioned" in taken.reason
    rentals.set_auto_renew(actor=house.operator, rental_id=flagged.pk, on=True, reason="decided")
    judge(LAST + timedelta(days=2))
    flagged.refresh_from_db()
    assert flagged.auto_renew


def test_an_approver_sees_use_so_far_and_open_flags(
    judged_fleet: dict[str, Any], house: make.House
) -> None:
    asked = ComputeRequest.objects.create(
        project=house.project,
        requester=house.member,
        state="active",
        state_since=NOW,
        business_type="fine_tuning",
        spec={"method": "lora"},
        starts_at=START,
        amount=1,
        currency="CNY",
        created_at=START,
    )
    at = NOW + timedelta(days=2)

    def seen(viewer: Any) -> tuple[Any, Any]:
        (_, used), (_, flags) = gathered(viewer, asked, at)
        return used, flags

    nothing = [f"{who}: no measured rental in the last 90 days" for who in ("Requester", "Team")]
    assert seen(house.approver) == (nothing, [])
    judge_nights(2)
    judge(LAST + timedelta(days=1))
    row = judged_fleet["oversized"]
    Rental.objects.filter(pk=row.pk).update(request_id=asked.pk)
    used, flags = seen(house.approver)
    assert "(1 rental measured)" in used[0]
    assert "(2 rentals measured)" in used[1]
    assert all("100\u00a0%" in line for line in used)
    assert f"{row}: Over-provisioned since 2026-11-02" in flags
    idle = str(judged_fleet["idle"])
    assert idle not in " ".join(flags)
    assert seen(house.outsider) == (nothing, [])
