"""Starting with a running team: budgets and rentals come in whole or not at all."""

import pytest

from governance.budgets import services as budgets
from governance.budgets.models import Budget
from governance.kernel.errors import Invalid
from governance.kernel.policy import SYSTEM
from governance.rentals import queries, services
from governance.rentals.models import Rental
from governance.telemetry import queries as telemetry
from governance.telemetry import services as nodes
from governance.telemetry.models import Card
from tests.rentals.make import amounts, charge, local

NOW = local(2026, 12, 1, 9)
HEAD = "id,project,vendor,card_model,cards,plan,price,currency,starts_at,{more}\n"


def bring(house, *rows, more="paid_until,paid_so_far,card_uuids", dry_run=False):
    text = HEAD.format(more=more) + "".join(
        row.replace("PROJECT", house.project.slug) + "\n" for row in rows
    )
    return services.import_rentals(actor=SYSTEM, data=text.encode(), now=NOW, dry_run=dry_run)


@pytest.fixture
def card(house):
    made = nodes.enrol_node(actor=SYSTEM, name="n1", mode="push", now=NOW)
    return Card.objects.create(node_id=made.node_id, vendor="nvidia", uuid="GPU-1")


MONTHLY = "i-1,PROJECT,CloudA,h100,8,monthly,3000.00,CNY,2026-09-15,2026-12-15,9000.00,GPU-1"
HOURLY = "i-2,PROJECT,CloudA,h100,1,hourly,10.00,CNY,2026-11-01,2026-11-30,6960.00,"


def test_running_rentals_go_on_from_what_was_paid(house, card):
    report = bring(house, MONTHLY, HOURLY)
    assert (report.made, report.cards, report.faults) == (2, 1, [])
    monthly = Rental.objects.get(external_id="i-1")
    assert monthly.paid_before == 9000
    assert [c.uuid for c in telemetry.cards_of_rental(monthly.pk)] == ["GPU-1"]
    charge(local(2026, 12, 16))
    assert amounts(monthly) == ["3000"]
    assert monthly.charges.get().period_start == local(2026, 12, 15)
    hourly = Rental.objects.get(external_id="i-2")
    assert hourly.charges.order_by("period_start").first().period_start == local(2026, 11, 30)
    again = bring(house, MONTHLY, HOURLY)
    assert (again.made, again.same, again.faults) == (0, 2, [])
    assert queries.faults() == []


def test_a_dry_run_writes_nothing(house, card):
    assert bring(house, MONTHLY, dry_run=True).made == 1
    assert Rental.objects.count() == 0


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (MONTHLY.replace("PROJECT", "nowhere"), "line 2, project: there is no project"),
        (MONTHLY.replace("3000.00", "-1"), "line 2, price: "),
        (MONTHLY.replace("monthly", "weekly"), "line 2, plan: "),
        (MONTHLY.replace("CNY", "RMB"), "line 2, currency: "),
        (MONTHLY.replace("GPU-1", "GPU-9"), "line 2, card_uuids: no card"),
        (MONTHLY.replace("2026-09-15", "soon"), "line 2, starts_at: "),
        (MONTHLY.replace(",8,", ",0,"), "line 2, cards: "),
        (MONTHLY + ",extra", "line 2, file: "),
        (MONTHLY.replace("2026-09-15", ""), "line 2, starts_at: missing"),
    ],
)
def test_one_bad_row_and_nothing_is_written(house, card, row, fault):
    report = bring(house, row, HOURLY)
    assert [line for line in report.faults if line.startswith(fault)]
    assert Rental.objects.count() == 0


def test_a_rental_with_other_terms_is_not_overwritten(house, card):
    bring(house, MONTHLY)
    report = bring(house, MONTHLY.replace("3000.00", "3500.00"))
    assert "other terms" in report.faults[0]
    assert Rental.objects.count() == 1


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"id,colour\n1,red\n", b'"a\nb'])
def test_a_file_that_is_none_is_refused(house, data):
    with pytest.raises(Invalid):
        services.import_rentals(actor=SYSTEM, data=data, now=NOW)
    with pytest.raises(Invalid):
        budgets.import_budgets(actor=SYSTEM, data=data)


def test_budgets_come_in(house):
    text = (
        "owner,name,unit,first_day,currency,limit,with_tax\n"
        f"team,{house.team.slug},month,2026-12-01,CNY,5000.00,no\n"
        f"project,{house.project.slug},quarter,2026-10-01,CNY,9000,\n"
        f"cost_centre,{house.project.cost_centre.code},year,2026-01-01,USD,1,yes\n"
    )
    dry = budgets.import_budgets(actor=SYSTEM, data=text.encode(), dry_run=True)
    assert (dry.made, Budget.objects.count()) == (3, 0)
    assert budgets.import_budgets(actor=SYSTEM, data=text.encode()).made == 3
    assert sorted(Budget.objects.values_list("with_tax", flat=True)) == [False, True, True]
    again = budgets.import_budgets(actor=SYSTEM, data=text.encode())
    assert (again.made, again.same, again.faults) == (0, 3, [])
    changed = budgets.import_budgets(actor=SYSTEM, data=text.replace("5000.00", "6000").encode())
    assert changed.faults[0].startswith("line 2, first_day: ")
    bad = text + "team,nobody,month,2026-12-02,CNY,x,\n"
    faults = budgets.import_budgets(actor=SYSTEM, data=bad.encode()).faults
    assert len(faults) == 2
    assert Budget.objects.count() == 3
