"""Words of roles in the reader's language."""

from django import template
from django.utils.translation import gettext

from governance.accounts.domain.roles import ROLE_NAMES

register = template.Library()


@register.simple_tag
def role_word(role: str) -> str:
    return gettext(ROLE_NAMES[role])
