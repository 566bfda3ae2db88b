"""The GCP price calculator's YAML (`compute.instance.NAME.cost.REGION`), US dollars.

`month` is 730 list hours and no commitment; `month_1y` and `month_3y` are what a month costs under
a commitment. A missing one is not offered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import yaml

from governance.kernel.reasons import N_, Reason

from .row import Bad, Sheet, SheetFault, SheetRow, money_cell

CARDS = {
    "a100": "A100-SXM-40",
    "a100-80gb": "A100-SXM-80",
    "h100-80gb": "H100-SXM-80",
    "h100-80gb-mega": "H100-SXM-80",
    "h200": "H200 SXM",
    "b200": "B200 SXM",
    "l4": "L4",
    "t4": "T4",
    "v100": "V100 SXM2 16/32GB",
    "rtx6000": "RTX PRO 6000 Blackwell Server",
}
PLAIN = ("cpu", "ram", "cost", "local-ssd", "type", "bandwidth")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Numbers stay as written: a price is never a binary float."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:float"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_gcp(text: str) -> Sheet:
    """Read the file; instances without cards are skipped."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = str(mark.line + 1) if mark else "1"
        return Sheet(faults=(SheetFault(line, Reason("yaml", N_("This is not YAML."))),))
    instances = _at(data, "compute", "instance")
    if not isinstance(instances, Mapping):
        reason = Reason("sheet", N_("No compute.instance in this file."))
        return Sheet(faults=(SheetFault("1", reason),))
    as_of = _generated(data)
    rows: list[SheetRow] = []
    faults: list[SheetFault] = []
    skipped: list[SheetFault] = []
    for name, entry in instances.items():
        card = _card(entry)
        if card is None:
            reason = Reason("no_accelerator", N_("No accelerator in this row."))
            skipped.append(SheetFault(str(name), reason))
            continue
        for region, cost in (entry.get("cost") or {}).items():
            place = f"{name}/{region}"
            try:
                rows.append(_row(place, str(name), str(region), card, cost, as_of))
            except Bad as bad:
                code = bad.reason.code
                (skipped if code == "part" else faults).append(SheetFault(place, bad.reason))
    return Sheet(tuple(rows), tuple(faults), tuple(skipped))


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _generated(data: Any) -> date | None:
    stamp = _at(data, "about", "timestamp")
    try:
        return datetime.fromtimestamp(int(stamp)).date()  # noqa: DTZ006 (a day is enough)
    except (TypeError, ValueError, OverflowError):
        return None


def _card(entry: Any) -> tuple[str, str] | None:
    if not isinstance(entry, Mapping):
        return None
    found = [(str(k), str(v)) for k, v in entry.items() if k not in PLAIN]
    return found[0] if found else None


def _row(
    place: str, name: str, region: str, card: tuple[str, str], cost: Any, as_of: date | None
) -> SheetRow:
    key, count_text = card
    count = Decimal(count_text) if count_text.replace(".", "", 1).isdigit() else Decimal(0)
    if count != int(count) or count < 1:
        raise Bad(
            Reason(
                "part",
                N_("%(count)s of a card: parts of cards are not offered here."),
                {"count": count_text},
            )
        )

    def price(column: str) -> Decimal | None:
        value = cost.get(column) if isinstance(cost, Mapping) else None
        return None if value is None else money_cell(str(value), column)

    hour, spot, month = price("hour"), price("hour_spot"), price("month")
    year, three = price("month_1y"), price("month_3y")
    prices = {"hourly": hour, "spot": spot, "annual": None if year is None else 12 * year}
    rules: dict[str, dict[str, str]] = {}
    if month is not None:
        rules["hourly"] = {"list_month_730h": str(month)}
    if year is not None:
        rules["annual"] = {"billed": "monthly", "monthly_price": str(year)}
        if three is not None:
            rules["annual"]["monthly_price_3_years"] = str(three)
    return SheetRow(
        place=place,
        sku=name,
        region=region,
        card_name=CARDS.get(key, key),
        cards_per_unit=int(count),
        cards_per_node=int(count),
        prices={kind: value for kind, value in prices.items() if value is not None},
        currency="USD",
        tax_inclusive=False,
        source="google-cloud-pricing-cost-calculator",
        as_of=as_of,
        rules=rules,
    )
