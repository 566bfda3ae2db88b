"""The rentals API: buying, charges, changes, previews, closed months."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.kernel.errors import Invalid
from governance.kernel.policy import require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.plumbing.fields import AmountField
from governance.plumbing.http import Pages
from governance.plumbing.rest import KEY, checked, once, page_of
from governance.rentals import queries, services
from governance.rentals.domain.compare import compare_plans
from governance.rentals.domain.preview import preview
from governance.rentals.domain.reading import Faults
from governance.rentals.models import Rental
from governance.telemetry import queries as telemetry


class RentalOut(serializers.Serializer[Any]):
    """A rental in short."""

    id = serializers.IntegerField()
    request = serializers.IntegerField(source="request_id", allow_null=True)
    project = serializers.CharField(source="project.slug")
    team = serializers.CharField(source="project.team.slug")
    vendor = serializers.CharField()
    region = serializers.CharField()
    card_model = serializers.CharField()
    cards = serializers.IntegerField()
    plan_kind = serializers.CharField()
    currency = serializers.CharField()
    timezone = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    state = serializers.CharField()
    auto_renew = serializers.BooleanField()
    charged_until = serializers.DateTimeField(allow_null=True)


class RentalIn(serializers.Serializer[Any]):
    """Buys the package of an approved request. Cards by id; without a price the offer's is taken,
    without an end it runs as long as was approved."""

    request = serializers.IntegerField(min_value=1)
    plan_kind = serializers.CharField(max_length=10)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    card_ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, default=list, max_length=10_000
    )
    price = serializers.DecimalField(
        max_digits=20, decimal_places=10, required=False, allow_null=True, default=None, min_value=0
    )
    auto_renew = serializers.BooleanField(required=False, default=False)


class ChargeOut(serializers.Serializer[Any]):
    """A posted charge or credit; amounts are in the rental's currency."""

    kind = serializers.CharField()
    period_start = serializers.DateTimeField()
    period_end = serializers.DateTimeField()
    period_start_local = serializers.CharField()
    sequence = serializers.IntegerField()
    quantity = serializers.DecimalField(max_digits=24, decimal_places=8, allow_null=True)
    unit = serializers.CharField()
    unit_price = serializers.DecimalField(max_digits=30, decimal_places=20, allow_null=True)
    net = AmountField()
    tax = AmountField()
    currency = serializers.CharField()
    formula = serializers.CharField()
    booked_on = serializers.DateField()
    correction = serializers.BooleanField()


class ChangeIn(serializers.Serializer[Any]):
    """A change by its kind: price (price, at), quantity (quantity, at), extend or renew
    (ends_at), end_early, stop, start (at). All but extend need a reason."""

    kind = serializers.ChoiceField(
        ["price", "quantity", "extend", "renew", "end_early", "stop", "start"]
    )
    at = serializers.DateTimeField(required=False)
    ends_at = serializers.DateTimeField(required=False)
    price = serializers.DecimalField(max_digits=20, decimal_places=10, required=False)
    quantity = serializers.IntegerField(required=False, max_value=100_000)
    reason = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class ChangeOut(serializers.Serializer[Any]):
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    known_at = serializers.DateTimeField()
    price = serializers.DecimalField(max_digits=20, decimal_places=10, allow_null=True)
    quantity = serializers.IntegerField(allow_null=True)
    end = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    made_by = serializers.CharField()


class MonthOut(serializers.Serializer[Any]):
    """A closed month; the report's text never changes."""

    month = serializers.DateField()
    closed_at = serializers.DateTimeField()
    closed_by = serializers.CharField()
    input_hash = serializers.CharField()


class MonthIn(serializers.Serializer[Any]):
    month = serializers.DateField()


def full(rental: Rental) -> dict[str, Any]:
    """The rental with its cards."""
    cards = telemetry.cards_of_rental(rental.pk)
    return {
        **RentalOut(rental).data,
        "card_uuids": [card.uuid for card in cards],
    }


