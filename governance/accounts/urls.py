"""Routes of people, teams, tokens and the audit trail."""

from django.urls import URLPattern, path

from governance.accounts.views import own, people, trail

app_name = "accounts"
urlpatterns: list[URLPattern] = [
    path("people/", people.people, name="people"),
    path("people/import/", people.upload, name="import"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/close/", people.close, name="close"),
    path("people/<int:pk>/reopen/", people.reopen, name="reopen"),
    path("people/roles/<int:pk>/end/", people.end_role, name="end_role"),
    path("teams/", people.teams, name="teams"),
    path("teams/<slug:slug>/", people.team, name="team"),
    path("teams/<slug:slug>/projects/", people.add_project, name="add_project"),
    path("teams/<slug:slug>/members/<int:pk>/end/", people.leave, name="leave"),
    path("projects/<slug:slug>/close/", people.close_project, name="close_project"),
    path("profile/", own.profile, name="profile"),
    path("tokens/", own.tokens, name="tokens"),
    path("tokens/<int:pk>/rotate/", own.rotate, name="rotate_token"),
    path("tokens/<int:pk>/revoke/", own.revoke, name="revoke_token"),
    path("audit/", trail.audit, name="audit"),
    path("audit/export/", trail.export, name="audit_export"),
]
api_urlpatterns: list[URLPattern] = []
