"""Who bears a shared cost: used shares, and what stood idle as a line of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from governance.kernel.money import Money, apportion, currency_places, round_exact, split

IdleChoice = Literal["hide", "show", "share"]


@dataclass(frozen=True, slots=True)
class Resource:
    """A priced thing and who used how much of it (in its own unit). `cost` None: not priced."""

    name: str
    cost: Money | None
    capacity: Fraction
    used: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Allocation:
    """Cost by user, idle cost (never negative), and the names of what has no price."""

    by_user: dict[str, Money]
    idle: Money
    unpriced: tuple[str, ...]


def allocate(resources: Sequence[Resource], currency: str, idle: IdleChoice) -> Allocation:
    """Divide the cost of resources by use.

    Each used share costs its part of the resource's cost; the rest is idle. A resource without a
    price is named and left out on both sides: unknown is not zero. `hide` leaves idle cost out of
    the users' lines and says its sum; `show` is the same shown as a line; `share` adds it to the
    users in proportion to what they were charged. No cent is lost in any of them.
    """
    sums: dict[str, Fraction] = {}
    idle_sum = Fraction(0)
    total = Fraction(0)
    unpriced = []
    for resource in resources:
        if resource.cost is None:
            unpriced.append(resource.name)
            continue
        cost = Fraction(resource.cost.amount)
        total += cost
        used = sum(resource.used.values(), Fraction(0))
        base = max(resource.capacity, used)
        for user, amount in resource.used.items():
            part = cost * amount / base if base else Fraction(0)
            sums[user] = sums.get(user, Fraction(0)) + part
        idle_sum += cost - (cost * used / base if base else Fraction(0))
    users = sorted(sums)
    places = currency_places(currency)
    shares = [*(sums[user] for user in users), idle_sum]
    parts = apportion(shares, round_exact(total, places), places)
    by_user = {user: Money(part, currency) for user, part in zip(users, parts, strict=False)}
    left = Money(parts[-1], currency)
    if idle == "share" and users and any(by_user.values()):
        shared = split(left, [by_user[user].amount for user in users], users)
        by_user = {user: by_user[user] + shared[user] for user in users}
        left = Money.zero(currency)
    return Allocation(by_user, left, tuple(unpriced))