class Rentals(APIView):
    """Rentals the caller may see, newest first; an approved request is bought by POST."""

    @extend_schema(
        responses=page_of(RentalOut),
        parameters=[
            OpenApiParameter(
                "state", OpenApiTypes.STR, description="a state, or all; empty: not over"
            ),
            OpenApiParameter("team", OpenApiTypes.STR),
            OpenApiParameter("q", OpenApiTypes.STR),
            OpenApiParameter("page", OpenApiTypes.INT),
        ],
        operation_id="rentals_list",
    )
    def get(self, request: Request) -> Response:
        filters = {name: request.query_params.get(name, "") for name in ("state", "team", "q")}
        pages = Pages()
        rows = queries.listed(request.user, filters, clock.now()).order_by("-pk")
        page = pages.paginate_queryset(rows, request, self)
        return pages.get_paginated_response(RentalOut(page, many=True).data)

    @extend_schema(request=RentalIn, responses={201: RentalOut}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        require(request.user, "rentals.purchase")
        data = dict(checked(RentalIn, request))
        request_id = data.pop("request")

        def act() -> tuple[int, Any]:
            pk = services.open_rental(
                actor=request.user, request_id=request_id, now=clock.now(), **data
            )
            return 201, full(queries.rental_for(request.user, pk))

        return once(request, act)


class OneRental(APIView):
    """A rental with its cards."""

    @extend_schema(responses=RentalOut, operation_id="rentals_read")
    def get(self, request: Request, pk: int) -> Response:
        return Response(full(queries.rental_for(request.user, pk)))


class Charges(APIView):
    """What a rental was charged, newest first."""

    @extend_schema(responses=page_of(ChargeOut), operation_id="rentals_charges")
    def get(self, request: Request, pk: int) -> Response:
        rental = queries.rental_for(request.user, pk)
        pages = Pages()
        page = pages.paginate_queryset(queries.charges_of(rental), request, self)
        return pages.get_paginated_response(ChargeOut(page, many=True).data)


class RentalPreview(APIView):
    """Every charge of the rental's whole term, by the function that posts them."""

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="rentals_preview_one")
    def get(self, request: Request, pk: int) -> Response:
        rental = queries.rental_for(request.user, pk)
        until = None if rental.ends_at else queries.horizon(rental.starts_at)
        shown = queries.preview(queries.rental_terms(rental), until)
        return Response(
            {
                "currency": shown.currency,
                "entries": [
                    {
                        "kind": entry.kind,
                        "period_start": entry.line.period.start,
                        "period_end": entry.line.period.end,
                        "net": f"{entry.net:f}",
                        "tax": f"{entry.tax:f}",
                        "formula": entry.line.formula,
                    }
                    for entry in shown.entries
                ],
                "totals": {
                    name: f"{getattr(shown.totals, name):f}" for name in ("net", "tax", "gross")
                },
            }
        )


class PreviewCharges(APIView):
    """The charges of described terms, as `manage.py preview_charges` answers; stores nothing."""

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses=OpenApiTypes.OBJECT,
        parameters=[OpenApiParameter("until", OpenApiTypes.STR)],
        operation_id="rentals_preview",
    )
    def post(self, request: Request) -> Response:
        try:
            return Response(preview(request.data, until=request.query_params.get("until") or None))
        except Faults as refused:
            raise first_fault(refused) from refused


class ComparePlans(APIView):
    """Plans side by side at a use, as `manage.py compare_plans` answers; stores nothing."""

    @extend_schema(
        request=OpenApiTypes.OBJECT, responses=OpenApiTypes.OBJECT, operation_id="rentals_compare"
    )
    def post(self, request: Request) -> Response:
        try:
            return Response(compare_plans(request.data))
        except Faults as refused:
            raise first_fault(refused) from refused


def first_fault(refused: Faults) -> Invalid:
    """The faults as one answer that names the first place."""
    return Invalid(
        Reason("refused", N_("Refused: %(faults)s"), {"faults": str(refused)}),
        refused.faults[0][0],
    )


class Changes(APIView):
    """What happened to a rental; a change is made by POST."""

    @extend_schema(responses=page_of(ChangeOut), operation_id="rentals_changes")
    def get(self, request: Request, pk: int) -> Response:
        rental = queries.rental_for(request.user, pk)
        pages = Pages()
        page = pages.paginate_queryset(queries.changes_of(rental), request, self)
        return pages.get_paginated_response(ChangeOut(page, many=True).data)

    @extend_schema(request=ChangeIn, responses={201: ChangeOut}, parameters=[KEY])
    def post(self, request: Request, pk: int) -> Response:
        rental = queries.rental_for(request.user, pk)
        require(request.user, "rentals.manage", rental)
        data = checked(ChangeIn, request)

        def act() -> tuple[int, Any]:
            made = make_change(request.user, pk, data)
            return 201, dict(ChangeOut(queries.changes_of(rental).get(pk=made)).data)

        return once(request, act)


