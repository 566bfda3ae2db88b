"""Pages of budgets, ledger and exchange rates."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.accounts import queries as accounts
from governance.budgets import queries, services, tables
from governance.budgets.forms import (
    BudgetFilter,
    BudgetForm,
    LimitForm,
    OverdraftForm,
    RateForm,
)
from governance.kernel.errors import Invalid
from governance.kernel.periods import local_midnight
from governance.kernel.policy import can, require
from governance.plumbing import clock


def told(form: Any, error: Invalid) -> None:
    """Puts a refused value beside its field, or on top of the form."""
    field = error.field if error.field in form.fields else None
    form.add_error(field, error.reason.render(_))


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Budgets of a period with what is held, spent and free."""
    now = clock.now()
    form = BudgetFilter(request.GET)
    chosen = form.cleaned_data if form.is_valid() else {}
    rows = queries.listed(request.user, chosen.get("when", ""), chosen.get("owner", ""), now)
    table = tables.budget_table(tables.budget_rows(queries.positions(rows, now), now), request.GET)
    return render(request, "budgets/list.html", {"form": form, "table": table})


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new budget."""
    require(request.user, "budgets.manage")
    owners = queries.owners(request.user)
    if request.method == "POST":
        form = BudgetForm(request.POST, owners=owners)
        if form.is_valid():
            try:
                pk = services.create_budget(actor=request.user, **_new_values(form))
            except Invalid as error:
                told(form, error)
            else:
                messages.success(request, _("The budget is made."))
                return redirect(reverse("budgets:detail", args=[pk]))
    else:
        first = queries.local_day(clock.now()).replace(day=1)
        form = BudgetForm(
            owners=owners,
            initial={"first_day": first, "currency": accounts.organisation().currency},
        )
    return render(request, "budgets/new.html", {"form": form})


def _new_values(form: BudgetForm) -> dict[str, Any]:
    names = ("unit", "first_day", "currency", "limit", "with_tax")
    return {**{name: form.cleaned_data[name] for name in names}, **form.owner_ids()}


@require_GET
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One budget: position, holds, entries, overdrafts."""
    return _detail(request, pk, LimitForm(), OverdraftForm())


def _detail(
    request: HttpRequest, pk: int, limit_form: LimitForm, overdraft_form: OverdraftForm
) -> HttpResponse:
    now = clock.now()
    budget = queries.budget_for(request.user, pk)
    position = queries.position(budget, now)
    context = {
        "budget": budget,
        "position": position,
        "elapsed": budget.elapsed(now),
        "used": position.committed / position.limit if position.limit else None,
        "holds": tables.hold_table(queries.holds_of(budget), request.GET, budget.currency),
        "entries": tables.entry_table(queries.entries_of(budget), request.GET, budget.currency),
        "overdrafts": queries.overdrafts_of(budget, now),
        "limit_form": limit_form,
        "overdraft_form": overdraft_form,
        "may_manage": can(request.user, "budgets.manage", budget),
        "may_overdraw": can(request.user, "budgets.overdraft", budget),
    }
    return render(request, "budgets/detail.html", context)


@require_POST
def change_limit(request: HttpRequest, pk: int) -> HttpResponse:
    queries.budget_for(request.user, pk)
    require(request.user, "budgets.manage")
    form = LimitForm(request.POST)
    if form.is_valid():
        try:
            services.change_limit(actor=request.user, budget_id=pk, **form.cleaned_data)
        except Invalid as error:
            told(form, error)
        else:
            messages.success(request, _("The limit is changed."))
            return redirect(reverse("budgets:detail", args=[pk]))
    return _detail(request, pk, form, OverdraftForm())


@require_POST
def overdraft(request: HttpRequest, pk: int) -> HttpResponse:
    budget = queries.budget_for(request.user, pk)
    require(request.user, "budgets.overdraft")
    form = OverdraftForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            services.grant_overdraft(
                actor=request.user,
                budget_id=pk,
                amount=data["amount"],
                reason=data["reason"],
                expires_at=local_midnight(data["expires_on"], ZoneInfo(budget.timezone)),
                now=clock.now(),
            )
        except Invalid as error:
            told(form, error)
        else:
            messages.success(request, _("The budget may be exceeded until then."))
            return redirect(reverse("budgets:detail", args=[pk]))
    return _detail(request, pk, LimitForm(), form)


@require_GET
def ledger(request: HttpRequest) -> HttpResponse:
    """Accounts with balances, and transactions with their postings."""
    context = {
        "accounts": tables.account_table(queries.accounts_with_balances(request.user), request.GET),
        "transactions": tables.transaction_table(queries.transactions(request.user), request.GET),
    }
    return render(request, "budgets/ledger.html", context)


@require_http_methods(["GET", "POST"])
def rates(request: HttpRequest) -> HttpResponse:
    """Exchange rates, and adding one."""
    form = RateForm()
    if request.method == "POST":
        require(request.user, "fx.manage")
        form = RateForm(request.POST)
        if form.is_valid():
            try:
                services.set_rate(actor=request.user, **form.cleaned_data)
            except Invalid as error:
                told(form, error)
            else:
                messages.success(request, _("The rate is on record."))
                return redirect(reverse("budgets:rates"))
    context = {
        "table": tables.rate_table(queries.fx_rates(), request.GET),
        "form": form,
        "may_manage": can(request.user, "fx.manage"),
    }
    return render(request, "budgets/rates.html", context)
