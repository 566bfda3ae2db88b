"""Forms of the catalogue's pages."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.catalog.domain.figures import UNITS
from governance.catalog.domain.sheets import FORMATS
from governance.catalog.models import CardModel, Vendor
from governance.catalog.presenting import FIGURE_NAMES

LARGEST_SHEET = 8_000_000


class OfferFilter(forms.Form):
    """Which offers."""

    vendor = forms.ModelChoiceField(
        label=_("Vendor"), required=False, queryset=Vendor.objects.all(), to_field_name="slug"
    )
    card = forms.ModelChoiceField(
        label=_("Card"), required=False, queryset=CardModel.objects.all(), to_field_name="slug"
    )
    on = forms.DateField(
        label=_("On"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )


class ImportForm(forms.Form):
    """A price sheet, as a file or pasted."""

    vendor = forms.CharField(label=_("Vendor"), max_length=120)
    form = forms.ChoiceField(
        label=_("Format"),
        choices=[(name, name) for name in FORMATS],
        widget=forms.RadioSelect,
        initial="native",
    )
    sheet = forms.FileField(label=_("Price sheet"), required=False)
    text = forms.CharField(
        label=_("Or paste it here"),
        required=False,
        strip=False,
        max_length=LARGEST_SHEET,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        sheet = cleaned.get("sheet")
        if sheet is not None:
            if sheet.size > LARGEST_SHEET:
                self.add_error("sheet", _("At most 8 MB."))
                return cleaned
            try:
                cleaned["text"] = sheet.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("sheet", _("This is not a text in UTF-8."))
        elif not cleaned.get("text", "").strip():
            self.add_error("sheet", _("Choose a file or paste its text."))
        return cleaned


class FigureForm(forms.Form):
    """A figure that the team measured or confirmed."""

    figure = forms.ChoiceField(
        label=_("Figure"),
        choices=[(name, FIGURE_NAMES[name]) for name in UNITS if name in FIGURE_NAMES],
        initial="bandwidth_gbs",
    )
    value = forms.FloatField(label=_("Value, in the unit above"), min_value=0)
    reference = forms.CharField(
        label=_("Where it comes from"),
        max_length=300,
        help_text=_("For example: npu-smi and a copy test on node 3."),
    )