def make_change(actor: Any, pk: int, data: dict[str, Any]) -> int:
    """The change's service with the fields it needs; Invalid names one that is missing."""
    kind = data["kind"]
    needed = {
        "price": ("price", "at"),
        "quantity": ("quantity", "at"),
        "extend": ("ends_at",),
        "renew": ("ends_at",),
    }.get(kind, ("at",))
    values = needed_values(data, needed)
    if kind in ("extend", "renew"):
        values["kind"] = kind
    act: Callable[..., int] = {
        "price": services.change_price,
        "quantity": services.change_quantity,
        "extend": services.extend_rental,
        "renew": services.extend_rental,
        "end_early": services.end_rental,
        "stop": services.stop_rental,
        "start": services.start_rental,
    }[kind]
    return act(actor=actor, rental_id=pk, reason=data["reason"], now=clock.now(), **values)


class PartIn(serializers.Serializer[Any]):
    """A further charge: a fee (amount), traffic (moved_bytes, included_gb, price_per_gb), or
    bandwidth by its 95th percentile (samples_mbit, price_per_mbit)."""

    kind = serializers.ChoiceField(["fee", "traffic", "bandwidth"])
    amount = serializers.DecimalField(max_digits=20, decimal_places=8, required=False)
    moved_bytes = serializers.IntegerField(min_value=0, required=False)
    included_gb = AmountField(min_value=0, required=False)
    price_per_gb = AmountField(min_value=0, required=False)
    samples_mbit = serializers.ListField(
        child=AmountField(min_value=0), min_length=1, max_length=100_000, required=False
    )
    price_per_mbit = AmountField(min_value=0, required=False)
    reason = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class Parts(APIView):
    """Charge a rental once for a fee or for what was measured; it falls due now."""

    @extend_schema(request=PartIn, responses={201: RentalOut}, parameters=[KEY])
    def post(self, request: Request, pk: int) -> Response:
        rental = queries.rental_for(request.user, pk)
        require(request.user, "rentals.manage", rental)
        data = checked(PartIn, request)

        def act() -> tuple[int, Any]:
            charge_part(request.user, pk, data)
            return 201, full(queries.rental_for(request.user, pk))

        return once(request, act)


def charge_part(actor: Any, pk: int, data: dict[str, Any]) -> None:
    """The part's service with the fields it needs; Invalid names one that is missing."""
    needed = {
        "fee": ("amount",),
        "traffic": ("moved_bytes", "included_gb", "price_per_gb"),
        "bandwidth": ("samples_mbit", "price_per_mbit"),
    }[data["kind"]]
    values = needed_values(data, needed)
    if data["kind"] == "fee":
        values |= {"kind": "fee", "reason": data["reason"]}
    act: Callable[..., int | None] = {
        "fee": services.charge_once,
        "traffic": services.charge_traffic,
        "bandwidth": services.charge_percentile,
    }[data["kind"]]
    act(actor=actor, rental_id=pk, now=clock.now(), **values)


def needed_values(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The named values; Invalid names the first that is missing."""
    for name in names:
        if data.get(name) is None:
            text = N_("The field %(name)s is needed for this change.")
            raise Invalid(Reason("change_field", text, {"name": name}), name)
    return {name: data[name] for name in names}


class Months(APIView):
    """Closed months; finance closes the next one by POST."""

    @extend_schema(responses=MonthOut(many=True), operation_id="months_list")
    def get(self, request: Request) -> Response:
        require(request.user, "months.close")
        return Response(MonthOut(queries.months(), many=True).data)

    @extend_schema(request=MonthIn, responses={201: MonthOut}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        require(request.user, "months.close")
        month = checked(MonthIn, request)["month"]

        def act() -> tuple[int, Any]:
            services.close_month(actor=request.user, month=month, now=clock.now())
            found = queries.closed_month(month.year, month.month)
            return 201, dict(MonthOut(found).data)

        return once(request, act)
