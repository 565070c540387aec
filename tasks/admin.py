from tasks.panel import periodic  # noqa: F401
