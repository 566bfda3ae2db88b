"""How packages, chains and states read on pages: rows for the templates, nothing decided here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from governance.catalog import queries as catalog
from governance.kernel.money import Money
from governance.kernel.reasons import N_, Reason
from governance.matching.codec import from_json
from governance.matching.shapes import MatchResult, Package
from governance.requests.models import ComputeRequest
from governance.requests.services import package_key
from governance.requests.services.own_cards import OWN
from governance.ui import formats

TERM_WORDS = {
    "hourly": N_("hourly"),
    "daily": N_("daily"),
    "monthly": N_("monthly"),
    "quarterly": N_("quarterly"),
    "annual": N_("annual"),
    "spot": N_("spot"),
    "own": N_("already paid for"),
}


def vendor_name(slug: str) -> str:
    """What the vendor is called; names are kept a minute."""
    if slug == OWN:
        return _("our own cards")
    names = cache.get_or_set("vendor-names", catalog.vendor_names, 60) or {}
    return str(names.get(slug, slug))


def sentence(line: Reason) -> str:
    """A line of the matcher in the reader's language; words among its values too."""
    if not line.text:
        return ""
    values = {k: _(v) if isinstance(v, str) and v else v for k, v in line.params.items()}
    return _(line.text) % values if values else _(line.text)


@dataclass(frozen=True)
class PackageRow:
    """A package as a row: bars, interval, sentence."""

    package: Package
    chosen: bool
    starts_at: datetime

    @property
    def key(self) -> str:
        return package_key(self.package)

    @property
    def vendor(self) -> str:
        return vendor_name(self.package.vendor)

    @property
    def name(self) -> str:
        return f"{self.package.count} × {self.package.card_name}"

    @property
    def place(self) -> str:
        nodes = ngettext("%(count)s node", "%(count)s nodes", self.package.nodes)
        words = (nodes % {"count": self.package.nodes}, vendor_name(self.package.vendor), self.term)
        return ", ".join(filter(None, words))

    @property
    def term(self) -> str:
        return _(TERM_WORDS.get(self.package.best_term, self.package.best_term))

    @property
    def hours(self) -> str:
        return f"{formats.number(self.package.hours, 0)} h"

    @property
    def interval(self) -> str:
        low, high = self.package.hours_low, self.package.hours_high
        return f"{formats.number(low, 0)}–{formats.number(high, 0)}"

    @property
    def cost(self) -> str:
        return formats.amount(Money(self.package.cost, self.package.currency))

    @property
    def unit(self) -> str:
        return formats.currency_word(self.package.currency)

    @property
    def held(self) -> str:
        highest = max(self.package.cost, self.package.cost_high)
        return formats.money(Money(highest, self.package.currency).rounded())

    @property
    def shares(self) -> dict[str, float | None]:
        """Bars: memory is how full the card is; bandwidth the memory's part of the step."""
        layers = self.package.layers
        return {
            "memory": min(1.0, self.package.memory.share),
            "compute": layers.get("compute"),
            "bandwidth": layers.get("memory"),
            "interconnect": layers.get("interconnect"),
            "network": layers.get("network") if self.package.nodes > 1 else None,
            "egress": layers.get("egress"),
        }

    @property
    def limit(self) -> str:
        return "bandwidth" if self.package.bottleneck == "memory" else self.package.bottleneck

    @property
    def ends_at(self) -> datetime:
        return self.starts_at + timedelta(hours=self.package.hours)

    @property
    def why(self) -> str:
        return sentence(self.package.reason)

    @property
    def notes(self) -> list[str]:
        return [sentence(note) for note in self.package.notes]


def package_rows(
    result: MatchResult, key: str, starts_at: datetime, most: int = 3
) -> list[PackageRow]:
    """The best ones, with the chosen one among them."""
    packages = list(result.packages)
    keys = [package_key(p) for p in packages]
    chosen = key if key in keys else (keys[0] if keys else "")
    shown = packages[:most]
    if chosen and chosen not in keys[:most]:
        shown.append(packages[keys.index(chosen)])
    return [PackageRow(p, package_key(p) == chosen, starts_at) for p in shown]


@dataclass(frozen=True)
class RejectedGroup:
    """Offers that one reason rules out."""

    code: str
    reason: str
    count: int
    which: str


def rejected_groups(result: MatchResult) -> list[RejectedGroup]:
    """Rejected offers by reason, most frequent first; each named with its own figures."""
    counts = Counter(r.reason.code for r in result.rejected)
    groups = []
    for code, count in counts.most_common():
        mine = [r for r in result.rejected if r.reason.code == code]
        which = "; ".join(f"{r.card} ({vendor_name(r.vendor)})" for r in mine[:8])
        groups.append(RejectedGroup(code, sentence(mine[0].reason), count, which))
    return groups


def stored_package(request: ComputeRequest) -> Package | None:
    """The chosen package of a stored request."""
    if not request.package:
        return None
    return from_json(Package, {k: v for k, v in request.package.items() if k != "key"})


def cheaper(request: ComputeRequest) -> tuple[PackageRow, Decimal, float] | None:
    """The cheapest other package of the stored match: what it saves, and what time it costs."""
    chosen = stored_package(request)
    if chosen is None or request.match is None:
        return None
    result = from_json(MatchResult, request.match.result)
    others = [p for p in result.packages if p.currency == chosen.currency and p.cost < chosen.cost]
    if not others:
        return None
    best = min(others, key=lambda p: p.cost)
    row = PackageRow(best, False, request.starts_at)
    return row, chosen.cost - best.cost, best.hours - chosen.hours


def strip_of(request: ComputeRequest, steps: Sequence[Any]) -> list[dict[str, Any]]:
    """The states a request went through and what is next, for the time line."""
    strip = [
        {
            "title": _("Asked"),
            "text": f"{request.requester.display}, {formats.moment(request.submitted_at)}"
            if request.submitted_at
            else request.requester.display,
            "state": "done" if request.submitted_at else "now",
        }
    ]
    for step in steps:
        names = ", ".join(s.person.display for s in step.signatures.all())
        answer = step.signatures.all()[0].answer if step.signatures.all() else ""
        state = "act" if answer in {"refused", "asked_back"} else "done" if step.done_at else ""
        if not state and request.state == "submitted" and request.waits_for == step.ability:
            state = "now"
        when = formats.moment(step.done_at) if step.done_at else ""
        strip.append(
            {"title": step_title(step.ability), "text": f"{names} {when}".strip(), "state": state}
        )
    after = {"purchasing": 1, "active": 2, "extended": 2, "completed": 3}.get(request.state, 0)
    for n, title in enumerate((_("Bought"), _("Running"), _("Completed")), 1):
        done = after > n or request.state == "completed"
        strip.append(
            {"title": title, "text": "", "state": "done" if done else "now" if after == n else ""}
        )
    if request.state in {"withdrawn", "expired"}:
        strip.append(
            {
                "title": request.get_state_display(),
                "text": formats.moment(request.state_since),
                "state": "act",
            }
        )
    return strip


def step_title(ability: str) -> str:
    """Who signs at a station, in words."""
    return {
        "requests.approve": _("Approver"),
        "requests.approve_finance": _("Finance"),
        "policies.manage": _("Administrator"),
    }.get(ability, ability)
