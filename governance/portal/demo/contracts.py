"""The demonstration's rentals and budgets: invented prices, computed charges.

Prices are per card and contain 6 % tax. They are no vendor's offer.
"""

from dataclasses import dataclass
from decimal import Decimal

from governance.rentals.domain.terms import Plan, Tax

TAX = Tax(Decimal("0.06"), inclusive=True)


def hourly(price: str) -> Plan:
    return Plan("hourly", Decimal(price), bill="day", tax=TAX)


def monthly(price: str) -> Plan:
    return Plan("monthly", Decimal(price), proration="fixed30", tax=TAX)


def annual(price: str) -> Plan:
    return Plan("annual", Decimal(price), instalments=True, tax=TAX)


@dataclass(frozen=True)
class Contract:
    """A rental of one group of cards. It began `began` days ago and ends `ends` days from now
    (negative: in the past; None: until further notice)."""

    group: str
    project: str
    vendor: str
    region: str
    card_model: str
    cards: int
    plan: Plan
    began: int
    ends: int | None
    auto_renew: bool = False


CONTRACTS = (
    Contract(
        "pretraining", "pretraining", "northwind-cloud", "cn-north-1", "h100-80gb-sxm5", 4,
        annual("168000.00"), began=290, ends=75,
    ),
    Contract(
        "synthesis", "synthesis", "northwind-cloud", "cn-north-1", "h100-80gb-sxm5", 2,
        hourly("18.60"), began=58, ends=None,
    ),
    Contract(
        "captions", "captions", "northwind-cloud", "cn-north-1", "h100-80gb-sxm5", 2,
        hourly("18.60"), began=44, ends=None,
    ),
    Contract(
        "detection", "detection", "delta-compute", "cn-east-2", "a800-80gb-sxm4", 4,
        monthly("7992.00"), began=143, ends=7,
    ),
    Contract(
        "recognition", "recognition", "delta-compute", "cn-east-2", "a800-80gb-sxm4", 4,
        monthly("7992.00"), began=395, ends=25,
    ),
    Contract(
        "labelling", "detection", "penguin-gpu", "cn-south-1", "rtx-4090", 8,
        hourly("2.30"), began=40, ends=-2,
    ),
)  # fmt: skip

TEAM_LIMITS = {"llm": "120000.00", "vision": "74000.00", "speech": "61000.00"}
"""Each month's budget of a team."""

CENTRE_LIMITS = {"CC-410": "420000.00", "CC-420": "240000.00", "CC-430": "200000.00"}
"""Each quarter's budget of a cost centre."""
