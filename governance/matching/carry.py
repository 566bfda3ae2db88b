"""Can this hardware, so many cards of it, carry the request, how, and how fast?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from governance.catalog.domain import OfferView
from governance.kernel.reasons import N_, Reason

from .asks import SERVING_ENGINE, Ask, job_for, stack_for
from .constants import Values
from .decoding import Serving, decode_step, prefill
from .egress import needed_mbit
from .hardware import Hardware, hardware
from .plans import fastest, least_memory
from .shapes import MemoryParts, Plan, StepParts

SERVING_BATCH = 256
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Carried:
    """One way to carry it. `hours` is with goodput; `seconds` is the step (or token) time."""

    count: int
    nodes: int
    plan: Plan
    step: StepParts
    memory: MemoryParts
    tokens_per_s: float
    hours: float
    stream_rate: float = 0.0
    ttft_ms: float | None = None
    egress_mbit: float = 0.0


class Profile:
    """Hardware that several offers share: card, node, links, network, storage, round trip."""

    def __init__(self, ask: Ask, offer: OfferView, k: Values) -> None:
        self.ask, self.k, self.offer = ask, k, offer
        self.card = offer.card
        self.node = max(1, offer.cards_per_node)
        network = offer.network_bytes_per_s
        if network is not None and offer.network_shared:
            network *= k["shared.all"]
        self.hw: Hardware = hardware(
            offer.card,
            k=k,
            node=self.node,
            link_kind=offer.link_kind,
            link=offer.link_bytes_per_s,
            network=network,
        )
        storage = offer.storage_read_bytes_per_s
        self.storage = storage * k["shared.all"] if storage and offer.storage_shared else storage
        self.stack = stack_for(ask, self.card, k)
        self.job = job_for(ask, self.card, self.stack) if ask.training else None
        self._done: dict[int, Carried | Reason | None] = {}

    def floor_hours(self, count: int) -> float:
        """Hours that no plan on `count` cards can beat: the multiplications alone."""
        if self.job is None:
            return 0.0
        passes = 2.0 if self.job.adapters else 3.0
        rate = max(self.hw.matrix, self.hw.matrix8) * count
        work = self.ask.tokens * 2.0 * self.ask.model.multiplied * passes
        return work / rate / 3600.0 * self.ask.request.goodput

    def at(self, count: int) -> Carried | None:
        """The best way on `count` cards; None where there is none."""
        if count not in self._done:
            self._done[count] = self._train(count) if self.job else self._serve(count)
        found = self._done[count]
        return found if isinstance(found, Carried) else None

    def why(self, count: int) -> Reason:
        """Why `at(count)` found nothing."""
        found = self._done.get(count)
        return found if isinstance(found, Reason) else self._why_not(count)

    def nodes(self, count: int) -> int:
        return -(-count // self.node)

    def _train(self, count: int) -> Carried | None:
        ask, request = self.ask, self.ask.request
        assert self.job is not None
        mode = request.recompute
        laid = fastest(self.job, count, self.hw, self.stack, self.k, ask.batch, mode)
        if laid is None:
            return None
        plan, parts, memory = laid
        nodes = self.nodes(count)
        tokens = float(ask.batch * request.seq_len)
        parts = self._with_storage(parts, tokens * request.bytes_per_token, nodes)
        rate = tokens / parts.total
        return Carried(
            count=count,
            nodes=nodes,
            plan=plan,
            step=parts,
            memory=memory,
            tokens_per_s=rate,
            hours=ask.tokens / rate / 3600.0 * request.goodput,
        )

    def _why_not(self, count: int) -> Reason:
        if self.job is None or count > self.ask.batch:
            return Reason(
                "batch_small",
                N_("A global batch of %(batch)s gives %(count)s cards nothing to share."),
                {"batch": self.ask.batch, "count": count},
            )
        need = least_memory(self.job, count, self.hw, self.stack, self.k)
        return Reason(
            "memory",
            N_("Needs %(need)s GiB a card on %(count)s cards, the card has %(have)s GiB."),
            {
                "need": round(need / GIB, 1),
                "count": count,
                "have": round(self.hw.memory / GIB, 1),
            },
        )

    def _with_storage(self, parts: StepParts, size: float, nodes: int) -> StepParts:
        if not self.storage:
            return parts
        seconds = size / (self.storage * (1 if self.offer.storage_shared else nodes))
        return StepParts(
            compute=parts.compute,
            memory=parts.memory,
            interconnect=parts.interconnect,
            network=parts.network,
            storage=seconds,
            bubble=parts.bubble,
            overhead=parts.overhead,
            total=max(parts.total, seconds),
        )

    def _serve(self, count: int) -> Carried | Reason:
        best: Carried | None = None
        refused: Reason | None = None
        for tensor in self._splits(count):
            found = self._replica(count, tensor)
            if isinstance(found, Reason):
                refused = refused or found
            elif (
                best is None
                or found.hours < best.hours
                or (found.hours == best.hours and found.stream_rate > best.stream_rate)
            ):
                best = found
        if best is not None:
            return best
        return refused or Reason("uneven", N_("%(count)s cards cannot be split."), {"count": count})

    def _splits(self, count: int) -> Iterator[int]:
        for tensor in (8, 4, 2, 1):
            if tensor <= self.node and count % tensor == 0:
                yield tensor

    def _replica(self, count: int, tensor: int) -> Carried | Reason:
        ask, request = self.ask, self.ask.request
        replicas = count // tensor
        whole = float(request.prompt_tokens + request.output_tokens)
        room = self.k["serving_fill.all"] * self.hw.memory - self.k["context.eager"]
        shell = Serving(ask.model, tensor=tensor, weight_bits=ask.weight_bits)
        each = ask.model.kv_bytes * whole / tensor
        most = (room - shell.stored / tensor) / each
        if most < 1:
            need = shell.stored / tensor + each + self.k["context.eager"]
            return _short(need, count, self.hw.memory)
        if request.method == "serving":
            batch = float(-(-(request.concurrency or 1) // replicas))
            if batch > most:
                need = shell.stored / tensor + each * batch + self.k["context.eager"]
                return _short(need, count, self.hw.memory)
        else:
            batch = float(min(int(most), SERVING_BATCH))
        job = Serving(
            model=ask.model,
            batch=batch,
            context=request.prompt_tokens + request.output_tokens / 2,
            tensor=tensor,
            weight_bits=ask.weight_bits,
            engine=request.engine or SERVING_ENGINE,
        )
        parts = decode_step(job, self.hw, self.k)
        reading = prefill(job, self.hw, request.prompt_tokens, self.k) / request.output_tokens
        seconds = parts.total + reading
        parts = StepParts(
            compute=parts.compute + reading,
            memory=parts.memory,
            interconnect=parts.interconnect,
            network=parts.network,
            storage=0.0,
            bubble=0.0,
            overhead=parts.overhead,
            total=seconds,
        )
        memory = MemoryParts(
            weights=shell.stored / tensor,
            gradients=0.0,
            optimiser=0.0,
            activations=0.0,
            logits=4.0 * batch * ask.model.vocab / tensor,
            kv_cache=each * batch,
            gathered=0.0,
            overhead=self.k["context.eager"],
            usable=self.hw.memory,
        )
        plan = Plan(
            data=replicas,
            tensor=tensor,
            micro_batch=int(batch),
            quantised=ask.weight_bits < 16,
        )
        return self._served(count, plan, parts, memory)

    def _served(
        self, count: int, plan: Plan, parts: StepParts, memory: MemoryParts
    ) -> Carried | Reason:
        ask, request = self.ask, self.ask.request
        stream = 1.0 / parts.total
        rate = stream * plan.micro_batch * plan.data
        nodes = self.nodes(count)
        if request.method == "batch_inference":
            asked = ask.tokens / (request.prompt_tokens + request.output_tokens)
            hours = asked * request.output_tokens / rate / 3600.0 * request.goodput
            return Carried(count, nodes, plan, parts, memory, rate, hours, stream)
        target = request.stream_tokens_per_s
        if target is not None and stream < target:
            return Reason(
                "stream_slow",
                N_("Streams at %(rate)s tokens/s on %(count)s cards, %(target)s are asked for."),
                {"rate": round(stream, 1), "target": target, "count": count},
            )
        single = Serving(ask.model, tensor=plan.tensor, weight_bits=ask.weight_bits)
        ttft = 1000.0 * (prefill(single, self.hw, request.prompt_tokens, self.k) + parts.total)
        ttft += self.round_trip() or 0.0
        if request.ttft_ms is not None and ttft > request.ttft_ms:
            return Reason(
                "ttft_slow",
                N_("First token after %(ttft)s ms, %(target)s ms are asked for."),
                {"ttft": round(ttft), "target": request.ttft_ms},
            )
        needed, _ = needed_mbit(request, stream)
        offered = self.offer.egress_mbit
        if offered is not None and needed > offered * nodes:
            return Reason(
                "egress",
                N_("Needs %(need)s Mbit/s of public bandwidth, %(have)s are offered."),
                {"need": round(needed, 1), "have": round(offered * nodes, 1)},
            )
        return Carried(
            count, nodes, plan, parts, memory, rate, request.service_hours, stream, ttft, needed
        )

    def round_trip(self) -> float | None:
        """Milliseconds to the users' region; None where not known."""
        region = self.ask.request.users_region
        found = [r.milliseconds for r in self.offer.round_trips if r.region == region]
        return found[0] if found else None


def _short(need: float, count: int, have: float) -> Reason:
    return Reason(
        "memory",
        N_("Needs %(need)s GiB a card on %(count)s cards, the card has %(have)s GiB."),
        {"need": round(need / GIB, 1), "count": count, "have": round(have / GIB, 1)},
    )
