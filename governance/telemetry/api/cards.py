"""Cards, their minutes and their usage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.kernel.errors import Invalid
from governance.kernel.periods import Period, local_midnight
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.plumbing.http import Pages
from governance.telemetry import queries
from governance.telemetry.domain.columns import FIGURES, TEXTS, WEIGHTS
from governance.telemetry.domain.sources import Fidelity, Source
from governance.telemetry.domain.tabular import TableFault, zone

MOST_MINUTES = 10_080
COLUMNS = (*WEIGHTS, *(figure.name for figure in FIGURES), *TEXTS)


class MeteredCardOut(serializers.Serializer[Any]):
    """A metered unit. Identity is (vendor, uuid)."""

    id = serializers.IntegerField()
    node = serializers.CharField(source="node.name")
    vendor = serializers.CharField()
    uuid = serializers.CharField()
    parent_id = serializers.IntegerField(allow_null=True)
    index = serializers.IntegerField(allow_null=True)
    model = serializers.CharField(source="model_text")
    card_model = serializers.CharField(source="model_slug")
    state = serializers.CharField()
    state_since = serializers.DateTimeField(allow_null=True)
    simulated = serializers.BooleanField()


class CardPage(serializers.Serializer[Any]):
    """A page of cards."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = MeteredCardOut(many=True)


class MinutesOut(serializers.Serializer[Any]):
    """Columns of one length; shares are 0..1, null is unknown."""

    card = serializers.IntegerField()
    first = serializers.DateTimeField()
    last = serializers.DateTimeField()
    columns = serializers.DictField(child=serializers.ListField())


class UsageOut(serializers.Serializer[Any]):
    """Usage of a group by one metric source; sources are never mixed."""

    group = serializers.DictField()
    metric_source = serializers.CharField()
    fidelity = serializers.CharField()
    cards = serializers.IntegerField()
    card_hours = serializers.FloatField()
    expected_card_hours = serializers.FloatField()
    coverage = serializers.FloatField(allow_null=True)
    figures = serializers.DictField()


class CardList(APIView):
    """The cards that the caller may see."""

    @extend_schema(
        operation_id="list_cards",
        description="The cards you may see: all, or those that your teams hold or held.",
        parameters=[
            OpenApiParameter("page", int),
            OpenApiParameter("page_size", int, description="At most 200."),
        ],
        responses=CardPage,
    )
    def get(self, request: Request) -> Response:
        viewer: Any = request.user
        pages = Pages()
        rows = pages.paginate_queryset(queries.cards_for(viewer).order_by("pk"), request, view=self)
        return pages.get_paginated_response(MeteredCardOut(rows, many=True).data)


class CardDetail(APIView):
    """One card."""

    @extend_schema(
        operation_id="get_card", description="A card you may see.", responses=MeteredCardOut
    )
    def get(self, request: Request, card_id: int) -> Response:
        viewer: Any = request.user
        return Response(MeteredCardOut(queries.card_for(viewer, card_id)).data)


class CardMinutes(APIView):
    """The minutes of one card."""

    @extend_schema(
        operation_id="list_card_minutes",
        description="The minutes of a card in [from, to), at most seven days; by default the last"
        " hour. A minute that is missing is unknown.",
        parameters=[
            OpenApiParameter("from", datetime, description="ISO 8601 with offset."),
            OpenApiParameter("to", datetime, description="ISO 8601 with offset."),
        ],
        responses=MinutesOut,
    )
    def get(self, request: Request, card_id: int) -> Response:
        viewer: Any = request.user
        card = queries.card_for(viewer, card_id)
        now = clock.now()
        end = _moment(request, "to", now)
        start = _moment(request, "from", end - timedelta(hours=1))
        if not timedelta(0) < end - start <= timedelta(minutes=MOST_MINUTES):
            raise Invalid(
                Reason("period", N_("The end must lie after the start, at most 7 days.")), "from"
            )
        rows = queries.minutes(viewer, card, Period(start, end), ("source", "fidelity", *COLUMNS))
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        columns["minute"] = [row["minute"] * 60 for row in rows]
        columns["source"] = [Source(row["source"]).name.lower() for row in rows]
        columns["fidelity"] = [Fidelity(row["fidelity"]).name.lower() for row in rows]
        return Response({"card": card.pk, "first": start, "last": end, "columns": columns})


class Usage(APIView):
    """Usage from the roll-ups."""

    @extend_schema(
        operation_id="get_usage",
        description="Usage of local days `from` to `to`, both included, by group and metric"
        " source, of what you may see. Means are weighted by samples.",
        parameters=[
            OpenApiParameter("from", str, required=True, description="A date."),
            OpenApiParameter("to", str, required=True, description="A date."),
            OpenApiParameter("timezone", str, description="Default Asia/Shanghai."),
            OpenApiParameter(
                "group_by", str, description=f"By comma, of {', '.join(queries.GROUPS)}."
            ),
        ],
        responses=UsageOut(many=True),
    )
    def get(self, request: Request) -> Response:
        viewer: Any = request.user
        try:
            tz = zone(request.query_params.get("timezone", "Asia/Shanghai"))
        except TableFault as fault:
            raise Invalid(
                Reason("timezone", N_("There is no such time zone.")), "timezone"
            ) from fault
        assert tz is not None
        rows = queries.usage(
            viewer,
            period=_days(request, tz),
            tz=tz.key,
            now=clock.now(),
            group_by=tuple(request.query_params.get("group_by", "none").split(",")),
        )
        return Response([_told(row) for row in rows])


def _told(row: queries.UsageRow) -> dict[str, Any]:
    return {
        "group": row.group,
        "metric_source": row.source.name.lower(),
        "fidelity": row.fidelity.name.lower(),
        "cards": row.cards,
        "card_hours": row.card_hours,
        "expected_card_hours": row.expected_card_hours,
        "coverage": row.coverage,
        "figures": row.figures,
    }


def _moment(request: Request, name: str, default: datetime) -> datetime:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None and 2015 <= found.year < 2100:
            return found.astimezone(UTC)
    except ValueError:
        pass
    raise Invalid(
        Reason("time", N_("Write a time with offset, such as 2026-11-01T08:00:00Z.")), name
    )


def _days(request: Request, tz: ZoneInfo) -> Period:
    days = []
    for name in ("from", "to"):
        try:
            day = datetime.strptime(request.query_params.get(name, ""), "%Y-%m-%d").date()  # noqa: DTZ007
        except ValueError:
            day = None
        if day is None or not 2015 <= day.year < 2100:
            raise Invalid(Reason("date", N_("Write a date such as 2026-11-01.")), name)
        days.append(day)
    if days[1] < days[0]:
        raise Invalid(Reason("period", N_("The end must lie after the start.")), "to")
    return Period(local_midnight(days[0], tz), local_midnight(days[1] + timedelta(days=1), tz))
