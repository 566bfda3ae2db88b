"""A person's own pages: profile and tokens."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from governance.accounts import queries, services
from governance.accounts.forms import ProfileForm, TokenForm
from governance.accounts.views.people import attempt
from governance.plumbing import clock


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Name, language, roles and teams."""
    viewer: Any = request.user
    form = ProfileForm(
        request.POST or None, initial={"name": viewer.name, "language": viewer.language or "en"}
    )
    if request.method == "POST" and attempt(
        form, lambda data: services.change_profile(actor=viewer, **data)
    ):
        messages.success(request, _("Kept."))
        answer = redirect(reverse("accounts:profile"))
        answer.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            form.cleaned_data["language"],
            max_age=365 * 86_400,
            samesite="Lax",
        )
        return answer
    context = {
        "form": form,
        "grants": queries.grants_of(viewer),
        "memberships": queries.memberships_of(viewer),
    }
    return render(request, "accounts/profile.html", context)


@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Own service tokens; a new one is shown once."""
    viewer: Any = request.user
    now = clock.now()
    abilities = viewer.abilities().union(*viewer.team_abilities.values())
    form = TokenForm(request.POST or None, abilities=abilities)
    made: list[services.NewToken] = []

    def make(data: dict[str, Any]) -> None:
        end = datetime.combine(
            data["expires_on"] + timedelta(days=1), time(), tzinfo=queries.zone()
        )
        made.append(
            services.create_token(
                actor=viewer,
                name=data["name"],
                scopes=data["scopes"],
                expires_at=end,
                now=now,
            )
        )

    if request.method == "POST" and attempt(form, make):
        form = TokenForm(abilities=abilities)
    context = {
        "form": form,
        "made": made[0] if made else None,
        "tokens": queries.tokens_of(viewer),
        "now": now,
    }
    return render(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


@require_POST
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """A new secret; the old one works another day."""
    viewer: Any = request.user
    now = clock.now()
    made = services.rotate_token(actor=viewer, token_id=pk, now=now)
    abilities = viewer.abilities().union(*viewer.team_abilities.values())
    context = {
        "form": TokenForm(abilities=abilities),
        "made": made,
        "tokens": queries.tokens_of(viewer),
        "now": now,
    }
    return render(request, "accounts/tokens.html", context)


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.revoke_token(actor=viewer, token_id=pk, now=clock.now())
    wanted = request.POST.get("person", "")
    if wanted.isdigit() and int(wanted) != viewer.pk:
        return redirect(reverse("accounts:person", args=[int(wanted)]))
    return redirect(reverse("accounts:tokens"))
