"""What each choice of a parallel plan does, in figures."""

from __future__ import annotations

from governance.kernel.reasons import N_, Reason

from .shapes import Plan
from .training import Job, adapter_params

GB = 1e9


def explain(plan: Plan, job: Job | None) -> tuple[Reason, ...]:
    """One sentence a choice that differs from one card doing everything."""
    if job is None:
        return _serving(plan)
    found = [*_sharding(plan, job), *_splits(plan, job)]
    if plan.recompute == "full":
        found.append(
            Reason(
                "recompute",
                N_(
                    "Recompute: only each layer's input is kept in memory; a third more "
                    "multiplications, no more traffic between cards."
                ),
            )
        )
    if plan.quantised:
        found.append(
            Reason(
                "quantised",
                N_(
                    "4-bit base weights: a quarter of the memory; memory bandwidth pays for "
                    "unpacking them on each pass."
                ),
            )
        )
    found.append(
        Reason(
            "micro_batch",
            N_(
                "Micro-batch %(micro)s, %(count)s a step and data rank: larger ones fill the "
                "multiplications better and need more memory for activations."
            ),
            {"micro": plan.micro_batch, "count": plan.accumulation},
        )
    )
    return tuple(found)


def _sharding(plan: Plan, job: Job) -> list[Reason]:
    if plan.data == 1:
        return []
    if plan.zero == 3:
        volume = 2.0 * (job.frozen_bytes if job.adapters else 2.0 * job.model.params)
        return [
            Reason(
                "zero3",
                N_(
                    "ZeRO stage 3: weights, gradients and optimiser are split over %(data)s cards; "
                    "each micro-batch gathers %(volume)s GB of weights over the links."
                ),
                {"data": plan.sharers, "volume": round(volume / GB, 1)},
            )
        ]
    trained = adapter_params(job.model, job.rank) if job.adapters else job.model.params
    params = {"data": plan.data, "volume": round(2.0 * trained / plan.tensor / GB, 2)}
    if plan.zero == 1:
        return [
            Reason(
                "zero1",
                N_(
                    "ZeRO stage 1: the optimiser is split over %(data)s data ranks; "
                    "%(volume)s GB of gradients a card and step cross the links."
                ),
                params,
            )
        ]
    return [
        Reason(
            "data",
            N_(
                "Data parallel over %(data)s ranks: memory as on one card, %(volume)s GB of "
                "gradients a card and step cross the links."
            ),
            params,
        )
    ]


def _splits(plan: Plan, job: Job) -> list[Reason]:
    found = []
    if plan.tensor > 1:
        volume = 8.0 * plan.micro_batch * job.seq * job.model.hidden * job.model.layers
        found.append(
            Reason(
                "tensor",
                N_(
                    "Tensor parallel %(tensor)s: a %(tensor)sth of weights and activations a "
                    "card; %(volume)s GB a micro-batch cross the links inside the node."
                ),
                {"tensor": plan.tensor, "volume": round(volume / plan.pipeline / GB, 1)},
            )
        )
    if plan.pipeline > 1:
        share = (plan.pipeline - 1) / (plan.accumulation + plan.pipeline - 1)
        found.append(
            Reason(
                "pipeline",
                N_(
                    "Pipeline of %(pipeline)s stages: a %(pipeline)sth of the layers a card; "
                    "stages wait %(share)s %% of the step, little traffic between nodes."
                ),
                {"pipeline": plan.pipeline, "share": round(100 * share)},
            )
        )
    return found


def _serving(plan: Plan) -> tuple[Reason, ...]:
    found = []
    if plan.tensor > 1:
        found.append(
            Reason(
                "serving_tensor",
                N_(
                    "Each replica spans %(tensor)s cards: weights and cache are split, every token "
                    "crosses the links twice a layer."
                ),
                {"tensor": plan.tensor},
            )
        )
    found.append(
        Reason(
            "serving_replicas",
            N_("%(data)s replicas, %(batch)s requests at a time in each."),
            {"data": plan.data, "batch": plan.micro_batch},
        )
    )
    return tuple(found)
