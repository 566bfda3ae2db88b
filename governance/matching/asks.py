"""A request, read: the model, the work, and what may carry it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from governance.catalog.domain import CardSpec, card_for_name, load_presets
from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason

from .constants import Values
from .model import ModelShape, of_preset, shape
from .shapes import METHODS, PRECISIONS, RECOMPUTE, TRAINING, RequestSpec
from .stacks import Stack, training_stack
from .training import Job

USUAL_ENGINE = {
    "pretrain": "megatron-modern",
    "full": "fsdp",
    "lora": "hf-deepspeed",
    "qlora": "hf",
}
SERVING_ENGINE = "vllm"
PRETRAIN_BATCH_TOKENS = 1_000_000
TUNE_BATCH = 64
WEIGHT_BITS = {"bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0, "int4": 4.5}


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked request with everything derived from it."""

    request: RequestSpec
    model: ModelShape
    training: bool
    tokens: float
    batch: int
    banned: frozenset[str]
    preferred: frozenset[str]

    @property
    def weight_bits(self) -> float:
        if self.request.method == "qlora":
            return 4.0
        return 16.0 if self.training else WEIGHT_BITS[self.request.precision]


def wrong(field: str, text: str, **params: object) -> Invalid:
    """A refusal that names the field."""
    return Invalid(Reason("request_" + field, text, params), field=field)


def read(request: RequestSpec) -> Ask:
    """Check a request. Raises Invalid that names the field and what would be right."""
    _check_words(request)
    _check_numbers(request)
    model = _model(request)
    training = request.method in TRAINING
    tokens = _tokens(request)
    return Ask(
        request=request,
        model=model,
        training=training,
        tokens=tokens,
        batch=request.global_batch or _usual_batch(request),
        banned=_slugs(request.cards_banned, "cards_banned"),
        preferred=_slugs(request.cards_preferred, "cards_preferred"),
    )


def _check_words(request: RequestSpec) -> None:
    for field, allowed in (
        ("method", METHODS),
        ("precision", PRECISIONS),
        ("recompute", RECOMPUTE),
    ):
        value = getattr(request, field)
        if value not in allowed:
            raise wrong(
                field,
                N_("“%(value)s” is not known here: one of %(allowed)s is needed."),
                value=value,
                allowed=", ".join(allowed),
            )


POSITIVE = (
    "params_b",
    "active_params_b",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "vocab",
    "tokens",
    "samples",
    "epochs",
    "seq_len",
    "global_batch",
    "lora_rank",
    "deadline_hours",
    "max_cards",
    "budget",
    "data_gb",
    "goodput",
    "concurrency",
    "output_tokens",
    "response_kb",
    "delivery_s",
    "stream_tokens_per_s",
    "bytes_per_event",
    "headroom",
    "ttft_ms",
    "service_hours",
    "bytes_per_token",
)


def _check_numbers(request: RequestSpec) -> None:
    for field in POSITIVE:
        value = getattr(request, field)
        if value is not None and not value > 0:
            raise wrong(field, N_("This must be a number above 0."))
    if request.goodput < 1:
        raise wrong("goodput", N_("The goodput factor is whole time / step time: at least 1."))


def _model(request: RequestSpec) -> ModelShape:
    if request.preset:
        preset = load_presets().get(request.preset)
        if preset is None:
            raise wrong("preset", N_("No model preset is called “%(name)s”."), name=request.preset)
        return of_preset(preset)
    if request.params_b is None:
        raise wrong("params_b", N_("Name a model preset or the number of parameters."))
    try:
        return shape(
            params=request.params_b * 1e9,
            active=request.active_params_b * 1e9 if request.active_params_b else None,
            layers=request.layers,
            hidden=request.hidden,
            heads=request.heads,
            kv_heads=request.kv_heads,
            vocab=request.vocab,
        )
    except ValueError as error:
        raise wrong(
            "params_b", N_("These sizes do not make a model: %(why)s."), why=str(error)
        ) from error


def _tokens(request: RequestSpec) -> float:
    if request.method == "serving":
        return 0.0
    if request.tokens is not None:
        return request.tokens
    if request.samples is not None:
        return request.samples * request.epochs * request.seq_len
    raise wrong("tokens", N_("Say how many tokens, or how many samples and epochs."))


def _usual_batch(request: RequestSpec) -> int:
    if request.method == "pretrain":
        return max(1, PRETRAIN_BATCH_TOKENS // request.seq_len)
    return TUNE_BATCH


@lru_cache(maxsize=4096)
def _slug(name: str) -> str | None:
    card = card_for_name(name)
    return None if card is None else card.slug


def _slugs(names: tuple[str, ...], field: str) -> frozenset[str]:
    found = set()
    for name in names:
        slug = _slug(name)
        if slug is None:
            raise wrong(field, N_("No card is called “%(name)s”."), name=name)
        found.add(slug)
    return frozenset(found)


def stack_for(ask: Ask, card: CardSpec, k: Values) -> Stack:
    """The training stack that is usual for the method (or the one asked for) on this card."""
    engine = ask.request.engine or USUAL_ENGINE.get(ask.request.method, "")
    return training_stack(engine, "", card.arch, k)


def job_for(ask: Ask, card: CardSpec, stack: Stack) -> Job:
    """The training job on this card."""
    request = ask.request
    return Job(
        model=ask.model,
        method=request.method,
        seq=request.seq_len,
        rank=request.lora_rank,
        fp8=request.precision == "fp8" and card.fp8_flops is not None,
        weight_bits=ask.weight_bits,
        vocabulary_bytes=stack.vocabulary_bytes,
    )
