"""Reads of the catalogue; everybody who is signed in may see all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django.db.models import Prefetch, Q, QuerySet

from governance.catalog.domain import CardSpec, OfferView, RoundTrip, TermPrice
from governance.catalog.domain.figures import RANK, in_conflict, with_formula
from governance.catalog.domain.figures import Figure as PlainFigure
from governance.catalog.domain.packaged import build_card, plain_name
from governance.catalog.models import CardAlias, CardModel, Figure, Offer, OfferPrice, Vendor
from governance.kernel.errors import Missing


def plain_figures(card: CardModel, rows: Iterable[Figure]) -> list[PlainFigure]:
    """A card's figures as the rules read them, the computed bandwidth among them."""
    return with_formula(
        [
            PlainFigure(
                card=card.slug,
                figure=row.figure,
                value=row.value,
                unit=row.unit,
                source_kind=row.source_kind,
                source_ref=row.source_ref,
                as_of=row.as_of,
                note=row.note,
            )
            for row in rows
        ]
    )


def spec_of(card: CardModel) -> CardSpec:
    """The card as the rules read it; without figures every rate is None and memory 0."""
    identity = {
        "slug": card.slug,
        "name": card.name,
        "maker": card.maker,
        "arch": card.arch,
        "form": card.form,
        "memory_type": card.memory_type,
        "link_kind": card.link_kind,
    }
    figures = plain_figures(card, card.figures.all())
    aliases = tuple(alias.alias for alias in card.aliases.all())
    if any(figure.figure == "memory_gib" for figure in figures):
        return build_card(identity, figures, aliases)
    return CardSpec(
        **identity,
        memory_bytes=0,
        bandwidth_bytes_per_s=None,
        bf16_flops=None,
        fp16_flops=None,
        fp8_flops=None,
        fp32_flops=None,
        link_bytes_per_s=None,
        pcie_bytes_per_s=None,
        tdp_w=None,
        bandwidth_confirmed=False,
        aliases=aliases,
    )


def card_spec(card_model_id: int) -> CardSpec | None:
    """The card's best figures; None where there is no such card."""
    return card_specs([card_model_id]).get(card_model_id)


def card_specs(card_model_ids: Iterable[int]) -> Mapping[int, CardSpec]:
    """Specs by id, in three queries."""
    found = CardModel.objects.filter(pk__in=set(card_model_ids)).prefetch_related(
        "figures", "aliases"
    )
    return {card.pk: spec_of(card) for card in found}


def specs_named(slugs: Iterable[str]) -> Mapping[str, CardSpec]:
    """Specs by slug, in three queries; slugs that are not in the catalogue are left out."""
    found = CardModel.objects.filter(slug__in=set(slugs)).prefetch_related("figures", "aliases")
    return {card.slug: spec_of(card) for card in found}


def card_model_named(text: str) -> CardModel | None:
    """The card that a driver, scheduler or price sheet names; None when not known."""
    alias = CardAlias.objects.filter(key=plain_name(text)).select_related("card_model").first()
    return alias.card_model if alias else None


def offers_valid(day: date) -> QuerySet[Offer]:
    """Offers with a price on that day, those prices as `valid_prices`."""
    valid = Q(valid_from__lte=day) & (Q(valid_to=None) | Q(valid_to__gt=day))
    prices = OfferPrice.objects.filter(valid)
    return (
        Offer.objects.filter(Q(closed_on=None) | Q(closed_on__gt=day))
        .filter(pk__in=prices.values("offer_id"))
        .select_related("vendor", "card_model")
        .prefetch_related(Prefetch("prices", prices, "valid_prices"))
    )


def offers_on(day: date) -> list[OfferView]:
    """Every offer with a price on that day, as the matcher reads it. Ids are primary keys."""
    rows = list(offers_valid(day))
    specs = card_specs(row.card_model_id for row in rows)
    return [
        offer_view(row, specs[row.card_model_id], getattr(row, "valid_prices", ())) for row in rows
    ]


