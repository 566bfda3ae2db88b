"""API of the catalogue: card models with figures, offers, the import of prices."""

from __future__ import annotations

from datetime import date
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.catalog import queries, services
from governance.catalog.domain.figures import best, in_conflict
from governance.catalog.domain.sheets import FORMATS
from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock


class FigureOut(serializers.Serializer[Any]):
    """One figure from one source."""

    figure = serializers.CharField()
    value = serializers.FloatField()
    unit = serializers.CharField()
    source_kind = serializers.CharField()
    source_ref = serializers.CharField()
    as_of = serializers.DateField()
    note = serializers.CharField()
    used = serializers.BooleanField(help_text="calculations take this one")
    conflict = serializers.BooleanField(help_text="sources differ by more than 3 %")


class CardOut(serializers.Serializer[Any]):
    """A card model with every figure."""

    slug = serializers.CharField()
    name = serializers.CharField()
    maker = serializers.CharField()
    arch = serializers.CharField()
    memory_type = serializers.CharField()
    link_kind = serializers.CharField()
    bandwidth_confirmed = serializers.BooleanField()
    figures = FigureOut(many=True)


class PriceOut(serializers.Serializer[Any]):
    """A price of one unit for one term."""

    kind = serializers.CharField()
    price = serializers.DecimalField(max_digits=28, decimal_places=15)
    currency = serializers.CharField()
    tax_rate = serializers.DecimalField(max_digits=6, decimal_places=4)
    tax_inclusive = serializers.BooleanField()
    valid_from = serializers.DateField()
    valid_to = serializers.DateField(allow_null=True)
    said_by = serializers.CharField(source="source")


class OfferOut(serializers.Serializer[Any]):
    """An offer with its prices on the day asked for."""

    id = serializers.IntegerField(source="pk")
    vendor = serializers.CharField(source="vendor.slug")
    card = serializers.CharField(source="card_model.slug")
    region = serializers.CharField()
    sku = serializers.CharField()
    cards_per_unit = serializers.IntegerField()
    cards_per_node = serializers.IntegerField()
    network_bytes_per_s = serializers.FloatField(allow_null=True)
    egress_mbit = serializers.FloatField(allow_null=True)
    line = serializers.CharField()
    prices = PriceOut(many=True, source="valid_prices")


class SheetIn(serializers.Serializer[Any]):
    """A price sheet."""

    vendor = serializers.CharField(max_length=120)
    format = serializers.ChoiceField(choices=list(FORMATS))
    text = serializers.CharField(max_length=8_000_000, trim_whitespace=False)
    dry_run = serializers.BooleanField(default=True)


class RowOut(serializers.Serializer[Any]):
    """What became of one row."""

    place = serializers.CharField()
    state = serializers.CharField()
    what = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    warning = serializers.CharField(allow_null=True)


class ReportOut(serializers.Serializer[Any]):
    """What became of a sheet; with a refused row nothing is imported."""

    vendor = serializers.CharField()
    dry_run = serializers.BooleanField()
    applied = serializers.BooleanField()
    unknown_cards = serializers.ListField(child=serializers.CharField())
    rows = RowOut(many=True)


def card_body(card: Any) -> dict[str, Any]:
    """A card model as the API shows it."""
    spec = queries.spec_of(card)
    figures = []
    for rows in queries.figures_by_name(card).values():
        used, conflict = best(rows), in_conflict(rows)
        figures += [
            {
                **{name: getattr(f, name) for name in f.__slots__ if name != "card"},
                "used": f is used,
                "conflict": conflict,
            }
            for f in rows
        ]
    return {
        "slug": card.slug,
        "name": card.name,
        "maker": card.maker,
        "arch": card.arch,
        "memory_type": card.memory_type,
        "link_kind": card.link_kind,
        "bandwidth_confirmed": spec.bandwidth_confirmed,
        "figures": figures,
    }


class Cards(APIView):
    """Card models."""

    @extend_schema(operation_id="list_card_models", responses=CardOut(many=True))
    def get(self, request: Request) -> Response:
        return Response(
            CardOut([card_body(c) for c in queries.cards(request.user)], many=True).data
        )


class CardDetail(APIView):
    """One card model."""

    @extend_schema(operation_id="get_card_model", responses=CardOut)
    def get(self, request: Request, slug: str) -> Response:
        return Response(CardOut(card_body(queries.card_model(request.user, slug))).data)


class Offers(APIView):
    """Offers on a day."""

    @extend_schema(
        operation_id="list_offers",
        parameters=[
            OpenApiParameter("on", OpenApiTypes.DATE, description="the day; today if left out"),
            OpenApiParameter("vendor", str),
            OpenApiParameter("card", str),
            OpenApiParameter("region", str),
        ],
        responses=OfferOut(many=True),
    )
    def get(self, request: Request) -> Response:
        asked = request.query_params
        found = queries.offers_shown(
            request.user,
            day_of(asked.get("on", "")),
            vendor=asked.get("vendor", ""),
            card=asked.get("card", ""),
            region=asked.get("region", ""),
        )
        return Response(OfferOut(found, many=True).data)


class Prices(APIView):
    """Price sheets."""

    @extend_schema(
        operation_id="import_prices",
        description="Bring a price sheet in. With a refused row nothing is imported; the same"
        " sheet again changes nothing.",
        request=SheetIn,
        responses=ReportOut,
    )
    def post(self, request: Request) -> Response:
        asked = SheetIn(data=request.data)
        asked.is_valid(raise_exception=True)
        actor: Any = request.user
        report = services.import_prices(
            actor=actor,
            text=asked.validated_data["text"],
            form=asked.validated_data["format"],
            vendor=asked.validated_data["vendor"],
            today=clock.now().date(),
            dry_run=asked.validated_data["dry_run"],
        )
        return Response(ReportOut(report).data)


def day_of(text: str) -> date:
    """A day of the query; today for nothing. Raises Invalid."""
    if not text:
        return clock.now().date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(Reason("day", N_("A date like 2026-01-31 is needed.")), field="on") from None
