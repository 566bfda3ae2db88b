"""A month of charges as FOCUS rows and datasets, read rental by rental so that it streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.text import slugify

from governance.accounts.queries import organisation
from governance.catalog import queries as catalog
from governance.catalog.domain import OfferView, load_cards
from governance.kernel.errors import Invalid
from governance.kernel.money import round_exact
from governance.kernel.periods import Period, add_months, local_midnight
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.rentals.domain.codec import plan_from_json
from governance.reports.domain import focus
from governance.reports.domain.focus import Account, Charge, Contract, Dataset, DayUse, Row
from governance.reports.domain.focus_more import (
    InvoiceLine,
    Issued,
    Term,
    billing_periods,
    commitments,
    invoice_details,
)
from governance.reports.domain.focus_rows import month_rows
from governance.reports.domain.kpis import idle_hours
from governance.reports.queries.prices import offer_of
from governance.telemetry import queries as telemetry

SERVICE = "GPU rental"


@dataclass
class FocusMonth:
    """A month to be exported. `rows` may be read once; the smaller datasets are complete only
    afterwards, since they are gathered on the way."""

    viewer: Actor
    first: date
    now: datetime
    account: Account = field(init=False)
    zone: ZoneInfo = field(init=False)
    month: Period = field(init=False)
    terms: list[Term] = field(default_factory=list)
    vendors: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)
    sums: dict[tuple[str, str, str], Decimal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        home = organisation()
        self.account = Account(f"org-{home.pk}", home.name)
        self.zone = ZoneInfo(home.timezone)
        self.month = self._month(self.first)

    def _month(self, first: date) -> Period:
        return Period(
            local_midnight(first, self.zone), local_midnight(add_months(first, 1), self.zone)
        )

    @property
    def last(self) -> date:
        return add_months(self.first, 1) - timedelta(days=1)

    def rows(self) -> Iterator[Row]:
        """Every row of the month, rental by rental."""
        use = self._use()
        offers = catalog.offers_on(self.last)
        found = rentals.with_charges(
            self.viewer, first=self.first, last=self.last, period=self.month
        )
        for rental in found:
            yield from self._of_rental(rental, use.get(rental.pk, {}), offers)

    def _of_rental(
        self, rental: Any, use: Mapping[datetime, DayUse], offers: list[OfferView]
    ) -> Iterator[Row]:
        offer = offer_of(rental, offers)
        listed = _listed(rental, offer)
        by_component: dict[int, list[Any]] = {}
        for charge in rental.month_charges:
            by_component.setdefault(charge.component_id, []).append(charge)
        components = {c.pk: c for c in rental.components.all()}
        self._seen(rental)
        for pk, charges in by_component.items():
            component = components[pk]
            contract = self._contract(rental, component, offer, listed)
            told = [c for charge in charges for c in self._charges(rental, charge)]
            if contract.prepaid:
                self.terms.append(_term(contract, rental, charges))
            own = use if component.code == "cards" else {}
            for row in month_rows(contract, told, self.month, self.zone, own):
                self._invoiced(row, rental)
                yield row

    def _seen(self, rental: Any) -> None:
        """When a vendor's month was first and last charged."""
        times = [charge.posted_at for charge in rental.month_charges]
        if times:
            first, last = self.vendors.get(rental.vendor, (times[0], times[0]))
            self.vendors[rental.vendor] = (min(first, *times), max(last, *times))

    def _invoiced(self, row: Row, rental: Any) -> None:
        """The provisional invoice of the vendor's month, and its line of the row's category.
        Rows that bill nothing belong to the invoice and to no line of it."""
        invoice = self._invoice(rental.vendor)
        row["InvoiceId"] = invoice
        amount = Decimal(row["BilledCost"])
        if not amount:
            return
        category = row["ChargeCategory"]
        key = (rental.vendor, rental.currency, category)
        self.sums[key] = self.sums.get(key, Decimal(0)) + amount
        row["InvoiceDetailId"] = f"{invoice}:{rental.currency}:{category}"

    def _invoice(self, vendor: str) -> str:
        return f"provisional:{slugify(vendor, allow_unicode=True)}:{self.first:%Y-%m}"

    def _contract(
        self, rental: Any, component: Any, offer: OfferView | None, listed: Decimal | None
    ) -> Contract:
        plan = plan_from_json(component.plan)
        project, cards = rental.project, component.code == "cards"
        card = load_cards().get(rental.card_model)
        speed = card.bandwidth_bytes_per_s if card else None
        name = f"R{rental.pk}" if cards else f"R{rental.pk}-{component.code}"
        tags = {
            "team": project.team.slug,
            "cost_centre": project.cost_centre.code if project.cost_centre else "",
            "owner": rental.created_by,
        }
        return Contract(
            id=name,
            account=self.account,
            currency=rental.currency,
            project_id=project.slug,
            project_name=project.name,
            tags={key: value for key, value in tags.items() if value},
            vendor=rental.vendor,
            region_id=rental.region or "unspecified",
            region_name=rental.region or "unspecified",
            service=SERVICE if cards else f"GPU rental: {component.kind}",
            card_model=card.name if card else rental.card_model,
            cards=rental.cards,
            plan=plan.kind,
            quantity=component.quantity,
            sku_id=(offer.id if offer else rental.offer) or f"{rental.vendor}:{rental.card_model}",
            sku_price_id=f"{name}:{plan.kind}",
            resource_id=f"rental-{name}",
            resource_name=name,
            list_hourly=listed if cards else None,
            nominal_gb_s=None if speed is None else round_exact(Fraction(speed) / 10**9, 3),
            ends_at=rental.ends_at,
        )

    def _charges(self, rental: Any, row: Any) -> Iterator[Charge]:
        """A charge as rows of FOCUS: its net amount, and its tax beside it."""
        billing = self._month(row.booked_on.replace(day=1))
        rate = Fraction(row.tax_rate) if row.tax_inclusive else Fraction(0)
        price = row.unit_price
        kind = "credit" if row.kind.endswith(":credit") else "charge"
        common: dict[str, Any] = {
            "period": Period(row.period_start, row.period_end),
            "billing": billing,
            "description": row.formula or row.kind,
        }
        yield Charge(
            key=f"{rental.pk}:{row.kind}:{row.period_start_local}:{row.sequence}",
            kind="refund_closed" if row.correction else kind,
            amount=row.net,
            quantity=None if row.quantity is None else Fraction(row.quantity),
            unit=row.unit,
            unit_price=None if price is None else round_exact(Fraction(price) / (1 + rate), 10),
            **common,
        )
        if row.tax:
            yield Charge(
                key=f"{rental.pk}:{row.kind}:{row.period_start_local}:{row.sequence}:tax",
                kind="tax",
                amount=row.tax,
                tax_rate=row.tax_rate,
                **common,
            )

    def _use(self) -> dict[int, dict[datetime, DayUse]]:
        """Measured idle time of each rental's days, in hours of priced units, with the share of
        bandwidth of the source that covers most."""
        found: dict[int, dict[datetime, DayUse]] = {}
        best: dict[tuple[int, datetime], float] = {}
        for row in telemetry.usage(
            self.viewer,
            period=self.month,
            tz=self.zone.key,
            now=self.now,
            group_by=("rental", "day"),
        ):
            if row.group["rental"] is None or row.group["day"] is None:
                continue
            pk, day = int(str(row.group["rental"])), row.group["day"]
            assert isinstance(day, date)
            start = local_midnight(day, self.zone)
            known = found.setdefault(pk, {}).get(start, DayUse())
            idle = idle_hours(row.card_hours, row.figures["active_share"]) or 0.0
            share = row.figures["bandwidth_share_mean"]
            covers = row.card_hours if share is not None else 0.0
            better = covers > best.get((pk, start), 0.0)
            if better:
                best[pk, start] = covers
            told = known.bandwidth_share
            if better and share is not None:
                told = Decimal(str(round(share, 6)))
            hours = round_exact(Fraction(idle) / max(1, row.cards), 4)
            found[pk][start] = DayUse(known.unused_hours + hours, told)
        return found

    def datasets(self) -> list[Dataset]:
        """Contract commitments, billing periods and invoice details, once the rows are read."""
        closed = rentals.is_closed(self.first)
        issued = [
            Issued(vendor, self.month, closed, first, max(last, first))
            for vendor, (first, last) in sorted(self.vendors.items())
        ]
        lines = [
            InvoiceLine(
                id=f"{self._invoice(vendor)}:{currency}:{category}",
                invoice_id=self._invoice(vendor),
                vendor=vendor,
                account_id=self.account.id,
                currency=currency,
                category=category,
                amount=amount,
                billing=self.month,
                description=f"{vendor}, {category}",
                created=self.vendors[vendor][0],
                updated=self.vendors[vendor][1],
            )
            for (vendor, currency, category), amount in sorted(self.sums.items())
        ]
        return [
            commitments(self.terms, self.now),
            billing_periods(issued),
            invoice_details(lines),
        ]


