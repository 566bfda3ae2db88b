from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "governance.reports"
    label = "reports"
