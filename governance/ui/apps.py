from django.apps import AppConfig


class UiConfig(AppConfig):
    name = "governance.ui"
    label = "ui"
