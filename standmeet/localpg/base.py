"""ENGINE = "standmeet.localpg": Django looks for a backend's DatabaseWrapper in a module of this name."""

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base, client

from . import ensure_running, place


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell` with the psql that belongs to the server."""

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Iterable[str]
    ) -> tuple[list[str], dict[str, str] | None]:
        args, env = super().settings_to_cmd_args_env(settings_dict, parameters)
        return [str(place().binaries / "psql"), *args[1:]], env

    def runshell(self, parameters: Iterable[str]) -> None:
        ensure_running()
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        ensure_running()
        return super().get_connection_params()
