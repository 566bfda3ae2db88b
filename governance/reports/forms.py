"""Filters of reports and the small forms of decisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.accounts import queries as accounts
from governance.kernel.policy import Actor
from governance.rentals import queries as rentals
from governance.reports.models import Recommendation, SavedView
from governance.reports.queries import GROUP_NAMES, Report


class Day(forms.DateInput):
    """The browser's own calendar."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


class Filters(forms.Form):
    """What a report can be asked, in the words of its address."""

    def __init__(self, report: Report, viewer: Actor, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["from"] = forms.DateField(label=_("From"), required=False, widget=Day())
        self.fields["to"] = forms.DateField(label=_("To"), required=False, widget=Day())
        if len(report.groups) > 1:
            self.fields["group_by"] = forms.ChoiceField(
                label=_("Group by"),
                required=False,
                choices=[("", "")] + [(name, _(GROUP_NAMES[name])) for name in report.groups],
            )
        for name in report.filters:
            self.fields[name] = _field(name, viewer)


def _field(name: str, viewer: Actor) -> forms.Field:
    label = _(GROUP_NAMES[name])
    if name in ("team", "project"):
        rows = {"team": accounts.teams_visible_to, "project": accounts.projects_visible_to}[name]
        return _choice(label, rows(viewer).values_list("slug", "name"))  # type: ignore[operator]
    if name in ("vendor", "card_model", "plan"):
        column = {"plan": "plan_kind"}.get(name, name)
        found = rentals.rentals_visible_to(viewer).order_by(column)
        values = found.values_list(column, flat=True).distinct()
        return _choice(label, [(value, value) for value in values if value])
    if name == "rental":
        rows_ = rentals.rentals_visible_to(viewer)[:500]
        return _choice(label, [(str(rental.pk), str(rental)) for rental in rows_])
    return forms.CharField(label=label, required=False)


def _choice(label: Any, rows: Iterable[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", ""), *rows])


class Answer(forms.Form):
    """What the team says to a recommendation."""

    answer = forms.ChoiceField(
        label=gettext_lazy("Your answer"),
        choices=list(Recommendation.ANSWERS.items()),
        widget=forms.RadioSelect,
    )
    text = forms.CharField(
        label=gettext_lazy("Why, or what will be done"),
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=2000,
    )


class Dismissal(forms.Form):
    """Why a recommendation is not followed."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"), widget=forms.Textarea(attrs={"rows": 2}), max_length=2000
    )


class Snooze(forms.Form):
    """Until when it is put off."""

    until = forms.DateField(label=gettext_lazy("Until"), widget=Day())


class SaveView(forms.ModelForm):  # type: ignore[type-arg]
    """A name for what is shown, and whether it is mailed."""

    class Meta:
        model = SavedView
        fields = ["name", "rhythm"]


class InvoiceUpload(forms.Form):
    """A vendor's invoice as CSV, with the names of its columns where they are not ours."""

    vendor = forms.CharField(label=gettext_lazy("Vendor"), max_length=120)
    external_id = forms.CharField(label=gettext_lazy("Invoice number"), max_length=120)
    version = forms.IntegerField(label=gettext_lazy("Version"), min_value=1, initial=1)
    month = forms.DateField(label=gettext_lazy("Month"), input_formats=["%Y-%m"])
    currency = forms.CharField(label=gettext_lazy("Currency"), max_length=3, initial="CNY")
    rental_column = forms.CharField(label=gettext_lazy("Column of the rental"), required=False)
    amount_column = forms.CharField(label=gettext_lazy("Column of the amount"), required=False)
    file = forms.FileField(label=gettext_lazy("CSV file"))

    def clean_file(self) -> str:
        """The text of the file."""
        data: bytes = self.cleaned_data["file"].read()
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise forms.ValidationError(_("Not a text in UTF-8.")) from None

    def asked(self) -> dict[str, Any]:
        """What the import service is asked."""
        told = self.cleaned_data
        named = {"rental": told["rental_column"], "amount": told["amount_column"]}
        return {
            "vendor": told["vendor"],
            "external_id": told["external_id"],
            "version": told["version"],
            "month": told["month"],
            "currency": told["currency"],
            "text": told["file"],
            "columns": {key: name for key, name in named.items() if name},
        }
