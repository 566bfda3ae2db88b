"""Posting charges: once, whatever the batches; ledger, roll-up and budgets agree."""

from datetime import date, timedelta
from decimal import Decimal as D

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from governance.budgets.models import Posting, Transaction
from governance.kernel.errors import Denied, Invalid, Refused
from governance.kernel.policy import SYSTEM
from governance.rentals import queries, services
from governance.rentals.domain.termination import TerminationRule
from governance.rentals.domain.terms import Plan, Tax
from governance.rentals.models import Charge, Month, Rental
from tests.budgets.make import budget, figures, hold
from tests.rentals.make import amounts, charge, days, local, rental, rows, spec


def test_daily_charges_of_an_hourly_rental(house):
    own = rental(
        house.project, cards=2, quantity=2, start=local(2026, 10, 1, 22), end=local(2026, 10, 3, 1)
    )
    run = charge(local(2026, 10, 2, 12))
    assert (run.rentals, run.charges, run.failed) == (1, 1, [])
    assert amounts(own) == ["40"]
    charge(local(2026, 10, 5))
    assert amounts(own) == ["40", "480", "20"]
    assert [day for day, *_ in days(own)] == [date(2026, 10, d) for d in (1, 2, 3)]
    own.refresh_from_db()
    assert own.next_charge_at is None
    assert queries.faults() == []


@pytest.mark.parametrize("kind", ["hourly", "daily", "monthly", "quarterly", "annual"])
def test_once_a_day_late_or_at_once_gives_the_same_rows(house, kind):
    tax = Tax(D("0.06"), True)
    fields = {"kind": kind, "price": "99.97", "start": local(2026, 8, 31, 9, 30), "tax": tax}
    fields["end"] = local(2026, 11, 17, 3)
    daily, late = (rental(house.project, **fields) for _ in range(2))
    for other in (daily, late):
        services.change_price(
            actor=house.finance, rental_id=other.pk, price=D("120.01"),
            at=local(2026, 10, 10, 10), reason="rise", now=local(2026, 8, 31, 10),
        )  # fmt: skip
    moment = local(2026, 8, 31)
    while moment < local(2026, 12, 1):
        moment += timedelta(days=1, hours=7)
        charge(moment, ids=[daily.pk])
    charge(local(2026, 12, 2), ids=[late.pk, daily.pk])
    assert rows(daily) == rows(late)
    assert days(daily) == days(late)
    assert rows(late)
    again = charge(local(2026, 12, 3))
    assert (again.rentals, again.charges) == (0, 0)
    assert queries.faults() == []


def test_a_retry_after_a_failure_charges_each_once(house, monkeypatch):
    first, second, third = (
        rental(house.project, price=price) for price in ("14.80", "28.60", "3.20")
    )
    Rental.objects.filter(pk=third.pk).update(currency="USD")
    budget("1000", project_id=house.project.pk, first_day=date(2026, 10, 1))
    hour = local(2026, 10, 2)
    run = charge(hour)
    assert [pk for pk, _ in run.failed] == [third.pk]
    assert Charge.objects.count() == 2
    Rental.objects.filter(pk=third.pk).update(currency="CNY")
    charge(hour)
    charge(hour)
    total = sum(c.net for c in Charge.objects.all())
    assert total == (D("14.80") + D("28.60") + D("3.20")) * 24
    assert {first.charges.count(), second.charges.count(), third.charges.count()} == {1}


def test_the_database_refuses_a_second_row_and_any_change(house):
    own = rental(house.project)
    charge(local(2026, 10, 2))
    row = Charge.objects.get()
    values = {f.attname: getattr(row, f.attname) for f in Charge._meta.concrete_fields}
    del values["id"]
    with pytest.raises(IntegrityError, match="one_charge"), transaction.atomic():
        Charge.objects.create(**values)
    for sql in ("UPDATE rentals_charge SET net = 0", "DELETE FROM rentals_charge"):
        with (
            connection.cursor() as cursor,
            pytest.raises(DatabaseError, match="append-only"),
            transaction.atomic(),
        ):
            cursor.execute(sql)
    assert own.charges.count() == 1


