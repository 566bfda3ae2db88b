"""The catalogue's plain rules: cards, presets and offers; no Django, no clock, no database."""

from .cards import CardIndex, CardSpec, ModelPreset
from .figures import Figure, bandwidth_by_formula, best, in_conflict
from .offers import LINES, TERMS, IdleCards, OfferView, RoundTrip, TermPrice
from .packaged import card_for_name, load_cards, load_figures, load_presets

__all__ = [
    "LINES",
    "TERMS",
    "CardIndex",
    "CardSpec",
    "Figure",
    "IdleCards",
    "ModelPreset",
    "OfferView",
    "RoundTrip",
    "TermPrice",
    "bandwidth_by_formula",
    "best",
    "card_for_name",
    "in_conflict",
    "load_cards",
    "load_figures",
    "load_presets",
]
