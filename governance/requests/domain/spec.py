"""What a person typed, checked and turned into what the matcher reads."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason
from governance.matching.shapes import METHODS, PRECISIONS, RECOMPUTE, RequestSpec
from governance.requests.domain.checklist import BUSINESS_TYPES, METHODS_OF

_CHOICES = {"method": METHODS, "precision": PRECISIONS, "recompute": RECOMPUTE}
_COUNTS = {
    "layers": 10_000,
    "hidden": 1_000_000,
    "heads": 100_000,
    "kv_heads": 100_000,
    "vocab": 100_000_000,
    "seq_len": 10_000_000,
    "global_batch": 10_000_000,
    "lora_rank": 65_536,
    "max_cards": 16_384,
    "concurrency": 10_000_000,
    "prompt_tokens": 10_000_000,
    "output_tokens": 10_000_000,
}
_LISTS = ("cards_preferred", "cards_banned", "vendors", "regions")
_FLAGS = ("offload", "filing_done")
_TEXTS = ("preset", "engine", "currency", "business_type", "data_region", "users_region")
_LARGEST = 1e18
NAMES = tuple(f.name for f in fields(RequestSpec))


def read_spec(data: Mapping[str, Any], presets: Collection[str]) -> RequestSpec:
    """The spec in `data` (numbers, or text as forms and CSV have it; empty means not said).

    Invalid names the first field that is unknown, of the wrong kind or out of range.
    """
    unknown = sorted(set(data) - set(NAMES))
    if unknown:
        raise wrong(unknown[0], N_("This field is not known."))
    values = {name: _value(name, raw) for name, raw in data.items() if raw not in (None, "")}
    spec = RequestSpec(**values)
    if spec.preset is not None and spec.preset not in presets:
        raise wrong("preset", N_("There is no preset “%(value)s”."), value=spec.preset)
    return spec


def _value(name: str, raw: Any) -> Any:
    if name in _CHOICES:
        if raw not in _CHOICES[name]:
            choices = ", ".join(_CHOICES[name])
            raise wrong(
                name, N_("“%(value)s” is none of: %(choices)s."), value=raw, choices=choices
            )
        return raw
    if name in _LISTS:
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, (list, tuple)) or not all(isinstance(p, str) for p in parts):
            raise wrong(name, N_("A list of names is needed."))
        return tuple(p.strip() for p in parts if p.strip())
    if name in _FLAGS:
        return _flag(name, raw)
    if name in _TEXTS:
        if not isinstance(raw, str) or len(raw) > 80:
            raise wrong(name, N_("A short text is needed."))
        return raw.strip()
    if name == "budget":
        return _decimal(name, raw)
    return _number(name, raw)


def _flag(name: str, raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if str(raw).lower() in {"true", "on", "1", "yes", "false", "0", "no"}:
        return str(raw).lower() in {"true", "on", "1", "yes"}
    raise wrong(name, N_("Yes or no is needed."))


def _decimal(name: str, raw: Any) -> Decimal:
    try:
        value = Decimal(str(raw).replace(",", ""))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0:
        raise wrong(name, N_("An amount such as 50000.00 is needed."))
    return value


def _number(name: str, raw: Any) -> float | int:
    try:
        if isinstance(raw, bool):
            raise ValueError
        value = float(str(raw).replace(",", "").replace("\u00a0", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise wrong(name, N_("“%(value)s” is not a number."), value=str(raw)[:40])
    if name in _COUNTS:
        if value != int(value) or not 1 <= value <= _COUNTS[name]:
            raise wrong(
                name,
                N_("A whole number from 1 to %(most)s is needed."),
                most=_COUNTS[name],
            )
        return int(value)
    if value > _LARGEST or (value == 0 and name not in {"data_gb", "response_kb"}):
        raise wrong(name, N_("A number above 0 and below 10^18 is needed."))
    return value


def check_whole(
    spec: RequestSpec, business_type: str, starts_at: datetime, needed_by: datetime | None
) -> None:
    """What single fields cannot show: purpose and method fit, sizes are said, times in order."""
    if business_type not in BUSINESS_TYPES:
        choices = ", ".join(BUSINESS_TYPES)
        raise wrong(
            "business_type",
            N_("“%(value)s” is none of: %(choices)s."),
            value=business_type,
            choices=choices,
        )
    if spec.method not in METHODS_OF[business_type]:
        choices = ", ".join(METHODS_OF[business_type])
        raise wrong("method", N_("This purpose goes with: %(choices)s."), choices=choices)
    if spec.preset is None and spec.params_b is None:
        raise wrong("params_b", N_("Choose a model, or say how many billion parameters it has."))
    if spec.method == "serving":
        if spec.concurrency is None:
            raise wrong("concurrency", N_("Say how many requests run at the same time."))
    elif spec.tokens is None and spec.samples is None:
        raise wrong("samples", N_("Say how much data: samples, or tokens in all."))
    if needed_by is not None and needed_by <= starts_at:
        raise wrong("needed_by", N_("The end must lie after the earliest start."))


def total_tokens(spec: RequestSpec) -> float | None:
    """Tokens of the whole run: as said, else samples x epochs x length."""
    if spec.tokens is not None:
        return spec.tokens
    if spec.samples is None:
        return None
    return spec.samples * spec.epochs * spec.seq_len


def wrong(field: str, text: str, **params: object) -> Invalid:
    return Invalid(Reason("field", text, params), field)
