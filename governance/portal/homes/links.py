"""Addresses of other rooms' pages, absent while a room has no such page."""

from typing import Any

from django.urls import NoReverseMatch, reverse


def link(route: str, **arguments: Any) -> str:
    """A page's address, or an empty text."""
    try:
        return reverse(route, kwargs=arguments or None)
    except NoReverseMatch:
        return ""
