"""Routes of requests and approvals."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from governance.requests import services
from tests.matrix.shapes import EVERYBODY, INSIDERS, MEMBERS, SEE_ALL, Route
from tests.requests import market

SIGNERS = frozenset({"approver", "admin", "finance"})
STEP = frozenset({"approver"})
"""Who holds the open step of the world's request."""
TAKES_PART = MEMBERS | {"approver", "finance", "operator"}


def prepare(world: Any) -> None:
    """A request that waits, a draft of the member's, a stand-in that the approver named."""
    at = world.market = market.stage(world.house, world.now.replace(minute=0, second=0))
    world.request = market.submitted(at)
    world.draft = market.draft(at)
    world.delegation = services.delegate(
        actor=world.house.approver,
        taker_id=world.house.auditor.pk,
        starts_on=(at.now + timedelta(days=40)).date(),
        ends_on=(at.now + timedelta(days=41)).date(),
        now=at.now,
    )


def asked(world: Any) -> list[Any]:
    return [world.request.pk]


def drafted(world: Any) -> list[Any]:
    return [world.draft.pk]


def wish(world: Any) -> dict[str, Any]:
    now = world.market.now
    return {
        "project": world.house.project.slug,
        "business_type": "fine_tuning",
        "spec": market.SPEC,
        "starts_at": (now + timedelta(hours=2)).isoformat(),
        "needed_by": (now + timedelta(days=4)).isoformat(),
    }


def text(world: Any) -> dict[str, str]:
    return {"text": "Why?"}


def page(name: str, method: str = "GET", **options: Any) -> Route:
    return Route(f"requests:{name}", method, **options)


def api(name: str, method: str = "GET", **options: Any) -> Route:
    return Route(f"api:{name}", method, **options)


OWN: dict[str, Any] = {"allow": {"member"}}
"""The requester's own draft: nobody else knows of it."""
OWN_SEEN: dict[str, Any] = {"allow": {"member"}, "forbidden": SEE_ALL | {"lead"}}
SIGN: dict[str, Any] = {"allow": STEP, "forbidden": INSIDERS - STEP, "args": asked}
ASKING: dict[str, Any] = {"allow": MEMBERS, "forbidden": SEE_ALL}
MANAGERS: dict[str, Any] = {"allow": SIGNERS, "forbidden": EVERYBODY - SIGNERS}

ROUTES = [
    page("list"),
    page("new"),
    page("packages", "POST"),
    page("export"),
    page("import"),
    page("forecast"),
    page("detail", args=asked, allow=INSIDERS),
    page("edit", args=drafted, **OWN),
    page("submit", "POST", args=drafted, **OWN),
    page("withdraw", "POST", args=asked, **OWN_SEEN),
    page("approve", "POST", **SIGN),
    page("ask_back", "POST", data=text, **SIGN),
    page("refuse", "POST", data=text, **SIGN),
    page("message", "POST", args=asked, data=text, allow=TAKES_PART, forbidden=INSIDERS),
    page(
        "trial",
        "POST",
        args=asked,
        data=lambda w: {
            "measured_at": w.market.now.strftime("%Y-%m-%dT%H:%M"),
            "latency_ms": "20",
            "passed": "on",
        },
        allow=TAKES_PART,
        forbidden=INSIDERS,
    ),
    page("clone", "POST", args=asked, **ASKING),
    page("change", "POST", args=asked, data=lambda w: {"change": "renew"}, **OWN_SEEN),
    page("plan_file", args=lambda w: [w.request.pk, "deepspeed"], allow=INSIDERS),
    page("accuracy"),
    page("approvals", **MANAGERS),
    page("approval_row", **SIGN),
    page("delegations", **MANAGERS),
    page(
        "end_delegation",
        "POST",
        args=lambda w: [w.delegation.pk],
        allow=STEP,
        forbidden=EVERYBODY - SIGNERS,
    ),
    page("policy"),
    page("policy", "POST", allow={"admin"}, forbidden=EVERYBODY),
    page("calendar"),
    page("calendar", "POST", allow={"admin"}, forbidden=EVERYBODY),
    api("requests"),
    api("requests", "POST", data=wish, **ASKING),
    api("requests-match", "POST", data=wish),
    api(
        "requests-import",
        "POST",
        data=lambda w: {"rows": [{**wish(w), **market.SPEC, "spec": ""}]},
        note="rows name their projects",
    ),
    api("requests-inbox", **MANAGERS),
    api("request", args=asked, allow=INSIDERS),
    api("request-packages", args=asked, allow=INSIDERS),
    api("request-submit", "POST", args=drafted, **OWN),
    api(
        "request-choose",
        "POST",
        args=drafted,
        data=lambda w: {"package": w.draft.package["key"]},
        **OWN,
    ),
    api("request-withdraw", "POST", args=asked, **OWN_SEEN),
    api("request-approve", "POST", **SIGN),
    api("request-ask-back", "POST", data=text, **SIGN),
    api("request-refuse", "POST", data=text, **SIGN),
    api("request-messages", args=asked, allow=INSIDERS),
    api("request-messages", "POST", args=asked, data=text, allow=TAKES_PART, forbidden=INSIDERS),
]
