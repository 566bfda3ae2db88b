"""Readers of dumps and recorded series. Each gives ``(unix time, Card, Reading)`` triples."""

from __future__ import annotations


class FormatError(Exception):
    """The input is refused; the text names the line or field and says what would be right."""
