"""From an approved request to a rental, by the real acts of every room."""

from datetime import date, timedelta
from decimal import Decimal as D

import pytest

from governance.accounts.models import User
from governance.catalog.services import import_prices, seed_catalogue
from governance.kernel.errors import Denied, Refused
from governance.kernel.policy import SYSTEM
from governance.rentals import queries, services
from governance.rentals.models import Rental
from governance.requests import queries as requests
from governance.requests import services as request_services
from governance.requests.services.matching import read_ask
from governance.telemetry import services as telemetry
from governance.telemetry.models import Card, Node
from tests.budgets.make import budget, figures
from tests.rentals.make import amounts, charge, local

NOW = local(2026, 12, 1, 9)
SHEET = (
    "sku,region,card,cards_per_unit,currency,hourly,monthly,as_of\n"
    "a,cn,RTX 4090,1,CNY,3.2,1700,2026-12-01\n"
)
SPEC = {"method": "lora", "params_b": 7, "tokens": 1e7, "seq_len": 2048, "global_batch": 16}


@pytest.fixture
def approved(house):
    """A request of Alice's, approved by Adam against a budget of December."""
    seed_catalogue(actor=SYSTEM)
    import_prices(actor=SYSTEM, text=SHEET, form="native", vendor="AutoDL", today=date(2026, 12, 1))
    budget("50000", project_id=house.project.pk, first_day=date(2026, 12, 1))
    ask = read_ask(SPEC, "fine_tuning", NOW, NOW + timedelta(days=5))
    draft = request_services.create_draft(
        actor=house.member, project_id=house.project.pk, ask=ask, reason="a detector", now=NOW
    )
    request_services.submit(actor=house.member, request_id=draft.pk, now=NOW)
    found = requests.by_id(draft.pk)
    while found.state == "submitted":
        signer = house.approver if found.waits_for == "requests.approve" else house.finance
        found = request_services.approve(actor=signer, request_id=draft.pk, now=NOW)
    return found


def enrolled():
    made = telemetry.enrol_node(actor=SYSTEM, name="n1", mode="push", now=NOW)
    return Node.objects.get(pk=made.node_id)


def buy(house, request, *, actor=None, plan_kind="hourly", **fields):
    return services.open_rental(
        actor=actor or house.operator, request_id=request.pk, plan_kind=plan_kind,
        starts_at=NOW, now=NOW, **fields,
    )  # fmt: skip


def test_the_loop_from_request_to_budget(house, approved):
    money = budget("80000", team_id=house.team.pk, first_day=date(2026, 12, 1))
    node = enrolled()
    cards = [
        Card.objects.create(
            node=node, vendor="nvidia", uuid=f"GPU-{i}", model_slug=approved.package["card"]
        )
        for i in range(int(approved.package["count"]))
    ]
    pk = buy(house, approved, card_ids=[card.pk for card in cards])
    own = Rental.objects.get(pk=pk)
    assert own.state == "active"
    assert requests.by_id(approved.pk).state == "active"
    assert own.hold_key == approved.hold_key
    assert own.vendor == "autodl"
    foreseen = queries.preview(queries.rental_terms(own))
    charge(NOW + timedelta(days=40))
    assert amounts(own) == [f"{entry.net.normalize():f}" for entry in foreseen.entries]
    assert foreseen.totals.net == sum(c.net for c in own.charges.all())
    services.advance_states(actor=SYSTEM, now=NOW + timedelta(days=40))
    assert requests.by_id(approved.pk).state == "completed"
    assert figures(money)[1] == f"{foreseen.totals.gross.normalize():f}"
    assert queries.faults() == []


def test_the_price_is_frozen(house, approved):
    pk = buy(house, approved, plan_kind="monthly")
    import_prices(
        actor=SYSTEM, text=SHEET.replace("1700", "1900"), form="native", vendor="AutoDL",
        today=date(2026, 12, 2),
    )  # fmt: skip
    own = Rental.objects.get(pk=pk)
    plan = own.components.get(code="cards").plan
    assert D(plan["price"]) == 1700


def test_what_cannot_be_bought(house, approved):
    with pytest.raises(Denied):
        buy(house, approved, actor=house.member)
    with pytest.raises(Refused) as refused:
        buy(house, approved, plan_kind="annual")
    assert refused.value.reason.code == "plan_not_sold"
    buy(house, approved)
    with pytest.raises(Refused):
        buy(house, approved)
    assert Rental.objects.count() == 1
    assert User.objects.count() > 0


def test_a_card_held_by_another_stops_the_purchase_whole(house, approved):
    node = enrolled()
    card = Card.objects.create(node=node, vendor="nvidia", uuid="GPU-1", model_slug="rtx-4090")
    telemetry.book_card(
        actor=SYSTEM, card_id=card.pk, starts_at=NOW, ends_at=None,
        project_id=house.other_project.pk, now=NOW,
    )  # fmt: skip
    with pytest.raises(Refused):
        buy(house, approved, card_ids=[card.pk])
    assert Rental.objects.count() == 0
    assert requests.by_id(approved.pk).state == "approved"
