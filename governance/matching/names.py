"""GPU names as measurements write them: family-form-GB[-memory type][-watts].

A combination that no card has is composed from its parts: the family's rates, the stated memory
size, the bandwidth of a relative with that memory type. Only an unknown family is refused."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from governance.catalog.domain import CardSpec, card_for_name, load_cards

GIB = 1 << 30
FORMS = {"SXM": "sxm", "PCIE": "pcie", "NVL": "pcie", "OAM": "oam"}


@dataclass(frozen=True, slots=True)
class Named:
    """A card and how it was found; `composed` where no card of the catalogue is exactly it."""

    card: CardSpec
    watts: float | None = None
    composed: bool = False


def resolve(text: str) -> Named | None:
    """The card that `text` names, or None where the family is not known."""
    name = text.strip()
    watts = None
    found = re.search(r"-(\d+(?:\.\d+)?)\s*[wW]$", name)
    exact = card_for_name(name)
    if exact is not None and (found is None or exact.tdp_w == float(found.group(1))):
        return Named(exact)
    if found is not None:
        watts = float(found.group(1))
        name = name[: found.start()]
        exact = card_for_name(name)
        if exact is not None:
            return Named(exact, watts=_below(exact, watts))
    card = _compose(name)
    if card is None:
        return None
    plain = any(
        c.memory_bytes == card.memory_bytes and c.memory_type == card.memory_type
        for c in load_cards().values()
        if c.slug == card.slug
    )
    return Named(card, watts=_below(card, watts), composed=not plain)


def _below(card: CardSpec, watts: float | None) -> float | None:
    return watts if watts is not None and card.tdp_w is not None and watts < card.tdp_w else None


def _compose(name: str) -> CardSpec | None:
    parts = [p for p in re.split(r"[-_\s]+", name) if p]
    form = next((FORMS[p.upper()] for p in parts if p.upper() in FORMS), None)
    kind = next((p for p in parts if re.fullmatch(r"(HBM|GDDR)\d\w*", p, re.I)), None)
    size = next(
        (float(m.group(1)) for p in parts[1:] if (m := re.fullmatch(r"(\d+)(?:GB|G)?", p, re.I))),
        None,
    )
    rest = [
        p
        for p in parts
        if p.upper() not in FORMS and p != kind and not re.fullmatch(r"\d+(GB|G)?", p, re.I)
    ]
    family = _plain("".join(rest)) or _plain(parts[0] if parts else "")
    kin = [c for c in load_cards().values() if family and _family(c) == family]
    if not kin and size is not None:
        family = _plain("".join(rest) + str(int(size)))
        kin = [c for c in load_cards().values() if _family(c) == family]
        size = None
    if not kin:
        return None

    def distance(card: CardSpec) -> tuple[bool, bool, float]:
        away = abs(card.memory_bytes / GIB - size) if size else 0.0
        wrong_kind = kind is not None and card.memory_type.lower() != kind.lower()
        return (form is not None and card.form != form, wrong_kind, away)

    near = min(kin, key=distance)
    return dataclasses.replace(
        near,
        name=name,
        memory_bytes=int(size * GIB) if size else near.memory_bytes,
        memory_type=kind or near.memory_type,
        bandwidth_bytes_per_s=_bandwidth(near, kin, kind),
    )


def _bandwidth(near: CardSpec, kin: list[CardSpec], kind: str | None) -> float | None:
    """Of the relative with the stated memory type; of the near card where none has it."""
    if kind is None or near.memory_type.lower() == kind.lower():
        return near.bandwidth_bytes_per_s
    same = [c for c in kin if c.memory_type.lower() == kind.lower()]
    return (same[0] if same else near).bandwidth_bytes_per_s


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("geforce", "").replace("tesla", ""))


def _family(card: CardSpec) -> str:
    """A100, H100, RTX4090, MI300X, Ascend910B ..."""
    name = re.sub(r"\(.*\)", "", card.name)
    name = re.sub(r"\b(\d+(/\d+)?GB|SXM\d?|PCIe|NVL|HBM\w+)\b", "", name)
    plain = _plain(name)
    return re.sub(r"(910b)\d", r"\1", plain)
