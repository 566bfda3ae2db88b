"""The demonstration's accounts, for the sign-in page."""

from django import template
from django.conf import settings
from django.utils.translation import gettext

from governance.accounts.domain.roles import ROLE_NAMES
from governance.portal.demo import cast

register = template.Library()


@register.simple_tag
def demo_people() -> list[dict[str, str]]:
    """One account per role in demonstrations, nothing elsewhere."""
    if not settings.DEMO:
        return []
    return [
        {
            "role": gettext(ROLE_NAMES[person.across or person.teams[0][1]]),
            "email": person.email,
            "password": cast.PASSWORD,
        }
        for person in cast.PEOPLE
        if person.is_shown
    ]
