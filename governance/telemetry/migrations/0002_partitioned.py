"""The partitioned tables: made from their models, with 4-byte figures for minutes."""

from django.db import migrations

TABLES = {"MinuteSample": ("minute", "real"), "UsageHour": ("hour", "double precision")}


def create(apps, schema_editor):
    for name, (key, figure) in TABLES.items():
        model = apps.get_model("telemetry", name)
        sql, _ = schema_editor.table_sql(model)
        schema_editor.execute(
            f"{sql.replace('double precision', figure)} PARTITION BY RANGE ({key})", params=None
        )


def drop(apps, schema_editor):
    for name in TABLES:
        schema_editor.execute(f'DROP TABLE "{apps.get_model("telemetry", name)._meta.db_table}"')


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
