from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from tasks import checks  # noqa: F401
        from tasks.queue import periodic, receivers  # noqa: F401
