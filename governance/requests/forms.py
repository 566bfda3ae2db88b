"""Forms of the request pages. Numbers are checked by the rules, so that page, API and CSV agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields as fields_of
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from governance.catalog.domain.packaged import load_presets
from governance.kernel.errors import Invalid
from governance.matching.shapes import METHODS, PRECISIONS, RECOMPUTE, RequestSpec
from governance.requests.domain import checklist
from governance.requests.domain.known import METHOD_NAMES
from governance.requests.domain.lifecycle import STATES
from governance.requests.models import CHANGES, ComputeRequest
from governance.requests.services import Ask, read_ask

MOMENT = "%Y-%m-%dT%H:%M"
SPEC_FIELDS = (
    "method",
    "preset",
    "params_b",
    "samples",
    "seq_len",
    "epochs",
    "tokens",
    "global_batch",
    "precision",
    "lora_rank",
    "recompute",
    "max_cards",
    "concurrency",
    "prompt_tokens",
    "output_tokens",
    "response_kb",
    "users_region",
    "filing_done",
    "service_hours",
    "data_gb",
    "data_region",
    "cards_preferred",
    "regions",
)
_DEFAULTS = {f.name: f.default for f in fields_of(RequestSpec)}
WORTH = {
    "deadline": _("The deadline"),
    "soon": _("As soon as possible"),
    "no_hurry": _("No hurry"),
}


def moment_field(label: Any, **options: Any) -> forms.DateTimeField:
    """Day and time in the zone of the page."""
    return forms.DateTimeField(
        label=label,
        input_formats=[MOMENT, "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=MOMENT),
        **options,
    )


def figure(label: Any, hint: Any = "") -> forms.CharField:
    """A number as people write it (52,300); empty means not said."""
    return forms.CharField(
        label=label,
        required=False,
        help_text=hint,
        widget=forms.TextInput(attrs={"class": "n", "inputmode": "decimal"}),
    )


def choices(values: Iterable[str], words: dict[str, str] | None = None) -> list[tuple[str, Any]]:
    return [(v, gettext_lazy(words[v]) if words else v) for v in values]


class RequestForm(forms.Form):
    """The wish in a researcher's words."""

    business_type = forms.ChoiceField(
        label=_("Purpose"),
        choices=choices(checklist.BUSINESS_TYPES, checklist.BUSINESS_TYPES),
    )
    preset = forms.ChoiceField(label=_("Model, preset"), required=False)
    params_b = figure(_("Parameters"))
    method = forms.ChoiceField(
        label=_("Method"),
        choices=choices(METHODS, METHOD_NAMES),
    )
    samples = figure(_("Training samples"))
    seq_len = figure(_("Length"))
    epochs = figure(_("Epochs"))
    tokens = figure(_("Tokens in all"), _("Instead of samples, epochs and length."))
    global_batch = figure(_("Batch"))
    precision = forms.ChoiceField(label=_("Precision"), choices=choices(PRECISIONS), required=False)
    lora_rank = figure(_("LoRA rank"))
    recompute = forms.ChoiceField(label=_("Recompute"), choices=choices(RECOMPUTE), required=False)
    max_cards = figure(_("Cards at most"))
    cards_preferred = forms.CharField(label=_("Cards preferred"), required=False)
    concurrency = figure(_("Requests at a time"))
    prompt_tokens = figure(_("Prompt"))
    output_tokens = figure(_("Answer"))
    response_kb = figure(_("Response size"))
    service_hours = figure(_("Runs for"))
    users_region = forms.CharField(label=_("Users' region"), required=False)
    filing_done = forms.BooleanField(label=_("Filing done or not needed"), required=False)
    data_gb = figure(_("Data to move"))
    data_region = forms.CharField(label=_("Data lies in"), required=False)
    regions = forms.CharField(label=_("Only in these regions"), required=False)
    starts_at = moment_field(_("Earliest start"))
    needed_by = moment_field(_("Needed by"), required=False)
    project = forms.ChoiceField(label=_("Project, pays"))
    worth = forms.ChoiceField(label=_("Worth most if done by"), choices=list(WORTH.items()))
    reason = forms.CharField(
        label=_("What it decides"), required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    package = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, projects: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].choices = [(p.slug, p.name) for p in projects]
        presets = [(slug, preset.name) for slug, preset in load_presets().items()]
        self.fields["preset"].choices = [("", _("By size")), *presets]
        for field in self.fields.values():
            field.widget.attrs.setdefault("autocomplete", "off")
        self.ask: Ask | None = None

    @property
    def purpose(self) -> str:
        """The purpose chosen so far, also in a form that is not valid."""
        found = str(self["business_type"].value() or "")
        return found if found in checklist.BUSINESS_TYPES else "fine_tuning"

    @property
    def serves(self) -> bool:
        return self["method"].value() == "serving"

    def answers(self) -> dict[str, str]:
        """What was typed into open items of the checklist."""
        return {
            item.key: text
            for item in checklist.ITEMS[self.purpose]
            if (text := str(self.data.get(f"answer_{item.key}", "")).strip())
        }

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        spec = {name: data[name] for name in SPEC_FIELDS if data.get(name) not in (None, "")}
        try:
            self.ask = read_ask(spec, data["business_type"], data["starts_at"], data["needed_by"])
        except Invalid as error:
            field = error.field if error.field in self.fields else None
            self.add_error(field, error.reason.render(gettext))
        return data


