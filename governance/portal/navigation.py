"""The product's main places: who sees which, and in what order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from governance.portal import queries


@dataclass(frozen=True)
class Place:
    """A page of the navigation; shown to whoever has one of the abilities (empty: everybody)."""

    key: str
    label: Any
    route: str
    icon: str = ""
    abilities: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Entry:
    label: Any
    url: str
    icon: str
    current: bool
    count: int = 0


def needs(*abilities: str) -> frozenset[str]:
    return frozenset(abilities)


HOME = Place("home", _("Home"), "portal:home", "home")
NEW = Place("new", _("New"), "requests:new", "plus", needs("requests.create"))
REQUESTS = Place("requests", _("Requests"), "requests:list", "requests")
APPROVALS = Place(
    "approvals",
    _("Approvals"),
    "requests:approvals",
    "approvals",
    needs("requests.approve", "requests.approve_finance"),
)
RENTALS = Place("rentals", _("Rentals"), "rentals:list", "rentals")
CARDS = Place("cards", _("Cards"), "telemetry:cards", "cards")
BUDGETS = Place("budgets", _("Budgets"), "budgets:list", "budgets")
REPORTS = Place("reports", _("Reports"), "reports:index", "reports")
CATALOGUE = Place("catalogue", _("Catalogue"), "catalog:index", "catalogue")
NODES = Place("nodes", _("Nodes"), "telemetry:nodes", "cards", needs("nodes.manage"))

MAIN = (REQUESTS, APPROVALS, RENTALS, CARDS, BUDGETS, REPORTS, CATALOGUE)
MORE = (
    Place("flags", _("Flags"), "reports:flags", "warning"),
    Place("prices", _("Price comparison"), "reports:prices", "reports"),
    Place("ledger", _("Ledger"), "budgets:ledger", "", needs("ledger.see")),
    NODES,
    Place("people", _("People and roles"), "accounts:people", "", needs("people.manage")),
    Place("notices", _("Notifications"), "notices:list"),
    Place("channels", _("Channels"), "notices:channels", "", needs("organisation.manage")),
    Place("audit", _("Audit trail"), "accounts:audit", "", needs("audit.see")),
)
SHORT: tuple[tuple[str, tuple[Place, ...]], ...] = (
    ("requests.approve", (HOME, APPROVALS, RENTALS, REPORTS)),
    ("requests.approve_finance", (HOME, APPROVALS, BUDGETS, REPORTS)),
    ("nodes.manage", (HOME, NODES, RENTALS, CARDS)),
    ("requests.create", (HOME, REQUESTS, CARDS, NEW)),
    ("", (HOME, REQUESTS, RENTALS, REPORTS)),
)


def url_of(place: Place) -> str:
    """The page's address, or nothing while its room has no such page."""
    try:
        return reverse(place.route)
    except NoReverseMatch:
        return ""


def sees(place: Place, abilities: frozenset[str]) -> bool:
    return not place.abilities or bool(place.abilities & abilities)


def build(request: HttpRequest, user: Any) -> dict[str, Any]:
    """Entries for the top bar, the person's menu and the phone's bottom bar."""
    abilities = user.abilities() | frozenset().union(*user.team_abilities.values())
    counts = queries.waiting(user)

    def entries(places: tuple[Place, ...]) -> list[Entry]:
        known = [url for place in places if (url := url_of(place))]
        return [
            Entry(
                place.label,
                url,
                place.icon or "requests",
                is_current(request.path, url, known),
                counts.get(place.key, 0),
            )
            for place in places
            if sees(place, abilities) and (url := url_of(place))
        ]

    first = next(places for ability, places in SHORT if not ability or ability in abilities)
    return {
        "main": entries(MAIN),
        "more": entries(MORE),
        "short": entries(first),
        "at_home": request.path == url_of(HOME),
    }


def is_current(path: str, url: str, known: list[str]) -> bool:
    """Of its list, the longest address that the path lies under is the current one."""
    under = [u for u in known if u != "/" and path.startswith(u)]
    return max(under, key=len, default="/") == url if under or path == "/" else False


def context(request: HttpRequest) -> Mapping[str, Any]:
    """Context processor: `navigation`, worked out only where a page draws it."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {"navigation": {"main": [], "more": [], "short": [], "at_home": False}}
    return {"navigation": SimpleLazyObject(lambda: build(request, request.user))}
