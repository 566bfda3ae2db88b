from django.urls import URLPattern, path

from governance.telemetry import api

app_name = "telemetry"
urlpatterns: list[URLPattern] = []
api_urlpatterns: list[URLPattern] = [
    path("samples", api.PushSamples.as_view(), name="push-samples"),
]
