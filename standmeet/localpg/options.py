"""The server's settings, given on its command line at every start: a change here reaches clusters that exist."""

import shlex

from .layout import Place

OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    # A container's /dev/shm has 64 MB, and two cores gain nothing from parallel plans or from compiling them.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "max_logical_replication_workers": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}


def command_line(here: Place) -> str:
    """For `pg_ctl -o`, which hands it to a shell."""
    settings = OPTIONS | {"unix_socket_directories": f'"{here.sockets}"'}
    return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
