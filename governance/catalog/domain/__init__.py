"""The catalogue's plain rules: cards, presets and offers; no Django, no clock, no database."""

from .cards import CardIndex, CardSpec, ModelPreset
from .offers import LINES, TERMS, IdleCards, OfferView, RoundTrip, TermPrice

__all__ = [
    "LINES",
    "TERMS",
    "CardIndex",
    "CardSpec",
    "IdleCards",
    "ModelPreset",
    "OfferView",
    "RoundTrip",
    "TermPrice",
]
