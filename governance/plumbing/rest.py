"""What every room's API does alike: checked bodies, acts that happen once, paged answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from governance.plumbing import idempotency

KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="At most 200 signs."
)
PAGING = [OpenApiParameter(name, OpenApiTypes.INT) for name in ("page", "page_size")]


def checked(serializer: type[serializers.Serializer[Any]], request: Request) -> Any:
    """The body's values; 400 names the field."""
    found = serializer(data=request.data)
    found.is_valid(raise_exception=True)
    return found.validated_data


def once(request: Request, act: Callable[[], tuple[int, Any]]) -> Response:
    """Act, or give the first answer again where the Idempotency-Key was used for the same body."""
    key = request.headers.get("Idempotency-Key", "")[:200]
    if not key:
        status, body = act()
        return Response(body, status=status)
    sent = json.dumps(request.data, sort_keys=True, default=str).encode()
    status, body = idempotency.once(
        actor_key=request.user.actor_key,  # type: ignore[union-attr]
        key=key,
        fingerprint=idempotency.fingerprint(sent, request.path),
        act=act,
    )
    return Response(body, status=status)


@cache
def page_of(serializer: type[serializers.BaseSerializer[Any]]) -> serializers.Serializer[Any]:
    """The document of a paged list of these."""
    return inline_serializer(
        f"PageOf{serializer.__name__}",
        {
            "count": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": serializer(many=True),
        },
    )
