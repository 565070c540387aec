import os

from django.apps import AppConfig


class ProbeConfig(AppConfig):
    name = "tests.probe"
    label = "probe"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if grace := os.environ.get("PROBE_GRACE"):  # a worker whose patience a test must not wait for
            from tasks.queue import cluster

            cluster.GRACE = float(grace)
        if look := os.environ.get("PROBE_LOOK"):  # how often its housekeeper looks at the clock
            from tasks.queue import periodic

            periodic.LOOK = float(look)
