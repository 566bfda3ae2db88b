"""What the form and the chosen package already say: titles, checklist answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from governance.catalog.domain.packaged import load_presets
from governance.kernel.reasons import N_
from governance.matching.shapes import RequestSpec
from governance.requests.domain.spec import total_tokens

METHOD_NAMES = {
    "pretrain": N_("pretraining"),
    "full": N_("full fine-tuning"),
    "lora": N_("LoRA"),
    "qlora": N_("QLoRA"),
    "batch_inference": N_("batch inference"),
    "serving": N_("serving"),
}


def model_name(spec: RequestSpec) -> str:
    """The preset's name, or the size: "Llama 2 70B", "13B"."""
    if spec.preset is not None:
        preset = load_presets().get(spec.preset)
        return preset.name if preset else spec.preset
    return "" if spec.params_b is None else f"{spec.params_b:g}B"


def title_of(spec: RequestSpec) -> str:
    """What a list shows: model and method."""
    return f"{model_name(spec)}, {METHOD_NAMES[spec.method]}"


def known_items(
    spec: RequestSpec, needed_by: datetime | None, package: Mapping[str, Any] | None
) -> dict[str, str]:
    """Checklist answers that need no typing. What is not known is left out."""
    tokens = total_tokens(spec)
    known = {
        "model": title_of(spec),
        "data": "" if tokens is None else f"{tokens / 1e6:,.1f} M tokens",
        "deadline": "" if needed_by is None else needed_by.isoformat(timespec="minutes"),
        "data_place": spec.data_region or "",
        "load": ""
        if spec.concurrency is None
        else f"{spec.concurrency} × {spec.output_tokens} tokens",
        "line": spec.users_region or "",
        "filing": "✓" if spec.filing_done else "",
    }
    if package:
        plan = package["plan"]
        parts = {"DP": "data", "TP": "tensor", "PP": "pipeline", "CP": "context"}
        known["parallel"] = " × ".join(f"{word} {plan[key]}" for word, key in parts.items())
        known["interconnect"] = f"{package['count']} × {package['card_name']}"
        known["budget"] = f"{package['cost']} {package['currency']}"
        if package.get("egress"):
            known["egress"] = f"{package['egress']['mbit_per_s']:.0f} Mbit/s"
    return known
