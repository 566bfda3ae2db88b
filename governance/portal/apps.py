from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "governance.portal"
    label = "portal"