def _listed(rental: Any, offer: OfferView | None) -> Decimal | None:
    """The vendor's price by the hour of one of the rental's units, without tax."""
    if offer is None:
        return None
    for price in offer.prices:
        if price.kind == "hourly" and price.currency == rental.currency:
            rate = price.tax_rate if price.tax_inclusive else Decimal(0)
            return round_exact(Fraction(price.price) / (1 + Fraction(rate)), 10)
    return None


def _term(contract: Contract, rental: Any, charges: Iterable[Any]) -> Term:
    """The whole term of a prepaid component; without an agreed end, up to what is paid."""
    paid = list(charges)
    end = rental.ends_at or max(charge.period_end for charge in paid)
    fees = [charge for charge in paid if not charge.kind.endswith(":credit")]
    return Term(
        contract=contract,
        period=Period(rental.starts_at, max(end, rental.starts_at + timedelta(hours=1))),
        periods=max(1, len({charge.period_start for charge in fees})),
        cost=sum((charge.net for charge in paid), Decimal(0)),
        created=rental.created_at,
        updated=max(charge.posted_at for charge in paid),
        ended_early=rental.state == "ended_early",
    )


def month_named(text: str) -> date:
    """2026-11 as its first day; Invalid names what would be right."""
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        wrong = N_("%(text)s is not a month; write it as 2026-11.")
        raise Invalid(Reason("month", wrong, {"text": text}), "month") from None


def version_named(text: str) -> focus.Version:
    """1.2 or 1.4."""
    if text not in focus.COLUMNS:
        wrong = N_("FOCUS %(text)s is not written here; 1.2 and 1.4 are.")
        raise Invalid(Reason("version", wrong, {"text": text}), "version")
    return text  # type: ignore[return-value]
