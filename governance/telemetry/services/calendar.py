"""Booking cards. The database refuses double booking; a change re-rolls the hours it touches."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.plumbing.locks import lock_one
from governance.telemetry.models import Card, CardHolding, Kept, UsageDay, UsageHour
from governance.telemetry.services.packing import put_back


def book_card(
    *,
    actor: Actor,
    card_id: int,
    starts_at: datetime,
    ends_at: datetime | None,
    project_id: int,
    request_id: int | None = None,
    rental_id: int | None = None,
    now: datetime,
) -> int:
    """Hold a card for a project from `starts_at` up to, not including, `ends_at` (None: open).

    Returns the holding's id. Refused (409) where the card is held then, or where the span reaches
    back before the minutes kept and the card has usage there; Missing for an unknown card.
    """
    require(actor, "calendar.manage")
    if ends_at is not None and ends_at <= starts_at:
        raise Invalid(Reason("span", N_("The end must lie after the start.")), "ends_at")
    with transaction.atomic():
        card = lock_one(Card.objects.all(), card_id)
        _refuse_beyond_minutes(card, starts_at, ends_at)
        holding = CardHolding(
            card=card,
            span=DateTimeTZRange(starts_at, ends_at, "[)"),
            project_id=project_id,
            request_id=request_id,
            rental_id=rental_id,
            booked_at=now,
            booked_by=actor.actor_key,
        )
        _save(holding)
        mark_span(card.pk, starts_at, ends_at, due=now)
        audit.record(actor=actor, act="calendar.book", thing=holding, after=_told(holding))
    return int(holding.pk)


def end_booking(*, actor: Actor, holding_id: int, at: datetime, now: datetime) -> None:
    """End a holding at an instant; at or before its start it covers nothing. Refused where it
    ends earlier already."""
    require(actor, "calendar.manage")
    with transaction.atomic():
        holding = lock_one(CardHolding.objects.all(), holding_id)
        if holding.span.isempty or (holding.span.upper and holding.span.upper < at):
            raise Refused(Reason("ended", N_("The card is not held that long.")))
        _move_end(actor, holding, at, now)


def extend_booking(*, actor: Actor, holding_id: int, until: datetime | None, now: datetime) -> None:
    """Hold the card longer (None: until further notice). Refused where another holds it then."""
    require(actor, "calendar.manage")
    with transaction.atomic():
        holding = lock_one(CardHolding.objects.all(), holding_id)
        upper = holding.span.upper
        if holding.span.isempty or upper is None or (until is not None and until < upper):
            raise Refused(Reason("extend", N_("The card is held longer than that already.")))
        _move_end(actor, holding, until, now)


def _move_end(actor: Actor, holding: CardHolding, end: datetime | None, now: datetime) -> None:
    before, start, old = _told(holding), holding.span.lower, holding.span.upper
    bounds = [moment for moment in (end, old) if moment is not None]
    changed_from = max(start, min(bounds)) if bounds else start
    _refuse_beyond_minutes(holding.card, changed_from, max(bounds) if len(bounds) == 2 else None)
    empty = end is not None and end <= start
    holding.span = DateTimeTZRange(empty=True) if empty else DateTimeTZRange(start, end, "[)")
    _save(holding)
    mark_span(holding.card_id, changed_from, max(bounds) if len(bounds) == 2 else None, due=now)
    audit.record(
        actor=actor, act="calendar.change", thing=holding, before=before, after=_told(holding)
    )


def _save(holding: CardHolding) -> None:
    try:
        with transaction.atomic():
            holding.save()
    except IntegrityError as error:
        if "card_held_once" not in str(error):
            raise
        other = (
            CardHolding.objects.filter(card_id=holding.card_id, span__overlap=holding.span)
            .exclude(pk=holding.pk)
            .first()
        )
        raise Refused(
            Reason(
                "card_held",
                N_("The card %(card)s is held by someone else from %(from)s to %(to)s."),
                {
                    "card": str(holding.card),
                    "from": f"{other.span.lower:%F %H:%M} UTC" if other else "?",
                    "to": f"{other.span.upper:%F %H:%M} UTC" if other and other.span.upper else "…",
                },
            )
        ) from error


def _refuse_beyond_minutes(card: Card, start: datetime, end: datetime | None) -> None:
    kept = Kept.objects.filter(level="minutes").first()
    if kept is None or start >= kept.since:
        return
    last = min(end, kept.since) if end else kept.since
    first_hour, last_hour = int(start.timestamp()) // 3600, int(last.timestamp()) // 3600
    used = UsageHour.objects.filter(
        card_id=card.pk, hour__gte=first_hour, hour__lt=last_hour
    ).exists()
    if (
        used
        or UsageDay.objects.filter(
            card_id=card.pk, day__gte=start.date(), day__lt=last.date()
        ).exists()
    ):
        raise Refused(
            Reason(
                "minutes_gone",
                N_(
                    "Use of this card before %(since)s is attributed for good: the minutes before"
                    " it are no longer kept. Choose a later time."
                ),
                {"since": f"{kept.since:%F %H:%M} UTC"},
            )
        )


def mark_span(card_id: int, start: datetime, end: datetime | None, *, due: datetime) -> None:
    """Mark the hours of a card that have minutes within the span as due for a new roll-up."""
    first = -(-int(start.timestamp()) // 60)
    last = 2**31 - 1 if end is None else -(-int(end.timestamp()) // 60)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT day FROM telemetry_packedday WHERE card_id = %s AND day >= %s AND day <= %s",
            [card_id, first // 1440, last // 1440],
        )
        put_back(cursor, [card_id], [day for (day,) in cursor.fetchall()])
        cursor.execute(
            "INSERT INTO telemetry_dirtyhour (card_id, hour, due_at)"
            " SELECT DISTINCT card_id, minute / 60, %s::timestamptz FROM telemetry_minutesample"
            " WHERE card_id = %s AND minute >= %s AND minute < %s ORDER BY 1, 2"
            " ON CONFLICT (card_id, hour) DO UPDATE"
            " SET due_at = LEAST(telemetry_dirtyhour.due_at, EXCLUDED.due_at)",
            [due, card_id, first, last],
        )


def _told(holding: CardHolding) -> dict[str, object]:
    span = holding.span
    return {
        "card": holding.card_id,
        "from": None if span.isempty else span.lower,
        "to": None if span.isempty else span.upper,
        "request": holding.request_id,
        "rental": holding.rental_id,
    }
