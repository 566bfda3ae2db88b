"""Nodes for programs: list, enrol, rotate, revoke."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.plumbing import clock
from governance.telemetry import queries, services
from governance.telemetry.models.nodes import PULL, PUSH


class NodeOut(serializers.Serializer[Any]):
    """A node and how it does."""

    id = serializers.IntegerField(source="node.pk")
    name = serializers.CharField(source="node.name")
    mode = serializers.CharField(source="node.mode")
    address = serializers.CharField(source="node.address")
    state = serializers.CharField()
    cards = serializers.IntegerField()
    lost = serializers.IntegerField()
    conflicts = serializers.IntegerField()
    lag_seconds = serializers.SerializerMethodField()
    skew_seconds = serializers.FloatField(allow_null=True)
    last_seen_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField()

    def get_lag_seconds(self, row: queries.NodeRow) -> float | None:
        return None if row.lag is None else row.lag.total_seconds()


class NodeIn(serializers.Serializer[Any]):
    """A node to enrol."""

    name = serializers.CharField(max_length=120)
    mode = serializers.ChoiceField(choices=[PULL, PUSH], default=PULL)
    address = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")
    interval_seconds = serializers.IntegerField(default=60, min_value=5, max_value=3600)
    silent_after_minutes = serializers.IntegerField(default=10, min_value=1, max_value=10_080)
    labels = serializers.DictField(child=serializers.CharField(max_length=200), default=dict)


class EnrolmentOut(serializers.Serializer[Any]):
    """The node's token, given only in this answer."""

    node_id = serializers.IntegerField()
    token = serializers.CharField()


class RevokeIn(serializers.Serializer[Any]):
    """Why the node is no longer heard."""

    reason = serializers.CharField(max_length=200)


class NodeList(APIView):
    """Nodes that the caller may see; enrolling."""

    @extend_schema(
        operation_id="list_nodes",
        description="The nodes you may see, with lag, skew and state.",
        responses=NodeOut(many=True),
    )
    def get(self, request: Request) -> Response:
        viewer: Any = request.user
        rows = queries.node_rows(viewer, now=clock.now())
        return Response(NodeOut(rows, many=True).data)

    @extend_schema(
        operation_id="enrol_node",
        description="Enrol a node; the answer holds its token, once.",
        request=NodeIn,
        responses={201: EnrolmentOut},
    )
    def post(self, request: Request) -> Response:
        actor: Any = request.user
        asked = NodeIn(data=request.data)
        asked.is_valid(raise_exception=True)
        enrolment = services.enrol_node(actor=actor, now=clock.now(), **asked.validated_data)
        return Response(EnrolmentOut(enrolment).data, status=status.HTTP_201_CREATED)


class NodeDetail(APIView):
    """One node."""

    @extend_schema(operation_id="get_node", description="A node you may see.", responses=NodeOut)
    def get(self, request: Request, node_id: int) -> Response:
        viewer: Any = request.user
        node = queries.node_for(viewer, node_id)
        return Response(NodeOut(queries.node_row(node, clock.now())).data)


class RotateNode(APIView):
    """A new token for a node."""

    @extend_schema(
        operation_id="rotate_node_token",
        description="A new token; the one before stays good for 24 hours.",
        request=None,
        responses=EnrolmentOut,
    )
    def post(self, request: Request, node_id: int) -> Response:
        actor: Any = request.user
        node = queries.node_for(actor, node_id)
        enrolment = services.rotate_token(actor=actor, node_id=node.pk, now=clock.now())
        return Response(EnrolmentOut(enrolment).data)


class RevokeNode(APIView):
    """Refusing a node from now on."""

    @extend_schema(
        operation_id="revoke_node",
        description="Refuse the node from now on; what it sent stays.",
        request=RevokeIn,
        responses=NodeOut,
    )
    def post(self, request: Request, node_id: int) -> Response:
        actor: Any = request.user
        node = queries.node_for(actor, node_id)
        asked = RevokeIn(data=request.data)
        asked.is_valid(raise_exception=True)
        services.revoke_node(
            actor=actor, node_id=node.pk, now=clock.now(), reason=asked.validated_data["reason"]
        )
        node = queries.node_for(actor, node_id)
        return Response(NodeOut(queries.node_row(node, clock.now())).data)
