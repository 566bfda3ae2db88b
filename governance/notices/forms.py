"""Forms of preferences and channels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_lazy as _

from governance.notices.domain.messages import CHANNELS, KINDS
from governance.notices.models import MAIL


class PreferenceForm(forms.Form):
    """Mail for each kind, and quiet hours."""

    quiet_from = forms.TimeField(
        label=_("No mail from"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    quiet_to = forms.TimeField(
        label=_("to"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for kind, label in KINDS.items():
            self.fields[kind] = forms.ChoiceField(
                label=gettext_lazy(label), choices=list(MAIL.items())
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if bool(data.get("quiet_from")) != bool(data.get("quiet_to")):
            self.add_error("quiet_to", _("Quiet hours need two times."))
        return data


class ChannelForm(forms.Form):
    """A new webhook or robot."""

    kind = forms.ChoiceField(label=_("Kind"), choices=list(CHANNELS.items()))
    name = forms.CharField(label=_("Name"), max_length=80)
    url = forms.URLField(label=_("Address"), max_length=500, assume_scheme="https")
    secret = forms.CharField(
        label=_("Secret"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Signs what is sent; not shown again."),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Is told of"),
        choices=[(k, gettext_lazy(v)) for k, v in KINDS.items()],
        widget=forms.CheckboxSelectMultiple(),
    )
    team = forms.ChoiceField(label=_("Of the team"), required=False)
    language = forms.ChoiceField(
        label=_("Language"), choices=[("zh-hans", "简体中文"), ("en", "English")]
    )

    def __init__(self, *args: Any, teams: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"].choices = [("", _("All")), *((str(t.pk), t.name) for t in teams)]