def first_values(projects: list[Any], now: datetime) -> dict[str, Any]:
    """A new form's values: the example that most people change least."""
    return {
        "business_type": "fine_tuning",
        "method": "lora",
        "preset": "llama-2-70b" if "llama-2-70b" in load_presets() else "",
        "samples": "52,300",
        "epochs": "3",
        "worth": "deadline",
        "project": projects[0].slug if projects else "",
        "starts_at": (now + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0),
        "needed_by": (now + timedelta(days=7)).replace(minute=0, second=0, microsecond=0),
        **{n: _DEFAULTS[n] for n in ("seq_len", "precision", "recompute", "lora_rank")},
        **{n: _DEFAULTS[n] for n in ("max_cards", "prompt_tokens", "output_tokens")},
        "service_hours": int(RequestSpec().service_hours),
    }


def values_of(request: ComputeRequest) -> dict[str, Any]:
    """A stored request as the form shows it."""
    spec = dict(request.spec)
    for name in ("cards_preferred", "regions"):
        spec[name] = ", ".join(spec.get(name) or ())
    return {
        **{name: _short(spec.get(name)) for name in SPEC_FIELDS},
        "business_type": request.business_type,
        "starts_at": request.starts_at,
        "needed_by": request.needed_by,
        "project": request.project.slug,
        "worth": request.worth,
        "reason": request.reason,
        "package": (request.package or {}).get("key", ""),
    }


def _short(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value == int(value) else value


class FilterForm(forms.Form):
    """Filters of the list."""

    q = forms.CharField(label=_("Words or number"), required=False)
    state = forms.ChoiceField(label=_("State"), required=False)
    purpose = forms.ChoiceField(label=_("Purpose"), required=False)
    project = forms.CharField(label=_("Project"), required=False)
    requester = forms.ChoiceField(label=_("Whose"), required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        everything = [("", _("All"))]
        self.fields["state"].choices = everything + choices(STATES, STATES)
        types = checklist.BUSINESS_TYPES
        self.fields["purpose"].choices = everything + choices(types, types)
        self.fields["requester"].choices = [("", _("Everybody's")), ("me", _("Mine"))]


class ConditionsForm(forms.Form):
    """What an approver may change while approving."""

    max_cards = forms.IntegerField(label=_("Cards at most"), required=False, min_value=1)
    needed_by = moment_field(_("End"), required=False)
    package = forms.CharField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(
        label=_("Note to the requester"), required=False, widget=forms.Textarea(attrs={"rows": 2})
    )

    def conditions(self) -> dict[str, Any]:
        """Only what was set; empty when the request is approved as it stands."""
        names = ("max_cards", "needed_by", "package")
        return {n: self.cleaned_data[n] for n in names if self.cleaned_data.get(n)}


class TextForm(forms.Form):
    """One text."""

    text = forms.CharField(
        label=_("Message"), required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class ChangeForm(forms.Form):
    """A change of a running request."""

    change = forms.ChoiceField(
        label=_("What changes"), choices=[*CHANGES.items(), ("renew", _("Renew"))]
    )
    until = moment_field(_("Until"), required=False)
    max_cards = forms.IntegerField(label=_("Cards"), required=False, min_value=1)
    cards = forms.CharField(label=_("Card"), required=False)
    reason = forms.CharField(
        label=_("Why"), required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class TrialForm(forms.Form):
    """Measurements of a short run."""

    measured_at = moment_field(_("Measured at"))
    bandwidth_share = forms.FloatField(
        label=_("Bandwidth share, active time"), required=False, min_value=0, max_value=1
    )
    tokens_per_s = forms.FloatField(label=_("Tokens per second"), required=False, min_value=0)
    latency_ms = forms.FloatField(label=_("Latency, p95"), required=False, min_value=0)
    passed = forms.BooleanField(label=_("It passed"), required=False)
    note = forms.CharField(label=_("Note"), required=False)

    def figures(self) -> dict[str, float]:
        names = ("bandwidth_share", "tokens_per_s", "latency_ms")
        return {n: v for n in names if (v := self.cleaned_data.get(n)) is not None}


class DelegationForm(forms.Form):
    """Who signs while somebody is away."""

    taker = forms.ChoiceField(label=_("Stand-in"))
    starts_on = forms.DateField(
        label=_("From"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    ends_on = forms.DateField(
        label=_("Until, inclusive"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def __init__(self, *args: Any, people: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["taker"].choices = [(str(p.pk), p.display) for p in people]


class PolicyForm(forms.Form):
    """A new version of the approval policy."""

    rules = forms.JSONField(label=_("Rules"), widget=forms.Textarea(attrs={"rows": 24}))
    valid_from = moment_field(_("Valid from"))
    note = forms.CharField(label=_("Why it changes"), required=False)


class FileForm(forms.Form):
    """A CSV file."""

    file = forms.FileField(label=_("CSV file"))
    submit = forms.BooleanField(label=_("Submit at once"), required=False)
