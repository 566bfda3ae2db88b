from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    name = "governance.budgets"
    label = "budgets"
