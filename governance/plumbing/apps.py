from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class PlumbingConfig(AppConfig):
    name = "governance.plumbing"
    label = "plumbing"

    def ready(self) -> None:
        """Every room's rules are known to whoever asks, whichever room was imported first."""
        autodiscover_modules("policies")
