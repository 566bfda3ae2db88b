from django.db import migrations

from governance.plumbing.sql import append_only, drop_append_only

TABLES = ["rentals_charge", "rentals_rentalchange", "rentals_month"]


class Migration(migrations.Migration):
    dependencies = [("rentals", "0001_initial"), ("plumbing", "0002_append_only")]
    operations = [migrations.RunSQL(append_only(t), drop_append_only(t)) for t in TABLES]
