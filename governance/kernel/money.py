"""Money: decimal amounts with a currency, rounded once, split without losing a cent.

Amounts are `Decimal`, intermediate results exact `Fraction`s; a result becomes a decimal amount
only in `round_exact` (or `Money.rounded`), by an explicit rounding mode and number of places.
"""

import decimal
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Self, TypeVar

from babel.numbers import get_currency_precision, list_currencies

RoundingMode = Literal["half_up", "half_even", "down"]
ROUNDING_MODES: tuple[RoundingMode, ...] = ("half_up", "half_even", "down")

K = TypeVar("K", bound=Hashable)

_EXACT = decimal.Context(prec=200, traps=[decimal.InvalidOperation, decimal.Inexact])


class CurrencyMismatch(TypeError):
    """Two currencies met in one sum or comparison: totals are kept per currency."""


@cache
def currency_places(code: str) -> int:
    """Decimal places of a currency by ISO 4217 (CNY 2, JPY 0, KWD 3); `ValueError` if unknown."""
    if code not in _known_currencies():
        raise ValueError(f"unknown currency {code!r}: an ISO 4217 code such as CNY is needed")
    return int(get_currency_precision(code))


@cache
def _known_currencies() -> frozenset[str]:
    return frozenset(list_currencies())


def round_exact(
    value: Decimal | Fraction | int, places: int, mode: RoundingMode = "half_up"
) -> Decimal:
    """The value at `places` decimals, computed exactly.

    `half_up` and `half_even` go to the nearest, ties away from zero or to the even digit;
    `down` cuts towards zero. A minus sign never stands before zero.
    """
    above, below = value.as_integer_ratio()
    whole, rest = divmod(abs(above) * 10**places, below)
    twice = 2 * rest
    if mode == "half_up":
        up = twice >= below
    elif mode == "half_even":
        up = twice > below or (twice == below and whole % 2 == 1)
    elif mode == "down":
        up = False
    else:
        raise ValueError(f"unknown rounding mode {mode!r}: one of {', '.join(ROUNDING_MODES)}")
    units = whole + up
    return _EXACT.scaleb(Decimal(-units if above < 0 else units), -places)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of one currency; mixing currencies raises `CurrencyMismatch`."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal):
            raise TypeError(f"an amount is a Decimal, not {type(self.amount).__name__}")
        if not self.amount.is_finite():
            raise ValueError(f"an amount is a finite number, not {self.amount}")
        currency_places(self.currency)

    @classmethod
    def zero(cls, currency: str) -> Self:
        return cls(Decimal(0), currency)

    def rounded(self, places: int | None = None, mode: RoundingMode = "half_up") -> "Money":
        """At `places` decimals, by default those of the currency."""
        if places is None:
            places = currency_places(self.currency)
        return Money(round_exact(self.amount, places, mode), self.currency)

    def __add__(self, other: "Money") -> "Money":
        self._require_same(other)
        return Money(_EXACT.add(self.amount, other.amount), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        self._require_same(other)
        return Money(_EXACT.subtract(self.amount, other.amount), self.currency)

    def __mul__(self, factor: Decimal | int) -> "Money":
        if isinstance(factor, float):
            raise TypeError("money is multiplied by a Decimal or int, never by a float")
        return Money(_EXACT.multiply(self.amount, Decimal(factor)), self.currency)

    __rmul__ = __mul__

    def __neg__(self) -> "Money":
        return Money(Decimal(0) - self.amount, self.currency)

    def __lt__(self, other: "Money") -> bool:
        self._require_same(other)
        return self.amount < other.amount

    def __le__(self, other: "Money") -> bool:
        self._require_same(other)
        return self.amount <= other.amount

    def __gt__(self, other: "Money") -> bool:
        return other < self

    def __ge__(self, other: "Money") -> bool:
        return other <= self

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"

    def _require_same(self, other: "Money") -> None:
        if not isinstance(other, Money):
            raise TypeError(f"money and {type(other).__name__} do not add up")
        if other.currency != self.currency:
            raise CurrencyMismatch(f"{self.currency} and {other.currency} in one sum")


def apportion(
    shares: Sequence[Fraction],
    total: Decimal,
    places: int,
    keys: Sequence[Any] | None = None,
) -> list[Decimal]:
    """Rounds exact `shares` to `places` decimals so that they add up to `total`.

    Largest remainder: each share is cut towards zero, what is missing goes a unit at a time to the
    largest remainders, ties to the smallest key (by default the position). Cutting towards zero
    makes the split of a negative total the mirror image of the positive one.
    `total` must be within one unit a share of the exact sum.
    """
    unit = 10**places
    order_keys = range(len(shares)) if keys is None else keys
    scaled = [share * unit for share in shares]
    parts = [int(value) for value in scaled]
    target = Fraction(total) * unit
    if target.denominator != 1:
        raise ValueError(f"{total} has more than {places} decimals")
    missing = target.numerator - sum(parts)
    if abs(missing) > len(parts):
        raise ValueError(f"shares of {float(sum(shares))} cannot be rounded to add up to {total}")
    step = 1 if missing > 0 else -1
    order = sorted(range(len(parts)), key=lambda i: (-step * (scaled[i] - parts[i]), order_keys[i]))
    for i in order[: abs(missing)]:
        parts[i] += step
    return [round_exact(Fraction(part, unit), places) for part in parts]


def split(
    money: Money,
    weights: Sequence[Decimal | Fraction | int],
    keys: Sequence[K],
    places: int | None = None,
) -> dict[K, Money]:
    """Divides an amount by weights without losing a cent, in the order of `keys`.

    Largest remainder at `places` decimals (default: the currency's); ties go to the smallest key,
    so the same amount, weights and keys give the same split in any order. Keys are unique and
    comparable, weights not negative and not all zero; else `ValueError`.
    """
    if len(weights) != len(keys) or not keys:
        raise ValueError("a split needs one weight for each key, and at least one key")
    if len(set(keys)) != len(keys):
        raise ValueError("the keys of a split are unique")
    exact = [Fraction(weight) for weight in weights]
    whole = sum(exact)
    if whole <= 0 or any(weight < 0 for weight in exact):
        raise ValueError("the weights of a split are not negative and not all zero")
    amount = Fraction(money.amount)
    places = currency_places(money.currency) if places is None else places
    parts = apportion([amount * weight / whole for weight in exact], money.amount, places, keys)
    return {key: Money(part, money.currency) for key, part in zip(keys, parts, strict=True)}
