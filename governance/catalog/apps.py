from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "governance.catalog"
    label = "catalog"
