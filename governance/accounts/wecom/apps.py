from django.apps import AppConfig


class WeComConfig(AppConfig):
    name = "governance.accounts.wecom"
    label = "wecom"
