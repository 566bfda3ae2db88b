from django.db import migrations

from governance.plumbing.sql import APPEND_ONLY_FUNCTION, append_only, drop_append_only

TABLES = ["plumbing_auditevent", "plumbing_auditseal"]


class Migration(migrations.Migration):
    dependencies = [("plumbing", "0001_initial")]
    operations = [
        migrations.RunSQL(APPEND_ONLY_FUNCTION, "DROP FUNCTION refuse_change()"),
        *(migrations.RunSQL(append_only(t), drop_append_only(t)) for t in TABLES),
    ]
