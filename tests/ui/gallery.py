"""One page with every component and the data it needs."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest, QueryDict
from django.template import Context, Template

from governance.kernel.money import Money
from governance.kernel.policy import lacks
from governance.ui import charts
from governance.ui.palette import ink, inks
from governance.ui.tables import Column, Table


class Person:
    is_authenticated = True
    display = "Lea"
    email = "lea@example.test"


class Sample(forms.Form):
    name = forms.CharField(help_text="As it stands on the invoice")
    cards = forms.IntegerField(min_value=1)
    model = forms.ChoiceField(choices=[("a", "A800"), ("b", "H100")])
    why = forms.CharField(widget=forms.Textarea, required=False)
    sure = forms.BooleanField()


class Filter(forms.Form):
    team = forms.ChoiceField(choices=[("", "All"), ("llm", "LLM")], required=False)


ROWS: list[dict[str, Any]] = [
    {"team": "LLM", "cards": 12, "share": 0.416, "cost": Decimal("93744"), "coverage": 0.985},
    {"team": "Vision", "cards": 14, "share": 0.175, "cost": Decimal("31512"), "coverage": 0.902},
    {"team": "Speech", "cards": 6, "share": None, "cost": Decimal("26640"), "coverage": None},
]


def table(query: str = "") -> Table:
    return Table(
        columns=[
            Column("team", "Team", href=lambda r: f"/t/{r['team']}/", stick=True),
            Column("cards", "Cards", kind="number", places=0),
            Column("share", "Bandwidth share", kind="percent", note="active time", measured=True),
            Column(
                "coverage", "Coverage", kind="percent", incomplete=lambda r: r["team"] == "Vision"
            ),
            Column("cost", "Cost, yuan", kind="amount"),
            Column("state", "State", kind="badge", value=lambda r: ("good", "within")),
        ],
        rows=ROWS,
        params=QueryDict(query),
        caption="Teams",
        totals={"cards": 32, "cost": Decimal("151896")},
        exports=[("CSV", "?format=csv")],
    )


def context(request: HttpRequest) -> dict[str, Any]:
    days = [dt.date(2026, 10, 17) + dt.timedelta(n) for n in range(30)]
    names = inks("team", ["LLM", "Speech", "Vision"])
    waves = {
        "LLM": [0.41 + 0.03 * ((n * 7) % 5 - 2) / 2 for n in range(30)],
        "Speech": [0.31 - n * 0.002 for n in range(30)],
        "Vision": [None if 18 <= n < 21 else 0.2 - n * 0.001 for n in range(30)],
    }
    form = Sample({"name": "", "cards": "x", "model": "a"})
    return {
        "request": request,
        "user": request.user,
        "demo": True,
        "theme": request.COOKIES.get("theme", ""),
        "LANGUAGE_CODE": "en",
        "csrf_token": "token",
        "messages": [],
        "navigation": {"main": [], "more": [], "short": [], "at_home": False},
        "filter_form": Filter(request.GET),
        "form": form,
        "no": lacks("requests.approve"),
        "money": Money(Decimal("5024"), "CNY"),
        "spark": [35, 34, 36, None, 33, 31, 35],
        "meter": {
            "spent": 151896,
            "limit": 314000,
            "held": 20000,
            "forecast": 303792,
            "elapsed": 0.5,
        },
        "table": table(),
        "trend": charts.lines(
            "trend",
            "Bandwidth share on active time, 30 days",
            days,
            [charts.Series(n, v, names[n]) for n, v in waves.items()],
            write=lambda v: f"{float(v) * 100:.0f} %",
            note="Per cent of theoretical memory bandwidth.",
            mark=charts.Mark(0.3, "mark 30"),
            unknown=[charts.Unknown(days[18], days[20], "Vision: no data")],
        ),
        "cost": charts.bars(
            "cost",
            "Cost by month",
            ["Sep", "Oct", "Nov"],
            [
                charts.Series("hourly", [10000, 12000, 9000], ink("plan", "hourly")),
                charts.Series("monthly", [32000, 32000, 48000], ink("plan", "monthly")),
                charts.Series("unknown", [1000, 0, 4000], ink("cause", "unknown")),
            ],
            mark=charts.Mark(58000, "budget 58,000"),
        ),
        "map": charts.heat(
            "map",
            "Cards by day",
            days,
            ["n1/0", "n1/1", "n2/0"],
            [
                [None if (i + k) % 11 == 0 else (i * k % 10) / 10 for i in range(30)]
                for k in (1, 2, 3)
            ],
        ),
        "shares": {"memory": 0.71, "compute": 0.83, "bandwidth": 0.48, "interconnect": 0.19},
        "falls": [
            ("whole", "Paid", 146468.80),
            ("idle", "Idle", 18367.42),
            ("link_bound", "Link-bound", 15991.62),
            ("compute_bound", "Compute-bound", 44289.54),
            ("unknown", "No data", 6208.75),
            ("used", "Used", 61611.47),
        ],
        "causes": [("idle", "idle"), ("used", "used"), ("unknown", "no data")],
        "parts": [("idle", "idle", 0.3), ("used", "used", 0.6), ("unknown", "no data", 0.1)],
        "steps": [
            {"title": "1 Oct", "text": "start, monthly", "state": "done"},
            {"title": "today", "text": "14th month", "state": "now"},
            {"title": "30 Nov", "text": "ends", "state": ""},
        ],
    }


def render(request: HttpRequest) -> str:
    from pathlib import Path

    source = (Path(__file__).parent / "gallery.html").read_text(encoding="utf-8")
    return Template(source).render(Context(context(request)))
