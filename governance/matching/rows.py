"""Predict measured rows: the columns and keys that `predict` reads, in the unit asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

from .constants import Values, values
from .decoding import Serving, decode_step, prefill
from .hardware import Hardware, hardware
from .memory import activations, claimed, training_memory
from .model import ModelShape, shape
from .names import Named, resolve
from .plans import fastest
from .shapes import MemoryParts, Plan, StepParts
from .stacks import ENGINE_CLASS, SERVING_CLASS, Stack, training_stack
from .training import Job, step

GIB = float(1 << 30)
NODE = 8
TRAINING = ("pretrain", "full", "lora", "qlora")
COUNTS = ("tp", "pp", "cp", "vpp", "mb", "r")
LARGEST = 1e18
LARGE_RUN_TOKENS = 4096.0
"""Tokens a card and step that published runs without a stated size are taken to use."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One predicted row; `value` is None with a `reason` where nothing can be said."""

    value: float | None
    low: float | None
    high: float | None
    fits: bool | None
    bottleneck: str
    reason: str


class Unknown(ValueError):
    """A row that cannot be predicted, with why."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measured row, read."""

    workload: str
    params: float
    named: Named
    cards: int | None
    nodes: int | None
    seq: int
    batch_tokens: float | None
    tokens: float | None
    metric: str
    unit: str
    cfg: Mapping[str, str]

    def number(self, key: str) -> float | None:
        return plain_number(self.cfg.get(key, ""), f"cfg {key}")

    def whole(self, key: str, default: int) -> int:
        found = self.number(key)
        if found is None:
            return default
        if found < 1 and key in COUNTS:
            raise Unknown(f"cfg {key}: at least 1 is needed")
        return int(found)


def plain_number(text: str, name: str) -> float | None:
    """A number from 0 to 1e18, None for nothing. Raises Unknown that names the place."""
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LARGEST:
        raise Unknown(f"{name}: {text[:40]!r} is not a number")
    return value


def read(raw: Mapping[str, str]) -> Row:
    """Raises Unknown that names the column."""

    def number(column: str) -> float | None:
        return plain_number(raw.get(column) or "", column)

    params = number("params_b")
    if params is None or params <= 0:
        raise Unknown("params_b: a number above 0 is needed")
    named = resolve(raw.get("gpu") or "")
    if named is None:
        raise Unknown(f"gpu: {raw.get('gpu')!r} is of no known family")
    cards, nodes = number("n_gpus"), number("n_nodes")
    workload = (raw.get("workload") or "").strip().lower()
    if workload not in (*TRAINING, "decode"):
        raise Unknown(f"workload: {workload!r} is none of pretrain, full, lora, qlora, decode")
    pairs = (part.partition("=") for part in (raw.get("cfg") or "").split(";") if part.strip())
    return Row(
        workload=workload,
        params=params * 1e9,
        named=named,
        cards=int(cards) if cards else None,
        nodes=int(nodes) if nodes else None,
        seq=int(number("seq_len") or 2048),
        batch_tokens=number("global_batch_tokens"),
        tokens=number("tokens_total"),
        metric=(raw.get("measured_metric") or "").strip().lower(),
        unit=(raw.get("unit") or "").strip(),
        cfg={key.strip(): value.strip() for key, _, value in pairs},
    )


def predict_row(raw: Mapping[str, str], k: Values | None = None) -> Answer:
    """The answer for one row of `measured_calibrate.csv`'s columns; never raises for bad input."""
    k = k or values()
    try:
        row = read(raw)
        case = Decode(row, k) if row.workload == "decode" else Training(row, k)
        value = case.value()
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        return Answer(None, None, None, None, "", str(error))
    if row.metric == "fits":
        return Answer(value, value, value, bool(value), "memory", case.reason())
    if not 0 < value < float("inf"):
        return Answer(None, None, None, None, "", "these figures give no finite answer")
    spread = exp(interval(row, k))
    return Answer(
        value, value / spread, value * spread, case.fits(), case.bottleneck(), case.reason()
    )


