"""Public bandwidth of a service: an empirical estimate, to be confirmed by a load test.

Whole answers: size x 8 x requests in flight / delivery time x headroom. Streams: streams x
tokens/s x bytes an event x 8 x headroom. The size alone has no time in it and gives no rate."""

from __future__ import annotations

from decimal import Decimal

from .shapes import Egress, RequestSpec

HOURS_A_MONTH = 730.0


def answers_mbit(
    response_kb: float, concurrency: float, delivery_s: float, headroom: float
) -> float:
    """Mbit/s for answers of `response_kb` kilobytes, `concurrency` at a time, each delivered in
    `delivery_s` seconds: 20 KB, 500, 1 s, 1.5 -> 120."""
    if delivery_s <= 0:
        raise ValueError("delivery time must be more than 0 seconds")
    return response_kb * 8 / 1000 * concurrency / delivery_s * headroom


def streams_mbit(
    streams: float, tokens_per_s: float, bytes_per_event: float, headroom: float
) -> float:
    """Mbit/s for streamed answers: 500 x 30 tokens/s x 200 B x 1.5 -> 36."""
    return streams * tokens_per_s * bytes_per_event * 8 / 1e6 * headroom


def needed_mbit(request: RequestSpec, stream_rate: float) -> tuple[float, str]:
    """The rate a service needs and the formula in figures. `stream_rate` is used where the
    request names no rate and no answer size."""
    streams = float(request.concurrency or 1)
    if request.response_kb is not None:
        rate = answers_mbit(request.response_kb, streams, request.delivery_s, request.headroom)
        return rate, (
            f"{request.response_kb:g} KB x 8 / 1000 x {streams:g} / {request.delivery_s:g} s"
            f" x {request.headroom:g}"
        )
    speed = request.stream_tokens_per_s or stream_rate
    rate = streams_mbit(streams, speed, request.bytes_per_event, request.headroom)
    return rate, (
        f"{streams:g} x {speed:.3g} tokens/s x {request.bytes_per_event:g} B x 8 / 1e6"
        f" x {request.headroom:g}"
    )


def service_egress(
    request: RequestSpec,
    stream_rate: float,
    offered_mbit: float | None,
    cap_gb: float | None,
    overage_per_gb: Decimal | None,
) -> Egress:
    """Egress of a service for the asked hours. Monthly traffic is the rate without headroom, all
    hours: an upper bound. Overage is what exceeds the cap, for the asked hours."""
    rate, formula = needed_mbit(request, stream_rate)
    month_gb = rate / request.headroom * 1e6 / 8 * 3600 * HOURS_A_MONTH / 1e9
    overage = None
    if overage_per_gb is not None:
        months = request.service_hours / HOURS_A_MONTH
        beyond = max(0.0, month_gb - (cap_gb or 0.0)) * months
        overage = (overage_per_gb * Decimal(repr(round(beyond, 3)))).quantize(Decimal("0.01"))
    return Egress(
        mbit_per_s=rate,
        offered_mbit=offered_mbit,
        month_gb=month_gb,
        overage_cost=overage,
        formula=formula,
    )
