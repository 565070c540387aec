import json
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tasks import registry
from tasks.declare import PUBLIC, Caller
from tasks.errors import Refused
from tasks.perform import perform, public_names
from tasks.schema import plain


class Command(BaseCommand):
    help = (
        "Perform an operation from the shell: manage.py op access_requests.approve --id 41. Without a name: list them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--as", dest="email", help="e-mail of the owner to act as; the first one otherwise")
        parser.add_argument("name", nargs="?")
        parser.add_argument("inputs", nargs=REMAINDER, help="--input value …")

    def handle(self, *args: Any, name: str | None, email: str | None, **options: Any) -> None:
        if name is None:
            for op in registry.operations().values():
                takes = " ".join(f"--{p.replace('_', '-')}" for p in public_names(op.run).values())
                self.stdout.write(f"{op.name:<30} {op.summary}\n{'':<30} {takes}")
            return
        operation = registry.operations().get(name)
        if operation is None:
            raise CommandError(f"There is no operation {name!r}. Without a name, this command lists them.")
        given = self.parse(options["inputs"])
        user = None if operation.permission == PUBLIC and not email else self.caller(email)
        try:
            result = perform(operation, Caller(user, timezone.now(), "shell"), **given)
        except Refused as refused:
            raise CommandError(f"{refused} ({refused.code})") from None
        self.stdout.write(json.dumps(plain(result), indent=2, ensure_ascii=False, default=str))

    def parse(self, words: list[str]) -> dict[str, str]:
        """--name value or --name=value."""
        given: dict[str, str] = {}
        rest = iter(words)
        for word in rest:
            if not word.startswith("--"):
                raise CommandError(f"{word!r} is not an input: write --name value.")
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            if not equals:
                try:
                    value = next(rest)
                except StopIteration:
                    raise CommandError(f"{word} has no value.") from None
            given[name] = value
        return given

    def caller(self, email: str | None) -> Any:
        owners = get_user_model()._default_manager.filter(is_active=True).order_by("pk")
        owner = (owners.filter(email__iexact=email) if email else owners).first()
        if owner is None:
            raise CommandError(f"There is no owner {email}." if email else "There is no owner yet: createsuperuser.")
        return owner
