"""The budgets API: positions, entries, limits, overdrafts, ledger and exchange rates."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.budgets import queries, services
from governance.budgets.models import UNITS, Budget
from governance.plumbing import clock
from governance.plumbing.fields import AmountField
from governance.plumbing.http import Pages
from governance.plumbing.rest import KEY, checked, once, page_of


class BudgetOut(serializers.Serializer[Any]):
    """A budget with its position; amounts are in its currency."""

    id = serializers.IntegerField()
    scope = serializers.CharField()
    owner = serializers.CharField()
    period = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    currency = serializers.CharField()
    with_tax = serializers.BooleanField()
    limit = AmountField()
    overdraft = AmountField()
    held = AmountField()
    spent = AmountField()
    free = AmountField()


class BudgetIn(serializers.Serializer[Any]):
    """One of team, project and cost centre, by id."""

    team = serializers.IntegerField(required=False)
    project = serializers.IntegerField(required=False)
    cost_centre = serializers.IntegerField(required=False)
    unit = serializers.ChoiceField(list(UNITS))
    first_day = serializers.DateField()
    currency = serializers.CharField(max_length=3)
    limit = AmountField()
    with_tax = serializers.BooleanField(default=True)


class LimitIn(serializers.Serializer[Any]):
    limit = AmountField()
    reason = serializers.CharField(max_length=500)


class OverdraftIn(serializers.Serializer[Any]):
    amount = AmountField()
    reason = serializers.CharField(max_length=500)
    expires_at = serializers.DateTimeField()


class EntryOut(serializers.Serializer[Any]):
    """A movement of a budget: what it did to held and spent, in the budget's currency."""

    at = serializers.DateTimeField()
    kind = serializers.CharField()
    reference = serializers.CharField()
    held = AmountField()
    spent = AmountField()
    source_amount = AmountField()
    source_currency = serializers.CharField()
    rate = serializers.DecimalField(max_digits=20, decimal_places=10)
    rate_day = serializers.DateField(allow_null=True)
    rate_source = serializers.CharField()


class RateOut(serializers.Serializer[Any]):
    base = serializers.CharField()
    quote = serializers.CharField()
    day = serializers.DateField()
    until = serializers.DateField()
    rate = serializers.DecimalField(max_digits=20, decimal_places=10)
    source = serializers.CharField()


class RateIn(serializers.Serializer[Any]):
    base = serializers.CharField(max_length=3)
    quote = serializers.CharField(max_length=3)
    day = serializers.DateField()
    until = serializers.DateField(required=False, allow_null=True, default=None)
    rate = serializers.DecimalField(max_digits=20, decimal_places=10)
    source = serializers.CharField(max_length=120)


class AccountOut(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.CharField()
    currency = serializers.CharField(allow_null=True)
    balance = AmountField(allow_null=True)


def shown(rows: list[Budget]) -> list[dict[str, Any]]:
    return [
        dict(
            BudgetOut(
                {
                    "id": budget.pk,
                    "scope": budget.scope,
                    "owner": str(budget.owner),
                    "period": budget.label,
                    "starts_at": budget.starts_at,
                    "ends_at": budget.ends_at,
                    "currency": budget.currency,
                    "with_tax": budget.with_tax,
                    "limit": position.limit,
                    "overdraft": position.overdraft,
                    "held": position.held,
                    "spent": position.spent,
                    "free": position.free,
                }
            ).data
        )
        for budget, position in queries.positions(rows, clock.now())
    ]


class Budgets(APIView):
    """Budgets that the caller may see; finance makes new ones."""

    @extend_schema(
        responses=page_of(BudgetOut),
        parameters=[
            OpenApiParameter("when", OpenApiTypes.STR, description="all, past, ahead; empty: now"),
            OpenApiParameter("owner", OpenApiTypes.STR, description="team, project, cost_centre"),
            OpenApiParameter("page", OpenApiTypes.INT),
        ],
        operation_id="budgets_list",
    )
    def get(self, request: Request) -> Response:
        when, owner = (request.query_params.get(name, "") for name in ("when", "owner"))
        pages = Pages()
        rows = queries.listed(request.user, when, owner, clock.now())
        page = pages.paginate_queryset(rows, request, self)
        return pages.get_paginated_response(shown(list(page or [])))

    @extend_schema(request=BudgetIn, responses={201: BudgetOut}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        data = dict(checked(BudgetIn, request))
        owners = {f"{name}_id": data.pop(name, None) for name in ("team", "project", "cost_centre")}

        def act() -> tuple[int, Any]:
            pk = services.create_budget(actor=request.user, **data, **owners)
            return 201, shown([queries.budget_for(request.user, pk)])[0]

        return once(request, act)


class OneBudget(APIView):
    """A budget's position."""

    @extend_schema(responses=BudgetOut, operation_id="budgets_read")
    def get(self, request: Request, pk: int) -> Response:
        return Response(shown([queries.budget_for(request.user, pk)])[0])


class Limit(APIView):
    """Set a new limit, with a reason."""

    @extend_schema(request=LimitIn, responses=BudgetOut, parameters=[KEY])
    def post(self, request: Request, pk: int) -> Response:
        queries.budget_for(request.user, pk)
        data = checked(LimitIn, request)

        def act() -> tuple[int, Any]:
            services.change_limit(actor=request.user, budget_id=pk, **data)
            return 200, shown([queries.budget_for(request.user, pk)])[0]

        return once(request, act)


class Overdraft(APIView):
    """Let a budget be exceeded until a time; finance only."""

    @extend_schema(request=OverdraftIn, responses={201: BudgetOut}, parameters=[KEY])
    def post(self, request: Request, pk: int) -> Response:
        queries.budget_for(request.user, pk)
        data = checked(OverdraftIn, request)

        def act() -> tuple[int, Any]:
            services.grant_overdraft(actor=request.user, budget_id=pk, now=clock.now(), **data)
            return 201, shown([queries.budget_for(request.user, pk)])[0]

        return once(request, act)


class Entries(APIView):
    """What a budget's held and spent are made of, newest first."""

    @extend_schema(responses=page_of(EntryOut), operation_id="budgets_entries")
    def get(self, request: Request, pk: int) -> Response:
        budget = queries.budget_for(request.user, pk)
        pages = Pages()
        page = pages.paginate_queryset(queries.entries_of(budget), request, self)
        return pages.get_paginated_response(EntryOut(page, many=True).data)


class Accounts(APIView):
    """Ledger accounts with their balance per currency (debit plus)."""

    @extend_schema(responses=AccountOut(many=True), operation_id="ledger_accounts")
    def get(self, request: Request) -> Response:
        return Response(AccountOut(queries.accounts_with_balances(request.user), many=True).data)


class Rates(APIView):
    """Exchange rates; finance adds one, none is changed."""

    @extend_schema(responses=page_of(RateOut), operation_id="fx_rates_list")
    def get(self, request: Request) -> Response:
        pages = Pages()
        page = pages.paginate_queryset(queries.fx_rates(), request, self)
        return pages.get_paginated_response(RateOut(page, many=True).data)

    @extend_schema(request=RateIn, responses={201: RateIn}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        data = checked(RateIn, request)

        def act() -> tuple[int, Any]:
            services.set_rate(actor=request.user, **data)
            return 201, dict(RateIn(data).data)

        return once(request, act)