def test_the_ledger_balances_and_names_what_is_owed(house):
    rental(house.project, "monthly", "1060.00", tax=Tax(D("0.06"), True))
    charge(local(2026, 10, 1))
    lines = {p.account.code: p.amount for p in Posting.objects.select_related("account")}
    assert lines == {
        f"expense:project:{house.project.pk}": 1000, "tax:CloudA": 60, "payable:CloudA": -1060,
    }  # fmt: skip
    assert Transaction.objects.get().key.startswith("charge:")


def test_a_hold_is_used_by_the_charges_and_released_at_the_end(house):
    october = budget("10000", project_id=house.project.pk, first_day=date(2026, 10, 1))
    from governance.kernel.periods import Period

    span = Period(local(2026, 10, 1), local(2026, 10, 11))
    hold(house.project, "3000.00", "req:1", period=span, now=local(2026, 9, 30))
    own = rental(house.project, hold_key="req:1", end=local(2026, 10, 11))
    charge(local(2026, 10, 6))
    assert figures(october) == ("1800", "1200")
    charge(local(2026, 10, 12))
    assert figures(october) == ("600", "2400")
    services.advance_states(actor=SYSTEM, now=local(2026, 10, 12))
    own.refresh_from_db()
    assert own.state == "ended"
    assert figures(october) == ("0", "2400")
    assert services.advance_states(actor=SYSTEM, now=local(2026, 10, 13)) == 0


def test_prepaid_is_billed_at_once_and_amortised_over_its_days(house):
    own = rental(
        house.project, "annual", "175200.00", start=local(2026, 9, 1), end=local(2027, 9, 1)
    )
    charge(local(2026, 9, 2))
    months = {f"{row['month']:%Y-%m}": row for row in queries.cost_months(own)}
    assert len(months) == 12
    assert months["2026-09"]["billed"] == 175200
    assert (months["2026-09"]["amortised"], months["2026-10"]["amortised"]) == (14400, 14880)
    assert months["2027-02"]["amortised"] == 13440
    assert months["2027-02"]["billed"] == 0
    assert sum(row["amortised"] for row in months.values()) == 175200


def test_an_early_end_writes_off_what_is_not_refunded(house):
    own = rental(
        house.project, "annual", "102000.00", start=local(2026, 7, 1), end=local(2027, 7, 1)
    )
    charge(local(2026, 7, 2))
    rule = TerminationRule("months_and_hours", monthly=D("10000"), hourly=D("20"))
    services.end_rental(
        actor=house.finance, rental_id=own.pk, at=local(2026, 10, 6), reason="idle",
        now=local(2026, 10, 5), rule=rule,
    )  # fmt: skip
    charge(local(2026, 10, 7))
    assert amounts(own) == ["102000", "-69600"]
    by_day = {day: amortised for day, _, amortised, _ in days(own)}
    assert sum(by_day.values()) == 32400
    assert all(amount == 0 for day, amount in by_day.items() if day > date(2026, 10, 6))
    straight = D(102000) * 97 / 365
    assert abs(by_day[date(2026, 10, 6)] - (D(32400) - straight)) < D("0.0001")
    assert queries.faults() == []
    services.advance_states(actor=SYSTEM, now=local(2026, 10, 7))
    own.refresh_from_db()
    assert own.state == "ended_early"
    assert own.closed_at is not None


def test_stopped_cards_cost_nothing_and_the_disk_goes_on(house):
    disk = services.ComponentSpec("disk", Plan(kind="daily", price=D("2.00")))
    own = rental(house.project, components=(disk,), end=local(2026, 10, 4))
    for act, moment in (
        (services.stop_rental, local(2026, 10, 2)),
        (services.start_rental, local(2026, 10, 3)),
    ):
        act(
            actor=house.operator,
            rental_id=own.pk,
            at=moment,
            reason="night",
            now=local(2026, 10, 1, 1),
        )
        own.refresh_from_db()
    charge(local(2026, 10, 5))
    by_kind = {}
    for row in own.charges.all():
        by_kind.setdefault(row.kind, []).append(row.net)
    assert by_kind == {"cards": [240, 240], "disk": [2, 2, 2]}
    assert own.state == "active"


