"""The catalogue that comes with the program: read once, no database.

Every figure in `data/figures.csv` has its own source; `data/README.md` says how they were
collected."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType

from .cards import CardSpec, ModelPreset
from .figures import Figure, best, with_formula

DATA = Path(__file__).resolve().parent.parent / "data"
GIB = 1 << 30
CONFIRMS_BANDWIDTH = ("user", "datasheet", "datasheet_copy", "formula", "measured")


def rows(name: str) -> list[dict[str, str]]:
    """The rows of one packaged table."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def load_figures() -> Mapping[str, tuple[Figure, ...]]:
    """All figures by card slug, the computed bandwidths among them."""
    found: dict[str, list[Figure]] = defaultdict(list)
    for row in rows("figures.csv"):
        found[row["card"]].append(
            Figure(
                card=row["card"],
                figure=row["figure"],
                value=float(row["value"]),
                unit=row["unit"],
                source_kind=row["source_kind"],
                source_ref=row["source_ref"],
                as_of=date.fromisoformat(row["as_of"]),
                note=row["note"],
            )
        )
    return MappingProxyType({card: tuple(with_formula(figs)) for card, figs in found.items()})


@cache
def load_cards() -> Mapping[str, CardSpec]:
    """Every packaged card by slug."""
    names: dict[str, list[str]] = defaultdict(list)
    for row in rows("aliases.csv"):
        names[row["card"]].append(row["alias"])
    figures = load_figures()
    return MappingProxyType(
        {
            row["slug"]: build_card(row, figures[row["slug"]], tuple(names[row["slug"]]))
            for row in rows("cards.csv")
        }
    )


def build_card(
    identity: Mapping[str, str], figures: Iterable[Figure], aliases: tuple[str, ...] = ()
) -> CardSpec:
    """A card from its identity (slug, name, maker, arch, form, memory_type, link_kind) and the
    best source of each figure. Raises ValueError without a memory size."""
    by_name: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        by_name[figure.figure].append(figure)

    def value(name: str, scale: float = 1.0) -> float | None:
        chosen = best(by_name[name])
        return None if chosen is None else chosen.value * scale

    memory = value("memory_gib", GIB)
    if memory is None:
        raise ValueError(f"{identity['slug']}: no memory size")
    bandwidth = best(by_name["bandwidth_gbs"])
    return CardSpec(
        slug=identity["slug"],
        name=identity["name"],
        maker=identity["maker"],
        arch=identity["arch"],
        form=identity["form"],
        memory_type=identity["memory_type"],
        memory_bytes=int(memory),
        bandwidth_bytes_per_s=None if bandwidth is None else bandwidth.value * 1e9,
        bf16_flops=value("bf16_tflops", 1e12),
        fp16_flops=value("fp16_tflops", 1e12),
        fp8_flops=value("fp8_tflops", 1e12),
        fp32_flops=value("fp32_tflops", 1e12),
        link_kind=identity["link_kind"],
        link_bytes_per_s=value("link_gbs", 1e9),
        pcie_bytes_per_s=value("pcie_gbs", 1e9),
        tdp_w=value("tdp_w"),
        bandwidth_confirmed=bandwidth is not None
        and (bandwidth.source_kind in CONFIRMS_BANDWIDTH or identity["maker"] != "Huawei"),
        aliases=aliases,
    )


def plain_name(text: str) -> str:
    """A product name without what makers and tools write differently."""
    text = re.sub(r"\((r|tm|c)\)|®|™", "", text.lower())
    text = re.sub(r"^(nvidia|amd|huawei)[\s_-]+", "", text.strip())
    return re.sub(r"[^a-z0-9]", "", text)


@cache
def _names() -> Mapping[str, str]:
    known: dict[str, str] = {}
    for slug, card in load_cards().items():
        for name in (slug, card.name, *card.aliases):
            known.setdefault(plain_name(name), slug)
    return known


def card_for_name(text: str) -> CardSpec | None:
    """The card a driver, scheduler or price sheet means; None when not known, never a guess."""
    slug = _names().get(plain_name(text))
    return None if slug is None else load_cards()[slug]


@cache
def load_presets() -> Mapping[str, ModelPreset]:
    """Every packaged model by slug."""
    found = {}
    for row in rows("presets.csv"):
        kv = row["kv_bytes_per_token"]
        found[row["slug"]] = ModelPreset(
            slug=row["slug"],
            name=row["name"],
            family=row["family"],
            params=float(row["params_b"]) * 1e9,
            active_params=float(row["active_b"] or row["params_b"]) * 1e9,
            layers=int(row["layers"]),
            hidden=int(row["hidden"]),
            heads=int(row["heads"]),
            kv_heads=int(row["kv_heads"]),
            ffn=int(row["ffn"]),
            vocab=int(row["vocab"]),
            source=row["source"],
            kv_bytes_per_token=float(kv) if kv else None,
        )
    return MappingProxyType(found)


def name_of(slug: str) -> str:
    """What people call a card model; a model that is not packaged keeps its slug."""
    known = load_cards().get(slug)
    return known.name if known else slug
