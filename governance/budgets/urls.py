"""Routes of budgets, ledger and exchange rates."""

from django.urls import path

from governance.budgets import api, views

app_name = "budgets"
urlpatterns = [
    path("budgets/", views.index, name="list"),
    path("budgets/new/", views.new, name="new"),
    path("budgets/ledger/", views.ledger, name="ledger"),
    path("budgets/rates/", views.rates, name="rates"),
    path("budgets/<int:pk>/", views.detail, name="detail"),
    path("budgets/<int:pk>/limit/", views.change_limit, name="change_limit"),
    path("budgets/<int:pk>/overdraft/", views.overdraft, name="overdraft"),
]
api_urlpatterns = [
    path("budgets/", api.Budgets.as_view(), name="budgets"),
    path("budgets/<int:pk>/", api.OneBudget.as_view(), name="budget"),
    path("budgets/<int:pk>/limit/", api.Limit.as_view(), name="budget-limit"),
    path("budgets/<int:pk>/overdraft/", api.Overdraft.as_view(), name="budget-overdraft"),
    path("budgets/<int:pk>/entries/", api.Entries.as_view(), name="budget-entries"),
    path("ledger/accounts/", api.Accounts.as_view(), name="ledger-accounts"),
    path("fx-rates/", api.Rates.as_view(), name="fx-rates"),
]
