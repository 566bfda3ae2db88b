from django.urls import URLPattern, path

from governance.plumbing import views

urlpatterns = [
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
]
api_urlpatterns: list[URLPattern] = []
