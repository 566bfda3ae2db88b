"""Filters of a list: a GET form whose set values show as removable chips."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict


@dataclass(frozen=True)
class Chip:
    label: Any
    value: Any
    without: str


def chips(form: forms.Form, params: QueryDict) -> list[Chip]:
    """One chip per field set in the address, each with the address that lacks it."""
    found = []
    for name, field in form.fields.items():
        asked = [v for v in params.getlist(form.add_prefix(name)) if v]
        if not asked or isinstance(field.widget, forms.HiddenInput):
            continue
        without = params.copy()
        for key in (form.add_prefix(name), "page"):
            without.pop(key, None)
        found.append(
            Chip(
                form[name].label,
                ", ".join(words(field, v) for v in asked),
                "?" + without.urlencode(),
            )
        )
    return found


def words(field: forms.Field, value: str) -> str:
    choices = getattr(field, "choices", None)
    for key, label in choices or ():
        if str(key) == value:
            return str(label)
    return value
