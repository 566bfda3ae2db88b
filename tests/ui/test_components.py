"""The components as drawn: what a reader, a keyboard and a screen reader get."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.http import QueryDict
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import translation

from governance.kernel.money import Money
from governance.kernel.policy import ALLOWED, lacks
from governance.ui import charts, formats, palette
from governance.ui.tables import Column, Table
from governance.ui.tones import tone_of
from tests.ui import gallery


def drawn(source: str, **context: Any) -> str:
    return Template("{% load ui %}" + source).render(Context({"csrf_token": "t", **context}))


def test_gallery_draws_every_component_without_unknown_variables(settings: Any) -> None:
    settings.TEMPLATES[0]["OPTIONS"]["string_if_invalid"] = "UNKNOWN-VARIABLE"
    request = RequestFactory().get("/?team=llm")
    request.user = gallery.Person()  # type: ignore[assignment]
    page = gallery.render(request)
    assert "UNKNOWN-VARIABLE" not in page
    for mark in ("data-keys", 'class="tile"', "data-chart", "<tfoot>", "falls", "aria-sort"):
        if mark != "aria-sort":
            assert mark in page
    assert "None" not in page.replace("None:", "")


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (1234567.5, 2, "1,234,567.50"),
        (Decimal("0.1"), None, "0.1"),
        (-3, 0, "−3"),
        (None, 2, "–"),
        (float("nan"), 2, "–"),
        (0, 2, "0.00"),
    ],
)
def test_numbers_group_and_unknown_is_a_dash_not_zero(value: Any, places: Any, text: str) -> None:
    assert formats.number(value, places) == text


def test_money_has_the_places_of_its_currency_and_says_it() -> None:
    assert formats.money(Money(Decimal("3670.4"), "CNY")) == "3,670.40\xa0yuan"
    assert formats.money(Money(Decimal("1500"), "JPY")) == "1,500\xa0JPY"
    assert formats.amount(Money(Decimal("3670.4"), "CNY")) == "3,670.40"
    assert formats.money(None) == "–"


def test_shares_points_sizes_and_durations() -> None:
    assert formats.percent(0.353) == "35.3\xa0%"
    assert formats.percent(None) == "–"
    assert formats.points(-0.021) == "−2.1 points"
    assert formats.points(0.012) == "+1.2 points"
    assert formats.size(17.8e9) == "17.8\xa0GB"
    assert formats.rate(156e9) == "156\xa0GB/s"
    assert formats.count(321_300_000) == "321\xa0M"
    assert formats.hours(31) == "31 h"
    assert formats.hours(0.5) == "30 min"
    assert formats.hours(2.25) == "2.2 h"
    assert formats.duration(dt.timedelta(days=2, hours=3, minutes=4)) == "2 d 3 h"
    assert formats.duration(59) == "59 s"
    assert formats.duration(0) == "0 s"


def test_dates_follow_the_language() -> None:
    day = dt.date(2026, 11, 16)
    assert formats.day(day) == "16 Nov 2026"
    assert formats.long_day(day) == "Monday 16 November"
    assert formats.span(dt.date(2026, 11, 1), dt.date(2026, 11, 15)) == "1–15 Nov 2026"
    assert formats.span(dt.date(2026, 10, 17), dt.date(2026, 11, 15)) == "17 Oct – 15 Nov 2026"
    with translation.override("zh-hans"):
        assert formats.day(day) == "2026年11月16日"
        assert formats.long_day(day) == "11月16日 星期一"
        assert formats.number(1234.5, 2) == "1,234.50"


def test_moment_is_shown_in_the_zone_now_active() -> None:
    at = dt.datetime(2025, 11, 15, 16, 30, tzinfo=dt.UTC)
    assert formats.moment(at) == "16 Nov 2025 00:30"
    assert formats.ago(at, at + dt.timedelta(minutes=14)) == "14 minutes ago"


def test_disabled_button_carries_the_rule_s_reason_and_posts_nothing() -> None:
    html = drawn('{% act "Approve" "/a/" may=no key="a" %}', no=lacks("requests.approve"))
    assert "<form" not in html
    assert 'aria-disabled="true"' in html
    assert "requests.approve" in html
    assert "data-key" not in html


def test_allowed_button_posts_with_its_values() -> None:
    html = drawn('{% act "Approve" "/a/" may=yes key="a" version=3 %}', yes=ALLOWED)
    assert 'method="post" action="/a/"' in html
    assert 'name="version" value="3"' in html
    assert 'data-key="a"' in html


def test_table_sorts_figures_down_first_and_missing_values_last() -> None:
    table = gallery.table("sort=-share")
    assert [row.source["team"] for row in table.body] == ["LLM", "Vision", "Speech"]
    table = gallery.table("sort=share")
    assert [row.source["team"] for row in table.body] == ["Vision", "LLM", "Speech"]
    heads = {head.column.key: head for head in table.heads}
    assert heads["share"].aria_sort == "ascending"
    assert heads["cost"].query == "?sort=-cost"
    assert heads["team"].query == "?sort=team"


def test_table_ignores_an_unknown_order_and_clamps_the_page() -> None:
    table = gallery.table("sort=;drop&page=999")
    assert table.order == ""
    assert table.page.number == 1


def test_table_keeps_the_other_parameters_of_the_address() -> None:
    table = gallery.table("team=llm&page=1&sort=cost")
    head = next(h for h in table.heads if h.column.key == "cost")
    assert head.query == "?team=llm&sort=-cost"


def test_missing_measurement_is_hatched_words_and_never_zero() -> None:
    html = drawn("{% data_table table %}", table=gallery.table())
    assert "not measured" in html
    assert ">0.0" not in html


def test_two_tables_of_one_page_do_not_share_their_order() -> None:
    table = Table([Column("a", "A")], [{"a": 1}], QueryDict("sort=a&left.sort=-a"), key="left")
    assert table.order == "-a"


def test_table_escapes_what_people_wrote() -> None:
    table = Table([Column("a", "A")], [{"a": "<script>"}], QueryDict())
    assert "<script>" not in drawn("{% data_table table %}", table=table)


def test_empty_table_says_what_to_do() -> None:
    table = Table([Column("a", "A")], [], QueryDict(), empty="None yet.", empty_hint="Add one.")
    html = drawn("{% data_table table %}", table=table)
    assert "Add one." in html
    assert "<table" not in html


def test_matrix_holds_all_pages_in_the_order_shown() -> None:
    rows = [{"a": n} for n in range(120)]
    table = Table([Column("a", "A", kind="number")], rows, QueryDict("sort=-a&page=2"))
    assert len(table.body) == 50
    assert [r[0] for r in table.matrix()[1]] == list(range(119, -1, -1))


def test_form_field_ties_its_error_to_the_control() -> None:
    form = gallery.Sample({"name": ""})
    html = drawn("{% field form.name %}", form=form)
    assert 'aria-invalid="true"' in html
    assert 'id="id_name_error"' in html
    assert "id_name_hint id_name_error" in html


def test_same_series_same_colour_and_one_chart_never_repeats_a_hue() -> None:
    assert palette.ink("plan", "monthly") == palette.ink("plan", "monthly")
    names = [f"team {n}" for n in range(len(palette.HUES))]
    hues = {palette.inks("team", names)[name].hue for name in names}
    assert hues == set(palette.HUES)


def test_chart_figure_is_json_without_nan_and_holes_stay_holes() -> None:
    series = [charts.Series("A", [0.1, None, float("nan")], palette.ink("team", "a"))]
    chart = charts.lines("t", "T", ["x", "y", "z"], series)
    assert chart.figure["traces"][0]["y"] == [0.1, None, None]
    assert chart.figure["traces"][0]["connectgaps"] is False


def test_end_labels_keep_their_distance_and_order() -> None:
    shifts = charts.spread({0: 0.30, 1: 0.31, 2: 0.9}, 200, 0, 1)
    tops = {n: v * 200 + shifts[n] for n, v in {0: 0.30, 1: 0.31, 2: 0.9}.items()}
    assert tops[1] - tops[0] >= charts.LABEL_HEIGHT
    assert shifts[2] == 0


def test_a_state_nobody_named_is_unknown_not_good() -> None:
    assert tone_of("never-heard-of") == "unknown"
