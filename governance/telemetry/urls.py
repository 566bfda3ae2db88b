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
    path("nodes/", api.NodeList.as_view(), name="nodes"),
    path("nodes/<int:node_id>/", api.NodeDetail.as_view(), name="node"),
    path("nodes/<int:node_id>/rotate/", api.RotateNode.as_view(), name="rotate-node"),
    path("nodes/<int:node_id>/revoke/", api.RevokeNode.as_view(), name="revoke-node"),
    path("cards/", api.CardList.as_view(), name="cards"),
    path("cards/<int:card_id>/", api.CardDetail.as_view(), name="card"),
    path("cards/<int:card_id>/minutes/", api.CardMinutes.as_view(), name="card-minutes"),
    path("usage/", api.Usage.as_view(), name="usage"),
]