def interval(row: Row, k: Values) -> float:
    """Half-width of the interval in logarithms: what left-out sources showed for this kind."""
    if row.metric.startswith(("total_mem", "peak_mem", "activation", "param_opt")):
        kind = "memory"
    elif row.workload == "pretrain":
        given = row.cfg.get("auto") != "1" and "tp" in row.cfg
        kind = "pretrain" if given else "pretrain_auto"
    else:
        kind = row.workload
    engine = row.cfg.get("engine", "").lower()
    unsure = row.named.composed or engine not in {**ENGINE_CLASS, **SERVING_CLASS}
    return k[f"interval.{kind}"] + (k["interval.composed"] if unsure else 0.0)


def model_of(row: Row) -> ModelShape:
    """The row's model."""
    layers, hidden, vocab = (row.number(key) for key in ("layers", "hidden", "vocab"))
    ratio = row.number("kvr")
    heads = max(1, round(hidden / 128)) if hidden else None
    active = row.number("active")
    return shape(
        params=row.params,
        active=active * 1e9 if active else None,
        layers=int(layers) if layers else None,
        hidden=int(hidden) if hidden else None,
        heads=heads,
        kv_heads=max(1, round(heads / ratio)) if heads and ratio else None,
        vocab=int(vocab) if vocab else None,
    )


