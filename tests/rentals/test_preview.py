"""The preview's wire format: the contract's example, taxes, and what is refused."""

import copy
import json

import pytest

from governance.rentals.domain.compare import compare_plans
from governance.rentals.domain.preview import preview
from governance.rentals.domain.reading import Faults, load_json

EXAMPLE = {
    "currency": "CNY",
    "timezone": "Asia/Shanghai",
    "plan": {
        "kind": "monthly",
        "price": "2304.00",
        "anchor": "start",
        "settlement": "second",
        "bill": "segment",
        "proration": "actual",
        "basis": "second",
        "rounding": "half_up",
        "places": 2,
    },
    "quantity": 1,
    "start": "2026-01-25T00:00:00+08:00",
    "end": "2026-02-03T00:00:00+08:00",
    "changes": [{"at": "2026-02-01T00:00:00+08:00", "price": "4000.00", "quantity": 1}],
}


def example(**fields):
    data = copy.deepcopy(EXAMPLE)
    for name, value in fields.items():
        target = data["plan"] if name in {*data["plan"], "tax"} else data
        target[name] = value
    return data


def test_the_contract_example():
    answer = preview(EXAMPLE)
    assert answer["totals"] == {"net": "778.32", "tax": "0.00", "gross": "778.32"}
    assert [line["amount"] for line in answer["lines"]] == ["668.90", "-148.64", "258.06"]
    assert [line["kind"] for line in answer["lines"]] == ["charge", "credit", "charge"]
    assert answer["lines"][1]["period_start"] == "2026-02-01T00:00:00+08:00"
    assert answer["lines"][1]["formula"] == "-668.90 x 2 d / 9 d = -148.64"


def test_the_contract_example_by_calendar():
    assert preview(example(anchor="calendar"))["totals"]["net"] == "805.97"


def test_only_the_required_fields():
    plan = {"kind": "monthly", "price": 2304}
    data = {"currency": "CNY", "timezone": "Asia/Shanghai", "plan": plan, "start": "2025-01-31"}
    answer = preview(data, until="2026-01-31")
    assert len(answer["lines"]) == 12
    assert answer["totals"]["gross"] == "27648.00"


def test_until_lists_and_does_not_prorate():
    assert [line["amount"] for line in preview(EXAMPLE, until="2026-01-26")["lines"]] == ["668.90"]
    assert preview(EXAMPLE, until="2026-01-25")["lines"] == []


@pytest.mark.parametrize(
    ("inclusive", "sums"),
    [(False, ("778.32", "46.70", "825.02")), (True, ("734.26", "44.06", "778.32"))],
)
def test_tax_lines_add_up(inclusive, sums):
    answer = preview(example(tax={"rate": "0.06", "inclusive": inclusive}))
    assert tuple(answer["totals"].values()) == sums
    from decimal import Decimal

    net = sum(Decimal(line["amount"]) for line in answer["lines"] if line["kind"] != "tax")
    tax = sum(Decimal(line["amount"]) for line in answer["lines"] if line["kind"] == "tax")
    assert (f"{net}", f"{tax}") == sums[:2]


def test_places_follow_the_currency_or_the_plan():
    data = example()
    del data["plan"]["places"]
    assert preview({**data, "currency": "JPY"})["totals"]["net"] == "778"
    assert preview(example(places=4))["totals"]["net"].split(".")[1] == "3225"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"currency": "RMB"}, "currency"),
        ({"currency": None}, "currency"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../etc/passwd"}, "timezone"),
        ({"price": "-1"}, "plan.price"),
        ({"price": "NaN"}, "plan.price"),
        ({"price": "1e400"}, "plan.price"),
        ({"price": True}, "plan.price"),
        ({"price": None}, "plan.price"),
        ({"kind": "weekly"}, "plan.kind"),
        ({"anchor": "2026-02-30"}, "plan.anchor"),
        ({"rounding": "up"}, "plan.rounding"),
        ({"places": 2.5}, "plan.places"),
        ({"tax": {"rate": "six"}}, "plan.tax.rate"),
        ({"tax": {"rate": "0.06", "inclusive": "yes"}}, "plan.tax.inclusive"),
        ({"tax": []}, "plan.tax"),
        ({"quantity": 0}, "quantity"),
        ({"quantity": 1.5}, "quantity"),
        ({"start": "2026-01-25T00:00:00"}, "start"),
        ({"start": "yesterday"}, "start"),
        ({"start": 5}, "start"),
        ({"end": "2026-01-25T00:00:00+08:00"}, "end"),
        ({"end": None}, "end"),
        ({"changes": {}}, "changes"),
        ({"changes": [{"at": "2026-02-01"}]}, "changes[0].price"),
        ({"changes": [{"at": "2026-01-01", "price": "1"}]}, "changes[0].at"),
        ({"changes": [{"at": "2026-03-01", "price": "1"}]}, "changes[0].at"),
        ({"changes": [{"at": "2026-02-01", "price": "1", "speed": 2}]}, "changes[0].speed"),
        ({"colour": "red"}, "colour"),
        ({"plan": "monthly"}, "plan"),
    ],
)
def test_faults_name_their_place(fields, place):
    with pytest.raises(Faults) as refused:
        preview(example(**fields))
    assert place in [where for where, _ in refused.value.faults]


