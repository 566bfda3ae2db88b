"""The shape of a model: what is not given is derived from what is.

Transformer counting follows arXiv:2104.04473 (eq. 2): a dense layer holds about 12 h^2 weights;
fused feed-forward shapes and grouped heads move that, so weights are counted from the stated
parameters, not from h."""

from __future__ import annotations

from dataclasses import dataclass

from governance.catalog.domain import ModelPreset

DEFAULT_VOCAB = 50257
"""GPT-2's vocabulary: what the older published runs used."""
GATED = 128
"""Width of a head where it is not given."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Counts, not billions. `kv_bytes` is what one token leaves in a 16-bit cache, all layers."""

    params: float
    active: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    vocab: int
    kv_bytes: float
    tied: bool
    layer_params: float
    """Weights of one layer, all experts."""
    layer_active: float
    """Weights of one layer that one token passes through."""

    @property
    def embedding(self) -> float:
        """Weights of one vocabulary matrix."""
        return float(self.vocab) * self.hidden

    @property
    def multiplied(self) -> float:
        """Weights that one token is multiplied with: active layers and the output matrix."""
        return self.layer_active * self.layers + self.embedding


def shape(
    *,
    params: float,
    active: float | None = None,
    layers: int | None = None,
    hidden: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    vocab: int | None = None,
    kv_bytes: float | None = None,
) -> ModelShape:
    """A full shape from what is known. Raises ValueError when no weights would be left for the
    layers (a vocabulary larger than the model)."""
    if not params > 0:
        raise ValueError("parameters must be more than 0")
    if layers is None or hidden is None:
        layers, hidden = _usual(params, layers, hidden)
    heads = heads or max(1, round(hidden / GATED))
    kv_heads = kv_heads or heads
    words = vocab or min(DEFAULT_VOCAB, int(0.2 * params / hidden) or 1)
    tied = params < 4e9 or vocab is None
    if params - words * hidden * (1 if tied else 2) <= 0:
        raise ValueError("the vocabulary matrix is larger than the model")
    used = min(active or params, params)
    layer = (params - float(words) * hidden * (1 if tied else 2)) / layers
    per_token = kv_bytes or 2.0 * 2.0 * layers * hidden * kv_heads / heads
    return ModelShape(
        params=params,
        active=used,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        vocab=words,
        kv_bytes=per_token,
        tied=tied,
        layer_params=layer,
        layer_active=layer - (params - used) / layers,
    )


def of_preset(preset: ModelPreset) -> ModelShape:
    """The shape of a packaged model."""
    return shape(
        params=preset.params,
        active=preset.active_params,
        layers=preset.layers,
        hidden=preset.hidden,
        heads=preset.heads,
        kv_heads=preset.kv_heads,
        vocab=preset.vocab,
        kv_bytes=preset.kv_bytes_per_token,
    )


def _usual(params: float, layers: int | None, hidden: int | None) -> tuple[int, int]:
    """Layers and width that published models of this size have: 12 L h^2 weights with
    h about 128 x L up to 96 layers."""
    if hidden is not None:
        return layers or max(1, round(params / (12.0 * hidden**2))), hidden
    if layers is not None:
        return layers, max(128, round((params / (12.0 * layers)) ** 0.5 / 128) * 128)
    width = max(128, round((params * 128 / 12) ** (1 / 3) / 128) * 128)
    return max(1, round(params / (12.0 * width**2))), width
