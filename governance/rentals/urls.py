"""Routes of rentals, previews and months."""

from django.urls import path

from governance.rentals import api, views

app_name = "rentals"
urlpatterns = [
    path("rentals/", views.index, name="list"),
    path("rentals/preview/", views.preview, name="preview"),
    path("rentals/months/", views.months, name="months"),
    path("rentals/months/<int:year>-<int:month>/", views.month_report, name="month_report"),
    path("rentals/buy/<int:request_id>/", views.buy, name="buy"),
    path("rentals/<int:pk>/", views.detail, name="detail"),
    path("rentals/<int:pk>/cards/", views.cards, name="cards"),
    path("rentals/<int:pk>/renewal/", views.renewal, name="renewal"),
    *(
        path(f"rentals/<int:pk>/{what}/", views.act, {"what": what}, name=what)
        for what in ("price", "quantity", "extend", "end_early", "stop", "start")
    ),
]
api_urlpatterns = [
    path("rentals/", api.Rentals.as_view(), name="rentals"),
    path("rentals/preview/", api.PreviewCharges.as_view(), name="rentals-preview"),
    path("rentals/compare/", api.ComparePlans.as_view(), name="rentals-compare"),
    path("rentals/<int:pk>/", api.OneRental.as_view(), name="rental"),
    path("rentals/<int:pk>/charges/", api.Charges.as_view(), name="rental-charges"),
    path("rentals/<int:pk>/preview/", api.RentalPreview.as_view(), name="rental-preview"),
    path("rentals/<int:pk>/changes/", api.Changes.as_view(), name="rental-changes"),
    path("rentals/<int:pk>/parts/", api.Parts.as_view(), name="rental-parts"),
    path("months/", api.Months.as_view(), name="months"),
]