def offer_view(row: Offer, card: CardSpec, prices: Iterable[OfferPrice]) -> OfferView:
    """One offer with the given prices."""
    return OfferView(
        id=str(row.pk),
        vendor=row.vendor.slug,
        region=row.region,
        card=card,
        cards_per_unit=row.cards_per_unit,
        min_units=row.min_units,
        max_cards=row.max_cards,
        cards_per_node=row.cards_per_node,
        link_kind=row.link_kind or None,
        link_bytes_per_s=row.link_bytes_per_s,
        network_bytes_per_s=row.network_bytes_per_s,
        network_shared=row.network_shared,
        storage_read_bytes_per_s=row.storage_read_bytes_per_s,
        storage_shared=row.storage_shared,
        egress_mbit=row.egress_mbit,
        ingress_mbit=row.ingress_mbit,
        egress_shared=row.egress_shared,
        traffic_cap_gb=row.traffic_cap_gb,
        overage_per_gb=row.overage_per_gb,
        line=row.line,
        filing_required=row.filing_required,
        filing_days=row.filing_days,
        host_shared=row.host_shared,
        round_trips=tuple(
            RoundTrip(trip["region"], float(trip["milliseconds"]), bool(trip.get("measured")))
            for trip in row.round_trips
        ),
        prices=tuple(term_price(price) for price in prices),
        source=row.source,
        as_of=row.as_of,
    )


def term_price(row: OfferPrice) -> TermPrice:
    """One price as the rules read it."""
    return TermPrice(
        kind=row.kind,
        price=row.price,
        currency=row.currency,
        tax_rate=row.tax_rate,
        tax_inclusive=row.tax_inclusive,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        source=row.source,
        as_of=row.as_of,
        id=row.pk,
        rules=row.rules,
    )


def figures_by_name(card: CardModel) -> dict[str, list[PlainFigure]]:
    """Every figure of a card by quantity, the best source first."""
    found: dict[str, list[PlainFigure]] = defaultdict(list)
    for figure in plain_figures(card, card.figures.all()):
        found[figure.figure].append(figure)
    for figures in found.values():
        figures.sort(key=lambda f: (RANK.index(f.source_kind), -f.as_of.toordinal()))
    return dict(found)


def vendor_names() -> dict[str, str]:
    """What each vendor is called, by slug."""
    return dict(Vendor.objects.values_list("slug", "name"))


def card_rows(viewer: Any) -> list[tuple[CardSpec, bool]]:
    """All card models with whether their bandwidth sources disagree, by maker and name."""
    cards = CardModel.objects.visible_to(viewer).prefetch_related("figures", "aliases")
    found = []
    for card in cards:
        figures = figures_by_name(card).get("bandwidth_gbs", [])
        found.append((spec_of(card), in_conflict(figures)))
    return found


def card_model(viewer: Any, slug: str) -> CardModel:
    """One card model with its figures; Missing where there is none."""
    found = CardModel.objects.visible_to(viewer).prefetch_related("figures", "aliases")
    try:
        return found.get(slug=slug)
    except CardModel.DoesNotExist as error:
        raise Missing() from error


def vendors(viewer: Any) -> list[Vendor]:
    """Vendors with what is said of them."""
    return list(Vendor.objects.visible_to(viewer).prefetch_related("statements"))


def offers_shown(
    viewer: Any, day: date, *, vendor: str = "", card: str = "", region: str = ""
) -> list[Offer]:
    """Offers that have a price on that day, with those prices as `valid_prices`."""
    found = offers_valid(day).filter(pk__in=Offer.objects.visible_to(viewer))
    if vendor:
        found = found.filter(vendor__slug=vendor)
    if card:
        found = found.filter(card_model__slug=card)
    if region:
        found = found.filter(region=region)
    return list(found)


def cards(viewer: Any) -> list[CardModel]:
    """All card models with figures and aliases."""
    return list(CardModel.objects.visible_to(viewer).prefetch_related("figures", "aliases"))
