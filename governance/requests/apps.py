from django.apps import AppConfig


class RequestsConfig(AppConfig):
    name = "governance.requests"
    label = "requests"

    def ready(self) -> None:
        from governance.requests import leaving  # noqa: F401
