from django.urls import URLPattern, path, re_path

from governance.reports import api, views

app_name = "reports"
urlpatterns: list[URLPattern] = [
    path("reports/", views.index, name="index"),
    path("reports/key-figures/", views.key_figures, name="key_figures"),
    re_path(r"^reports/(?P<name>[a-z-]+)\.(?P<suffix>csv|xlsx)$", views.export, name="export"),
    path("reports/<slug:name>/", views.report, name="report"),
]
api_urlpatterns: list[URLPattern] = [
    path("reports/", api.ReportList.as_view(), name="reports"),
    path("reports/<slug:name>/", api.ReportDetail.as_view(), name="report"),
]
