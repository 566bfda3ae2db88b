"""Pages of rentals: list, one rental, buying, previewing, closing months."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.accounts import queries as accounts
from governance.kernel.errors import Invalid, Refused
from governance.kernel.periods import Period
from governance.kernel.policy import can, require
from governance.plumbing import clock
from governance.rentals import charts, queries, services, tables
from governance.rentals.domain.lifecycle import LIFECYCLE
from governance.rentals.forms import (
    CardsForm,
    ExtendForm,
    PreviewForm,
    PriceForm,
    PurchaseForm,
    QuantityForm,
    ReasonForm,
    RentalFilter,
)
from governance.requests import queries as requests
from governance.telemetry import queries as telemetry


def told(form: Any, error: Invalid | Refused) -> None:
    """Puts a refused value beside its field, or on top of the form."""
    field = getattr(error, "field", None)
    form.add_error(field if field in form.fields else None, error.reason.render(_))


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Rentals with this month's cost, and what waits to be bought."""
    now = clock.now()
    form = RentalFilter(request.GET, teams=accounts.teams_visible_to(request.user))
    filters = form.cleaned_data if form.is_valid() else {}
    may_buy = can(request.user, "rentals.purchase")
    context = {
        "form": form,
        "table": tables.rental_table(queries.listed(request.user, filters, now), request.GET),
        "waiting": requests.approved_waiting(request.user) if may_buy else [],
        "may_buy": may_buy,
        "may_close": can(request.user, "months.close"),
    }
    return render(request, "rentals/list.html", context)


