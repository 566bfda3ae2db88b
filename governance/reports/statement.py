"""The month's statement as PDF, to be signed off by name. The font is embedded: WenQuanYi Micro
Hei (Apache-2.0 or GPL with font exception), from a wheel that carries it."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from importlib.resources import as_file, files
from typing import Any
from zoneinfo import ZoneInfo

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from governance.accounts.queries import organisation
from governance.kernel.periods import add_months
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_
from governance.rentals import queries as rentals
from governance.reports.domain.tables import Column, Result
from governance.reports.queries import run

FONT = "MicroHei"
GROUPS = (
    ("team", N_("Cost by team")),
    ("vendor", N_("Cost by vendor")),
    ("plan", N_("Cost by plan")),
    ("rental", N_("Cost by rental")),
)
COLUMNS = (
    Column("group", N_("Group")),
    Column("billed", N_("Billed"), "money"),
    Column("amortised", N_("Amortised"), "money"),
    Column("tax", N_("Tax billed"), "money"),
    Column("currency", N_("Currency")),
)


@cache
def _font() -> str:
    """Register the embedded font once."""
    place = files("paperang_p2_fonts_cjk") / "fonts" / "wqy-microhei.ttc"
    with as_file(place) as path:
        pdfmetrics.registerFont(TTFont(FONT, str(path), subfontIndex=0))
    return FONT


def month_pdf(
    viewer: Actor, first: date, now: datetime, translate: Callable[[str], str], language: str
) -> bytes:
    """The month's cost by team, vendor, plan and rental; closed months say when and by whom."""
    font = _font()
    home = organisation()
    last = add_months(first, 1) - timedelta(days=1)
    asked = {"from": first.isoformat(), "to": last.isoformat()}
    title = ParagraphStyle("title", fontName=font, fontSize=16, leading=22, spaceAfter=4)
    head = ParagraphStyle("head", fontName=font, fontSize=11, leading=16, spaceBefore=10)
    text = ParagraphStyle(
        "text", fontName=font, fontSize=9, leading=13, wordWrap="CJK" if language == "zh" else None
    )
    closed = next((m for m in rentals.months() if m.month == first), None)
    made = now.astimezone(ZoneInfo(home.timezone))
    state = translate(N_("Open: figures may still change."))
    if closed is not None:
        told = translate(N_("Closed on %(day)s by %(name)s; hash of its charges %(hash)s."))
        state = told % {
            "day": f"{closed.closed_at:%Y-%m-%d}",
            "name": closed.closed_by,
            "hash": closed.input_hash[:16],
        }
    story: list[Any] = [
        Paragraph(f"{home.name}: {translate(N_('Statement'))} {first:%Y-%m}", title),
        Paragraph(f"{first} – {last}, {home.timezone}. {state}", text),
        Paragraph(translate(N_("Amounts are net of tax; tax stands beside them.")), text),
    ]
    for group, name in GROUPS:
        result = run("cost", viewer, {**asked, "group_by": group}, now)
        story += [Paragraph(translate(name), head), _table(result, font, translate)]
    signed = translate(N_("Signed off by (name, date):"))
    story += [
        Spacer(1, 14 * mm),
        Paragraph(f"{signed} ________________________________", text),
        Spacer(1, 4 * mm),
        Paragraph(f"{translate(N_('Made at'))} {made:%Y-%m-%d %H:%M}", text),
    ]
    out = io.BytesIO()
    document = SimpleDocTemplate(
        out,
        pagesize=A4,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        topMargin=18 * mm,
        bottomMargin=18 * mm,
        title=f"{home.name} {first:%Y-%m}",
    )
    document.build(story)
    return out.getvalue()


def _table(result: Result, font: str, translate: Callable[[str], str]) -> Table:
    words = {"hourly", "daily", "monthly", "quarterly", "annual", "spot"}
    rows: list[list[str]] = [[translate(column.name) for column in COLUMNS]]
    for row in result.rows:
        name = str(row["group"])
        rows.append([translate(name) if name in words else name, *_amounts(row)])
    if result.total:
        rows.append([translate(N_("Total")), *_amounts(result.total)])
    table = Table(rows, colWidths=[58 * mm, 32 * mm, 32 * mm, 30 * mm, 20 * mm], repeatRows=1)
    last = len(rows) - 1
    table.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, -1), font, 9),
                ("ALIGN", (1, 0), (3, -1), "RIGHT"),
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.black),
                ("LINEBELOW", (0, 1), (-1, last), 0.25, colors.lightgrey),
                *(
                    [("LINEABOVE", (0, last), (-1, last), 0.8, colors.black)]
                    if result.total
                    else []
                ),
            ]
        )
    )
    return table


def _amounts(row: Any) -> list[str]:
    figures = [row.get(key) for key in ("billed", "amortised", "tax")]
    return [*("" if v is None else f"{v:,.2f}" for v in figures), str(row.get("currency") or "")]
