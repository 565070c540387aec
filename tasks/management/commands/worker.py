import contextlib
import logging
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

MOST = 64


class Command(BaseCommand):
    help = "Run a worker: as many processes per queue as the settings say, until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--queues", help="queue=processes,… instead of the settings' sizes, for example: index=2,notify=2"
        )

    def handle(self, *args: Any, queues: str | None, **options: Any) -> None:
        from tasks.queue.cluster import WorkerGroup
        from tasks.queue.forever import NO_DATABASE

        sizes = settings.QUEUES if queues is None else self.parse(queues)
        if not any(sizes.values()):
            raise CommandError("Every queue has size 0: there is nothing to work on.")
        with contextlib.suppress(*NO_DATABASE):  # which the worker's processes wait for
            self.check_prepared()
        logging.getLogger("standmeet.tasks").info(
            "working on %s", ", ".join(f"{q}: {n}" for q, n in sizes.items() if n)
        )
        sys.exit(WorkerGroup(sizes).run())

    def check_prepared(self) -> None:
        try:
            executor = MigrationExecutor(connection)
            missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        finally:
            connection.close()
        if missing:
            raise CommandError(f"The database lacks {missing} migrations of this version: ./run migrate does them.")

    def parse(self, text: str) -> dict[str, int]:
        sizes = {}
        for part in text.split(","):
            queue, _, size = part.partition("=")
            if queue not in settings.QUEUES or queue in sizes or not size.isascii() or not size.isdigit():
                known = ", ".join(settings.QUEUES)
                raise CommandError(f"--queues: {part!r} is not queue=number, once for one of {known}.")
            if int(size) > MOST:
                raise CommandError(f"--queues: {part!r}: at most {MOST} processes a queue.")
            sizes[queue] = int(size)
        return sizes
