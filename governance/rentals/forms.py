"""Forms of rentals: buying, changing, previewing, closing a month."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.rentals.domain.lifecycle import STATES
from governance.rentals.domain.vendors import rule_sets

PLAN_WORDS = {
    "hourly": _("hourly"),
    "daily": _("daily"),
    "monthly": _("monthly"),
    "quarterly": _("quarterly"),
    "annual": _("annual"),
    "spot": _("spot"),
}


def moment_field(label: Any, **options: Any) -> forms.DateTimeField:
    """A local date and time, without seconds."""
    return forms.DateTimeField(
        label=label,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        **options,
    )


def price_field(label: Any, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, max_digits=20, decimal_places=10, min_value=Decimal(0), **options
    )


class RentalFilter(forms.Form):
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[("", _("Running")), ("all", _("All")), *((k, _(v)) for k, v in STATES.items())],
    )
    team = forms.ChoiceField(label=_("Team"), required=False)
    q = forms.CharField(label=_("Search"), required=False, max_length=80)

    def __init__(self, *args: Any, teams: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("All")), *((team.slug, team.name) for team in teams)]
        self.fields["team"].choices = choices  # type: ignore[attr-defined]


class PurchaseForm(forms.Form):
    """How an approved package is bought."""

    plan_kind = forms.ChoiceField(label=_("Plan"), widget=forms.RadioSelect)
    starts_at = moment_field(_("Start"))
    ends_at = moment_field(_("End"), required=False, help_text=_("Empty: as long as was approved."))
    price = price_field(
        _("Price obtained"), required=False, help_text=_("Empty: the offer's price of today.")
    )
    auto_renew = forms.BooleanField(label=_("Renews itself"), required=False)
    cards = forms.MultipleChoiceField(
        label=_("Cards"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self, *args: Any, kinds: Sequence[Any], cards: Sequence[Any], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["plan_kind"].choices = kinds  # type: ignore[attr-defined]
        self.fields["cards"].choices = cards  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        """What `open_rental` and the preview take."""
        data = dict(self.cleaned_data)
        data["card_ids"] = tuple(int(pk) for pk in data.pop("cards"))
        return data


class PreviewForm(forms.Form):
    """A rental that nobody made yet."""

    kind = forms.ChoiceField(
        label=_("Plan"), choices=[(k, w) for k, w in PLAN_WORDS.items() if k != "spot"]
    )
    price = price_field(_("Price of a unit"))
    currency = forms.CharField(label=_("Currency"), max_length=3)
    quantity = forms.IntegerField(label=_("Units"), min_value=1, max_value=100_000, initial=1)
    starts_at = moment_field(_("Start"))
    ends_at = moment_field(_("End"))
    rules = forms.ChoiceField(
        label=_("Billing rules"), choices=lambda: [(name, name) for name in rule_sets()]
    )
    tax_rate = forms.DecimalField(
        label=_("Tax rate, %"), min_value=Decimal(0), max_value=Decimal(100), decimal_places=4,
        required=False,
    )  # fmt: skip
    tax_inclusive = forms.BooleanField(label=_("The price contains the tax"), required=False)
    change_at = moment_field(_("A change on"), required=False)
    change_price = price_field(_("New price"), required=False)
    change_quantity = forms.IntegerField(
        label=_("New units"), min_value=1, max_value=100_000, required=False
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        start, end, at = (data.get(name) for name in ("starts_at", "ends_at", "change_at"))
        if start and end and end <= start:
            self.add_error("ends_at", _("The end must lie after the start."))
        elif start and end and (end - start).days > 20 * 366:
            self.add_error("ends_at", _("At most 20 years can be shown."))
        if at and start and end and not start <= at < end:
            self.add_error("change_at", _("The change must lie within the term."))
        changed = data.get("change_price") is not None or data.get("change_quantity")
        if bool(at) != bool(changed):
            self.add_error("change_at", _("A change has a time and a new price or units."))
        kind, rules = data.get("kind"), data.get("rules")
        if kind and rules and kind not in rule_sets()[rules].kinds:
            self.add_error("rules", _("These rules are not for this plan."))
        return data


class ReasonForm(forms.Form):
    at = moment_field(_("When"))
    reason = forms.CharField(label=_("Reason"), max_length=500)


class PriceForm(ReasonForm):
    price = price_field(_("New price of a unit"))
    field_order = ["price", "at", "reason"]


class QuantityForm(ReasonForm):
    quantity = forms.IntegerField(label=_("New units"), min_value=1, max_value=100_000)
    field_order = ["quantity", "at", "reason"]


class ExtendForm(forms.Form):
    ends_at = moment_field(_("New end"))
    kind = forms.ChoiceField(
        label=_("As"), choices=[("extend", _("extension")), ("renew", _("renewal"))]
    )
    reason = forms.CharField(label=_("Reason"), max_length=500, required=False)


class CardsForm(forms.Form):
    cards = forms.MultipleChoiceField(label=_("Cards"), widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, cards: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["cards"].choices = cards  # type: ignore[attr-defined]
