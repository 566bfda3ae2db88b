"""Words and tables of the telemetry pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.telemetry.domain.sources import MEANING, Fidelity, Source
from governance.telemetry.models import Card, CardHolding, Node
from governance.telemetry.models.nodes import FILE, PULL
from governance.telemetry.queries.nodes import NodeRow
from governance.telemetry.queries.series import Peak
from governance.telemetry.queries.usage import UsageRow
from governance.ui.tables import Column, Table

SOURCE_NAMES = {
    Source.NVML_GPM: "NVML GPM 10",
    Source.DCGM_1005: "DCGM 1005",
    Source.ASCEND_HBM: "Ascend HBM",
    Source.AMD_UMC: "AMD UMC",
    Source.NVML_DUTY: gettext_lazy("NVML duty cycle, by clock"),
    Source.NVML_DUTY_UNCORRECTED: gettext_lazy("NVML duty cycle, uncorrected"),
    Source.UNKNOWN: gettext_lazy("not known"),
}
STATES = {
    "ok": ("good", gettext_lazy("in time")),
    "behind": ("watch", gettext_lazy("catching up")),
    "waiting": ("unknown", gettext_lazy("not seen yet")),
    "silent": ("act", gettext_lazy("silent")),
    "failing": ("act", gettext_lazy("not reachable")),
    "revoked": ("plain", gettext_lazy("revoked")),
    "recorded": ("plain", gettext_lazy("recorded")),
}
CARD_STATES = {"ok": "good", "lost": "act", "absent": "unknown"}
FAULTS = {
    "unreachable": gettext_lazy("The node does not answer."),
    "http_401": gettext_lazy("The node refuses the token."),
    "empty_payload": gettext_lazy("The answer is empty; nothing was taken from it."),
    "not_json": gettext_lazy("The answer is not a samples page; nothing was taken from it."),
    "format": gettext_lazy("The page has a format that this server does not know."),
    "redirect": gettext_lazy("The node answers with a redirect; that is refused."),
    "too_large": gettext_lazy("The page is larger than a page may be."),
    "cut_short": gettext_lazy("The page ends before its end; the cursor did not move."),
    "stuck": gettext_lazy("The node promises more rows behind the same cursor."),
}
ENOUGH = 0.7
"""Coverage under which a figure is marked as incomplete."""


@dataclass(frozen=True)
class CardLine:
    """A card of the list with the usage of its main source."""

    card: Card
    holding: CardHolding | None
    usage: UsageRow | None
    sources: int

    def figure(self, name: str) -> Any:
        return self.usage.figures[name] if self.usage else None

    @property
    def incomplete(self) -> bool:
        return self.usage is None or (self.usage.coverage or 0) < ENOUGH


def fidelity_words(fidelity: Fidelity) -> str:
    return _(MEANING[fidelity].label)


def source_words(source: Source) -> str:
    return str(SOURCE_NAMES[source])


def fault_words(code: str) -> str:
    return str(FAULTS.get(code, code))


def way_words(node: Node) -> str:
    """Where the node's rows come from."""
    if node.mode == PULL:
        return node.address
    return _("from files") if node.mode == FILE else _("pushes by itself")


def card_lines(
    cards: Sequence[Card], usage: Sequence[UsageRow], held: Mapping[int, CardHolding]
) -> list[CardLine]:
    """Each card with the source that covers most of the time."""
    by_card: dict[object, list[UsageRow]] = {}
    for row in usage:
        by_card.setdefault(row.group["card"], []).append(row)
    lines = []
    for card in cards:
        rows = sorted(by_card.get(card.pk, []), key=lambda row: (row.coverage or 0, row.card_hours))
        lines.append(
            CardLine(card, held.get(card.pk), rows[-1] if rows else None, max(len(rows), 1))
        )
    return lines


