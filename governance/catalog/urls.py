from django.urls import URLPattern, path

from governance.catalog import api, views

app_name = "catalog"
urlpatterns: list[URLPattern] = [
    path("catalogue/", views.index, name="index"),
    path("catalogue/cards/<slug:slug>/", views.card, name="card"),
    path("catalogue/cards/<slug:slug>/confirm/", views.confirm, name="confirm"),
    path("catalogue/vendors/", views.vendors, name="vendors"),
    path("catalogue/offers/", views.offers, name="offers"),
    path("catalogue/import/", views.import_sheet, name="import"),
]
api_urlpatterns: list[URLPattern] = [
    path("card-models", api.Cards.as_view(), name="card-models"),
    path("card-models/<slug:slug>", api.CardDetail.as_view(), name="card-model"),
    path("offers", api.Offers.as_view(), name="offers"),
    path("price-sheets", api.Prices.as_view(), name="price-sheets"),
]
