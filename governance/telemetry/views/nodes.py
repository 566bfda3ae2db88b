"""Nodes: the list, one node, enrolling and its tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import require
from governance.plumbing import clock
from governance.telemetry import presenting, queries, services
from governance.telemetry.forms import NodeForm, RevokeForm
from governance.telemetry.models.nodes import PULL
from governance.telemetry.services import Enrolment


@require_GET
def nodes(request: HttpRequest) -> HttpResponse:
    """The nodes and how they do."""
    viewer: Any = request.user
    now = clock.now()
    rows = queries.node_rows(viewer, now=now)
    return render(
        request,
        "telemetry/nodes.html",
        {
            "table": presenting.node_table(rows, request.GET),
            "counts": {
                state: sum(row.state == state for row in rows) for state in presenting.STATES
            },
            "inventory": queries.inventory(viewer),
            "now": now,
        },
    )


@require_GET
def node(request: HttpRequest, node_id: int) -> HttpResponse:
    """One node: how it is reached, what it holds, what went wrong."""
    viewer: Any = request.user
    now = clock.now()
    found = queries.node_for(viewer, node_id)
    row = queries.node_row(found, now)
    return render(
        request,
        "telemetry/node.html",
        {
            "node": found,
            "row": row,
            "way": presenting.way_words(found),
            "tone": presenting.STATES[row.state][0],
            "state_word": presenting.STATES[row.state][1],
            "fault": presenting.fault_words(row.error) if row.error else "",
            "cards": queries.cards_for(viewer).filter(node=found).order_by("index", "uuid"),
            "gaps": queries.gaps(found)[:50],
            "conflicts": queries.conflicts(found)[:50],
            "alerts": queries.alerts(found)[:50],
            "rejections": queries.rejections(found),
            "health": sorted(found.health.items()),
            "revoke": RevokeForm(),
            "now": now,
        },
    )


@require_http_methods(["GET", "POST"])
def enrol_node(request: HttpRequest) -> HttpResponse:
    """Enrol a node; the answer shows its token once."""
    viewer: Any = request.user
    require(viewer, "nodes.manage")
    form = NodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            enrolment = services.enrol_node(actor=viewer, now=clock.now(), **form.cleaned_data)
        except (Invalid, Refused) as error:
            field = getattr(error, "field", None) or "name"
            form.add_error(field if field in form.fields else None, error.reason.render(_))
        else:
            return _token_page(request, enrolment)
    return render(request, "telemetry/node_form.html", {"form": form, "node": None})


@require_http_methods(["GET", "POST"])
def change_node(request: HttpRequest, node_id: int) -> HttpResponse:
    """Change how a node is reached."""
    viewer: Any = request.user
    require(viewer, "nodes.manage")
    found = queries.node_for(viewer, node_id)
    now_so = {
        "name": found.name,
        "mode": found.mode,
        "address": found.address,
        "interval_seconds": found.interval_seconds,
        "silent_after_minutes": found.silent_after_minutes,
        "labels": ", ".join(f"{key}={value}" for key, value in found.labels.items()),
    }
    form = NodeForm(request.POST or None, initial=now_so)
    form.fields["name"].disabled = True
    if request.method == "POST" and form.is_valid():
        values = {key: value for key, value in form.cleaned_data.items() if key != "name"}
        try:
            services.change_node(actor=viewer, node_id=found.pk, now=clock.now(), **values)
        except Invalid as error:
            field = error.field if error.field in form.fields else None
            form.add_error(field, error.reason.render(_))
        else:
            messages.success(request, _("The node was changed."))
            return redirect("telemetry:node", found.pk)
    return render(request, "telemetry/node_form.html", {"form": form, "node": found})


@require_POST
def rotate_node(request: HttpRequest, node_id: int) -> HttpResponse:
    """A new token; the answer shows it once."""
    viewer: Any = request.user
    found = queries.node_for(viewer, node_id)
    return _token_page(
        request, services.rotate_token(actor=viewer, node_id=found.pk, now=clock.now())
    )


@require_POST
def revoke_node(request: HttpRequest, node_id: int) -> HttpResponse:
    """Refuse the node from now on."""
    viewer: Any = request.user
    found = queries.node_for(viewer, node_id)
    reason = request.POST.get("reason", "").strip()[:200]
    services.revoke_node(actor=viewer, node_id=found.pk, reason=reason, now=clock.now())
    messages.success(request, _("The node was revoked; what it sent stays."))
    return redirect("telemetry:node", found.pk)


def _token_page(request: HttpRequest, enrolment: Enrolment) -> HttpResponse:
    viewer: Any = request.user
    found = queries.node_for(viewer, enrolment.node_id)
    if found.mode == PULL:
        command = "python -m collector run --bind 0.0.0.0:9465 --token-file token"
    else:
        command = (
            "python -m collector run --bind none"
            f" --push-url {settings.PUBLIC_URL}/api/v1/samples --push-token-file token"
        )
    line = f"(umask 077; printf %s {enrolment.token} > token) && {command}"
    response = render(
        request,
        "telemetry/token.html",
        {"node": found, "token": enrolment.token, "line": line},
    )
    response["Cache-Control"] = "no-store"
    return response
