"""Pages: own notices, preferences, channels."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.accounts import queries as accounts
from governance.kernel.errors import Invalid
from governance.kernel.policy import require
from governance.notices import queries, services
from governance.notices.domain.messages import KINDS, masked
from governance.notices.forms import ChannelForm, PreferenceForm
from governance.plumbing import clock


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """What the reader was told, newest first."""
    viewer: Any = request.user
    page = Paginator(queries.notices_of(viewer), 25).get_page(request.GET.get("page"))
    return render(request, "notices/list.html", {"page": page})


@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Mark one (by id) or all as read; one that names a page leads there."""
    viewer: Any = request.user
    one = request.POST.get("notice", "")
    ids = [int(one)] if one.isdigit() else None
    services.mark_read(actor=viewer, notice_ids=ids, now=clock.now())
    return redirect(reverse("notices:list"))


@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Mail at once, once a day or never; quiet hours."""
    viewer: Any = request.user
    quiet = queries.quiet_hours(viewer.pk)
    initial: dict[str, Any] = dict(queries.choices_of(viewer.pk))
    if quiet:
        initial |= {"quiet_from": quiet[0], "quiet_to": quiet[1]}
    form = PreferenceForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        times = (data["quiet_from"], data["quiet_to"]) if data["quiet_from"] else None
        try:
            services.set_preferences(
                actor=viewer, mail={kind: data[kind] for kind in KINDS}, quiet=times
            )
        except Invalid as error:
            form.add_error("quiet_to", error.reason.render(_))
        else:
            messages.success(request, _("Kept."))
            return redirect(reverse("notices:preferences"))
    status = 400 if form.errors else 200
    return render(request, "notices/preferences.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
def channels(request: HttpRequest) -> HttpResponse:
    """Webhooks and robots, what failed and what was given up."""
    viewer: Any = request.user
    require(viewer, "channels.manage")
    form = ChannelForm(request.POST or None, teams=accounts.teams_visible_to(viewer))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        team = data.pop("team")
        try:
            services.add_channel(
                actor=viewer, team_id=int(team) if team else None, now=clock.now(), **data
            )
        except Invalid as error:
            field = error.field if error.field in form.fields else None
            form.add_error(field, error.reason.render(_))
        else:
            messages.success(request, _("The channel is open."))
            return redirect(reverse("notices:channels"))
    context = {
        "rows": [(row, masked(row.url)) for row in queries.channels(viewer)],
        "form": form,
        "dead": queries.dead_letters()[:50],
        "waiting": queries.waiting_letters()[:50],
    }
    status = 400 if form.errors else 200
    return render(request, "notices/channels.html", context, status=status)


@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.close_channel(actor=viewer, channel_id=pk, now=clock.now())
    return redirect(reverse("notices:channels"))


@require_POST
def test(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.test_channel(actor=viewer, channel_id=pk, now=clock.now())
    messages.success(request, _("A trial message is on its way."))
    return redirect(reverse("notices:channels"))


@require_POST
def try_again(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.try_again(actor=viewer, event_id=pk, now=clock.now())
    return redirect(reverse("notices:channels"))