def test_all_faults_are_told_at_once():
    with pytest.raises(Faults) as refused:
        preview({"plan": {"kind": "x"}})
    places = {where for where, _ in refused.value.faults}
    assert {"currency", "timezone", "plan.kind", "plan.price", "start"} <= places


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(Faults):
        load_json(text)


def test_a_list_is_not_a_rental():
    with pytest.raises(Faults):
        preview([])


PLANS = {
    "currency": "USD",
    "plans": [
        {"kind": "hourly", "price": "3.673385"},
        {"kind": "monthly", "price": "1689.3711392"},
        {"kind": "annual", "price": "18000"},
    ],
    "hours_per_month": "400",
    "months": 12,
}


def test_plans_side_by_side():
    answer = compare_plans(PLANS)
    assert answer["costs"] == {"hourly": "17632.25", "monthly": "20272.45", "annual": "18000.00"}
    assert answer["break_even_hours_per_month"] == {
        "monthly_vs_hourly": "459.89",
        "annual_vs_hourly": "408.34",
    }
    assert answer["break_even_months"] == {"annual_vs_monthly": 11}
    assert answer["advice"] == "hourly"


@pytest.mark.parametrize(
    ("prices", "hours", "months", "even"),
    [
        (("14.80", "7992", "76723.20"), "540.00", 10, "432.00"),
        (("1", "100", "1200"), "100.00", None, "100.00"),
        (("1", "100", "1199.99"), "100.00", 12, "100.00"),
        (("1", "100", "99"), "100.00", 1, "8.25"),
    ],
)
def test_break_even_points(prices, hours, months, even):
    plans = [
        {"kind": kind, "price": price}
        for kind, price in zip(("hourly", "monthly", "annual"), prices, strict=True)
    ]
    answer = compare_plans({**PLANS, "plans": plans})
    assert answer["break_even_hours_per_month"]["monthly_vs_hourly"] == hours
    assert answer["break_even_hours_per_month"]["annual_vs_hourly"] == even
    assert answer["break_even_months"]["annual_vs_monthly"] == months


def test_ties_go_to_the_shorter_commitment():
    plans = [{"kind": "annual", "price": "1200"}, {"kind": "monthly", "price": "100"}]
    answer = compare_plans({**PLANS, "plans": plans})
    assert answer["advice"] == "monthly"
    assert answer["break_even_hours_per_month"]["monthly_vs_hourly"] is None
    plans.append({"kind": "hourly", "price": "0.25"})
    assert compare_plans({**PLANS, "plans": plans})["advice"] == "hourly"


def test_whole_years_are_paid():
    plans = [{"kind": "annual", "price": "1200"}]
    assert compare_plans({**PLANS, "plans": plans, "months": 13})["costs"]["annual"] == "2400.00"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"plans": []}, "plans"),
        ({"plans": [{"kind": "spot", "price": "1"}]}, "plans[0].kind"),
        ({"plans": [{"kind": "hourly"}]}, "plans[0].price"),
        ({"plans": [{"kind": "hourly", "price": "1"}] * 2}, "plans[1].kind"),
        ({"months": 0}, "months"),
        ({"hours_per_month": "-1"}, "hours_per_month"),
        ({"hours_per_month": None}, "hours_per_month"),
        ({"currency": "XXXX"}, "currency"),
        ({"extra": 1}, "extra"),
    ],
)
def test_comparison_faults_name_their_place(fields, place):
    with pytest.raises(Faults) as refused:
        compare_plans({**PLANS, **fields})
    assert place in [where for where, _ in refused.value.faults]


def test_answers_are_plain_json():
    json.dumps([preview(EXAMPLE), compare_plans(PLANS)], allow_nan=False)
