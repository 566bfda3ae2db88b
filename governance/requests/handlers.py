"""Who hears what of a request. Names and numbers only: amounts stay behind the sign-in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from governance.accounts import queries as accounts
from governance.kernel.reasons import N_
from governance.notices.services import tell
from governance.plumbing import clock
from governance.plumbing.outbox import handler
from governance.requests import queries
from governance.requests.models import ComputeRequest

Payload = Mapping[str, Any]
TO_REQUESTER = {
    "approved": N_("%(by)s approved your request #%(number)s (%(title)s)."),
    "signed": N_("%(by)s signed your request #%(number)s (%(title)s); another signature follows."),
    "asked_back": N_("%(by)s asks back about your request #%(number)s (%(title)s)."),
    "refused": N_("%(by)s refused your request #%(number)s (%(title)s)."),
    "expired": N_("Your request #%(number)s (%(title)s) has expired without being used."),
    "active": N_("The rental of your request #%(number)s (%(title)s) has begun."),
    "completed": N_("Your request #%(number)s (%(title)s) is completed."),
    "returned": N_("The price of request #%(number)s (%(title)s) differs; it is decided anew."),
}
TO_SIGNERS = {
    "submitted": N_("%(by)s asks for compute: request #%(number)s (%(title)s)."),
    "overdue": N_("An answer to request #%(number)s (%(title)s) is due."),
    "raised": N_("Request #%(number)s (%(title)s) went up to you unanswered."),
}
CHANGED = N_("The change of your request #%(number)s (%(title)s) is made.")
MESSAGE = N_("%(by)s wrote about request #%(number)s (%(title)s).")


def _tell(
    request: ComputeRequest, payload: Payload, what: str, text: str, people: Iterable[int]
) -> None:
    number = payload["request"]
    marks = [str(payload.get(name, "")) for name in ("message", "ability")]
    tell(
        kind="requests",
        text=text,
        params={
            "number": number,
            "title": request.title,
            "by": payload.get("by", "") or request.requester.display,
        },
        url=f"/requests/{number}/",
        key=":".join(["request", str(number), str(payload["round"]), what, *filter(None, marks)]),
        people=people,
        project_id=request.project_id,
        team_id=request.project.team_id,
        now=clock.now(),
    )


def _to_requester(what: str, text: str) -> None:
    @handler(f"request.{what}")
    def hear(payload: Payload) -> None:
        request = queries.by_id(payload["request"])
        told = CHANGED if what == "active" and request.kind == "change" else text
        _tell(request, payload, what, told, [request.requester_id])


def _to_signers(what: str, text: str) -> None:
    @handler(f"request.{what}")
    def hear(payload: Payload) -> None:
        request = queries.by_id(payload["request"])
        if request.state != "submitted" or request.round != payload["round"]:
            return
        _tell(request, payload, what, text, signers(request))


def signers(request: ComputeRequest) -> list[int]:
    """Who can give the open signature, with today's stand-ins; never the requester."""
    day = queries.local_day(clock.now())
    people = set(accounts.holders(request.waits_for, day).values_list("pk", flat=True))
    people |= set(queries.stand_ins(people, day))
    return sorted(people - {request.requester_id})


for _what, _text in TO_REQUESTER.items():
    _to_requester(_what, _text)
for _what, _text in TO_SIGNERS.items():
    _to_signers(_what, _text)


@handler("request.signed")
def next_signers(payload: Payload) -> None:
    """After a signature the next station hears."""
    request = queries.by_id(payload["request"])
    if request.state == "submitted" and request.round == payload["round"]:
        asks = {**payload, "by": "", "ability": request.waits_for}
        _tell(request, asks, "submitted", TO_SIGNERS["submitted"], signers(request))


@handler("request.message")
def message(payload: Payload) -> None:
    """Everybody who takes part hears of a word, but its author."""
    request = queries.by_id(payload["request"])
    people = {request.requester_id, *queries.writers(request), *_waiting(request)}
    _tell(request, payload, "message", MESSAGE, people - {payload["author"]})


def _waiting(request: ComputeRequest) -> list[int]:
    return signers(request) if request.state == "submitted" else []
