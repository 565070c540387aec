from typing import Any

from django.core.management.base import BaseCommand

from accounts.operations import rotate_secrets


class Command(BaseCommand):
    help = "Store everything encrypted anew under INSTANCE_SECRET; after it, INSTANCE_SECRET_PREVIOUS can go."

    def handle(self, *args: Any, **options: Any) -> None:
        suppliers, codes = rotate_secrets()
        self.stdout.write(f"{suppliers} mail suppliers and {codes} access codes are stored under the present secret.")
