from django.apps import AppConfig


class RequestsConfig(AppConfig):
    name = "governance.requests"
    label = "requests"
