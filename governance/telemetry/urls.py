from django.urls import URLPattern, path

from governance.telemetry import api, views

app_name = "telemetry"
urlpatterns: list[URLPattern] = [
    path("cards/", views.cards, name="cards"),
    path("cards/<int:card_id>/", views.card, name="card"),
    path("cards/<int:card_id>/peaks.csv", views.card_peaks, name="card-peaks"),
    path("nodes/", views.nodes, name="nodes"),
    path("nodes/new/", views.enrol_node, name="enrol-node"),
    path("nodes/<int:node_id>/", views.node, name="node"),
    path("nodes/<int:node_id>/change/", views.change_node, name="change-node"),
    path("nodes/<int:node_id>/rotate/", views.rotate_node, name="rotate-node"),
    path("nodes/<int:node_id>/revoke/", views.revoke_node, name="revoke-node"),
]
api_urlpatterns: list[URLPattern] = [
    path("samples", api.PushSamples.as_view(), name="push-samples"),
]
