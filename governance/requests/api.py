"""The requests API. POSTs take an Idempotency-Key: the same key and body act once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.accounts import queries as accounts
from governance.kernel.policy import require
from governance.matching.codec import to_json
from governance.plumbing import clock
from governance.plumbing.http import Pages
from governance.plumbing.rest import KEY, once, page_of
from governance.requests import queries, services
from governance.requests.domain.bulk import MAX_ROWS
from governance.requests.models import ComputeRequest


class AskIn(serializers.Serializer[Any]):
    """A wish. `spec` has the fields of the request form."""

    business_type = serializers.CharField(max_length=20)
    spec = serializers.DictField()
    starts_at = serializers.DateTimeField()
    needed_by = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def asked(self) -> services.Ask:
        data = self.validated_data
        return services.read_ask(
            data["spec"], data["business_type"], data["starts_at"], data["needed_by"]
        )


class RequestIn(AskIn):
    """A new request: a draft, or submitted at once."""

    project = serializers.SlugField()
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=5_000)
    worth = serializers.CharField(required=False, default="deadline", max_length=10)
    answers = serializers.DictField(child=serializers.CharField(max_length=500), required=False)
    package = serializers.CharField(required=False, max_length=200)
    submit = serializers.BooleanField(required=False, default=False)


class RequestOut(serializers.Serializer[Any]):
    """A request in short."""

    id = serializers.IntegerField()
    project = serializers.CharField(source="project.slug")
    team = serializers.CharField(source="project.team.slug")
    requester = serializers.CharField(source="requester.display")
    title = serializers.CharField()
    state = serializers.CharField()
    state_since = serializers.DateTimeField()
    kind = serializers.CharField()
    business_type = serializers.CharField()
    starts_at = serializers.DateTimeField()
    needed_by = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    amount = serializers.DecimalField(max_digits=20, decimal_places=2, allow_null=True)
    currency = serializers.CharField()
    waits_for = serializers.CharField()
    due_at = serializers.DateTimeField(allow_null=True)


class RequestFull(RequestOut):
    """A request with its wish and package."""

    spec = serializers.JSONField()
    reason = serializers.CharField()
    worth = serializers.CharField()
    answers = serializers.JSONField()
    package = serializers.JSONField(allow_null=True)
    conditions = serializers.JSONField(allow_null=True)
    round = serializers.IntegerField()
    parent = serializers.IntegerField(source="parent_id", allow_null=True)


class PackagesOut(serializers.Serializer[Any]):
    """The matcher's answer; see the help page on matching for its fields."""

    packages = serializers.ListField(child=serializers.DictField())
    rejected = serializers.ListField(child=serializers.DictField())
    engine = serializers.CharField()


class TextIn(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=5_000)


class ReasonIn(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=5_000)


class ChooseIn(serializers.Serializer[Any]):
    package = serializers.CharField(max_length=200)


class SubmitIn(serializers.Serializer[Any]):
    package = serializers.CharField(required=False, max_length=200)


class ConditionsIn(serializers.Serializer[Any]):
    max_cards = serializers.IntegerField(required=False, min_value=1, max_value=16_384)
    needed_by = serializers.DateTimeField(required=False)
    package = serializers.CharField(required=False, max_length=200)


class ApproveIn(serializers.Serializer[Any]):
    text = serializers.CharField(required=False, allow_blank=True, default="", max_length=5_000)
    conditions = ConditionsIn(required=False)


class MessageOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    author = serializers.CharField(source="author.display")
    at = serializers.DateTimeField()
    text = serializers.CharField()


class ImportIn(serializers.Serializer[Any]):
    rows = serializers.ListField(child=serializers.DictField(), min_length=1, max_length=MAX_ROWS)
    submit = serializers.BooleanField(required=False, default=False)


class ImportOut(serializers.Serializer[Any]):
    created = serializers.ListField(child=serializers.IntegerField())


def read(serializer: type[serializers.Serializer[Any]], request: Request) -> Any:
    """The body, checked; 400 names the field."""
    found = serializer(data=request.data)
    found.is_valid(raise_exception=True)
    return found


def full(row: ComputeRequest) -> dict[str, Any]:
    return dict(RequestFull(row).data)


def filters_of(request: Request) -> dict[str, Any]:
    names = ("state", "project", "team", "purpose", "requester", "q")
    return {name: request.query_params.get(name, "") for name in names}


