from django.apps import AppConfig


class RentalsConfig(AppConfig):
    name = "governance.rentals"
    label = "rentals"
