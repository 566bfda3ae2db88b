"""Card models: the packaged catalogue, unknown cards, figures that the team confirms."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from governance.catalog.domain.figures import UNITS
from governance.catalog.domain.packaged import load_cards, plain_name, rows
from governance.catalog.models import CardAlias, CardModel, Figure, Vendor, VendorStatement
from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit


@transaction.atomic
def seed_catalogue(*, actor: Actor) -> dict[str, int]:
    """Bring the packaged cards, figures, aliases and vendors in; what is there already stays as
    it is. Returns how many rows of each kind are new. Running it again adds nothing."""
    require(actor, "catalog.manage")
    added = {
        "cards": _cards(),
        "aliases": _aliases(),
        "figures": _figures(),
        "vendors": _vendors(),
        "statements": _statements(),
    }
    if any(added.values()):
        audit.record(
            actor=actor, act="catalog.seed", thing=("catalog", "packaged"), after=dict(added)
        )
    return added


def _new(model: Any, found: list[Any]) -> int:
    before: int = model.objects.count()
    model.objects.bulk_create(found, ignore_conflicts=True)
    after: int = model.objects.count()
    return after - before


def _cards() -> int:
    found = [
        CardModel(**{key: row[key] for key in row if key != "pcie_gen"})
        for row in rows("cards.csv")
    ]
    return _new(CardModel, found)


def _ids() -> dict[str, int]:
    return dict(CardModel.objects.values_list("slug", "pk"))


def _aliases() -> int:
    ids = _ids()
    found: dict[str, CardAlias] = {}
    for slug, card in load_cards().items():
        for name in (slug, card.name, *card.aliases):
            key = plain_name(name)
            found.setdefault(key, CardAlias(key=key, alias=name, card_model_id=ids[slug]))
    return _new(CardAlias, list(found.values()))


def _figures() -> int:
    ids = _ids()
    found = [
        Figure(
            card_model_id=ids[row["card"]],
            figure=row["figure"],
            value=float(row["value"]),
            unit=row["unit"],
            source_kind=row["source_kind"],
            source_ref=row["source_ref"],
            as_of=date.fromisoformat(row["as_of"]),
            note=row["note"],
        )
        for row in rows("figures.csv")
    ]
    return _new(Figure, found)


def _vendors() -> int:
    found = [
        Vendor(slug=row["slug"], name=row["name"], name_zh=row["name_zh"], place=int(row["place"]))
        for row in rows("vendors.csv")
    ]
    return _new(Vendor, found)


def _statements() -> int:
    ids = dict(Vendor.objects.values_list("slug", "pk"))
    found = [
        VendorStatement(
            vendor_id=ids[row["vendor"]],
            topic=row["topic"],
            text=row["text"],
            text_zh=row["text_zh"],
            source_ref=row["source_ref"],
            as_of=date.fromisoformat(row["as_of"]),
        )
        for row in rows("statements.csv")
    ]
    return _new(VendorStatement, found)


def keep_unknown_card(*, name: str) -> CardModel:
    """The card model of that name, made without any figure where it is not known."""
    key = plain_name(name)
    alias = CardAlias.objects.filter(key=key).select_related("card_model").first()
    if alias is not None:
        return alias.card_model
    card, _ = CardModel.objects.get_or_create(
        slug=slugify(name)[:80] or key[:80], defaults={"name": name[:120]}
    )
    CardAlias.objects.get_or_create(key=key, defaults={"alias": name[:120], "card_model": card})
    return card


@transaction.atomic
def confirm_figure(
    *, actor: Actor, card_model_id: int, figure: str, value: float, reference: str, today: date
) -> Figure:
    """Put down what the team measured or confirmed: it is used before every other source."""
    require(actor, "catalog.manage")
    if figure not in UNITS:
        raise Invalid(
            Reason("figure", N_("“%(name)s” is not a figure of a card."), {"name": figure}),
            field="figure",
        )
    if not value > 0:
        raise Invalid(Reason("value", N_("This must be a number above 0.")), field="value")
    if not reference.strip():
        raise Invalid(Reason("reference", N_("Say where the value comes from.")), field="reference")
    row, _ = Figure.objects.update_or_create(
        card_model_id=card_model_id,
        figure=figure,
        source_kind="user",
        source_ref=reference.strip()[:300],
        defaults={"value": value, "unit": UNITS[figure], "as_of": today},
    )
    audit.record(
        actor=actor,
        act="catalog.confirm_figure",
        thing=row,
        after={"figure": figure, "value": value, "reference": reference},
    )
    return row
