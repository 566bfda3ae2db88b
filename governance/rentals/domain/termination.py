"""What a vendor gives back when a prepaid term ends early or shrinks.

Each rule is plain data (`TerminationRule`) over one of the documented formulas; the result is
exact and is rounded where it is posted. A refund is never negative and never more than was paid.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

RuleName = Literal["straight", "none", "months_and_hours", "days_used", "daily_penalty"]


@dataclass(frozen=True, slots=True)
class TerminationRule:
    """How an early end is settled.

    `straight`: the unused share of what was paid (the charge function's own measure).
    `none`: nothing comes back.
    `months_and_hours`: paid minus whole months at `monthly` and the remaining started hours at
    `hourly`, both times `discount` (Tencent Cloud, cloud service return notes).
    `days_used`: paid minus used days / term days of the `listed` price, a started day counting
    as one (Tencent Cloud, the second product group).
    `daily_penalty`: paid minus `daily` x started days x `discount`, times `factor` while the
    term is under `factor_days` old (Alibaba Cloud downgrade refunds, 2025-04-04: 1.5 under 30).
    """

    name: RuleName = "straight"
    monthly: Decimal = Decimal(0)
    hourly: Decimal = Decimal(0)
    daily: Decimal = Decimal(0)
    listed: Decimal = Decimal(0)
    discount: Decimal = Decimal(1)
    factor: Decimal = Decimal("1.5")
    factor_days: int = 30


@dataclass(frozen=True, slots=True)
class UsedTerm:
    """How far a paid term had run: whole months and the rest in seconds, and days by the clock."""

    months: int
    rest_seconds: Fraction
    days: Fraction
    term_days: Fraction
    unused_share: Fraction


def refund(rule: TerminationRule, paid: Decimal, used: UsedTerm) -> Fraction:
    """The amount that comes back for a term of which `paid` was paid, exact."""
    full = Fraction(paid)
    if rule.name == "none":
        return Fraction(0)
    if rule.name == "straight":
        back = full * used.unused_share
    elif rule.name == "months_and_hours":
        hours = -(-used.rest_seconds // 3600)
        consumed = used.months * Fraction(rule.monthly) + hours * Fraction(rule.hourly)
        back = full - consumed * Fraction(rule.discount)
    elif rule.name == "days_used":
        back = full - Fraction(rule.listed) * -(-used.days // 1) / used.term_days
    else:
        days = -(-used.days // 1)
        factor = Fraction(rule.factor) if used.days < rule.factor_days else Fraction(1)
        back = full - Fraction(rule.daily) * days * Fraction(rule.discount) * factor
    return max(Fraction(0), min(full, back))


def upgrade_by_hours(
    old_monthly: Decimal, new_monthly: Decimal, unused_hours: Fraction
) -> Fraction:
    """(new - old monthly price) / 30 / 24 x unused hours (Alibaba Cloud configuration changes)."""
    return Fraction(new_monthly - old_monthly) / 720 * unused_hours


def upgrade_by_term(
    old: Decimal, new: Decimal, remaining_periods: Fraction, discount: Decimal = Decimal(1)
) -> Fraction:
    """(new - old price) x remaining periods x discount, not rounded (Huawei Cloud renewals)."""
    return Fraction(new - old) * remaining_periods * Fraction(discount)


def downgrade_refund(
    paid: Decimal, consumed: Decimal, old_price: Decimal, new_price: Decimal
) -> Fraction:
    """(paid - consumed) x price difference / old price, never below zero (Alibaba Cloud)."""
    ratio = Fraction(old_price - new_price) / Fraction(old_price)
    return max(Fraction(0), Fraction(paid - consumed) * ratio)