def test_what_never_ran_costs_nothing(house):
    own = rental(house.project, start=local(2026, 10, 1), end=local(2026, 10, 4))
    services.end_rental(
        actor=house.operator, rental_id=own.pk, at=local(2026, 10, 1), reason="no capacity",
        now=local(2026, 10, 1),
    )  # fmt: skip
    charge(local(2026, 10, 9))
    assert amounts(own) == []
    assert queries.faults() == []


def test_more_cards_cost_more_from_their_instant(house):
    own = rental(house.project, "monthly", "3100.00", cards=8, end=local(2026, 11, 1))
    charge(local(2026, 10, 2))
    services.change_quantity(
        actor=house.finance, rental_id=own.pk, quantity=2, at=local(2026, 10, 11),
        reason="scale", now=local(2026, 10, 5),
    )  # fmt: skip
    charge(local(2026, 10, 12))
    assert amounts(own) == ["3100", "-2100", "4200"]
    own.refresh_from_db()
    assert own.cards == 16


def test_extension_and_renewal(house):
    own = rental(house.project, "monthly", "3100.00", end=local(2026, 10, 11))
    charge(local(2026, 10, 2))
    services.extend_rental(
        actor=house.finance, rental_id=own.pk, ends_at=local(2026, 11, 1), now=local(2026, 10, 3)
    )
    charge(local(2026, 10, 20))
    assert amounts(own) == ["1000", "2100"]
    own.refresh_from_db()
    assert own.ends_at == local(2026, 11, 1)


def test_changes_are_guarded(house):
    own = rental(house.project)
    charge(local(2026, 10, 3))
    common = {"rental_id": own.pk, "reason": "x", "now": local(2026, 10, 3)}
    with pytest.raises(Denied):
        services.end_rental(actor=house.member, at=local(2026, 10, 4), **common)
    with pytest.raises(Invalid):
        services.change_price(actor=house.finance, price=D(1), at=local(2026, 10, 2), **common)
    with pytest.raises(Refused):
        services.start_rental(actor=house.finance, at=local(2026, 10, 4), **common)
    prepaid = rental(house.project, "monthly", "1.00")
    with pytest.raises(Refused):
        services.stop_rental(
            actor=house.finance, at=local(2026, 10, 4), **{**common, "rental_id": prepaid.pk}
        )


def test_a_closed_month_takes_nothing_more(house):
    own = rental(house.project, end=local(2026, 11, 3))
    charge(local(2026, 11, 2))
    with pytest.raises(Denied):
        services.close_month(actor=house.approver, month=date(2026, 10, 1), now=local(2026, 11, 5))
    with pytest.raises(Refused):
        services.close_month(actor=house.finance, month=date(2026, 11, 1), now=local(2026, 11, 5))
    services.close_month(actor=house.finance, month=date(2026, 10, 1), now=local(2026, 11, 5))
    kept = Month.objects.get()
    from governance.rentals.services.closing import month_report

    assert (kept.input_hash, kept.report) == month_report(date(2026, 10, 1))
    late = rental(
        house.project, "hourly", "7.00", start=local(2026, 10, 20), end=local(2026, 10, 22)
    )
    charge(local(2026, 11, 6))
    found = late.charges.all()
    assert {(c.booked_on, c.correction) for c in found} == {(date(2026, 11, 1), True)}
    assert {c.period_start for c in found} == {local(2026, 10, 20), local(2026, 10, 21)}
    assert (kept.input_hash, kept.report) == month_report(date(2026, 10, 1))
    assert [day for day, *_ in days(late)] == [date(2026, 11, 1)]
    with pytest.raises(Refused):
        services.close_month(actor=house.finance, month=date(2026, 10, 1), now=local(2026, 11, 5))
    assert own.charges.filter(correction=True).count() == 0
    assert queries.faults() == []