@require_GET
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One rental: time line, costs, cards, charges, plans side by side, changes."""
    return _detail(request, pk, {})


def _detail(request: HttpRequest, pk: int, forms: dict[str, Any]) -> HttpResponse:
    now = clock.now()
    rental = queries.rental_for(request.user, pk)
    zone = ZoneInfo(rental.timezone)
    months = queries.cost_months(rental)
    acts = LIFECYCLE.acts_from(rental.state)
    may = can(request.user, "rentals.manage", rental)
    totals = queries.cost_totals(rental)
    context = {
        "rental": rental,
        "badge": tables.state_badge(rental),
        "plan_words": tables.plan_words(rental.plan_kind),
        "strip": strip(rental, now),
        "chart": charts.month_costs(months, rental.currency) if months else None,
        "totals": totals,
        "charges": tables.charge_table(queries.charges_of(rental), rental, request.GET),
        "components": queries.component_rows(rental),
        "cards": telemetry.holdings_of_rental(rental.pk),
        "changes": queries.changes_of(rental),
        "compared": queries.plan_comparison(request.user, rental, now),
        "plans": compared_rows(request, rental, now),
        "compare_url": _url("reports:prices"),
        "acts": acts,
        "may": may,
        "forms": {**_forms(rental, acts, now), **forms} if may else {},
        "zone": zone,
    }
    return render(request, "rentals/detail.html", context)


def compared_rows(request: HttpRequest, rental: Any, now: Any) -> list[dict[str, Any]]:
    """The comparison as rows: plan, price, cost of a year, formula, and which is advised."""
    found = queries.plan_comparison(request.user, rental, now)
    if found is None:
        return []
    return [
        {
            "kind": kind,
            "word": tables.plan_words(kind),
            "price": found.prices[kind],
            "cost": cost,
            "formula": found.comparison.formulas[kind],
            "own": kind == rental.plan_kind,
            "advised": kind == found.comparison.advice,
        }
        for kind, cost in found.comparison.costs.items()
    ]


def _url(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


@dataclass(frozen=True)
class Step:
    title: str
    text: str
    state: str


def strip(rental: Any, now: Any) -> list[Step]:
    """The contract as a time line: start, changes, today, end."""
    zone = ZoneInfo(rental.timezone)

    def day(moment: Any) -> str:
        return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"

    marks = [(rental.starts_at, _("Start"))]
    marks += [(change.at, change.get_kind_display()) for change in rental.changes.order_by("at")]
    if rental.ends_at is not None:
        marks.append((rental.ends_at, _("Renews") if rental.auto_renew else _("End")))
    steps = [(at, Step(str(title), day(at), "done" if at <= now else "")) for at, title in marks]
    if rental.ends_at is None or rental.ends_at > now:
        steps.append((now, Step(_("Today"), day(now), "now")))
    return [step for _at, step in sorted(steps, key=lambda pair: pair[0])]


def _forms(rental: Any, acts: Any, now: Any) -> dict[str, Any]:
    """The forms of what can be done in this state."""
    at = {"at": timezone.localtime(now, ZoneInfo(rental.timezone))}
    forms: dict[str, Any] = {}
    if "reprice" in acts:
        forms["price"] = PriceForm(initial=at, prefix="price")
        forms["quantity"] = QuantityForm(initial=at, prefix="quantity")
    if "extend" in acts and rental.ends_at is not None:
        forms["extend"] = ExtendForm(initial={"ends_at": rental.ends_at}, prefix="extend")
    prepaid = rental.components.get(code="cards").stopped_price is None
    for act in ("end_early", "stop", "start"):
        if act in acts and not (prepaid and act == "stop"):
            forms[act] = ReasonForm(initial=at, prefix=act)
    free = _free_cards(rental.card_model, rental.starts_at, rental.ends_at, now)
    if free and len(telemetry.cards_of_rental(rental.pk)) < rental.cards:
        forms["cards"] = CardsForm(cards=free, prefix="cards")
    return forms


def _free_cards(model: str, start: Any, end: Any, now: Any) -> list[tuple[str, str]]:
    """Free cards of the model as choices: node, index and UUID."""
    last = end or max(start, now) + timedelta(days=1)
    cards = telemetry.free_cards(model, Period(start, last)) if last > start else []
    return [(str(card.id), f"{card.label} · {card.uuid}") for card in cards]


@require_POST
def act(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """One change of a rental, by its form; back to the rental."""
    rental = queries.rental_for(request.user, pk)
    require(request.user, "rentals.manage", rental)
    now = clock.now()
    kinds: dict[str, Any] = {
        "price": (PriceForm, services.change_price),
        "quantity": (QuantityForm, services.change_quantity),
        "extend": (ExtendForm, services.extend_rental),
        "end_early": (ReasonForm, services.end_rental),
        "stop": (ReasonForm, services.stop_rental),
        "start": (ReasonForm, services.start_rental),
    }
    form_class, service = kinds[what]
    with timezone.override(ZoneInfo(rental.timezone)):
        form = form_class(request.POST, prefix=what)
        if form.is_valid():
            try:
                service(actor=request.user, rental_id=pk, now=now, **form.cleaned_data)
            except (Invalid, Refused) as error:
                told(form, error)
            else:
                messages.success(request, _("Done. The next charge run settles the difference."))
                return redirect(reverse("rentals:detail", args=[pk]))
    return _detail(request, pk, {what: form})


@require_POST
def renewal(request: HttpRequest, pk: int) -> HttpResponse:
    """Whether the rental renews itself."""
    queries.rental_for(request.user, pk)
    services.set_auto_renew(
        actor=request.user, rental_id=pk, on=request.POST.get("on") == "yes", reason=""
    )
    messages.success(request, _("Noted."))
    return redirect(reverse("rentals:detail", args=[pk]))


@require_POST
def cards(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign free cards to a rental."""
    rental = queries.rental_for(request.user, pk)
    require(request.user, "rentals.manage", rental)
    now = clock.now()
    free = _free_cards(rental.card_model, rental.starts_at, rental.ends_at, now)
    form = CardsForm(request.POST, cards=free, prefix="cards")
    if form.is_valid():
        try:
            services.assign_cards(
                actor=request.user, rental_id=pk, now=now,
                card_ids=[int(value) for value in form.cleaned_data["cards"]],
            )  # fmt: skip
        except (Invalid, Refused) as error:
            told(form, error)
        else:
            messages.success(request, _("The cards are booked for this rental."))
            return redirect(reverse("rentals:detail", args=[pk]))
    return _detail(request, pk, {"cards": form})


