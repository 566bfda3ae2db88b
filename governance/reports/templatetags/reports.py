"""Message ids of the rules in the reader's language."""

from django import template
from django.utils.translation import gettext

register = template.Library()


@register.simple_tag
def told(text: str) -> str:
    """A message id that may hold a per cent sign (`translate` would look it up doubled)."""
    return gettext(text) if text else ""