def test_cost_rows_are_the_viewers_own_and_per_currency(house):
    rental(house.project, price="1.00", end=local(2026, 10, 3))
    rental(house.other_project, price="2.00", end=local(2026, 10, 3), currency="USD")
    charge(local(2026, 10, 4))
    span = {"first": date(2026, 10, 1), "last": date(2026, 10, 31)}
    all_rows = queries.cost_rows(house.auditor, group_by=["team"], **span)
    assert [(r.group[0], r.currency, r.billed) for r in all_rows] == [
        ("Speech", "USD", 96), ("Vision", "CNY", 48),
    ]  # fmt: skip
    (own,) = queries.cost_rows(house.member, **span)
    assert (own.currency, own.billed, own.amortised, own.charges) == ("CNY", 48, 48, 2)
    with pytest.raises(Invalid):
        queries.cost_rows(house.member, group_by=["weather"], **span)


def test_imported_rentals_go_on_from_what_was_paid(house):
    made = spec(
        house.project, "monthly", "3000.00", origin="imported", external_id="i-1",
        paid_before=D("6000"), charged_until=local(2026, 11, 1),
    )  # fmt: skip
    pk = services.create_rental(actor=SYSTEM, spec=made, now=local(2026, 11, 10))
    charge(local(2026, 12, 2))
    own = Rental.objects.get(pk=pk)
    assert amounts(own) == ["3000"]
    with pytest.raises(Refused):
        services.create_rental(actor=SYSTEM, spec=made, now=local(2026, 11, 10))


def test_a_disk_a_fee_and_measured_traffic_are_charged_from_their_time(house):
    own = rental(house.project, tax=Tax(D("0.06"), False), end=local(2026, 10, 11))
    charge(local(2026, 10, 3))
    common = {"actor": house.operator, "rental_id": own.pk}
    disk = Plan(kind="daily", price=D("2.00"))
    services.add_component(kind="disk", plan=disk, starts_at=local(2026, 10, 4), **common)
    now = local(2026, 10, 3, 1)
    services.charge_once(kind="fee", amount=D("50.00"), reason="set-up", now=now, **common)
    services.charge_traffic(
        moved_bytes=1_500_000_000_000,
        included_gb=D(1000),
        price_per_gb=D("0.80"),
        now=now,
        **common,
    )
    assert (
        services.charge_traffic(
            moved_bytes=5, included_gb=D(1000), price_per_gb=D("0.80"), now=now, **common
        )
        is None
    )
    services.charge_percentile(
        samples_mbit=[D(10)] * 19 + [D(900)], price_per_mbit=D("20"), now=now, **common
    )
    charge(local(2026, 10, 12))
    sums = {}
    for row in own.charges.all():
        sums[row.kind] = sums.get(row.kind, 0) + row.net
    assert sums == {"cards": 2400, "disk": 14, "fee": 50, "traffic": 400, "bandwidth": 200}
    assert own.charges.get(kind="fee").tax == 3
    assert queries.faults() == []
    with pytest.raises(Invalid):
        services.add_component(kind="disk", plan=disk, starts_at=local(2026, 10, 5), **common)
    with pytest.raises(Denied):
        services.charge_once(
            actor=house.member, rental_id=own.pk, kind="fee", amount=D(1), reason="x", now=now
        )


def test_a_rental_renews_itself_by_its_plan_until_that_is_taken_back(house):
    own = rental(
        house.project, "monthly", "3100.00", start=local(2026, 1, 31), end=local(2026, 2, 28),
        auto_renew=True,
    )  # fmt: skip
    charge(local(2026, 2, 1))
    assert services.renew_due(actor=SYSTEM, now=local(2026, 2, 20)) == 0
    assert services.renew_due(actor=SYSTEM, now=local(2026, 2, 27, 12)) == 1
    assert services.renew_due(actor=SYSTEM, now=local(2026, 2, 27, 13)) == 0
    own.refresh_from_db()
    assert own.ends_at == local(2026, 3, 31)
    charge(local(2026, 3, 1))
    assert amounts(own) == ["3100", "3100"]
    services.set_auto_renew(actor=house.finance, rental_id=own.pk, on=False, reason="flagged")
    assert services.renew_due(actor=SYSTEM, now=local(2026, 3, 30, 12)) == 0
    charge(local(2026, 4, 2))
    services.advance_states(actor=SYSTEM, now=local(2026, 4, 2))
    own.refresh_from_db()
    assert own.state == "ended"
    assert queries.faults() == []
