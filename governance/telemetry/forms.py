"""Forms of the telemetry pages."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.telemetry.models import Node
from governance.telemetry.models.nodes import PULL, PUSH

SPANS = {"day": 24, "week": 168, "month": 720}


class CardFilter(forms.Form):
    """Which cards over which time."""

    span = forms.ChoiceField(
        label=_("Time"),
        required=False,
        choices=[
            ("day", _("last 24 hours")),
            ("week", _("last 7 days")),
            ("month", _("last 30 days")),
        ],
    )
    node = forms.ModelChoiceField(label=_("Node"), required=False, queryset=Node.objects.none())
    held = forms.ChoiceField(
        label=_("Held"),
        required=False,
        choices=[("", _("all")), ("yes", _("held now")), ("no", _("free now"))],
    )

    def __init__(self, *args: object, viewer: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        nodes: forms.ModelChoiceField[Node] = self.fields["node"]  # type: ignore[assignment]
        nodes.queryset = Node.objects.visible_to(viewer)


class NodeForm(forms.Form):
    """How a node is reached."""

    name = forms.CharField(label=_("Name"), max_length=120)
    mode = forms.ChoiceField(
        label=_("Way"),
        choices=[(PULL, _("the server pulls")), (PUSH, _("the node pushes"))],
        initial=PULL,
        widget=forms.RadioSelect,
        help_text=_("Choose push for rented nodes that the server cannot reach."),
    )
    address = forms.CharField(
        label=_("Address"),
        required=False,
        max_length=300,
        help_text=_("As the server reaches it, such as http://10.0.0.7:9465."),
    )
    interval_seconds = forms.IntegerField(label=_("Interval"), initial=60)
    silent_after_minutes = forms.IntegerField(label=_("Silent after"), initial=10)
    labels = forms.CharField(
        label=_("Labels"),
        required=False,
        max_length=500,
        help_text=_("room=b2, rack=7"),
    )

    def clean_labels(self) -> dict[str, str]:
        labels = {}
        for part in filter(str.strip, self.cleaned_data["labels"].split(",")):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not key or not value:
                raise forms.ValidationError(
                    _("“%(part)s” is not a label; write name=value, parted by commas."),
                    params={"part": part.strip()},
                )
            labels[key] = value
        return labels


class RevokeForm(forms.Form):
    """Why a node is no longer heard."""

    reason = forms.CharField(label=_("Reason"), max_length=200)
