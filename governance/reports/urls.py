from django.urls import URLPattern, path, re_path

from governance.reports import api, deciding_views, export_views, invoice_views, views

app_name = "reports"
urlpatterns: list[URLPattern] = [
    path("reports/", views.index, name="index"),
    path("reports/key-figures/", views.key_figures, name="key_figures"),
    path("reports/exports/", export_views.exports, name="exports"),
    path(
        "reports/exports/<str:month>/statement.pdf", export_views.month_statement, name="statement"
    ),
    path(
        "reports/exports/<str:month>/focus-<str:version>.zip", export_views.focus_file, name="focus"
    ),
    path("reports/exports/<str:month>/journal.csv", export_views.journal, name="journal"),
    path("reports/exports/<str:month>/ledger.beancount", export_views.beancount, name="beancount"),
    path("reports/invoices/", invoice_views.invoices, name="invoices"),
    path("reports/invoices/<int:pk>/", invoice_views.invoice, name="invoice"),
    path("reports/invoices/<int:pk>/lines/<int:line>/", invoice_views.settle, name="settle"),
    path("reports/prices/", views.prices, name="prices"),
    path("reports/flags/", deciding_views.flags, name="flags"),
    path("reports/flags/<int:pk>/", deciding_views.recommendation, name="recommendation"),
    path("reports/flags/<int:pk>/accept/", deciding_views.accept, name="accept"),
    path("reports/flags/<int:pk>/dismiss/", deciding_views.dismiss, name="dismiss"),
    path("reports/flags/<int:pk>/snooze/", deciding_views.snooze, name="snooze"),
    path("reports/flags/<int:pk>/answer/", deciding_views.answer, name="answer"),
    re_path(r"^reports/(?P<name>[a-z-]+)\.(?P<suffix>csv|xlsx)$", views.export, name="export"),
    path("reports/views/<int:pk>/forget/", views.forget_view, name="forget_view"),
    path("reports/<slug:name>/save/", views.save_view, name="save_view"),
    path("reports/<slug:name>/", views.report, name="report"),
]
api_urlpatterns: list[URLPattern] = [
    path("reports/", api.ReportList.as_view(), name="reports"),
    path("reports/<slug:name>/", api.ReportDetail.as_view(), name="report"),
]
