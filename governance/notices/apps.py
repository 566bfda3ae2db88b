from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "governance.notices"
    label = "notices"