@require_http_methods(["GET", "POST"])
def buy(request: HttpRequest, request_id: int) -> HttpResponse:
    """Buy an approved request: term, start, cards; every charge is shown before it is done."""
    require(request.user, "rentals.purchase")
    wanted = requests.request_for(request.user, request_id)
    now = clock.now()
    options = queries.purchase_options(wanted, now)
    kinds = [(option.kind, tables.plan_words(option.kind)) for option in options]
    zone = ZoneInfo(accounts.organisation().timezone)
    start = timezone.localtime(max(now, wanted.starts_at), zone).replace(second=0, microsecond=0)
    free = _free_cards(wanted.package["card"], start, wanted.ends_at, now)
    with timezone.override(zone):
        if request.method == "POST":
            form = PurchaseForm(request.POST, kinds=kinds, cards=free)
            if form.is_valid() and request.POST.get("act") == "buy":
                try:
                    pk = services.open_rental(
                        actor=request.user, request_id=request_id, now=now, **form.values()
                    )
                except (Invalid, Refused) as error:
                    told(form, error)
                else:
                    messages.success(request, _("Bought. Charging begins with its start."))
                    return redirect(reverse("rentals:detail", args=[pk]))
        else:
            first = {
                "plan_kind": _best_kind(wanted, kinds),
                "starts_at": start.strftime("%Y-%m-%dT%H:%M"),
                "cards": [value for value, _label in free[: int(wanted.package["count"])]],
            }
            form = PurchaseForm(first, kinds=kinds, cards=free)
        context = {
            "wanted": wanted,
            "package": wanted.package,
            "options": [(tables.plan_words(option.kind), option) for option in options],
            "form": form,
            **_foreseen(request, wanted, form, now, zone),
        }
        return render(request, "rentals/buy.html", context)


def _best_kind(wanted: Any, kinds: list[Any]) -> str:
    best = wanted.package.get("best_term")
    known = [kind for kind, _word in kinds]
    return best if best in known else known[0]


def _foreseen(request: HttpRequest, wanted: Any, form: Any, now: Any, zone: ZoneInfo) -> Any:
    """The charges of what the form says, by the function that will post them."""
    if not form.is_valid():
        return {}
    try:
        spec = queries.purchase_spec(wanted, now=now, **form.values())
    except Refused as error:
        told(form, error)
        return {}
    shown = queries.preview(spec.terms(), None if spec.ends_at else queries.horizon(spec.starts_at))
    return {
        "spec": spec,
        "shown": shown,
        "entries": tables.entry_table(shown.entries, spec.currency, zone, request.GET),
        "over": queries.exceeds(shown, wanted.amount, wanted.currency),
    }


@require_GET
def preview(request: HttpRequest) -> HttpResponse:
    """What a rental would be charged over its term, without making one."""
    zone = ZoneInfo(accounts.organisation().timezone)
    asked = bool(request.GET)
    with timezone.override(zone):
        form = PreviewForm(
            request.GET if asked else None,
            initial={"currency": accounts.organisation().currency, "rules": "plain"},
        )
        context: dict[str, Any] = {"form": form}
        if asked and form.is_valid():
            try:
                shown = queries.preview(queries.described(form.cleaned_data, zone))
            except Invalid as error:
                told(form, error)
            else:
                currency = form.cleaned_data["currency"]
                context["shown"] = shown
                context["entries"] = tables.entry_table(shown.entries, currency, zone, request.GET)
        return render(request, "rentals/preview.html", context)


@require_http_methods(["GET", "POST"])
def months(request: HttpRequest) -> HttpResponse:
    """Closed months with their hashes; finance closes the next."""
    require(request.user, "months.close")
    now = clock.now()
    following = queries.next_month(now)
    if request.method == "POST":
        if following is None:
            raise Refused(queries.NOTHING_TO_CLOSE)
        services.close_month(actor=request.user, month=following, now=now)
        messages.success(request, _("The month is closed and its report is kept."))
        return redirect(reverse("rentals:months"))
    context = {"closed": queries.months(), "following": following}
    return render(request, "rentals/months.html", context)


@require_GET
def month_report(request: HttpRequest, year: int, month: int) -> HttpResponse:
    """The frozen report of a closed month, as it was stored."""
    require(request.user, "months.close")
    found = queries.closed_month(year, month)
    return HttpResponse(found.report, content_type="application/json; charset=utf-8")