class Requests(APIView):
    """The list (25 a page, newest first) and new requests."""

    @extend_schema(
        responses=page_of(RequestOut),
        parameters=[
            OpenApiParameter(name, OpenApiTypes.STR)
            for name in ("state", "project", "team", "purpose", "requester", "q", "page")
        ],
        operation_id="requests_list",
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        rows = queries.filtered(request.user, filters_of(request)).order_by("-pk")
        page = pages.paginate_queryset(rows.defer(*queries.BULKY), request, self)
        return pages.get_paginated_response(RequestOut(page, many=True).data)

    @extend_schema(request=RequestIn, responses={201: RequestFull}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        body = read(RequestIn, request)
        data, now = body.validated_data, clock.now()

        def act() -> tuple[int, Any]:
            project = accounts.project_for(request.user, data["project"])
            row = services.create_draft(
                actor=request.user,
                project_id=project.pk,
                ask=body.asked(),
                reason=data["reason"],
                worth=data["worth"],
                answers=data.get("answers"),
                now=now,
            )
            return status.HTTP_201_CREATED, full(_onward(request, row, data, now))

        return once(request, act)


def _onward(
    request: Request, row: ComputeRequest, data: dict[str, Any], now: datetime
) -> ComputeRequest:
    if data["submit"]:
        return services.submit(
            actor=request.user, request_id=row.pk, key=data.get("package"), now=now
        )
    if data.get("package"):
        return services.choose_package(
            actor=request.user, request_id=row.pk, key=data["package"], now=now
        )
    return row


class OneRequest(APIView):
    """One request."""

    @extend_schema(responses=RequestFull)
    def get(self, request: Request, pk: int) -> Response:
        return Response(full(queries.request_for(request.user, pk)))


class Packages(APIView):
    """The stored match of a request."""

    @extend_schema(responses=PackagesOut)
    def get(self, request: Request, pk: int) -> Response:
        row = queries.request_for(request.user, pk)
        result = row.match.result if row.match else {}
        return Response(
            {
                "packages": result.get("packages", []),
                "rejected": result.get("rejected", []),
                "engine": result.get("engine", ""),
            }
        )


class MatchNow(APIView):
    """Packages for a wish, nothing stored."""

    @extend_schema(request=AskIn, responses=PackagesOut)
    def post(self, request: Request) -> Response:
        asked = read(AskIn, request).asked()
        result = services.find_packages(asked, clock.now())
        packages = [{"key": services.package_key(p), **to_json(p)} for p in result.packages]
        return Response(
            {
                "packages": packages,
                "rejected": to_json(result.rejected),
                "engine": result.engine,
            }
        )


class Inbox(APIView):
    """What waits for the caller's signature, what is due first first."""

    @extend_schema(responses=page_of(RequestOut), operation_id="requests_inbox")
    def get(self, request: Request) -> Response:
        day = queries.local_day(clock.now())
        require(
            request.user, "requests.inbox", queries.Viewer(queries.stands_in(request.user, day))
        )
        pages = Pages()
        rows = queries.inbox(request.user, day).defer(*queries.BULKY)
        page = pages.paginate_queryset(rows, request, self)
        return pages.get_paginated_response(RequestOut(page, many=True).data)


class Act(APIView):
    """A POST that is one act on a request and answers with it."""

    body: type[serializers.Serializer[Any]] = ReasonIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        raise NotImplementedError

    def post(self, request: Request, pk: int) -> Response:
        data = read(self.body, request).validated_data

        def act() -> tuple[int, Any]:
            return status.HTTP_200_OK, full(self.act(request, pk, data))

        return once(request, act)


@extend_schema(request=SubmitIn, responses=RequestFull, parameters=[KEY])
class Submit(Act):
    """Ask for a decision."""

    body = SubmitIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.submit(
            actor=request.user, request_id=pk, key=data.get("package"), now=clock.now()
        )


@extend_schema(request=ChooseIn, responses=RequestFull, parameters=[KEY])
class Choose(Act):
    """Take another package."""

    body = ChooseIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.choose_package(
            actor=request.user, request_id=pk, key=data["package"], now=clock.now()
        )


@extend_schema(request=ReasonIn, responses=RequestFull, parameters=[KEY])
class Withdraw(Act):
    """Take it back; a hold is released."""

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.withdraw(
            actor=request.user, request_id=pk, reason=data["reason"], now=clock.now()
        )


@extend_schema(request=ApproveIn, responses=RequestFull, parameters=[KEY])
class Approve(Act):
    """Sign the open step; the last signature approves and holds the budget."""

    body = ApproveIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.approve(
            actor=request.user,
            request_id=pk,
            text=data["text"],
            conditions=data.get("conditions"),
            now=clock.now(),
        )


@extend_schema(request=TextIn, responses=RequestFull, parameters=[KEY])
class AskBack(Act):
    """Back to the requester with a question."""

    body = TextIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.ask_back(
            actor=request.user, request_id=pk, text=data["text"], now=clock.now()
        )


@extend_schema(request=TextIn, responses=RequestFull, parameters=[KEY])
class Refuse(Act):
    """The end of the request, with the reason."""

    body = TextIn

    def act(self, request: Request, pk: int, data: dict[str, Any]) -> ComputeRequest:
        return services.refuse(
            actor=request.user, request_id=pk, text=data["text"], now=clock.now()
        )


class Messages(APIView):
    """Words between requester and approvers."""

    @extend_schema(responses=MessageOut(many=True), operation_id="request_messages_list")
    def get(self, request: Request, pk: int) -> Response:
        row = queries.request_for(request.user, pk)
        return Response(MessageOut(queries.messages_of(row), many=True).data)

    @extend_schema(request=TextIn, responses={201: MessageOut}, parameters=[KEY])
    def post(self, request: Request, pk: int) -> Response:
        text = read(TextIn, request).validated_data["text"]

        def act() -> tuple[int, Any]:
            message = services.write_message(
                actor=request.user, request_id=pk, text=text, now=clock.now()
            )
            return status.HTTP_201_CREATED, dict(MessageOut(message).data)

        return once(request, act)


class Import(APIView):
    """Many requests at once: all rows or none; the first wrong row and field are named."""

    @extend_schema(request=ImportIn, responses={201: ImportOut}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        data = read(ImportIn, request).validated_data

        def act() -> tuple[int, Any]:
            made = services.import_requests(
                actor=request.user, rows=data["rows"], submit_them=data["submit"], now=clock.now()
            )
            return status.HTTP_201_CREATED, {"created": [row.pk for row in made]}

        return once(request, act)
