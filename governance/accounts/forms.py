"""Forms of people, teams, tokens and the trail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_lazy as _

from governance.accounts.domain import roles


def day_field(label: Any, **options: Any) -> forms.DateField:
    return forms.DateField(
        label=label, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **options
    )


def role_choices(names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, gettext_lazy(roles.ROLE_NAMES[name])) for name in names]


class PersonForm(forms.Form):
    """A new account."""

    email = forms.EmailField(label=_("E-mail"))
    name = forms.CharField(label=_("Name"), max_length=120)
    password = forms.CharField(
        label=_("First password"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Empty: signs in by single sign-on."),
    )


class GrantForm(forms.Form):
    """A role across all teams."""

    role = forms.ChoiceField(label=_("Role"), choices=role_choices(roles.GLOBAL_ROLES))
    starts_on = day_field(_("From"))


class JoinForm(forms.Form):
    """A person's place in a team."""

    person = forms.ChoiceField(label=_("Person"))
    role = forms.ChoiceField(label=_("Role"), choices=role_choices(roles.TEAM_ROLES))
    starts_on = day_field(_("From"))

    def __init__(self, *args: Any, people: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["person"].choices = [(str(p.pk), p.display) for p in people]


class CloseForm(forms.Form):
    """Who takes over from a person who leaves."""

    heir = forms.ChoiceField(label=_("Takes over"), required=False)

    def __init__(self, *args: Any, people: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["heir"].choices = [("", "–"), *((str(p.pk), p.display) for p in people)]


class TeamForm(forms.Form):
    """A new team."""

    slug = forms.SlugField(label=_("Short name"))
    name = forms.CharField(label=_("Name"), max_length=120)
    timezone = forms.CharField(label=_("Time zone"), initial="Asia/Shanghai")


class ProjectForm(forms.Form):
    """A new project of a team."""

    slug = forms.SlugField(label=_("Short name"))
    name = forms.CharField(label=_("Name"), max_length=120)
    cost_centre = forms.ChoiceField(label=_("Cost centre"), required=False)

    def __init__(self, *args: Any, centres: Iterable[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["cost_centre"].choices = [("", "–"), *((str(c.pk), str(c)) for c in centres)]


class TokenForm(forms.Form):
    """A new service token."""

    name = forms.CharField(label=_("Name"), max_length=80)
    expires_on = day_field(_("Last day"))
    scopes = forms.MultipleChoiceField(
        label=_("May"), widget=forms.CheckboxSelectMultiple(), choices=[]
    )

    def __init__(self, *args: Any, abilities: Iterable[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["scopes"].choices = [(name, name) for name in sorted(abilities)]


class ProfileForm(forms.Form):
    """What a person chooses for themselves."""

    name = forms.CharField(label=_("Name"), max_length=120)
    language = forms.ChoiceField(
        label=_("Language"), choices=[("en", "English"), ("zh-hans", "简体中文")]
    )


class FileForm(forms.Form):
    """A CSV file of people."""

    file = forms.FileField(
        label=_("CSV file"), help_text=_("Columns email, name, team, team_role, role.")
    )


class TrailFilter(forms.Form):
    """Filters of the audit trail."""

    actor = forms.CharField(label=_("Who"), required=False)
    act = forms.CharField(label=_("Act"), required=False)
    thing = forms.CharField(label=_("Thing"), required=False)
    number = forms.CharField(label=_("Its number"), required=False)
    first = day_field(_("From"), required=False)
    last = day_field(_("Until, inclusive"), required=False)
