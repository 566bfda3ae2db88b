"""API of the telemetry room: pages pushed by nodes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.domain.page import PageFault, parse_page
from governance.telemetry.models import Node


class NodeAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN` with the token of an enrolled node."""

    def authenticate(self, request: Request) -> tuple[Node, str] | None:
        parts = get_authorization_header(request).split()
        if len(parts) != 2 or parts[0].lower() != b"bearer":
            raise NotAuthenticated()
        given = parts[1].decode("ascii", "replace")
        node = services.node_for_token(given, clock.now())
        if node is None:
            raise AuthenticationFailed()
        return node, given

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class NodeThrottle(SimpleRateThrottle):
    """120 pages a minute and node."""

    scope = "node"
    rate = "120/min"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}


class PushReceipt(serializers.Serializer[dict[str, Any]]):
    """What became of a pushed page; `next` acknowledges it."""

    next = serializers.CharField()
    stored = serializers.IntegerField()
    repeated = serializers.IntegerField()
    clashes = serializers.IntegerField()
    rejected = serializers.DictField(child=serializers.IntegerField())


class PushSamples(APIView):
    """Where nodes that cannot be reached push their samples pages."""

    authentication_classes = [NodeAuthentication]
    permission_classes = [AllowAny]
    throttle_classes = [NodeThrottle]

    @extend_schema(
        operation_id="push_samples",
        description="Store a samples page (docs/collector.md) of the node whose token is given."
        " The same page again changes nothing.",
        request=OpenApiTypes.OBJECT,
        responses=PushReceipt,
    )
    def post(self, request: Request) -> Response:
        now = clock.now()
        try:
            body: bytes = request.body
            if request.headers.get("Content-Encoding", "") == "gzip":
                body = services.unpack(body)
            page = parse_page(body, now_minute=int(now.timestamp()) // 60)
        except PageFault as fault:
            raise Invalid(
                Reason(fault.code, N_("The page cannot be used: %(fault)s"), {"fault": str(fault)})
            ) from fault
        node: Any = request.user
        receipt = services.ingest_page(node_id=node.pk, page=page, now=now)
        return Response(
            {
                "next": page.next,
                "stored": receipt.stored,
                "repeated": receipt.repeated,
                "clashes": receipt.clashes,
                "rejected": dict(receipt.rejected),
            }
        )


class _NodeScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = NodeAuthentication
    name = "node"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
