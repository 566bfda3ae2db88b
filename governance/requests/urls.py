"""Routes of requests and approvals."""

from django.urls import path

from governance.requests import api
from governance.requests.views import acts, asking, bulk, inbox, plans, rules

app_name = "requests"
urlpatterns = [
    path("requests/", asking.index, name="list"),
    path("requests/new/", asking.new, name="new"),
    path("requests/packages/", asking.packages, name="packages"),
    path("requests/export/", bulk.export, name="export"),
    path("requests/import/", bulk.upload, name="import"),
    path("requests/forecast/", bulk.forecast, name="forecast"),
    path("requests/<int:pk>/", asking.detail, name="detail"),
    path("requests/<int:pk>/edit/", asking.edit, name="edit"),
    path("requests/<int:pk>/submit/", acts.submit, name="submit"),
    path("requests/<int:pk>/withdraw/", acts.withdraw, name="withdraw"),
    path("requests/<int:pk>/approve/", acts.approve, name="approve"),
    path("requests/<int:pk>/ask-back/", acts.ask_back, name="ask_back"),
    path("requests/<int:pk>/refuse/", acts.refuse, name="refuse"),
    path("requests/<int:pk>/message/", acts.message, name="message"),
    path("requests/<int:pk>/trial/", acts.trial, name="trial"),
    path("requests/<int:pk>/clone/", acts.clone, name="clone"),
    path("requests/<int:pk>/change/", acts.change, name="change"),
    path("requests/<int:pk>/plan/<slug:tool>/", plans.plan_file, name="plan_file"),
    path("catalogue/accuracy/", plans.accuracy, name="accuracy"),
    path("approvals/", inbox.index, name="approvals"),
    path("approvals/<int:pk>/", inbox.row, name="approval_row"),
    path("approvals/delegations/", inbox.delegations, name="delegations"),
    path("approvals/delegations/<int:pk>/end/", inbox.end_delegation, name="end_delegation"),
    path("approvals/policy/", rules.policy, name="policy"),
    path("approvals/calendar/", rules.calendar, name="calendar"),
]
api_urlpatterns = [
    path("requests/", api.Requests.as_view(), name="requests"),
    path("requests/match/", api.MatchNow.as_view(), name="requests-match"),
    path("requests/import/", api.Import.as_view(), name="requests-import"),
    path("requests/inbox/", api.Inbox.as_view(), name="requests-inbox"),
    path("requests/<int:pk>/", api.OneRequest.as_view(), name="request"),
    path("requests/<int:pk>/packages/", api.Packages.as_view(), name="request-packages"),
    path("requests/<int:pk>/submit/", api.Submit.as_view(), name="request-submit"),
    path("requests/<int:pk>/choose/", api.Choose.as_view(), name="request-choose"),
    path("requests/<int:pk>/withdraw/", api.Withdraw.as_view(), name="request-withdraw"),
    path("requests/<int:pk>/approve/", api.Approve.as_view(), name="request-approve"),
    path("requests/<int:pk>/ask-back/", api.AskBack.as_view(), name="request-ask-back"),
    path("requests/<int:pk>/refuse/", api.Refuse.as_view(), name="request-refuse"),
    path("requests/<int:pk>/messages/", api.Messages.as_view(), name="request-messages"),
]
