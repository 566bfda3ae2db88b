"""Accelerator cards: one plain record a card model, in SI units, unknown is None (never zero)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardSpec:
    """What the rules need to know of a card model. Bytes are bytes, rates are per second and
    dense (no 2:4 sparsity), link and PCIe rates are per direction."""

    slug: str
    name: str
    maker: str
    arch: str
    form: str
    """sxm, pcie, oam, board (a desktop card) or npu."""
    memory_type: str
    memory_bytes: int
    bandwidth_bytes_per_s: float | None
    bf16_flops: float | None
    fp16_flops: float | None
    fp8_flops: float | None
    fp32_flops: float | None
    link_kind: str
    """'none', or the maker's name for the card-to-card link inside one node."""
    link_bytes_per_s: float | None
    """Per direction; 0 when the card has no link, None when not known."""
    pcie_bytes_per_s: float | None
    tdp_w: float | None
    bandwidth_confirmed: bool = True
    """False where only community or provisional figures exist: no verdict may rest on it."""
    aliases: tuple[str, ...] = ()

    @property
    def matrix_flops(self) -> float | None:
        """Dense 16-bit tensor rate, bf16 where the card has it, else fp16."""
        return self.bf16_flops or self.fp16_flops


@dataclass(frozen=True, slots=True)
class ModelPreset:
    """A public model's shape; `params` and `active_params` are counts, not billions."""

    slug: str
    name: str
    family: str
    params: float
    active_params: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    source: str
    kv_bytes_per_token: float | None = None
    """For attention that stores less than 2 x kv heads (latent attention); else None."""


CardIndex = Mapping[str, CardSpec]
