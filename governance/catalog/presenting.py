"""Words and tables of the catalogue's pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from governance.catalog.domain import CardSpec
from governance.catalog.domain.figures import Figure, best, in_conflict
from governance.catalog.models import (
    LINE_NAMES,
    SOURCE_KINDS,
    TERM_NAMES,
    Offer,
    OfferPrice,
    Vendor,
)
from governance.catalog.services.prices import ImportReport, ReportRow
from governance.ui import formats
from governance.ui.tables import Column, Table, join

FIGURE_NAMES = {
    "memory_gib": gettext_lazy("memory"),
    "bandwidth_gbs": gettext_lazy("memory bandwidth"),
    "bus_bits": gettext_lazy("memory bus width"),
    "pin_rate_gbps": gettext_lazy("effective rate a pin"),
    "bf16_tflops": gettext_lazy("BF16, dense"),
    "fp16_tflops": gettext_lazy("FP16, dense"),
    "fp8_tflops": gettext_lazy("FP8, dense"),
    "fp32_tflops": gettext_lazy("FP32"),
    "matmul_tflops": gettext_lazy("matrix product, reached"),
    "link_gbs": gettext_lazy("link between cards"),
    "pcie_gbs": gettext_lazy("PCIe"),
    "busbw_gbs": gettext_lazy("collective over 8 cards, reached"),
    "copy_gbs": gettext_lazy("memory copy, reached"),
    "tdp_w": gettext_lazy("power limit"),
}
TOPICS = {
    "cards": gettext_lazy("Cards"),
    "interconnect": gettext_lazy("Links between cards and nodes"),
    "smallest_unit": gettext_lazy("Smallest unit"),
    "services": gettext_lazy("Services around bandwidth"),
    "lines": gettext_lazy("Public lines"),
    "regions": gettext_lazy("Regions"),
    "filing": gettext_lazy("Filing"),
    "trial": gettext_lazy("Trial"),
    "price": gettext_lazy("Price"),
    "sharing": gettext_lazy("Exclusive or shared"),
    "licence": gettext_lazy("Licence"),
}
STATES = {
    "new": ("good", gettext_lazy("new")),
    "changed": ("watch", gettext_lazy("changed")),
    "same": ("plain", gettext_lazy("unchanged")),
    "skipped": ("unknown", gettext_lazy("skipped")),
    "refused": ("act", gettext_lazy("refused")),
}


PLACES = Decimal("0.000001")


@dataclass(frozen=True)
class FigureGroup:
    """All sources of one quantity; `used` is the one that calculations take."""

    name: str
    label: Any
    used: Figure
    figures: Sequence[Figure]
    conflict: bool


def figure_groups(figures: dict[str, list[Figure]]) -> list[FigureGroup]:
    """Quantities in the order of the page, each with its best source first."""
    found = []
    for name, label in FIGURE_NAMES.items():
        rows = figures.get(name, [])
        used = best(rows)
        if used is not None:
            found.append(FigureGroup(name, label, used, rows, in_conflict(rows)))
    return found


def kind_words(kind: str) -> str:
    return str(SOURCE_KINDS[kind])


def billions(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def card_table(rows: Sequence[tuple[CardSpec, bool]], params: QueryDict) -> Table:
    """The card models; `rows` are specs with whether their bandwidth sources disagree."""

    def spec(scale: float, name: str) -> Any:
        return lambda row: billions(getattr(row[0], name), scale)

    def marks(row: tuple[CardSpec, bool]) -> tuple[str, Any] | None:
        card, conflict = row
        if card.bandwidth_bytes_per_s is None and card.matrix_flops is None:
            return "unknown", _("not known")
        if not card.bandwidth_confirmed:
            return "watch", _("to be confirmed")
        return ("watch", _("sources differ")) if conflict else None

    return Table(
        columns=[
            Column(
                "name",
                _("Card"),
                value=lambda row: row[0].name,
                sub=lambda row: join((row[0].maker, row[0].arch)),
                href=lambda row: reverse("catalog:card", args=[row[0].slug]),
                stick=True,
            ),
            Column(
                "memory",
                _("Memory"),
                kind="number",
                note="GiB",
                places=0,
                value=lambda row: row[0].memory_bytes / (1 << 30) or None,
                sub=lambda row: row[0].memory_type,
            ),
            Column(
                "bandwidth",
                _("Memory bandwidth"),
                kind="number",
                note="GB/s",
                places=0,
                value=spec(1e9, "bandwidth_bytes_per_s"),
            ),
            Column(
                "bf16",
                _("BF16 or FP16, dense"),
                kind="number",
                note="TFLOP/s",
                places=1,
                value=spec(1e12, "matrix_flops"),
            ),
            Column(
                "fp8",
                _("FP8, dense"),
                kind="number",
                note="TFLOP/s",
                places=0,
                value=spec(1e12, "fp8_flops"),
            ),
            Column(
                "link",
                _("Link, one way"),
                kind="number",
                note="GB/s",
                places=0,
                value=spec(1e9, "link_bytes_per_s"),
                sub=lambda row: "" if row[0].link_kind == "none" else row[0].link_kind,
            ),
            Column("tdp", _("Power"), kind="number", note="W", places=0, value=spec(1, "tdp_w")),
            Column("marks", _("Sources"), kind="badge", value=marks, sortable=False),
        ],
        rows=rows,
        params=params,
        caption=_("Card models"),
        page_size=100,
        empty=_("No card models yet."),
        empty_hint=_("Run seed_catalogue to bring the packaged ones in."),
    )


@dataclass(frozen=True)
class VendorGrid:
    """Vendors side by side: a row a topic, a cell a vendor."""

    vendors: Sequence[Vendor]
    rows: Sequence[tuple[Any, Sequence[str]]]
    sources: Sequence[str]


def vendor_grid(vendors: Sequence[Vendor]) -> VendorGrid:
    """What the sources say of each vendor, by topic; nothing said stays empty."""
    chinese = (get_language() or "").startswith("zh")
    said: dict[tuple[int, str], str] = {}
    sources = set()
    for vendor in vendors:
        for statement in vendor.statements.all():
            said[vendor.pk, statement.topic] = statement.text_zh if chinese else statement.text
            sources.add(statement.source_ref)
    rows = [
        (label, [said.get((vendor.pk, topic), "") for vendor in vendors])
        for topic, label in TOPICS.items()
        if any((vendor.pk, topic) in said for vendor in vendors)
    ]
    return VendorGrid(vendors, rows, sorted(sources))


def vendor_name(vendor: Vendor) -> str:
    chinese = (get_language() or "").startswith("zh")
    return vendor.name_zh if chinese and vendor.name_zh else vendor.name


def price_words(prices: Sequence[OfferPrice]) -> Any:
    """The prices of one offer, shortest term first, at most six places."""
    order = list(TERM_NAMES)
    return join(
        [
            f"{TERM_NAMES[p.kind]} {formats.number(p.price.quantize(PLACES))} {p.currency}"
            for p in sorted(prices, key=lambda p: order.index(p.kind))
        ]
    )


def validity(prices: Sequence[OfferPrice]) -> Any:
    """From when to when the newest of the prices holds."""
    first = min((p.valid_from for p in prices), default=None)
    last = max((p.valid_to for p in prices if p.valid_to), default=None)
    if first is None:
        return None
    since = formats.day(first)
    return f"{since} – {formats.day(last)}" if last else _("since %(day)s") % {"day": since}


def offer_table(rows: Sequence[Offer], params: QueryDict, day: date) -> Table:
    """Offers with their prices on that day."""
    return Table(
        columns=[
            Column(
                "sku",
                _("Offer"),
                sub=lambda o: join((vendor_name(o.vendor), o.region)),
                stick=True,
            ),
            Column(
                "card",
                _("Card"),
                value=lambda o: o.card_model.name,
                href=lambda o: reverse("catalog:card", args=[o.card_model.slug]),
            ),
            Column("cards_per_unit", _("Cards a unit"), kind="count"),
            Column(
                "network",
                _("Network a node"),
                kind="number",
                note="Gbit/s",
                places=0,
                value=lambda o: billions(o.network_bytes_per_s, 1e9 / 8),
                sub=lambda o: _("shared") if o.network_shared else "",
            ),
            Column(
                "egress",
                _("Public line"),
                kind="number",
                note="Mbit/s",
                places=0,
                value="egress_mbit",
                sub=lambda o: LINE_NAMES.get(o.line, ""),
            ),
            Column(
                "prices",
                _("Prices, with or without tax as stated"),
                value=lambda o: price_words(o.valid_prices),
                sub=lambda o: (
                    _("with tax")
                    if all(p.tax_inclusive for p in o.valid_prices)
                    else _("without tax")
                ),
                sortable=False,
            ),
            Column("validity", _("Valid"), value=lambda o: validity(o.valid_prices)),
            Column("source", _("Source"), sub=lambda o: formats.day(o.as_of) if o.as_of else ""),
        ],
        rows=rows,
        params=params,
        caption=_("Offers on %(day)s") % {"day": formats.day(day)},
        empty=_("No offers yet."),
        empty_hint=_("Import a price sheet."),
    )


def report_table(report: ImportReport, params: QueryDict) -> Table:
    """The rows of an import, those that need a person first."""
    order = ["refused", "changed", "new", "skipped", "same"]

    def key(row: ReportRow) -> tuple[int, bool]:
        return order.index(row.state), row.warning is None

    def words(row: ReportRow) -> str:
        return join([r.render(_) for r in (row.reason, row.warning) if r is not None], " ")

    return Table(
        columns=[
            Column("place", _("Line")),
            Column("state", _("Becomes"), kind="badge", value=lambda row: STATES[row.state]),
            Column("what", _("Offer")),
            Column("words", _("Why"), value=words, sortable=False),
        ],
        rows=sorted(report.rows, key=key),
        params=params,
        caption=_("Rows of the sheet"),
        page_size=200,
    )
