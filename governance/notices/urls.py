"""Routes of notices."""

from django.urls import URLPattern, path

from governance.notices import views

app_name = "notices"
urlpatterns: list[URLPattern] = [
    path("notices/", views.index, name="list"),
    path("notices/read/", views.read, name="read"),
    path("notices/preferences/", views.preferences, name="preferences"),
    path("notices/channels/", views.channels, name="channels"),
    path("notices/channels/<int:pk>/close/", views.close, name="close_channel"),
    path("notices/channels/<int:pk>/test/", views.test, name="test_channel"),
    path("notices/letters/<int:pk>/again/", views.try_again, name="try_again"),
]
api_urlpatterns: list[URLPattern] = []
