"""Feeds the matcher from the catalogue and keeps its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache

from governance.catalog import queries as catalog
from governance.catalog.domain.packaged import load_presets
from governance.kernel.errors import Refused
from governance.kernel.money import Money
from governance.kernel.periods import Period, Unit, anchored, local_midnight
from governance.kernel.reasons import N_, Reason
from governance.matching.codec import from_json, to_json
from governance.matching.engine import match
from governance.matching.shapes import MatchResult, Package, RequestSpec
from governance.requests import queries
from governance.requests.domain.spec import check_whole, read_spec
from governance.requests.models import ComputeRequest, Match
from governance.requests.services import own_cards

_KEEP_S = 60
_TERM_UNITS: dict[str, Unit] = {
    "daily": "day",
    "monthly": "month",
    "quarterly": "quarter",
    "annual": "year",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked wish: spec, purpose and times."""

    spec: RequestSpec
    business_type: str
    starts_at: datetime
    needed_by: datetime | None

    def until(self, needed_by: datetime) -> Ask:
        """The same wish with another end."""
        hours = (needed_by - self.starts_at) / timedelta(hours=1)
        return replace(
            self, needed_by=needed_by, spec=replace(self.spec, deadline_hours=max(hours, 0.01))
        )


def read_ask(
    data: Mapping[str, Any], business_type: str, starts_at: datetime, needed_by: datetime | None
) -> Ask:
    """Check what was typed; Invalid names the field."""
    spec = read_spec(data, load_presets())
    check_whole(spec, business_type, starts_at, needed_by)
    asked = Ask(replace(spec, business_type=business_type), business_type, starts_at, needed_by)
    return asked if needed_by is None else asked.until(needed_by)


def find_packages(ask: Ask, now: datetime) -> MatchResult:
    """The matcher's answer with the prices of today, kept a minute for the same question."""
    day = queries.local_day(now)
    question = json.dumps(to_json(ask.spec), sort_keys=True)
    window = f"{ask.starts_at}/{ask.needed_by}"
    key = "match:" + hashlib.sha256(f"{day}\n{window}\n{question}".encode()).hexdigest()
    offers = catalog.offers_on(day)
    idle = own_cards.idle_for(ask)
    stamp = hashlib.sha256(repr((offers, idle)).encode()).hexdigest()
    known = cache.get(key)
    if known is not None and known[0] == stamp:
        return from_json(MatchResult, known[1])
    result: MatchResult = match(ask.spec, offers, idle, now=now.astimezone(queries.zone()))
    cache.set(key, (stamp, to_json(result)), _KEEP_S)
    return result


def package_key(package: Package) -> str:
    """Names a package within one answer."""
    start = f"idle {package.idle_id}" if package.idle_id else package.offer_id
    return f"{start}:{package.count}"


def pick(result: MatchResult, key: str | None) -> Package:
    """The package of that key, or the first one; Refused when there is none (any more)."""
    if not result.packages:
        raise Refused(
            Reason("no_package", N_("No offer can serve this request; see why each was rejected."))
        )
    if key is None:
        return result.packages[0]
    found = next((p for p in result.packages if package_key(p) == key), None)
    if found is None:
        raise Refused(
            Reason(
                "package_gone",
                N_("This package is no longer offered with these inputs; choose again."),
            )
        )
    return found


def keep(request: ComputeRequest, result: MatchResult, now: datetime) -> Match:
    """Store the answer with the versions it rests on, so that it can be replayed."""
    return Match.objects.create(
        request=request,
        created_at=now,
        engine=result.engine,
        prices_on=queries.local_day(now),
        price_ids=sorted({p.price_id for p in result.packages if p.price_id is not None}),
        spec=to_json(result.request),
        result=to_json(result),
    )


def take(request: ComputeRequest, row: Match, package: Package) -> None:
    """Put the package on the request: what it costs at most is what will be held."""
    highest = max(package.cost, package.cost_high)
    request.match = row
    request.package = {**to_json(package), "key": package_key(package)}
    request.amount = Money(highest, package.currency).rounded(2).amount
    request.currency = package.currency
    request.ends_at = end_of(request.starts_at, package)


def end_of(start: datetime, package: Package) -> datetime:
    """When the bought time ends: the term's end, or the longest case of an hourly run."""
    unit = _TERM_UNITS.get(package.best_term)
    longest = start + timedelta(hours=max(1.0, package.hours_high))
    if unit is None:
        return longest
    end, i = start, 0
    while end < longest:
        i += 1
        end = anchored(start, unit, i, queries.zone())
    return end


def holding(request: ComputeRequest, now: datetime) -> tuple[Money, Period]:
    """What an approval reserves: the highest cost, over the bought time; from today on where the
    earliest start has gone by while nobody answered."""
    assert request.amount is not None
    assert request.ends_at is not None
    today = local_midnight(queries.local_day(now), queries.zone())
    start = max(today, request.starts_at)
    length = request.ends_at - request.starts_at
    return Money(request.amount, request.currency), Period(start, start + length)
