from django.apps import AppConfig


class PlumbingConfig(AppConfig):
    name = "governance.plumbing"
    label = "plumbing"
