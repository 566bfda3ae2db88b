"""Homes: for each role the page that says what to do next and whether the money buys work."""

from governance.portal.homes.build import home_for
from governance.portal.homes.shapes import Home

__all__ = ["Home", "home_for"]
