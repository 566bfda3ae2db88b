"""Serializer fields that several rooms' APIs need."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rest_framework import serializers


class AmountField(serializers.DecimalField):
    """A sum of money as a decimal text: at least two places, no needless zeros beyond them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=20, decimal_places=8, **options)

    def to_representation(self, value: Any) -> str:
        amount = Decimal(value).normalize()
        places = max(2, -int(amount.as_tuple().exponent))
        return f"{amount:.{places}f}"
