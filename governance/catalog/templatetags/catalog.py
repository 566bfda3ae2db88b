"""Words of the catalogue in templates."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from governance.catalog import presenting
from governance.catalog.domain.notes import NOTES, WORDED_UNITS

register = template.Library()


@register.filter
def source_words(kind: str) -> str:
    """The kind of source, in words."""
    return presenting.kind_words(kind)


@register.filter
def packaged_words(text: str) -> str:
    """A packaged note or unit in the reader's language; what people wrote stays as it is."""
    return gettext(text) if text in NOTES or text in WORDED_UNITS else text
