"""API of the reports: the same answers as the pages and `manage.py report`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.plumbing import clock
from governance.reports import queries
from governance.reports.domain.tables import json_answer
from governance.reports.viewers import viewer_of


class ReportEntry(serializers.Serializer[Any]):
    """A report there is."""

    name = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField()
    group_by = serializers.ListField(child=serializers.CharField())
    filters = serializers.ListField(child=serializers.CharField())


class ReportAnswer(serializers.Serializer[Any]):
    """What a report says; a row's keys depend on the report."""

    report = serializers.CharField()
    to = serializers.DateField()
    timezone = serializers.CharField()
    currency = serializers.CharField()
    generated_at = serializers.DateTimeField(allow_null=True)
    filters = serializers.DictField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.DictField())
    total = serializers.DictField()
    notes = serializers.ListField(child=serializers.CharField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.DateField()}


class ReportList(APIView):
    """The reports there are, and how each may be grouped and filtered."""

    @extend_schema(responses=ReportEntry(many=True), operation_id="reports_list")
    def get(self, request: Request) -> Response:
        return Response(
            [
                {
                    "name": one.name,
                    "title": one.title,
                    "question": one.question,
                    "group_by": one.groups,
                    "filters": one.filters,
                }
                for one in queries.REPORTS.values()
            ]
        )


class ReportDetail(APIView):
    """One report over local days, both included."""

    @extend_schema(
        responses=ReportAnswer,
        operation_id="reports_run",
        parameters=[
            OpenApiParameter("from", str, description="first local day, 2026-11-01"),
            OpenApiParameter("to", str, description="last local day, included"),
            OpenApiParameter("timezone", str),
            OpenApiParameter("group_by", str, description="one or several keys, by comma"),
        ],
    )
    def get(self, request: Request, name: str) -> Response:
        asked = request.query_params.dict()
        return Response(json_answer(queries.run(name, viewer_of(request), asked, clock.now())))