def hardware_of(row: Row, k: Values, cards: int | None) -> Hardware:
    """The row's card in its node."""
    node = NODE
    if cards and row.nodes:
        node = max(1, -(-cards // row.nodes)) if row.nodes > 1 else max(NODE, cards)
    network = row.number("net_gbs")
    return hardware(
        row.named.card,
        k=k,
        node=node,
        watts=row.named.watts,
        network=network * 1e9 if network else None,
    )


class Training:
    """A training row."""

    def __init__(self, row: Row, k: Values) -> None:
        self.row, self.k = row, k
        self.model = model_of(row)
        self.cards = row.cards or self._cards()
        self.hw = hardware_of(row, k, self.cards)
        self.stack: Stack = training_stack(
            self._engine(), row.cfg.get("stack", ""), self.hw.arch, k
        )
        self.job = self._job()
        self.laid_sequences: int | None = None
        self.plan, self.parts, self.memory = self._laid_out()

    def _engine(self) -> str:
        """The engine named; one that is not known but splits tensors or layers is Megatron-like."""
        name = self.row.cfg.get("engine", "").lower()
        split = self.row.whole("tp", 1) * self.row.whole("pp", 1) > 1
        known = name in ENGINE_CLASS or "stack" in self.row.cfg
        return "megatron-modern" if split and not known else name

    def _cards(self) -> int:
        if self.row.metric == "gpu_hours" and self.row.batch_tokens:
            return max(NODE, int(self.row.batch_tokens / LARGE_RUN_TOKENS) // NODE * NODE)
        return 1

    def _job(self) -> Job:
        row = self.row
        bits = row.number("wbits") or (4.0 if row.workload == "qlora" else 16.0)
        file = row.number("wgib")
        return Job(
            model=self.model,
            method=row.workload,
            seq=row.seq,
            rank=row.whole("r", 16),
            fp8=row.cfg.get("prec") == "fp8",
            weight_bits=bits,
            chunked_loss=row.cfg.get("chunk") == "1",
            state_bytes=row.number("states"),
            vocabulary_bytes=self.stack.vocabulary_bytes,
            weight_bytes=file * GIB if file else None,
        )

    def _sequences(self) -> int | None:
        row = self.row
        given = row.number("gbs")
        if given:
            return int(given)
        if row.batch_tokens:
            return max(1, round(row.batch_tokens / row.seq))
        return None

    def _laid_out(self) -> tuple[Plan, StepParts, MemoryParts]:
        row, cfg = self.row, self.row.cfg
        if cfg.get("auto") == "1" or not ({"tp", "pp", "zero", "mb"} & set(cfg)):
            return self._chosen()
        tensor, pipeline = row.whole("tp", 1), row.whole("pp", 1)
        context = row.whole("cp", 1)
        ranks = tensor * pipeline * context
        if self.cards % ranks:
            raise Unknown(f"{self.cards} cards cannot be split {ranks} ways")
        data = self.cards // ranks
        sequences = self._sequences()
        recompute = {"0": "none", "1": "full", "sel": "selective"}.get(
            cfg.get("ckpt", ""), "full" if "ckpt" not in cfg and row.params > 2e10 else "none"
        )
        unfused = row.metric == "activation_gib" and cfg.get("ckpt") == "0"
        base = Plan(
            data=data,
            tensor=tensor,
            pipeline=pipeline,
            context=context,
            interleave=row.whole("vpp", 1),
            zero=row.whole("zero", 0 if data == 1 else 1),
            recompute="none_unfused" if unfused else recompute,
            offload=cfg.get("offload") == "1",
            quantised=self.job.weight_bits < 16,
            sequence_parallel=cfg.get("sp", "1" if recompute != "full" else "0") == "1"
            and tensor > 1,
        )
        if "mb" in cfg:
            return self._judge(self._batch(base, row.whole("mb", 1), sequences))
        tried = [self._judge(self._batch(base, micro, sequences)) for micro in (1, 2, 4, 8)]
        fitting = [t for t in tried if claimed(t[2], self.stack) <= self.hw.memory] or tried[:1]
        return min(fitting, key=lambda t: t[1].total / (t[0].micro_batch * t[0].accumulation))

    def _batch(self, plan: Plan, micro: int, sequences: int | None) -> Plan:
        given = self.row.number("ga")
        if given:
            count = int(given)
        elif sequences:
            count = max(1, round(sequences / (micro * plan.data)))
        else:
            count = 1
        return dataclasses.replace(plan, micro_batch=micro, accumulation=count)

    def _judge(self, plan: Plan) -> tuple[Plan, StepParts, MemoryParts]:
        return (
            plan,
            step(self.job, plan, self.hw, self.stack, self.k),
            training_memory(self.job, plan, self.hw, self.stack, self.k),
        )

    def _chosen(self) -> tuple[Plan, StepParts, MemoryParts]:
        batch = max(1, round((self._sequences() or 8 * self.cards) / self.cards)) * self.cards
        self.laid_sequences = batch
        found = fastest(self.job, self.cards, self.hw, self.stack, self.k, batch)
        if found is None:
            raise Unknown("no parallel plan fits the memory of these cards")
        return found

    @property
    def step_tokens(self) -> float:
        plan = self.plan
        whole = plan.micro_batch * plan.accumulation * plan.data
        return float((self.laid_sequences or whole) * self.row.seq)

    def value(self) -> float:
        row = self.row
        memory = self._memory()
        if memory is not None:
            return memory
        seconds = self.parts.total
        rate = self.step_tokens / seconds
        metric, unit = row.metric, row.unit.lower()
        if metric in ("step_s", "iteration_s"):
            return seconds * (1000.0 if unit.startswith("ms") else 1.0)
        if "tflops" in metric:
            return self._flops(metric) * rate / self.cards / 1e12
        if metric in ("mfu", "hfu"):
            peak = row.named.card.matrix_flops or 0.0
            return self._flops(metric) * rate / self.cards / peak
        if metric.startswith("tokens_per_s"):
            each = "per_gpu" in metric or "/gpu" in unit or "/npu" in unit
            return rate / self.cards if each else rate
        if metric.startswith("samples_per_s"):
            whole = rate / row.seq
            return whole / self.cards if "gpu" in metric else whole
        return self._whole_run(metric, rate)

    def _whole_run(self, metric: str, rate: float) -> float:
        tokens = self.row.tokens
        if not tokens:
            raise Unknown(f"measured_metric: {metric!r} needs tokens_total or is not known")
        hours = tokens / rate / 3600.0
        if metric == "gpu_hours":
            return hours * self.cards * self.k["run.all"]
        scale = {"total_s": 3600.0, "total_min": 60.0, "total_h": 1.0, "train_hours": 1.0}
        if metric in scale:
            return hours * scale[metric]
        if metric == "train_days":
            return hours / 24.0
        raise Unknown(f"measured_metric: {metric!r} is not known")

    def _flops(self, metric: str) -> float:
        """FLOPs a token as the publication counts them."""
        m, s = self.model, self.row.seq
        if metric.startswith("hw"):
            per = 96.0 * m.layers * m.hidden**2
            return per * (1 + s / (6.0 * m.hidden) + m.vocab / (16.0 * m.layers * m.hidden))
        plain = 6.0 * m.active + 6.0 * m.layers * m.hidden * s
        if metric == "hfu" and self.plan.recompute == "full":
            return plain * 4.0 / 3.0
        return plain

    def _memory(self) -> float | None:
        row, m = self.row, self.memory
        metric, unit = row.metric, row.unit.lower()
        if metric == "fits":
            return 1.0 if self.fits() else 0.0
        size = GIB if "gib" in (unit if "gb" in unit or "gib" in unit else metric) else 1e9
        if metric == "activation_gib":
            return activations(self.job, self.plan, self.stack) / size
        if metric == "param_opt_gib":
            return (m.weights + m.gradients + m.optimiser) / size
        if metric.startswith("total_mem"):
            return (m.total * self.stack.fragment + self.stack.context) * self.cards / size
        if metric.startswith("peak_mem"):
            return m.total * self.stack.fragment / size
        return None

    def fits(self) -> bool:
        return claimed(self.memory, self.stack) <= self.hw.memory * 0.97

    def bottleneck(self) -> str:
        if self._memory() is not None:
            return "memory"
        p = self.parts
        shares = {
            "compute": p.compute,
            "memory": p.memory,
            "interconnect": p.interconnect,
            "network": p.network,
        }
        return max(shares, key=lambda name: shares[name])

    def reason(self) -> str:
        p = self.plan
        return (
            f"data {p.data} x tensor {p.tensor} x pipeline {p.pipeline} x context {p.context}, "
            f"ZeRO {p.zero}, micro-batch {p.micro_batch} x {p.accumulation}, "
            f"recompute {p.recompute}"
        )


class Decode:
    """A decoding row."""

    def __init__(self, row: Row, k: Values) -> None:
        self.row, self.k = row, k
        self.model = model_of(row)
        self.tensor = row.whole("tp", 1)
        self.split = row.whole("pp", 1)
        self.cards = row.cards or self.tensor * self.split
        self.hw = hardware_of(row, k, self.cards)
        file = row.number("wgib")
        prompt, out = row.number("prompt"), row.number("out")
        context = row.number("ctx")
        if context is None:
            context = (prompt or 0.0) + (out or row.seq) / 2.0
        self.job = Serving(
            model=self.model,
            batch=row.number("batch") or 1.0,
            context=context,
            tensor=self.tensor,
            split=self.split,
            weight_bits=row.number("wbits") or 16.0,
            weight_bytes=file * GIB if file else None,
            engine=row.cfg.get("engine", "vllm"),
        )
        self.parts = decode_step(self.job, self.hw, k)

    def value(self) -> float:
        row, job = self.row, self.job
        metric = row.metric
        if metric == "fits":
            return 1.0 if self.fits() else 0.0
        seconds = self.parts.total
        prompt, out = row.number("prompt"), row.number("out")
        if prompt and out and not metric.startswith("ms"):
            seconds += prefill(job, self.hw, prompt, self.k) / out
        if metric.startswith("tokens_per_s"):
            return (1.0 if metric.endswith("per_user") else job.batch) / seconds
        if metric in ("ms_per_token", "tpot_ms", "itl_ms"):
            return 1000.0 * self.parts.total
        if metric in ("ttft_ms", "ttft_s"):
            scale = 1000.0 if metric.endswith("ms") else 1.0
            return scale * prefill(job, self.hw, prompt or float(row.seq), self.k)
        if metric.startswith(("peak_mem", "total_mem")):
            size = GIB if "gib" in row.unit.lower() else 1e9
            whole = self._bytes()
            return whole / size * (self.cards if metric.startswith("total") else 1)
        raise Unknown(f"measured_metric: {metric!r} is not known for decoding")

    def _bytes(self) -> float:
        held = self.job.stored + self.job.batch * self.job.context * self.model.kv_bytes
        return held / (self.tensor * self.split) + self.k["context.eager"]

    def fits(self) -> bool:
        return self._bytes() <= 0.97 * self.hw.memory

    def bottleneck(self) -> str:
        p = self.parts
        shares = {"compute": p.compute, "memory": p.memory, "interconnect": p.interconnect}
        return max(shares, key=lambda name: shares[name])

    def reason(self) -> str:
        return f"tensor {self.tensor}, batch {self.job.batch:g}, context {self.job.context:g}"
