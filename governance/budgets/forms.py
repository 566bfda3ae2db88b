"""Forms of budgets, overdrafts and exchange rates."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.budgets.models import UNITS

OWNERS = [("team", _("Team")), ("project", _("Project")), ("cost_centre", _("Cost centre"))]


class BudgetFilter(forms.Form):
    when = forms.ChoiceField(
        label=_("Period"),
        required=False,
        choices=[("", _("Now")), ("all", _("All")), ("past", _("Past")), ("ahead", _("Ahead"))],
    )
    owner = forms.ChoiceField(label=_("Owner"), required=False, choices=[("", _("All")), *OWNERS])


class BudgetForm(forms.Form):
    """A new budget. The owner is chosen as "team:3"."""

    owner = forms.ChoiceField(label=_("Owner"))
    unit = forms.ChoiceField(label=_("Period"), choices=list(UNITS.items()))
    first_day = forms.DateField(
        label=_("First day"), widget=forms.DateInput(attrs={"type": "date"})
    )
    limit = forms.DecimalField(label=_("Limit"), max_digits=20, decimal_places=8)
    currency = forms.CharField(label=_("Currency"), max_length=3)
    with_tax = forms.BooleanField(label=_("Counts with tax"), required=False, initial=True)

    def __init__(self, *args: Any, owners: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["owner"].choices = owners  # type: ignore[attr-defined]

    def owner_ids(self) -> dict[str, int]:
        kind, _colon, pk = self.cleaned_data["owner"].partition(":")
        return {f"{kind}_id": int(pk)}


class LimitForm(forms.Form):
    limit = forms.DecimalField(label=_("New limit"), max_digits=20, decimal_places=8)
    reason = forms.CharField(label=_("Reason"), max_length=500)


class OverdraftForm(forms.Form):
    amount = forms.DecimalField(label=_("Amount over the limit"), max_digits=20, decimal_places=8)
    expires_on = forms.DateField(label=_("Until"), widget=forms.DateInput(attrs={"type": "date"}))
    reason = forms.CharField(label=_("Reason"), max_length=500)


class RateForm(forms.Form):
    base = forms.CharField(label=_("One unit of"), max_length=3)
    quote = forms.CharField(label=_("is worth, in"), max_length=3)
    rate = forms.DecimalField(label=_("Rate"), max_digits=20, decimal_places=10)
    day = forms.DateField(label=_("From"), widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(
        label=_("Up to, not included"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("Empty: that day alone."),
    )
    source = forms.CharField(label=_("Source"), max_length=120)
