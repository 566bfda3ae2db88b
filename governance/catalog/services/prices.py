"""Price sheets into offers: all of a sheet or nothing, and the same sheet twice changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from governance.catalog.domain.packaged import plain_name
from governance.catalog.domain.sheets import FORMATS, Sheet, SheetFault, SheetRow, read_sheet
from governance.catalog.models import CardAlias, Offer, OfferPrice, Vendor
from governance.catalog.services.cards import keep_unknown_card
from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks

KEPT = (
    "cards_per_unit",
    "min_units",
    "max_cards",
    "cards_per_node",
    "link_kind",
    "link_bytes_per_s",
    "network_bytes_per_s",
    "network_shared",
    "storage_read_bytes_per_s",
    "storage_shared",
    "egress_mbit",
    "ingress_mbit",
    "egress_shared",
    "traffic_cap_gb",
    "overage_per_gb",
    "line",
    "filing_required",
    "filing_days",
    "host_shared",
    "source",
)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What became of one row: new, changed, same, skipped, refused."""

    place: str
    state: str
    what: str = ""
    reason: Reason | None = None
    warning: Reason | None = None


@dataclass(slots=True)
class ImportReport:
    """The report of an import, row by row; `applied` says whether anything was written."""

    vendor: str
    dry_run: bool
    applied: bool = False
    rows: list[ReportRow] = field(default_factory=list)
    unknown_cards: list[str] = field(default_factory=list)

    def count(self, state: str) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def refused(self) -> list[ReportRow]:
        return [row for row in self.rows if row.state == "refused"]

    @property
    def warnings(self) -> list[ReportRow]:
        return [row for row in self.rows if row.warning is not None]


def import_prices(
    *, actor: Actor, text: str, form: str, vendor: str, today: date, dry_run: bool = False
) -> ImportReport:
    """Read a sheet and bring its offers and prices in. One bad row and nothing is written.

    A changed price closes the old one on the day the new one begins. Offers that the sheet does
    not name stay. `form` is native, skypilot or gcp-calculator."""
    require(actor, "catalog.manage")
    if form not in FORMATS:
        raise Invalid(
            Reason(
                "format",
                N_("“%(value)s” is not known here: one of %(allowed)s is needed."),
                {"value": form, "allowed": ", ".join(FORMATS)},
            ),
            field="format",
        )
    name = vendor.strip()
    if not name:
        raise Invalid(Reason("vendor", N_("Name the vendor.")), field="vendor")
    sheet = read_sheet(text, form)
    report = ImportReport(vendor=name, dry_run=dry_run)
    _noted(report, sheet)
    with transaction.atomic():
        owner = _vendor(name)
        locks.lock_one(Vendor.objects.all(), owner.pk)
        _Importer(owner, report, today, sheet).run()
        if sheet.faults or dry_run:
            transaction.set_rollback(True)
        else:
            report.applied = True
            audit.record(
                actor=actor,
                act="catalog.import_prices",
                thing=owner,
                after={state: report.count(state) for state in ("new", "changed", "same")},
            )
    return report


def _vendor(name: str) -> Vendor:
    for vendor in Vendor.objects.all():
        if name.casefold() in (vendor.name.casefold(), vendor.name_zh, vendor.slug):
            return vendor
    slug = slugify(name, allow_unicode=True)[:60] or "vendor"
    return Vendor.objects.get_or_create(slug=slug, defaults={"name": name[:120]})[0]


def _noted(report: ImportReport, sheet: Sheet) -> None:
    report.rows += [ReportRow(f.place, "refused", reason=f.reason) for f in sheet.faults]
    report.rows += [ReportRow(f.place, "skipped", reason=f.reason) for f in sheet.skipped]


class _Importer:
    """Brings rows in for one vendor, with what is there already read once."""

    def __init__(self, vendor: Vendor, report: ImportReport, today: date, sheet: Sheet) -> None:
        self.vendor, self.report, self.today, self.sheet = vendor, report, today, sheet
        self.warned = _by_place(sheet.warnings)
        self.cards = dict(CardAlias.objects.values_list("key", "card_model_id"))
        self.offers = {
            (offer.region, offer.sku): offer
            for offer in Offer.objects.filter(vendor=vendor).prefetch_related("prices")
        }

    def run(self) -> None:
        for row in self.sheet.rows:
            state = self._row(row)
            self.report.rows.append(
                ReportRow(
                    row.place,
                    state,
                    f"{row.sku} {row.region}".strip(),
                    warning=self.warned.get(row.place),
                )
            )

    def _row(self, row: SheetRow) -> str:
        card_id = self._card(row.card_name)
        known = self.offers.get((row.region, row.sku))
        wanted: dict[str, Any] = {name: getattr(row, name) for name in KEPT}
        wanted["card_model_id"] = card_id
        wanted["round_trips"] = [
            {"region": t.region, "milliseconds": t.milliseconds, "measured": t.measured}
            for t in row.round_trips
        ]
        if known is None:
            offer = Offer.objects.create(
                vendor=self.vendor, region=row.region, sku=row.sku, as_of=row.as_of, **wanted
            )
            self._prices(offer, row, [])
            return "new"
        changed = [name for name, value in wanted.items() if getattr(known, name) != value]
        for name in changed:
            setattr(known, name, wanted[name])
        moved = self._prices(known, row, list(known.prices.all()))
        if changed:
            known.as_of = row.as_of
            known.save()
        return "changed" if changed or moved else "same"

    def _card(self, name: str) -> int:
        key = plain_name(name)
        if key not in self.cards:
            self.cards[key] = keep_unknown_card(name=name).pk
            self.report.unknown_cards.append(name)
        return self.cards[key]

    def _prices(self, offer: Offer, row: SheetRow, known: list[OfferPrice]) -> bool:
        begins = row.valid_from or row.as_of or self.today
        open_now = {price.kind: price for price in known if price.valid_to is None}
        exact = {p.kind: p for p in known if p.valid_from == begins}
        moved = False
        for kind, value in row.prices.items():
            old = exact.get(kind) or open_now.get(kind)
            wanted = self._price(row, kind, value)
            if old is not None and all(getattr(old, k) == v for k, v in wanted.items()):
                continue
            moved = True
            if old is not None and old.valid_from >= begins:
                for name, new in wanted.items():
                    setattr(old, name, new)
                old.save()
                continue
            if old is not None:
                old.valid_to = begins
                old.save(update_fields=["valid_to"])
            OfferPrice.objects.create(
                offer=offer, kind=kind, valid_from=begins, as_of=row.as_of or self.today, **wanted
            )
        for kind, old in open_now.items():
            if kind not in row.prices and old.valid_from < begins:
                old.valid_to = begins
                old.save(update_fields=["valid_to"])
                moved = True
        return moved

    def _price(self, row: SheetRow, kind: str, value: Decimal) -> dict[str, Any]:
        return {
            "price": value,
            "currency": row.currency,
            "tax_rate": row.tax_rate,
            "tax_inclusive": row.tax_inclusive,
            "valid_to": row.valid_to,
            "rules": {k: str(v) for k, v in row.rules.get(kind, {}).items()},
            "source": row.source,
        }


def _by_place(faults: Iterable[SheetFault]) -> dict[str, Reason]:
    return {fault.place: fault.reason for fault in faults}
