from django.urls import URLPattern, path

from governance.portal import views

app_name = "portal"
urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("search/", views.search, name="search"),
    path("help/", views.help_page, name="help"),
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics_page, name="metrics"),
    path("language/", views.language, name="language"),
    path("theme/", views.theme, name="theme"),
]
api_urlpatterns: list[URLPattern] = []