def card_table(lines: Sequence[CardLine], params: QueryDict) -> Table:
    columns = [
        Column(
            "card",
            _("Card"),
            value=lambda line: str(line.card),
            sub=lambda line: line.card.uuid,
            href=lambda line: reverse("telemetry:card", args=[line.card.pk]),
            stick=True,
        ),
        Column("model", _("Model"), value=lambda line: line.card.model_text or None),
        Column(
            "project",
            _("Held for"),
            value=lambda line: str(line.holding.project) if line.holding else _("nobody"),
        ),
        Column(
            "source",
            _("Source"),
            value=lambda line: source_words(line.usage.source) if line.usage else None,
            sub=lambda line: fidelity_words(line.usage.fidelity) if line.usage else "",
        ),
        Column(
            "bandwidth",
            _("Bandwidth share"),
            kind="percent",
            note=_("on active time"),
            value=lambda line: line.figure("bandwidth_share_active_mean"),
            measured=True,
            incomplete=lambda line: line.incomplete,
        ),
        Column(
            "active",
            _("Active"),
            kind="percent",
            value=lambda line: line.figure("active_share"),
            measured=True,
        ),
        Column(
            "memory",
            _("Memory peak"),
            kind="size",
            value=lambda line: line.figure("memory_used_peak_bytes"),
            measured=True,
        ),
        Column(
            "coverage",
            _("Coverage"),
            kind="percent",
            places=0,
            value=lambda line: line.usage.coverage if line.usage else 0.0,
        ),
        Column(
            "state",
            _("State"),
            kind="badge",
            value=lambda line: (CARD_STATES[line.card.state], line.card.get_state_display()),
        ),
    ]
    return Table(
        columns=columns,
        rows=lines,
        params=params,
        caption=_("Cards"),
        sort="card",
        empty=_("No cards here yet."),
        empty_hint=_("A card appears when its node has sent its first page."),
    )


def node_table(rows: Sequence[NodeRow], params: QueryDict) -> Table:
    columns = [
        Column(
            "name",
            _("Node"),
            value="node.name",
            sub=lambda row: way_words(row.node),
            href=lambda row: reverse("telemetry:node", args=[row.node.pk]),
            stick=True,
        ),
        Column(
            "state",
            _("State"),
            kind="badge",
            value=lambda row: STATES[row.state],
            sub=lambda row: fault_words(row.error) if row.error else "",
        ),
        Column("cards", _("Cards"), kind="number", places=0),
        Column("lost", _("Lost"), kind="number", places=0),
        Column("seen", _("Last seen"), kind="ago", value="last_seen_at"),
        Column(
            "lag",
            _("Lag"),
            kind="duration",
            value=lambda row: row.lag,
            note=_("since the newest minute"),
        ),
        Column(
            "skew",
            _("Clock skew, s"),
            kind="signed",
            value=lambda row: _skew(row.skew_seconds),
            places=1,
        ),
        Column("conflicts", _("Conflicts"), kind="number", places=0),
        Column("version", _("Version"), value=lambda row: row.node.version or None),
    ]
    return Table(
        columns=columns,
        rows=rows,
        params=params,
        caption=_("Nodes"),
        sort="name",
        empty=_("No nodes enrolled."),
        empty_hint=_("Enrol one: it gives you one line to run on the machine."),
    )


def peak_table(rows: Sequence[Peak], params: QueryDict, export: str) -> Table:
    columns = [
        Column("day", _("Day"), kind="day", sub="timezone", stick=True),
        Column("share", _("Peak bandwidth share"), kind="percent"),
        Column("at", _("Time of the peak"), kind="moment"),
        Column("p95", _("P95"), kind="percent", note=_("on active time"), measured=True),
        Column(
            "active_mean",
            _("Mean"),
            kind="percent",
            note=_("on active time"),
            measured=True,
        ),
        Column("samples", _("Samples"), kind="number", places=0),
        Column(
            "source",
            _("Source"),
            value=lambda row: source_words(row.source),
            sub=lambda row: fidelity_words(row.fidelity),
        ),
    ]
    return Table(
        columns=columns,
        rows=rows,
        params=params,
        caption=_("Peak of each day"),
        key="peaks",
        sort="-day",
        page_size=31,
        empty=_("No day is rolled up yet."),
        exports=[("CSV", export)],
    )


def sources_of(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, int]]:
    """(source, fidelity, what it says, minutes) of a card's minutes, the most frequent first."""
    counts: dict[tuple[int, int], int] = {}
    for row in rows:
        key = (row["source"], row["fidelity"])
        counts[key] = counts.get(key, 0) + 1
    return [
        (
            source_words(Source(source)),
            fidelity_words(Fidelity(fidelity)),
            _(MEANING[Fidelity(fidelity)].says),
            count,
        )
        for (source, fidelity), count in sorted(counts.items(), key=lambda item: -item[1])
    ]


def reasons_of(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """(reason code, minutes) of figures that are not known or not from the best source."""
    counts: dict[str, int] = {}
    for row in rows:
        for code in filter(None, (row["reason"] or "").split(",")):
            counts[code] = counts.get(code, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


def _skew(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1) or 0.0
