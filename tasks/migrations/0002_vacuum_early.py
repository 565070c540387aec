from django.db import migrations

# A queue's rows die young. Room on the page and early vacuums keep its indexes short (Postgres, "Automatic Vacuuming").
SETTINGS = """ALTER TABLE tasks_task SET (
    fillfactor = 70,
    autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_threshold = 500, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0)"""
UNSET = """ALTER TABLE tasks_task RESET (
    fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor,
    autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_delay)"""


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]

    operations = [migrations.RunSQL(SETTINGS, UNSET)]
