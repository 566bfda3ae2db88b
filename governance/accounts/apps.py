from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "governance.accounts"
    label = "accounts"
