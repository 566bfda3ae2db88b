"""People, their roles and memberships; teams and projects."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from governance.accounts import queries, services
from governance.accounts.forms import (
    CloseForm,
    FileForm,
    GrantForm,
    JoinForm,
    PersonForm,
    ProjectForm,
    TeamForm,
)
from governance.accounts.tables import people_table
from governance.kernel.errors import DomainError, Invalid
from governance.kernel.policy import can, require
from governance.plumbing import clock


def attempt(form: Any, act: Any) -> bool:
    """Do the act with a valid form; what the rules refuse shows at the field it names."""
    if not form.is_valid():
        return False
    try:
        act(form.cleaned_data)
    except DomainError as error:
        if error.status in {403, 404}:
            raise
        field = error.field if isinstance(error, Invalid) else None
        form.add_error(field if field in form.fields else None, error.reason.render(_))
        return False
    return True


@require_http_methods(["GET", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, and a form for one more."""
    viewer: Any = request.user
    require(viewer, "people.manage")
    form = PersonForm(request.POST or None)

    def add(data: dict[str, Any]) -> None:
        services.add_person(
            actor=viewer,
            email=data["email"],
            name=data["name"],
            password=data["password"] or None,
        )

    if request.method == "POST" and attempt(form, add):
        messages.success(request, _("The account is open."))
        return redirect(reverse("accounts:people"))
    table = people_table(queries.everybody(viewer, clock.now()), request.GET)
    return render(
        request,
        "accounts/people.html",
        {"table": table, "form": form},
        status=400 if form.errors else 200,
    )


@require_http_methods(["GET", "POST"])
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """One person: roles, teams, tokens; give a role."""
    viewer: Any = request.user
    require(viewer, "people.manage")
    found = queries.person(pk)
    today = queries.local_day(clock.now())
    form = GrantForm(request.POST or None, initial={"starts_on": today})

    def give(data: dict[str, Any]) -> None:
        services.grant_role(
            actor=viewer, user_id=pk, role=data["role"], starts_on=data["starts_on"]
        )

    if request.method == "POST" and attempt(form, give):
        return redirect(reverse("accounts:person", args=[pk]))
    context = {
        "person": found,
        "grants": queries.grants_of(found),
        "memberships": queries.memberships_of(found),
        "tokens": queries.tokens_of(found),
        "today": today,
        "form": form,
        "close_form": CloseForm(people=queries.people().exclude(pk=pk)),
    }
    return render(request, "accounts/person.html", context, status=400 if form.errors else 200)


@require_POST
def end_role(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.end_role(actor=viewer, grant_id=pk, now=clock.now())
    return redirect(reverse("accounts:people"))


@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """Close the account; what is open goes to the heir."""
    viewer: Any = request.user
    require(viewer, "people.manage")
    form = CloseForm(request.POST, people=queries.people().exclude(pk=pk))
    heir = form.cleaned_data["heir"] if form.is_valid() else ""
    moved = services.close_account(
        actor=viewer, user_id=pk, heir_id=int(heir) if heir else None, now=clock.now()
    )
    words = ", ".join(f"{kind} {count}" for kind, count in moved.items() if count)
    messages.success(request, _("The account is closed.") + (f" {words}" if words else ""))
    return redirect(reverse("accounts:person", args=[pk]))


@require_POST
def reopen(request: HttpRequest, pk: int) -> HttpResponse:
    viewer: Any = request.user
    services.reopen_account(actor=viewer, user_id=pk)
    return redirect(reverse("accounts:person", args=[pk]))


@require_http_methods(["GET", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """People from a CSV file: all rows or none."""
    viewer: Any = request.user
    require(viewer, "people.manage")
    form = FileForm(request.POST or None, request.FILES or None)

    def bring(data: dict[str, Any]) -> None:
        report = services.import_people(actor=viewer, data=data["file"].read(), now=clock.now())
        messages.success(request, _("%(count)s people added.") % {"count": report.added})

    if request.method == "POST" and attempt(form, bring):
        return redirect(reverse("accounts:people"))
    return render(
        request, "accounts/import.html", {"form": form}, status=400 if form.errors else 200
    )


@require_http_methods(["GET", "POST"])
def teams(request: HttpRequest) -> HttpResponse:
    """The teams that the reader may see; administrators add one."""
    viewer: Any = request.user
    form = TeamForm(request.POST or None)
    if request.method == "POST":
        require(viewer, "organisation.manage")
        if attempt(form, lambda data: services.add_team(actor=viewer, **data)):
            return redirect(reverse("accounts:teams"))
    context = {
        "teams": queries.teams_with_counts(viewer, clock.now()),
        "form": form,
        "may": can(viewer, "organisation.manage"),
    }
    return render(request, "accounts/teams.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """One team: members and projects; its lead and administrators add people."""
    viewer: Any = request.user
    found = queries.team_for(viewer, slug)
    today = queries.local_day(clock.now())
    form = JoinForm(request.POST or None, people=queries.people(), initial={"starts_on": today})

    def join(data: dict[str, Any]) -> None:
        services.join_team(
            actor=viewer,
            user_id=int(data["person"]),
            team_id=found.pk,
            role=data["role"],
            starts_on=data["starts_on"],
        )

    if request.method == "POST":
        require(viewer, "members.manage", found)
        if attempt(form, join):
            return redirect(reverse("accounts:team", args=[slug]))
    context = {
        "team": found,
        "members": queries.members_of(found, today),
        "projects": queries.projects_visible_to(viewer).filter(team=found),
        "form": form,
        "project_form": ProjectForm(centres=queries.cost_centres()),
        "may_members": can(viewer, "members.manage", found),
        "may_projects": can(viewer, "projects.manage", found),
    }
    return render(request, "accounts/team.html", context, status=400 if form.errors else 200)


@require_POST
def leave(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    viewer: Any = request.user
    queries.team_for(viewer, slug)
    services.leave_team(actor=viewer, membership_id=pk, now=clock.now())
    return redirect(reverse("accounts:team", args=[slug]))


@require_POST
def add_project(request: HttpRequest, slug: str) -> HttpResponse:
    viewer: Any = request.user
    found = queries.team_for(viewer, slug)
    require(viewer, "projects.manage", found)
    form = ProjectForm(request.POST, centres=queries.cost_centres())

    def add(data: dict[str, Any]) -> None:
        centre = int(data["cost_centre"]) if data["cost_centre"] else None
        services.add_project(
            actor=viewer,
            team_id=found.pk,
            slug=data["slug"],
            name=data["name"],
            cost_centre_id=centre,
        )

    if not attempt(form, add):
        for errors in form.errors.values():
            messages.error(request, " ".join(errors))
    return redirect(reverse("accounts:team", args=[slug]))


@require_POST
def close_project(request: HttpRequest, slug: str) -> HttpResponse:
    viewer: Any = request.user
    project = queries.project_for(viewer, slug)
    services.close_project(actor=viewer, project_id=project.pk, now=clock.now())
    return redirect(reverse("accounts:team", args=[project.team.slug]))
