from typing import Any

from django.core.management.base import BaseCommand

from tasks.queue.prune import prune


class Command(BaseCommand):
    help = "Delete jobs that ended longer ago than they are kept: completed and cancelled 24 h, discarded 7 days."

    def handle(self, *args: Any, **options: Any) -> None:
        deleted = prune()
        self.stdout.write(", ".join(f"{state}: {n} deleted" for state, n in deleted.items()))
