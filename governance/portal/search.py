"""Search across rooms: each answers from what the viewer may see."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from governance.accounts import queries as accounts
from governance.catalog.domain.packaged import load_cards
from governance.portal.homes.links import link
from governance.rentals import queries as rentals
from governance.requests import queries as requests
from governance.telemetry.queries.cards import cards_for

MOST = 8
SHORTEST = 2


@dataclass(frozen=True)
class Hit:
    title: str
    detail: str
    url: str


@dataclass(frozen=True)
class Group:
    """Hits of one kind; `more` where not all are shown."""

    label: str
    hits: list[Hit]
    more: bool


def find(viewer: Any, words: str) -> list[Group]:
    """Groups with at least one hit, for words of two characters or a number with #."""
    words = words.strip()
    if len(words.lstrip("#")) < SHORTEST and not words.lstrip("#").isdigit():
        return []
    groups = []
    for label, search in searches():
        hits = list(search(viewer, words))
        if hits:
            groups.append(Group(label, hits[:MOST], len(hits) > MOST))
    return groups


def searches() -> list[tuple[str, Callable[[Any, str], Iterable[Hit]]]]:
    return [
        (_("Requests"), find_requests),
        (_("Rentals"), find_rentals),
        (_("Cards"), find_cards),
        (_("Projects"), find_projects),
        (_("Card models"), find_models),
    ]


def find_requests(viewer: Any, words: str) -> Iterable[Hit]:
    for row in requests.filtered(viewer, {"q": words})[: MOST + 1]:
        yield Hit(
            f"#{row.pk} {row.shown_title}",
            f"{row.project} · {row.get_state_display()}",
            link("requests:detail", pk=row.pk),
        )


def find_rentals(viewer: Any, words: str) -> Iterable[Hit]:
    match = (
        Q(vendor__icontains=words)
        | Q(card_model__icontains=words)
        | Q(external_id__icontains=words)
        | Q(project__name__icontains=words)
    )
    number = words.lstrip("#Rr")
    if number.isdigit():
        match |= Q(pk=int(number) % 2**63)
    for row in rentals.rentals_visible_to(viewer).filter(match)[: MOST + 1]:
        yield Hit(
            str(row),
            f"{row.project} · {row.vendor} · {row.get_state_display()}",
            link("rentals:detail", pk=row.pk),
        )


def find_cards(viewer: Any, words: str) -> Iterable[Hit]:
    match = (
        Q(uuid__icontains=words) | Q(node__name__icontains=words) | Q(model_text__icontains=words)
    )
    for row in cards_for(viewer).filter(match)[: MOST + 1]:
        yield Hit(str(row), row.model_text, link("telemetry:card", pk=row.pk))


def find_projects(viewer: Any, words: str) -> Iterable[Hit]:
    match = Q(name__icontains=words) | Q(slug__icontains=words) | Q(team__name__icontains=words)
    for row in (
        accounts.projects_visible_to(viewer).select_related("team").filter(match)[: MOST + 1]
    ):
        yield Hit(
            row.name,
            row.team.name,
            link("requests:list") and f"{link('requests:list')}?project={row.slug}",
        )


def find_models(viewer: Any, words: str) -> Iterable[Hit]:
    wanted = words.casefold()
    for card in load_cards().values():
        if wanted in card.name.casefold() or wanted in card.slug:
            yield Hit(card.name, card.maker, link("catalog:card", slug=card.slug))
