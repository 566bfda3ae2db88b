"""Bandwidth figures of the homes: one figure per metric source, never a mixture."""

from typing import Any

from django.utils.translation import gettext as _

from governance.accounts import queries as accounts
from governance.kernel.policy import Actor
from governance.portal.homes.links import link
from governance.portal.homes.periods import Window
from governance.portal.homes.shapes import Tile
from governance.reports.domain.kpis import KPIS
from governance.reports.domain.registry import ENOUGH, LOW
from governance.telemetry import queries as telemetry
from governance.telemetry.domain.sources import Fidelity, Source
from governance.ui import charts, formats
from governance.ui.palette import inks

SHORT = {
    Source.NVML_GPM: "GPM",
    Source.DCGM_1005: "DCGM",
    Source.NVML_DUTY: "NVML",
    Source.NVML_DUTY_UNCORRECTED: "NVML",
    Source.ASCEND_HBM: "Ascend",
    Source.AMD_UMC: "AMD",
}
ACTIVE = "bandwidth_share_active_mean"


def formula(key: str) -> str:
    """The registry's formula of a key figure, for its question mark."""
    return _(KPIS[key].formula)


def measured(rows: list[telemetry.UsageRow]) -> list[telemetry.UsageRow]:
    """Rows with a bandwidth figure, the source with most card hours first."""
    known = [r for r in rows if r.source != Source.UNKNOWN and r.figures[ACTIVE] is not None]
    return sorted(known, key=lambda r: (-int(r.fidelity), -r.card_hours))


def bounded(row: telemetry.UsageRow, figure: float | None) -> str:
    """The share as words: an upper bound says that it is one."""
    sign = "≤ " if row.fidelity == Fidelity.DUTY_BOUND and figure is not None else ""
    return sign + formats.percent(figure)


def covered(rows: list[telemetry.UsageRow]) -> float | None:
    """Time with a figure of any source against the time that cards were held or there."""
    expected = max((r.expected_card_hours for r in rows), default=0.0)
    known = sum(r.card_hours for r in rows if r.figures[ACTIVE] is not None)
    return min(1.0, known / expected) if expected else None


def share_tile(viewer: Actor, window: Window) -> Tile:
    """Bandwidth share on active time of the source that measured most; others named beside it."""
    read: dict[str, Any] = {"tz": window.zone.key, "now": window.now}
    rows = measured(telemetry.usage(viewer, period=window.period, **read))
    label = _("Bandwidth share, active time")
    if not rows:
        return Tile(label, None, cover=window.words, formula=formula(ACTIVE))
    first, others = rows[0], rows[1:]
    before = telemetry.usage(viewer, period=window.before, **read)
    then = next((r.figures[ACTIVE] for r in before if r.source == first.source), None)
    now_share = first.figures[ACTIVE]
    daily = telemetry.usage(viewer, period=window.period, group_by=("day",), **read)
    by_day = {r.group["day"]: r.figures[ACTIVE] for r in daily if r.source == first.source}
    said = [
        _("%(source)s on %(cards)s of %(all)s cards, coverage of all %(coverage)s")
        % {
            "source": SHORT[first.source],
            "cards": formats.number(first.cards),
            "all": formats.number(sum(r.cards for r in rows)),
            "coverage": formats.percent(covered(rows)),
        },
        *(f"{SHORT[r.source]} {bounded(r, r.figures[ACTIVE])}" for r in others),
    ]
    changed = now_share - then if now_share is not None and then is not None else None
    return Tile(
        label,
        formats.number((now_share or 0) * 100, 1),
        unit="%",
        change=formats.points(changed) if changed is not None else "",
        change_note=_("against the 30 days before") if changed is not None else "",
        spark=[None if (v := by_day.get(d)) is None else v * 100 for d in window.days],
        mark=LOW * 100,
        cover="; ".join(said),
        formula=formula(ACTIVE),
        href=link("reports:report", name="utilization"),
    )


def trend(viewer: Actor, window: Window) -> charts.Chart | None:
    """Daily bandwidth share on active time, a line per team and source."""
    rows = telemetry.usage(
        viewer,
        period=window.period,
        tz=window.zone.key,
        now=window.now,
        group_by=("team", "day"),
    )
    names = dict(accounts.teams_visible_to(viewer).values_list("slug", "name"))
    found: dict[tuple[str, Source], dict[Any, float]] = {}
    for row in rows:
        share = row.figures[ACTIVE]
        if share is not None and row.fidelity == Fidelity.DRAM_BW and row.group["team"] in names:
            found.setdefault((str(row.group["team"]), row.source), {})[row.group["day"]] = share
    if not found:
        return None
    colours = inks("team", sorted({team for team, _source in found}))
    sources: dict[str, int] = {}
    for team, _source in found:
        sources[team] = sources.get(team, 0) + 1
    series = []
    for (team, source), shares in sorted(found.items(), key=lambda item: item[0]):
        name = names[team] + (f" {SHORT[source]}" if sources[team] > 1 else "")
        drawn = colours[team]
        if sources[team] > 1 and source == Source.DCGM_1005:
            drawn = type(drawn)(drawn.hue, "dot")
        series.append(charts.Series(name, [shares.get(day) for day in window.days], drawn))
    return charts.lines(
        "trend",
        _("Bandwidth share on active time, 30 days"),
        window.days,
        series,
        write=lambda share: formats.percent(share, 0),
        note=_("Per cent of theoretical memory bandwidth, by team and source. A break is no data."),
        mark=charts.Mark(LOW, _("mark 30 %")),
    )


def by_team(viewer: Actor, window: Window) -> dict[str, dict[str, Any]]:
    """For each team: its cards, active share and the share of its main source, with coverage."""
    rows = telemetry.usage(
        viewer,
        period=window.period,
        tz=window.zone.key,
        now=window.now,
        group_by=("team",),
    )
    teams: dict[str, dict[str, Any]] = {}
    for slug in {str(r.group["team"]) for r in rows if r.group["team"]}:
        own = [r for r in rows if r.group["team"] == slug]
        best = next(iter(measured(own)), None)
        coverage = covered(own)
        teams[slug] = {
            "cards": sum(r.cards for r in own),
            "active": best.figures["active_share"] if best else None,
            "share": best.figures[ACTIVE] if best else None,
            "share_text": bounded(best, best.figures[ACTIVE]) if best else None,
            "source": SHORT[best.source] if best else "",
            "coverage": coverage,
            "incomplete": coverage is not None and coverage < ENOUGH,
        }
    return teams
