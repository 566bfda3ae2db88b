from django.db import migrations

from governance.plumbing.sql import append_only, drop_append_only

TABLES = ["reports_judgement"]


class Migration(migrations.Migration):
    dependencies = [("reports", "0001_initial"), ("plumbing", "0002_append_only")]
    operations = [migrations.RunSQL(append_only(t), drop_append_only(t)) for t in TABLES]
