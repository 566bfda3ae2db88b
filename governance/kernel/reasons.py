"""Reasons: why something was allowed, refused or flagged, in words that can be translated later.

Plain rules never translate. They name an English message id; the edge (page, API, mail) renders
it in the reader's language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def N_(text: str) -> str:
    """Mark an English message id for extraction and return it unchanged."""
    return text


@dataclass(frozen=True, slots=True)
class Reason:
    """A machine code, an English message id with %(name)s places, and what fills them."""

    code: str
    text: str
    params: Mapping[str, object] = field(default_factory=dict)

    def render(self, translate: Callable[[str], str] = str) -> str:
        """The sentence in the language of `translate` (English by default)."""
        return translate(self.text) % self.params if self.params else translate(self.text)

    def __str__(self) -> str:
        return self.render()
