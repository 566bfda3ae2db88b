"""Words of the catalogue in templates."""

from __future__ import annotations

from django import template

from governance.catalog import presenting

register = template.Library()


@register.filter
def source_words(kind: str) -> str:
    """The kind of source, in words."""
    return presenting.kind_words(kind)
